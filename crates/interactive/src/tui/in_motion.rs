//! [`InMotion`]: the values inside a unit during the next step, and the cycle that is shown.

use npukit_target::Machine;
use npukit_target::motion::Motion;

/// The next step in motion.
#[derive(Debug)]
pub(crate) struct InMotion {
    /// The motion; `None` for a step without a drawing.
    pub found: Result<Option<Motion>, String>,
    /// Cycle that is shown.
    pub cycle: u64,
}

impl InMotion {
    /// Returns the first cycle of the next step.
    pub fn new(machine: &dyn Machine) -> Self {
        let found = machine.motion().map_err(|error| error.to_string());
        let mut motion = Self { found, cycle: 0 };
        motion.turn(0);
        motion
    }

    /// Goes to the cycle `by` cycles later, or to the step's first or last one.
    pub fn turn(&mut self, by: i64) {
        if let Ok(Some(motion)) = &self.found
            && let Some(cycles) = motion.cycles()
        {
            self.cycle = self.cycle.saturating_add_signed(by).clamp(*cycles.start(), *cycles.end());
        }
    }
}
