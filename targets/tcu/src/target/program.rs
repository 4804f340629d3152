//! [`TcuProgram`]: a program to write, run and time.

mod breakdown;
mod export;
mod meaning;
mod settings;
mod tensors;
mod time;
mod timeline;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

use npukit_numeric::Tensor;
use npukit_target::{
    ArtifactFile, Compiled, Finding, HostStepReport, Inputs, Layer, MemoryReport, Port, ProgramReport,
    RunOptions, RunResult, Saturation, Saturations, TargetError, TimeOptions, TimeReport,
};

use meaning::Differences;

use crate::program::{Binding, HostStep, MemoryUse, Program};
use crate::run::{Driver, RunOutcome};
use crate::{artifact, csv, lower};

/// A program and where it came from.
pub(super) struct TcuProgram {
    program: Program,
    /// Name of the instance, when it has one.
    board: Option<String>,
    /// What the compiler chose.
    choices: BTreeMap<String, String>,
    saturated_constants: Option<u64>,
    /// The values of the graph that each layer saves; empty for a program read from files.
    results: Vec<Vec<String>>,
    /// Where hardware can compute something else, once somebody has asked.
    differences: OnceLock<Differences>,
}

/// What the C driver takes at most (specification 6.2).
const DRIVER_PORTS: usize = 4;
const DRIVER_NAME: usize = 256;
/// Vectors at the end of DRAM0 that drivers keep for themselves (specification 6.4).
const DRIVER_PROBE: u64 = 2;

impl TcuProgram {
    /// A program read from files.
    pub fn loaded(program: Program, board: Option<String>) -> Self {
        let (choices, results) = (BTreeMap::new(), Vec::new());
        Self { program, board, choices, saturated_constants: None, results, differences: OnceLock::new() }
    }

    /// A program just made.
    pub fn compiled(compiled: lower::Compiled, board: String) -> Self {
        let choices = BTreeMap::from([("strategy".to_owned(), compiled.strategy.name().to_owned())]);
        let saturated_constants = Some(compiled.saturated_constants);
        let lower::Compiled { program, results, .. } = compiled;
        Self {
            program,
            board: Some(board),
            choices,
            saturated_constants,
            results,
            differences: OnceLock::new(),
        }
    }

    fn target(&self) -> String {
        let n = self.program.config.array_size;
        self.board.as_ref().map_or_else(|| format!("tcu:{n}x{n}"), |board| format!("tcu:{board}"))
    }

    fn memory(&self) -> BTreeMap<String, MemoryReport> {
        let (config, used) = (&self.program.config, &self.program.memory);
        if *used == MemoryUse::default() {
            return BTreeMap::new();
        }
        [
            ("dram0", used.dram0, config.dram0_depth),
            ("dram1", used.dram1, config.dram1_depth),
            ("local", used.local, config.local_depth),
            ("accumulators", used.accumulators, config.accumulator_depth),
        ]
        .into_iter()
        .map(|(name, used, depth)| {
            (name.to_owned(), MemoryReport { maximum: used.maximum, aggregate: used.aggregate, depth })
        })
        .collect()
    }

    fn macs(&self) -> Option<u64> {
        let layers = &self.program.layers;
        (!layers.is_empty()).then(|| layers.iter().map(|layer| layer.macs).sum())
    }

    /// Limits of the C driver that this program passes.
    fn warnings(&self) -> Vec<String> {
        let Program { inputs, outputs, name, .. } = &self.program;
        let too_many = |what: &str, ports: &[Binding]| {
            let pieces: usize = ports.iter().map(|binding| binding.pieces.len()).sum();
            (pieces > DRIVER_PORTS)
                .then(|| format!("{pieces} entries of {what}: the C driver takes at most {DRIVER_PORTS}"))
        };
        let names = inputs.iter().chain(outputs).map(|binding| &binding.name).chain([name]);
        let long = names.filter(|name| name.len() > DRIVER_NAME);
        let long = long.map(|name| format!("name `{name}`: the C driver takes {DRIVER_NAME} characters"));
        let ports = too_many("inputs", inputs).into_iter().chain(too_many("outputs", outputs));
        ports.chain(long).chain(self.probe_warning()).collect()
    }

    /// Drivers see the end of a program by two vectors at the end of DRAM0 (specification 6.4).
    fn probe_warning(&self) -> Option<String> {
        let (used, depth) = (self.program.memory.dram0.maximum, self.program.config.dram0_depth);
        (used > depth.saturating_sub(DRIVER_PROBE)).then(|| {
            format!("{used} of {depth} vectors of DRAM0 are used: drivers need the last {DRIVER_PROBE}")
        })
    }
}

impl Compiled for TcuProgram {
    fn report(&self) -> ProgramReport {
        let step = |step: &HostStep| HostStepReport {
            node: step.node.clone(),
            op: step.op.name().to_owned(),
            output: step.output.clone(),
            reason: step.reason.clone(),
        };
        ProgramReport {
            name: self.program.name.clone(),
            target: self.target(),
            instructions: self.program.instructions.len(),
            macs: self.macs(),
            memory: self.memory(),
            host_steps: self.program.host_steps.iter().map(step).collect(),
            layers: self.program.layers.iter().map(|layer| layer.name.clone()).collect(),
            choices: self.choices.clone(),
            saturated_constants: self.saturated_constants,
            warnings: self.warnings(),
        }
    }

    fn inputs(&self) -> Vec<Port> {
        self.program.inputs.iter().map(|binding| self.port(binding)).collect()
    }

    fn outputs(&self) -> Vec<Port> {
        self.program.outputs.iter().map(|binding| self.port(binding)).collect()
    }

    fn layers(&self) -> Vec<Layer> {
        let layers = self.program.layers.iter().zip(&self.results);
        layers.map(|(layer, results)| Layer { name: layer.name.clone(), results: results.clone() }).collect()
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        artifact::write(&self.program).map_err(TargetError::failed)
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let lost = self.lost(options.meaning)?;
        let packed = self.program.inputs.iter().map(|binding| self.pack(binding, inputs));
        let packed = packed.collect::<Result<Vec<_>, _>>().map_err(TargetError::failed)?;
        let saturated_inputs = packed.iter().map(|input| input.saturated).sum();
        let raw: Vec<Vec<i32>> = packed.into_iter().map(|input| input.raw).collect();
        let mut driver = Driver::new(&self.program, options.unset, &lost).map_err(TargetError::failed)?;
        options.repeat(|| {
            let finished = driver.run(&raw).map_err(TargetError::failed)?;
            let outputs = self.program.outputs.iter().map(|binding| self.output(binding, finished));
            Ok(RunResult {
                outputs: outputs.collect::<Result<_, _>>()?,
                saturations: counts(finished, saturated_inputs),
            })
        })
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Ok(self.findings())
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        self.time_report(options)
    }

    fn time_samples(
        &self,
        name: &str,
        bytes: &[u8],
        options: &TimeOptions,
    ) -> Result<TimeReport, TargetError> {
        self.samples_report(name, bytes, options)
    }

    fn samples(&self, options: &TimeOptions, out: &mut dyn Write) -> Result<(), TargetError> {
        self.write_samples(options, out)
    }

    fn trace(&self, options: &TimeOptions, out: &mut dyn Write) -> Result<(), TargetError> {
        self.write_trace(options, out)
    }

    fn to_model(&self, port: &str, sample: &Tensor) -> Option<Tensor> {
        self.unpacked(port, sample)
    }

    fn read_text(&self, name: &str, bytes: &[u8]) -> Result<Tensor, TargetError> {
        csv::read(name, bytes, self.lanes()).map_err(TargetError::failed)
    }
}

fn counts(finished: &RunOutcome, inputs: u64) -> Saturations {
    let layer = |(name, counted): &(String, npukit_numeric::Saturations)| Saturation {
        layer: name.clone(),
        count: counted.count(),
    };
    let layers = finished.saturations.iter().map(layer).filter(|layer| layer.count > 0).collect();
    Saturations { inputs, results: finished.saturated(), layers }
}
