//! Compiles an [`Executable`]: a plan with its kernels scheduled.

use std::collections::HashMap;

use npukit_target::{Finding, Phase, UninitMemory};

use super::fit::unfit;
use crate::check::{ELSEWHERE, findings};
use crate::config::column::{Column, columns};
use crate::config::fabric::Fabric;
use crate::isa::pasm::kernel;
use crate::program::call::Call;
use crate::program::executable::{CallError, Executable, ExecuteError, Ready};
use crate::program::kernels::Kernel;
use crate::program::plan::Plan;

impl Executable {
    /// Schedules each kernel of a plan once.
    ///
    /// # Errors
    ///
    /// A kernel without a schedule, a kernel that the fabric's revision executes differently, or a
    /// call that faults.
    pub fn new(fabric: &Fabric, plan: Plan) -> Result<Self, ExecuteError> {
        // Default: a plan of driver steps only needs no columns.
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

    /// Runs every kernel once with zeros, to show that no word is read before it is written.
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
}

impl Ready {
    fn new(fabric: &Fabric, columns: &[Column], kernel: Kernel) -> Result<Self, ExecuteError> {
        let pasm = kernel.pasm(columns);
        let name = kernel.kind.name();
        let compiled = kernel::compile(fabric, &name, &pasm, 0);
        let compiled =
            compiled.map_err(|error| ExecuteError::Kernel { kernel: name, error: Box::new(error) })?;
        let ready = Self { kernel, pasm, compiled }.checked(fabric)?;
        tracing::debug!(kernel = ready.kernel.kind.name(), cycles = ready.cycles(), "kernel scheduled");
        Ok(ready)
    }

    /// Refuses kernels that the fabric's revision executes differently, and features that are
    /// untested on the released circuit.
    fn checked(self, fabric: &Fabric) -> Result<Self, ExecuteError> {
        let found = findings(fabric, &self.compiled.program, ELSEWHERE)
            .map_err(|error| CallError::Load(error.into()).of_step(&self.kernel.kind.name()))?;
        let wrong = found.into_iter().filter(Finding::is_error);
        let mut findings: Vec<String> = wrong.map(|finding| finding.message).collect();
        findings.extend(unfit(fabric, &self.compiled.program));
        if findings.is_empty() {
            return Ok(self);
        }
        let (kernel, revision) = (self.kernel.kind.name(), fabric.options.revision);
        Err(ExecuteError::Unfit { kernel, revision, findings })
    }

    /// Runs a call with zeros.
    fn prove(&self, fabric: &Fabric, call: &Call) -> Result<(), CallError> {
        let machine = self.watch(fabric, call, UninitMemory::Poison, &mut ())?;
        call.taken(&machine).map(|_| ()).map_err(CallError::from)
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
    use crate::lower::{lower, prepare};
    use crate::machine::fault::Fault;

    /// Every kernel that does nothing leaves unwritten words, and is refused.
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
}
