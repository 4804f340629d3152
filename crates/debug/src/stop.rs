//! [`Stop`]: why a program stands where it stands.

use crate::points::Undecided;

/// Why a program stands where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has not begun.
    Start,
    /// It was sent there.
    Step,
    /// A layer begins.
    Layer,
    /// A breakpoint, by its number.
    Breakpoint(u32),
    /// A watchpoint, by its number, and the step that hit it.
    Watchpoint(u32, usize),
    /// It has ended.
    End,
    /// The machine cannot do the next step: why.
    Fault(String),
    /// Whether the last step hits a watchpoint is not known.
    Undecided(Undecided),
    /// Somebody else has stopped it.
    Interrupted,
}

impl Stop {
    /// Names of all of them.
    pub const NAMES: [&'static str; 9] =
        ["start", "step", "layer", "breakpoint", "watchpoint", "end", "fault", "undecided", "interrupted"];

    /// Its name.
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

    /// The number of the point.
    pub const fn point(&self) -> Option<u32> {
        match self {
            Self::Breakpoint(id) | Self::Watchpoint(id, _) => Some(*id),
            Self::Undecided(undecided) => Some(undecided.id),
            _ => None,
        }
    }

    /// What went wrong, in a sentence; none where nothing did.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Fault(told) => Some(format!("the machine stops: {told}")),
            Self::Undecided(undecided) => Some(undecided.to_string()),
            Self::Interrupted => Some("interrupted".to_owned()),
            _ => None,
        }
    }
}
