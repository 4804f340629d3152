//! [`Running`]: a long run in pieces, so that keys are handled in between.

use std::time::{Duration, Instant};

use npukit_debug::{Answer, Command, Debugger, Stop};

/// Approximate time of a piece.
const PIECE: Duration = Duration::from_millis(30);

/// Destination of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// The next breakpoint or watchpoint.
    Point,
    /// A step; breakpoints and watchpoints are ignored.
    Step(usize),
}

/// Run in progress.
#[derive(Debug)]
pub(crate) struct Running {
    goal: Goal,
    /// Number of steps of the next piece.
    steps: usize,
    /// Whether all output is shown, as the command was typed.
    pub is_typed: bool,
}

impl Running {
    /// Returns the run of a command that may take long and can be divided: a run forward.
    pub fn of(command: &Command, debugger: &Debugger, is_typed: bool) -> Option<Self> {
        let goal = match command {
            Command::Continue => Goal::Point,
            Command::Goto(step) if *step > debugger.position() => Goal::Step(*step),
            _ => return None,
        };
        Some(Self { goal, steps: 16, is_typed })
    }

    /// Runs a piece; returns the debugger's answer, and whether the run is finished.
    pub fn go(&mut self, debugger: &mut Debugger) -> (Answer, bool) {
        let begun = Instant::now();
        let ahead = debugger.position().saturating_add(self.steps);
        let answer = debugger.execute(&match self.goal {
            Goal::Point => Command::Step(self.steps),
            Goal::Step(step) => Command::Goto(step.min(ahead)),
        });
        let is_there = match self.goal {
            Goal::Point => !matches!(debugger.stop(), Stop::Step),
            Goal::Step(step) => debugger.position() >= step || !matches!(debugger.stop(), Stop::Step),
        };
        let took = begun.elapsed();
        if took < PIECE / 2 {
            self.steps = self.steps.saturating_mul(2);
        } else if took > PIECE * 2 {
            self.steps = (self.steps / 2).max(1);
        }
        (answer, is_there)
    }
}
