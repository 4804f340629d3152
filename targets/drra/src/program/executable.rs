//! [`Executable`]: a plan with its kernels scheduled.

use npukit_target::Unset;
use thiserror::Error;

use crate::config::column::Column;
use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::config::revision::Revision;
use crate::isa::pasm::{PasmErrors, kernel};
use crate::machine::fault::Fault;
use crate::machine::{LoadError, Machine, Observer};
use crate::program::call::Call;
use crate::program::kernels::{Kernel, Kind};
use crate::program::plan::Plan;

/// Elements that a value may have.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// For each task of a step, its calls and the number of each one's program.
pub type StepCalls = Vec<Vec<(Call, usize)>>;

/// A plan whose kernels are programs.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The fabric.
    pub fabric: Fabric,
    /// The columns that compute.
    pub columns: Vec<Column>,
    /// What is done.
    pub plan: Plan,
    /// The programs.
    pub kernels: Vec<Ready>,
    /// Those of each step.
    pub calls: Vec<StepCalls>,
}

/// A kernel, scheduled.
#[derive(Clone, Debug)]
pub struct Ready {
    /// What it is.
    pub kernel: Kernel,
    /// As PASM.
    pub pasm: String,
    /// As words.
    pub compiled: kernel::Kernel,
}

/// Why a plan cannot be run.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// A kernel of the compiler that does not assemble: a defect of it.
    #[error("kernel {kernel} is no program: {error}\n{}", .error.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Kernel {
        /// Its name.
        kernel: String,
        /// What is wrong.
        error: Box<PasmErrors>,
    },
    /// A tensor that is too large.
    #[error("`{name}` has {elements} elements; at most {MAX_ELEMENTS} are kept")]
    Size {
        /// Its name.
        name: String,
        /// Its size.
        elements: usize,
    },
    /// Another number of inputs than the plan has.
    #[error("{given} inputs are given; there are {expected}")]
    Inputs {
        /// Inputs given.
        given: usize,
        /// Inputs of the plan.
        expected: usize,
    },
    /// An input of another size than the plan has.
    #[error("input `{name}` is given as {given} elements; it has {expected}")]
    Input {
        /// Its name.
        name: String,
        /// Elements given.
        given: usize,
        /// Elements it has.
        expected: usize,
    },
    /// The machine refuses a kernel.
    #[error("step `{step}`: {error}")]
    Load {
        /// The step.
        step: String,
        /// What is wrong.
        error: LoadError,
    },
    /// A kernel of the compiler that the fabric's revision computes otherwise: a defect of it.
    #[error("kernel {kernel} is not for the {} revision: {}", .revision.name(), .findings.join("; "))]
    Unfit {
        /// Its name.
        kernel: String,
        /// Of the fabric.
        revision: Revision,
        /// What is wrong.
        findings: Vec<String>,
    },
    /// The machine stopped.
    #[error("step `{step}`: {fault}")]
    Fault {
        /// The step.
        step: String,
        /// Why.
        fault: Box<Fault>,
    },
    /// A kernel that computes something else after other calls than it did at first.
    #[error("step `{step}`: kernel {kernel} computes something else after other calls than it did at first")]
    Left {
        /// The step.
        step: String,
        /// The kernel.
        kernel: usize,
    },
}

/// Why a call cannot be made.
#[derive(Debug, Error)]
pub enum CallError {
    /// The machine refuses it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine stopped.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A kernel that computes something else after other calls than it did at first: a defect of the compiler.
    #[error("kernel {kernel} computes something else after other calls than it did at first")]
    Left {
        /// Its number.
        kernel: usize,
    },
}

impl CallError {
    /// The same with the step.
    pub fn of_step(self, step: &str) -> ExecuteError {
        let step = step.to_owned();
        match self {
            Self::Load(error) => ExecuteError::Load { step, error },
            Self::Fault(fault) => ExecuteError::Fault { step, fault: Box::new(fault) },
            Self::Left { kernel } => ExecuteError::Left { step, kernel },
        }
    }
}

impl Kernel {
    /// Words that the dpu of a column works on.
    pub fn work(&self) -> u64 {
        let words = match &self.kind {
            Kind::Stream(stream) => stream.words.next_multiple_of(ROW_WORDS * stream.period.max(1)),
            Kind::Nest(nest) => nest.results.next_multiple_of(ROW_WORDS) * nest.period,
        };
        words as u64
    }

    /// Cycles after which a call is given up.
    pub fn limit(&self) -> u64 {
        2 * self.work() + 100_000
    }
}

impl Executable {
    /// Runs a call of a kernel with zeros and tells `observer` what happens.
    ///
    /// # Errors
    ///
    /// The machine refuses the kernel or faults on it.
    pub fn watch(
        &self,
        kernel: usize,
        call: &Call,
        observer: &mut impl Observer,
    ) -> Result<(), ExecuteError> {
        let Some(ready) = self.kernels.get(kernel) else { return Ok(()) };
        let ran = ready.watch(&self.fabric, call, Unset::Zero, observer);
        ran.map(|_| ()).map_err(|error| error.of_step(&ready.kernel.kind.name()))
    }

    /// The calls in order, each with the place of its step and the number of its kernel.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, usize, &Call)> {
        let steps = self.calls.iter().enumerate();
        steps
            .flat_map(|(step, calls)| calls.iter().flatten().map(move |(call, kernel)| (step, *kernel, call)))
    }

    /// Cycles of each step, as its kernels were scheduled.
    pub fn cycles(&self) -> Vec<u64> {
        let of = |number: usize| self.kernels[number].cycles();
        self.calls.iter().map(|step| step.iter().flatten().map(|(_, number)| of(*number)).sum()).collect()
    }
}

impl Ready {
    /// Runs a call with zeros; tells `observer` what happens.
    pub(crate) fn watch(
        &self,
        fabric: &Fabric,
        call: &Call,
        unset: Unset,
        observer: &mut impl Observer,
    ) -> Result<Machine, CallError> {
        let mut machine = Machine::new(fabric, &self.compiled.program)?;
        machine.unset(unset);
        let rows = call.input_rows();
        let rows = u32::try_from(rows).expect("rows of a call fit into the input buffer");
        let zeros = (0..rows).map(|row| (row, Default::default()));
        machine.set_input(&zeros.collect())?;
        machine.run(self.kernel.limit(), observer)?;
        Ok(machine)
    }

    /// Cycles of a call.
    pub fn cycles(&self) -> u64 {
        let cycles = self.compiled.cycles.expect("kernels have no raw instructions");
        u64::try_from(cycles).expect("a call takes cycles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::op::DpuMode;
    use crate::program::kernels::{Nest, Operands, Stream, Work};

    /// Whole rows of results are worked on; a call may take twice as long, and 100,000 cycles.
    #[test]
    fn a_call_is_given_up_long_after_its_work() {
        let work = Work::plain(DpuMode::Mac);
        let stream = Stream { work, operands: Operands::One, words: 60, period: 20, spare: 0 };
        let nest = Nest { work, words: [12, 16], levels: [vec![], vec![]], results: 12, period: 4 };
        for (kind, words) in [(Kind::Stream(stream), 320), (Kind::Nest(nest), 64)] {
            let kernel = Kernel { kind, bases: Vec::new() };
            assert_eq!((kernel.work(), kernel.limit()), (words, 100_000 + 2 * words));
        }
    }
}
