//! Meaning of a program where hardware deviates from its instructions.

use npukit_target::{Finding, HazardMode, Phase, TargetError};

use super::TcuProgram;
use crate::check::dataflow::Around;
use crate::check::validate::validate_around;
use crate::clock::hazard::{Judged, judge, lost, moved_writes};
use crate::clock::moved_writes::MovedWrites;
use crate::config::{ClockParams, board};
use crate::machine::losing::LostWrite;
use crate::program::Program;
use crate::target::instance::{HARDWARE_DIFFERS, finding};

impl TcuProgram {
    /// Returns the memory of the program's board.
    pub(in crate::target) fn board_memory(&self) -> ClockParams {
        board::memory(&self.program.config, self.system(), None)
    }

    /// Returns all problems of the program, with their layers.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let owners = self.program.layer_of_each();
        let layer = |instruction: usize| {
            let layer = self.program.layers.get(*owners.get(instruction)?)?;
            Some(layer.name.clone())
        };
        let Program { config, instructions, .. } = &self.program;
        let problems = validate_around(config, instructions, self.board_memory(), &self.around());
        problems
            .into_iter()
            .map(|problem| (layer(problem.instruction), problem))
            .map(|(l, p)| finding(p, l))
            .collect()
    }

    /// Returns the known facts about memories. A program without outputs is an assembly program,
    /// after which any memory may be read.
    fn around(&self) -> Around {
        let Program { outputs, load_consts_to_local, .. } = &self.program;
        if outputs.is_empty() { Around::default() } else { Around::of_compiled(*load_consts_to_local) }
    }

    /// Returns the writes that are lost in a run with this meaning.
    ///
    /// Errors: [`TargetError::Differs`] if hardware can deviate and the meaning does not choose, or
    /// if the results of the hardware are unknown.
    pub(in crate::target) fn lost(&self, meaning: HazardMode) -> Result<Vec<LostWrite>, TargetError> {
        self.agree(meaning)?;
        if meaning != HazardMode::Hardware {
            return Ok(Vec::new());
        }
        if !self.differences().moved.is_empty() {
            // npukit does not compute the targets of moved bursts, so the run is refused.
            return Err(self.refused());
        }
        let Program { config, instructions, .. } = &self.program;
        lost(config, instructions, self.board_memory()).map_err(TargetError::failed)
    }

    /// Refuses a program on which hardware and sequential execution can differ, unless the meaning
    /// chooses one.
    pub(super) fn agree(&self, meaning: HazardMode) -> Result<(), TargetError> {
        let Differences { lost, moved } = self.differences();
        let differs = !moved.is_empty() || lost.iter().any(Judged::differs);
        if meaning == HazardMode::Agreed && differs { Err(self.refused()) } else { Ok(()) }
    }

    fn refused(&self) -> TargetError {
        let differs = |found: &Finding| found.is_error() && HARDWARE_DIFFERS.contains(&found.code);
        TargetError::Differs(self.findings().into_iter().filter(differs).collect())
    }

    fn differences(&self) -> &Differences {
        let (Program { config, instructions, .. }, memory) = (&self.program, self.board_memory());
        self.differences.get_or_init(|| {
            let _phase = Phase::begin("check hazards");
            Differences {
                lost: judge(config, instructions, memory),
                moved: moved_writes(config, instructions, memory),
            }
        })
    }
}

/// Deviations of the hardware from the instructions.
pub(super) struct Differences {
    lost: Vec<Judged>,
    moved: Vec<MovedWrites>,
}
