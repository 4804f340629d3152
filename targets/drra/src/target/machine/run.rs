//! [`DrraMachine::run_whole`]: runs a program at once, counts cycles and collects the fabric's
//! warnings.

use npukit_target::{Limits, Remark, RunOutcome, Stopped, TargetError};

use super::DrraMachine;
use crate::isa::op::Op;
use crate::machine::fault::Fault;
use crate::machine::{DEFAULT_LIMIT, Observer, UnwrittenRead};

impl DrraMachine {
    /// Runs the program from its first cycle to its end.
    ///
    /// Errors: a fault of the fabric, or a limit that is reached.
    pub(super) fn run_whole(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        // Later queries must refer to the machine's current state.
        self.begin();
        let lengths = self.machine.cells().iter().map(|cell| cell.sequencer.ops.len()).collect();
        let mut executed = Executed { instructions: 0, lengths };
        let limit = limits.cycles.unwrap_or(DEFAULT_LIMIT);
        let run = self.machine.run(limit, &mut executed).map_err(|fault| self.stopped(fault))?;
        self.position = run.cycles as usize;
        if let Some(limit) = limits.instructions.filter(|&limit| executed.instructions > limit) {
            let error = format!("{} instructions exceed the limit of {limit}", executed.instructions);
            return Err(Stopped { instruction: None, error: TargetError::failed(error) });
        }
        let mut remarks: Vec<Remark> =
            self.machine.unwritten_reads().into_iter().map(|read| self.remark(read)).collect();
        remarks.extend(run.warnings.iter().map(|warning| Remark {
            instruction: Some(self.program.program.index(warning.at)),
            message: format!("cycle {}: {}", warning.cycle, warning.kind),
        }));
        let more = format!("and {} other warnings", run.more_warnings);
        remarks.extend((run.more_warnings > 0).then_some(Remark { instruction: None, message: more }));
        let sums = format!("{} sums did not fit their accumulator", run.saturated_sums);
        remarks.extend((run.saturated_sums > 0).then_some(Remark { instruction: None, message: sums }));
        Ok(RunOutcome { instructions: executed.instructions, cycles: Some(run.cycles), remarks })
    }

    fn remark(&self, UnwrittenRead { at, fault }: UnwrittenRead) -> Remark {
        let instruction = at.map(|at| self.program.program.index(at));
        Remark { instruction, message: format!("{fault}; it reads as 0") }
    }

    fn stopped(&self, fault: Fault) -> Stopped {
        let instruction = match &fault {
            Fault::Instruction { at, .. } => Some(self.program.program.index(*at)),
            _ => None,
        };
        Stopped { instruction, error: TargetError::failed(fault) }
    }
}

/// Counts the program's instructions. Memory after the program is `halt`, which is not counted.
struct Executed {
    instructions: u64,
    /// Number of instructions of each cell.
    lengths: Vec<usize>,
}

impl Observer for Executed {
    fn issue(&mut self, _cycle: u64, cell: usize, pc: usize, _op: &Op) {
        self.instructions += u64::from(pc < self.lengths[cell]);
    }
}
