//! [`Executable`]: a plan with its kernels scheduled.

use std::collections::HashMap;

use npukit_target::{Finding, Phase, Unset};
use thiserror::Error;

use super::calls::Call;
use super::column::{Column, columns};
use super::fit::unfit;
use super::kernels::Kernel;
use super::plan::Plan;
use crate::check::findings;
use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::config::revision::Revision;
use crate::isa::pasm::PasmErrors;
use crate::isa::pasm::kernel;
use crate::lower::kernels::Kind;
use crate::machine::fault::Fault;
use crate::machine::{LoadError, Machine, Observer};

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
    /// What is wrong with the words.
    pub findings: Vec<Finding>,
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

impl Executable {
    /// Schedules the kernels of a plan, each once.
    ///
    /// # Errors
    ///
    /// A kernel without a schedule, or one that the fabric's revision computes otherwise; a call that faults.
    pub fn new(fabric: &Fabric, plan: Plan) -> Result<Self, ExecuteError> {
        // Default: a plan without calls, of driver's steps only, needs no columns.
        let columns = columns(fabric).unwrap_or_default();
        let (mut kernels, mut known): (Vec<Ready>, HashMap<Kernel, usize>) = (Vec::new(), HashMap::new());
        let mut calls = Vec::new();
        let phase = Phase::counting("schedule", plan.steps.len());
        for step in &plan.steps {
            let mut of_step = Vec::new();
            for task in &step.tasks {
                let mut of_task = Vec::new();
                for call in task.calls(fabric, &columns) {
                    let number = match known.get(&call.kernel) {
                        Some(&number) => number,
                        None => {
                            kernels.push(Ready::new(fabric, &columns, call.kernel.clone())?);
                            known.insert(call.kernel.clone(), kernels.len() - 1);
                            kernels.len() - 1
                        }
                    };
                    of_task.push((call, number));
                }
                of_step.push(of_task);
            }
            calls.push(of_step);
            phase.advance();
        }
        drop(phase);
        let executable = Self { fabric: fabric.clone(), columns, plan, kernels, calls };
        executable.prove()?;
        Ok(executable)
    }

    /// Runs every kernel once with zeros: no word is used that was not written before.
    fn prove(&self) -> Result<(), ExecuteError> {
        let phase = Phase::counting("prove kernels", self.plan.steps.len());
        let mut proven = vec![false; self.kernels.len()];
        for (step, calls) in self.plan.steps.iter().zip(&self.calls) {
            for (call, number) in calls.iter().flatten() {
                if !std::mem::replace(&mut proven[*number], true) {
                    let ready = &self.kernels[*number];
                    ready.prove(&self.fabric, call).map_err(|error| error.of_step(&step.name))?;
                }
            }
            phase.advance();
        }
        Ok(())
    }

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

impl Ready {
    fn new(fabric: &Fabric, columns: &[Column], kernel: Kernel) -> Result<Self, ExecuteError> {
        let pasm = kernel.pasm(columns);
        let name = kernel.kind.name();
        let compiled = kernel::compile(fabric, &name, &pasm, 0);
        let compiled =
            compiled.map_err(|error| ExecuteError::Kernel { kernel: name, error: Box::new(error) })?;
        let ready = Self::read(fabric, kernel, pasm, compiled)?.checked(fabric)?;
        tracing::debug!(kernel = ready.kernel.kind.name(), cycles = ready.cycles(), "kernel scheduled");
        Ok(ready)
    }

    /// A kernel with what is wrong with it.
    ///
    /// # Errors
    ///
    /// A program that does not decode.
    pub fn read(
        fabric: &Fabric,
        kernel: Kernel,
        pasm: String,
        compiled: kernel::Kernel,
    ) -> Result<Self, ExecuteError> {
        let findings = findings(fabric, &compiled.program, "a fabric with `+seed`");
        let findings =
            findings.map_err(|error| CallError::Load(error.into()).of_step(&kernel.kind.name()))?;
        Ok(Self { kernel, pasm, compiled, findings })
    }

    /// Refuses what the fabric's revision computes otherwise, and what is beyond what it has been seen to do.
    fn checked(self, fabric: &Fabric) -> Result<Self, ExecuteError> {
        let wrong = self.findings.iter().filter(|finding| finding.is_error());
        let mut findings: Vec<String> = wrong.map(|finding| finding.message.clone()).collect();
        findings.extend(unfit(fabric, &self.compiled.program));
        if findings.is_empty() {
            return Ok(self);
        }
        let (kernel, revision) = (self.kernel.kind.name(), fabric.options.revision);
        Err(ExecuteError::Unfit { kernel, revision, findings })
    }

    /// Runs a call with zeros.
    fn prove(&self, fabric: &Fabric, call: &Call) -> Result<(), CallError> {
        let machine = self.watch(fabric, call, Unset::Poison, &mut ())?;
        call.taken(&machine).map(|_| ()).map_err(CallError::from)
    }

    /// The same; tells `observer` what happens.
    fn watch(
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Binary, BinaryKind, MatMul};
    use npukit_graph::{Graph, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;
    use crate::config::preset;
    use crate::isa::op::DpuMode;
    use crate::lower::kernels::{Nest, Operands, Stream, Work};
    use crate::lower::{lower, prepare};

    /// A kernel that does nothing leaves words that nobody wrote, whichever it is.
    #[test]
    fn every_kernel_is_proven() {
        let mut graph = Graph::default();
        let inputs = ["x", "w", "b"]
            .map(|name| graph.add_input(name, ValueInfo { shape: vec![20, 20], element: ElementType::F32 }));
        let product = graph.add_node("product", MatMul.into(), inputs[..2].to_vec(), &["p"]).unwrap()[0];
        let add = Binary { kind: BinaryKind::Add };
        graph.outputs = graph.add_node("sum", add.into(), vec![product, inputs[2]], &["y"]).unwrap();
        let fabric = preset("3x1").unwrap();
        let executable =
            Executable::new(&fabric, lower(&fabric, &prepare(&graph).unwrap(), None).unwrap()).unwrap();
        for (step, calls) in executable.plan.steps.iter().zip(&executable.calls) {
            for (_, number) in calls.iter().flatten() {
                let mut idle = executable.clone();
                idle.kernels[*number].compiled.program = crate::Program::default();
                match idle.prove() {
                    Err(ExecuteError::Fault { step: found, fault }) => {
                        assert_eq!((&found, *fault), (&step.name, Fault::Output { row: 0 }));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

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
