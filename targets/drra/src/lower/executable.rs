//! [`Executable`]: a plan with its kernels scheduled.

use std::collections::HashMap;

use thiserror::Error;

use super::calls::Call;
use super::column::{Column, columns};
use super::kernels::{Kernel, Operands};
use super::plan::Plan;
use crate::fabric::{Fabric, ROW_WORDS};
use crate::fault::Fault;
use crate::kernel;
use crate::lower::kernels::Kind;
use crate::machine::LoadError;
use crate::pasm::PasmErrors;

/// Elements that a value may have.
pub const MOST_ELEMENTS: usize = 1 << 28;

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
    /// A kernel of ours that is none.
    #[error("kernel {kernel} is no program: {error}\n{}", .error.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Kernel {
        /// Its name.
        kernel: String,
        /// What is wrong.
        error: Box<PasmErrors>,
    },
    /// A tensor that is too large.
    #[error("`{name}` has {elements} elements; at most {MOST_ELEMENTS} are kept")]
    Size {
        /// Its name.
        name: String,
        /// Its size.
        elements: usize,
    },
    /// The machine refuses a kernel.
    #[error("step `{step}`: {error}")]
    Load {
        /// The step.
        step: String,
        /// What is wrong.
        error: LoadError,
    },
    /// The machine stopped.
    #[error("step `{step}`: {fault}")]
    Fault {
        /// The step.
        step: String,
        /// Why.
        fault: Box<Fault>,
    },
}

impl Executable {
    /// Schedules the kernels of a plan, each once.
    pub fn new(fabric: &Fabric, plan: Plan) -> Result<Self, ExecuteError> {
        let columns = columns(fabric).unwrap_or_default();
        let (mut kernels, mut known): (Vec<Ready>, HashMap<Kernel, usize>) = (Vec::new(), HashMap::new());
        let mut calls = Vec::new();
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
        }
        Ok(Self { fabric: fabric.clone(), columns, plan, kernels, calls })
    }

    /// Cycles of each step, as its kernels were scheduled.
    pub fn cycles(&self) -> Vec<u64> {
        let of = |number: &usize| self.kernels.get(*number).map_or(0, Ready::cycles);
        self.calls.iter().map(|step| step.iter().flatten().map(|(_, number)| of(number)).sum()).collect()
    }
}

impl Ready {
    fn new(fabric: &Fabric, columns: &[Column], kernel: Kernel) -> Result<Self, ExecuteError> {
        let pasm = kernel.pasm(columns);
        let name = kernel.kind.name();
        let compiled = kernel::compile(fabric, &name, &pasm, 0);
        let compiled =
            compiled.map_err(|error| ExecuteError::Kernel { kernel: name, error: Box::new(error) })?;
        Ok(Self { kernel, pasm, compiled })
    }

    /// Cycles of a call.
    pub fn cycles(&self) -> u64 {
        self.compiled.cycles.and_then(|cycles| u64::try_from(cycles).ok()).unwrap_or(0)
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

    /// Whether two operands stream.
    pub const fn is_pair(&self) -> bool {
        matches!(&self.kind, Kind::Stream(stream) if matches!(stream.operands, Operands::Pair))
    }
}
