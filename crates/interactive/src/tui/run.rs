//! [`Running`]: a long way through a program in pieces, between which keys are looked at.

use std::time::{Duration, Instant};

use npukit_debug::{Answer, Command, Debugger, Stop};

/// How long a piece takes, about.
const PIECE: Duration = Duration::from_millis(30);

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// To the next point.
    Point,
    /// To a step, past all points.
    Step(usize),
}

/// A way that has begun.
#[derive(Debug)]
pub(crate) struct Running {
    goal: Goal,
    /// Steps of the next piece.
    steps: usize,
    /// Whether all that it prints is to be shown.
    pub is_typed: bool,
}

impl Running {
    /// The way of a command, for those that may be long and can be taken in pieces: ways forwards.
    pub fn of(command: &Command, debugger: &Debugger, is_typed: bool) -> Option<Self> {
        let goal = match command {
            Command::Continue => Goal::Point,
            Command::Goto(step) if *step > debugger.position() => Goal::Step(*step),
            _ => return None,
        };
        Some(Self { goal, steps: 16, is_typed })
    }

    /// Goes a piece of the way; gives what the debugger says of it, and whether it is the last.
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
