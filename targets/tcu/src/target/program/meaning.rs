//! What a program means where hardware computes something else than its instructions say.

use npukit_target::{Finding, Meaning, TargetError};

use super::TcuProgram;
use crate::board;
use crate::clock::ClockParams;
use crate::hazard::{Judged, LostWrite, judge, lost};
use crate::target::instance::finding;
use crate::validate::{LOST_ADDITION, validate_with};

impl TcuProgram {
    /// The memory of the board the program is for.
    pub(super) fn board_memory(&self) -> ClockParams {
        let clock = self.board.as_deref().and_then(board::clock);
        board::memory(&self.program.config, clock.map(|clock| clock.mhz))
    }

    /// All problems of the program, with their layers.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let owners = self.program.layer_of_each();
        let layer = |instruction: usize| {
            let layer = self.program.layers.get(*owners.get(instruction)?)?;
            Some(layer.name.clone())
        };
        let problems = validate_with(&self.program.config, &self.program.instructions, self.board_memory());
        problems
            .into_iter()
            .map(|problem| (layer(problem.instruction), problem))
            .map(|(l, p)| finding(p, l))
            .collect()
    }

    /// The writes that are lost when the program is run with this meaning.
    ///
    /// Errors: [`TargetError::Differs`] where hardware can compute something else and the meaning does not say
    /// which counts.
    pub(super) fn lost(&self, meaning: Meaning) -> Result<Vec<LostWrite>, TargetError> {
        self.agree(meaning)?;
        if meaning != Meaning::Hardware {
            return Ok(Vec::new());
        }
        let crate::Program { config, instructions, .. } = &self.program;
        lost(config, instructions, self.board_memory()).map_err(TargetError::failed)
    }

    /// Refuses a program on which hardware and sequence can differ, unless the meaning says which counts.
    pub(super) fn agree(&self, meaning: Meaning) -> Result<(), TargetError> {
        if meaning != Meaning::Agreed || !self.judged().iter().any(Judged::differs) {
            return Ok(());
        }
        let errors = self.findings().into_iter();
        Err(TargetError::Differs(
            errors.filter(|found| found.code == LOST_ADDITION && found.is_error()).collect(),
        ))
    }

    /// What hardware may lose.
    pub(super) fn judged(&self) -> &[Judged] {
        let crate::Program { config, instructions, .. } = &self.program;
        self.judged.get_or_init(|| judge(config, instructions, self.board_memory()))
    }
}
