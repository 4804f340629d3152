//! [`Executable`]: a plan with its kernels scheduled.

use npukit_target::UninitMemory;
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

/// Maximum number of elements of a value.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// Calls of each task of a step, with the index of each call's program.
pub type StepCalls = Vec<Vec<(Call, usize)>>;

/// Plan with a program for each kernel.
#[derive(Clone, Debug)]
pub struct Executable {
    /// Fabric of the executable.
    pub fabric: Fabric,
    /// Columns that compute.
    pub columns: Vec<Column>,
    /// Plan of the model.
    pub plan: Plan,
    /// Programs of the kernels.
    pub kernels: Vec<Ready>,
    /// Calls of each step.
    pub calls: Vec<StepCalls>,
}

/// Scheduled kernel.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Kernel with its size.
    pub kernel: Kernel,
    /// Kernel as PASM.
    pub pasm: String,
    /// Kernel as words.
    pub compiled: kernel::Kernel,
}

/// Reason why a plan cannot be run.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// A generated kernel does not assemble, which is a defect of the compiler.
    #[error("kernel {kernel} does not assemble: {error}\n{}", .error.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// Errors of the PASM text.
        error: Box<PasmErrors>,
    },
    /// A tensor is too large.
    #[error("`{name}` has {elements} elements; at most {MAX_ELEMENTS} are supported")]
    Size {
        /// Name of the tensor.
        name: String,
        /// Number of elements.
        elements: usize,
    },
    /// The number of inputs differs from the plan.
    #[error("{given} inputs are given; the plan has {expected}")]
    Inputs {
        /// Number of inputs given.
        given: usize,
        /// Number of inputs of the plan.
        expected: usize,
    },
    /// The size of an input differs from the plan.
    #[error("input `{name}` has {given} elements; the plan needs {expected}")]
    Input {
        /// Name of the input.
        name: String,
        /// Number of elements given.
        given: usize,
        /// Number of elements in the plan.
        expected: usize,
    },
    /// The machine refuses a kernel.
    #[error("step `{step}`: {error}")]
    Load {
        /// Name of the step.
        step: String,
        /// Reason.
        error: LoadError,
    },
    /// The fabric's revision executes a generated kernel differently, which is a defect of the
    /// compiler.
    #[error("kernel {kernel} is unsuitable for the {} revision: {}", .revision.name(), .findings.join("; "))]
    Unfit {
        /// Name of the kernel.
        kernel: String,
        /// Revision of the fabric.
        revision: Revision,
        /// Findings.
        findings: Vec<String>,
    },
    /// The machine stopped.
    #[error("step `{step}`: {fault}")]
    Fault {
        /// Name of the step.
        step: String,
        /// Reason.
        fault: Box<Fault>,
    },
    /// The result of a kernel depends on earlier calls.
    #[error("step `{step}`: the result of kernel {kernel} depends on earlier calls")]
    Left {
        /// Name of the step.
        step: String,
        /// Index of the kernel.
        kernel: usize,
    },
}

/// Reason why a call fails.
#[derive(Debug, Error)]
pub enum CallError {
    /// The machine refuses the kernel.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine stopped.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The result of a kernel depends on earlier calls, which is a defect of the compiler.
    #[error("the result of kernel {kernel} depends on earlier calls")]
    Left {
        /// Index of the kernel.
        kernel: usize,
    },
}

impl CallError {
    /// Adds the name of the step.
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
    /// Number of words that the dpu of a column processes.
    pub fn work(&self) -> u64 {
        let words = match &self.kind {
            Kind::Stream(stream) => stream.words.next_multiple_of(ROW_WORDS * stream.period.max(1)),
            Kind::Nest(nest) => nest.results.next_multiple_of(ROW_WORDS) * nest.period,
        };
        words as u64
    }

    /// Cycles after which a call is aborted.
    pub fn limit(&self) -> u64 {
        2 * self.work() + 100_000
    }
}

impl Executable {
    /// Runs a call of a kernel with zeros, and reports events to `observer`.
    ///
    /// # Errors
    ///
    /// The machine refuses the kernel or faults.
    pub fn watch(
        &self,
        kernel: usize,
        call: &Call,
        observer: &mut impl Observer,
    ) -> Result<(), ExecuteError> {
        let Some(ready) = self.kernels.get(kernel) else { return Ok(()) };
        let ran = ready.watch(&self.fabric, call, UninitMemory::Zero, observer);
        ran.map(|_| ()).map_err(|error| error.of_step(&ready.kernel.kind.name()))
    }

    /// Returns the calls in order, each with the index of its step and the index of its kernel.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, usize, &Call)> {
        let steps = self.calls.iter().enumerate();
        steps
            .flat_map(|(step, calls)| calls.iter().flatten().map(move |(call, kernel)| (step, *kernel, call)))
    }

    /// Cycles of each step, according to the schedules of its kernels.
    pub fn cycles(&self) -> Vec<u64> {
        let of = |number: usize| self.kernels[number].cycles();
        self.calls.iter().map(|step| step.iter().flatten().map(|(_, number)| of(*number)).sum()).collect()
    }
}

impl Ready {
    /// Runs a call with zeros, and reports events to `observer`.
    pub(crate) fn watch(
        &self,
        fabric: &Fabric,
        call: &Call,
        unset: UninitMemory,
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

    /// The limit is 100,000 cycles plus twice the work, which covers whole rows of results.
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
