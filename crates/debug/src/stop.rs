//! [`Stop`]: why a program stopped.

use crate::points::Undecided;

/// Reason for the last stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program has not begun.
    Start,
    /// The requested step was reached.
    Step,
    /// The first step of a layer is next.
    Layer,
    /// Breakpoint with this id.
    Breakpoint(u32),
    /// Watchpoint with this id, hit by this step.
    Watchpoint(u32, usize),
    /// The program has ended.
    End,
    /// The machine cannot execute the next step, for this reason.
    Fault(String),
    /// It is unknown whether the last step hits a watchpoint.
    Undecided(Undecided),
    /// Another thread requested the stop.
    Interrupted,
}

impl Stop {
    /// Names of all reasons, as `expect stop` uses them.
    pub const NAMES: [&'static str; 9] =
        ["start", "step", "layer", "breakpoint", "watchpoint", "end", "fault", "undecided", "interrupted"];

    /// Returns the name of the reason.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Step => "step",
            Self::Layer => "layer",
            Self::Breakpoint(_) => "breakpoint",
            Self::Watchpoint(..) => "watchpoint",
            Self::End => "end",
            Self::Fault(_) => "fault",
            Self::Undecided(_) => "undecided",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the id of the breakpoint or watchpoint.
    pub const fn point(&self) -> Option<u32> {
        match self {
            Self::Breakpoint(id) | Self::Watchpoint(id, _) => Some(*id),
            Self::Undecided(undecided) => Some(undecided.id),
            _ => None,
        }
    }

    /// Returns a sentence about the failure; `None` if nothing failed.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Fault(message) => Some(format!("the machine stops: {message}")),
            Self::Undecided(undecided) => Some(undecided.to_string()),
            Self::Interrupted => Some("interrupted".to_owned()),
            _ => None,
        }
    }
}
