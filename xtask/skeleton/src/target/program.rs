//! [`SkeletonProgram`]: a compiled program, with its files, runs and timing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use npukit_numeric::{ElementType, Tensor};
use npukit_target::{
    Activity, ArtifactFile, Breakdown, Chosen, Compiled, CountedMemory, Inputs, Layer, LayerWork, MacType,
    MachineOptions, MemoryClass, Output, Port, PortError, ProgramInfo, ProgramPart, ProgramReport,
    ProgramWords, RunOptions, RunResult, Saturations, Spent, Stage, TargetError, TimeOptions, TimeReport,
    UninitMemory,
};

use super::TARGET;
use super::floats::FloatMemory;
use super::instance::SkeletonInstance;
use super::machine::SkeletonMachine;
use crate::clock;
use crate::isa::codec::encode_program;
use crate::isa::op::Op;
use crate::machine::Machine;
use crate::machine::state::{FORMAT, fits};
use crate::program::{self, Binding, Program, artifact};

/// A compiled program.
pub struct SkeletonProgram {
    program: Program,
    /// Description of the program, computed on first use.
    info: OnceLock<ProgramInfo>,
}

/// Name of the cost model.
const MODEL: &str = "clock";
/// Bytes of a number in memory.
const NUMBER_BYTES: u64 = 2;

impl SkeletonProgram {
    pub const fn new(program: Program) -> Self {
        Self { program, info: OnceLock::new() }
    }

    /// Converts an input to numbers; also returns how many saturated.
    fn numbers(binding: &Binding, inputs: &Inputs) -> Result<(Vec<i16>, u64), PortError> {
        let values = values(binding, inputs)?;
        let saturated = values.iter().filter(|&&x| !fits(x)).count() as u64;
        Ok((values.iter().map(|&x| FORMAT.from_f32(x) as i16).collect(), saturated))
    }

    fn output(binding: &Binding, machine: &Machine) -> Result<Output, TargetError> {
        let count = binding.numbers().ok_or_else(|| outside(binding))?;
        let raw = machine.read(binding.address, count).map_err(TargetError::failed)?;
        let values = raw.iter().map(|&raw| FORMAT.to_f32(raw.into())).collect();
        let values = Tensor::from_f32(binding.shape.clone(), values).map_err(|_| outside(binding))?;
        Ok(Output { name: binding.name.clone(), values, raw: raw.into_iter().map(i32::from).collect() })
    }

    /// Creates a machine with the constants in its memory.
    fn loaded(&self, unset: UninitMemory) -> Result<Machine, TargetError> {
        let mut machine = Machine::new(&self.program.config, unset);
        for constant in &self.program.constants {
            machine.write(constant.address, &constant.numbers).map_err(TargetError::failed)?;
        }
        Ok(machine)
    }

    /// Returns the bytes of inputs and outputs, which the host copies.
    fn copied_bytes(&self) -> Option<u64> {
        let ports = self.program.inputs.iter().chain(&self.program.outputs);
        ports.map(|binding| Some(NUMBER_BYTES * u64::from(binding.numbers()?))).sum()
    }

    /// Returns the multiply-accumulates of each layer.
    fn macs(&self) -> Vec<u64> {
        let of_layer = |layer: &program::Layer| {
            let ops = &self.program.instructions[layer.first..layer.first + layer.count];
            ops.iter().map(macs).sum()
        };
        self.program.layers.iter().map(of_layer).collect()
    }

    /// Returns the multiply-accumulates and the bytes of the memory by layer.
    fn activity(&self) -> Activity {
        let program = &self.program;
        let size = NUMBER_BYTES * u64::from(program.config.memory_words);
        let memories = vec![CountedMemory::new("memory", MemoryClass::Sram, size)];
        let mut activity = Activity::new(MacType::Int16, memories, program.layers.len());
        for (index, op) in program.instructions.iter().enumerate() {
            let numbers = match *op {
                Op::End => break,
                Op::Add { n, .. } => 3 * u64::from(n),
                Op::Relu { n, .. } => 2 * u64::from(n),
                Op::Dot { n, .. } => 2 * u64::from(n) + 1,
            };
            activity.add(program.layer_of(index), macs(op), &[NUMBER_BYTES * numbers]);
        }
        activity
    }

    fn made_info(&self) -> ProgramInfo {
        let program = &self.program;
        let report = ProgramReport {
            name: program.name.clone(),
            target: format!("skeleton:{}", program.instance),
            instructions: program.instructions.len(),
            macs: Some(self.macs().iter().sum()),
            memory: BTreeMap::new(),
            host_steps: Vec::new(),
            layers: program.layers.iter().map(|layer| layer.name.clone()).collect(),
            choices: BTreeMap::new(),
            saturated_constants: Some(program.constants.iter().map(|constant| constant.saturated).sum()),
            warnings: Vec::new(),
        };
        let layer =
            |layer: &program::Layer| Layer { name: layer.name.clone(), results: vec![layer.result.clone()] };
        let ports = |all: &[Binding]| all.iter().map(port).collect();
        ProgramInfo {
            layers: program.layers.iter().map(layer).collect(),
            ..ProgramInfo::new(report, ports(&program.inputs), ports(&program.outputs))
                .with_copies(self.copied_bytes())
        }
    }
}

impl Compiled for SkeletonProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        artifact::write(&self.program).map_err(TargetError::failed)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let Program { instructions, layers, instance, config, .. } = &self.program;
        let bytes = encode_program(instructions).map_err(TargetError::failed)?;
        let layers = layers.iter().map(|layer| (layer.first, layer.name.clone())).collect();
        let instance = SkeletonInstance::new(instance, config.clone());
        let part = ProgramPart { bytes, layers, ..ProgramPart::default() };
        Ok(ProgramWords { instance: Box::new(instance), parts: vec![part] })
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let program = &self.program;
        let numbers = program.inputs.iter().map(|binding| Self::numbers(binding, inputs));
        let numbers = numbers.collect::<Result<Vec<_>, _>>().map_err(TargetError::failed)?;
        let mut machine = self.loaded(options.unset)?;
        options.repeat(|| {
            for (binding, (numbers, _)) in program.inputs.iter().zip(&numbers) {
                machine.write(binding.address, numbers).map_err(TargetError::failed)?;
            }
            let before = machine.saturated();
            machine.run(&program.instructions).map_err(TargetError::failed)?;
            let outputs = program.outputs.iter().map(|binding| Self::output(binding, &machine));
            let saturations = Saturations {
                inputs: numbers.iter().map(|(_, saturated)| saturated).sum(),
                results: machine.saturated() - before,
                layers: Vec::new(),
            };
            Ok(RunResult { outputs: outputs.collect::<Result<_, _>>()?, saturations, data: Vec::new() })
        })
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        let mut machine = self.loaded(UninitMemory::Zero)?;
        for binding in &self.program.inputs {
            let (numbers, _) = Self::numbers(binding, inputs).map_err(TargetError::failed)?;
            machine.write(binding.address, &numbers).map_err(TargetError::failed)?;
        }
        let floats = options.graph.map(|graph| FloatMemory::new(&self.program, graph, inputs));
        let floats = floats.transpose().map_err(TargetError::failed)?;
        Ok(Box::new(SkeletonMachine::new(&self.program, machine, floats, false)))
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        Chosen::new(TARGET, &[], Stage::Time, &options.options)?;
        let program = &self.program;
        let layers = program.layers.iter().zip(self.macs());
        let work: Vec<_> = layers.map(|(layer, macs)| LayerWork { name: &layer.name, macs }).collect();
        let costs = clock::run(&program.config, &program.instructions);
        let spent = costs.iter().zip(&program.instructions).enumerate().map(|(index, (cost, op))| Spent {
            layer: program.layer_of(index),
            kind: op.mnemonic(),
            vectors: cost.numbers,
            cycles: cost.cycles,
            compute: cost.numbers.div_ceil(program.config.lanes.into()),
            memory: [0, 0],
            span: None,
        });
        let spent: Vec<Spent> = spent.collect();
        let breakdown = Breakdown::new(&work, &spent, program.config.lanes.into());
        let activity = options.counts_activity.then(|| self.activity());
        let time = TimeReport {
            cycles: BTreeMap::from([(MODEL.to_owned(), breakdown.cycles())]),
            clock: MODEL.to_owned(),
            assumptions: vec!["instructions run one after the other".to_owned()],
            notes: vec!["one vector is one number".to_owned()],
            milliseconds: Some(breakdown.cycles() as f64 / (program.config.clock_mhz * 1e3)),
            clock_mhz: Some(program.config.clock_mhz),
            clock_source: Some("the configuration".to_owned()),
            macs_computed: breakdown.macs_computed(),
            utilization: breakdown.utilization(),
            roofline: breakdown.roofline(),
            layers: breakdown.layers(),
            kinds: breakdown.kinds(),
            instructions: breakdown.instructions(),
            ..TimeReport::default()
        };
        Ok(time.with_activity(activity))
    }
}

/// Multiply-accumulates of an instruction.
fn macs(op: &Op) -> u64 {
    match *op {
        Op::Dot { n, .. } => n.into(),
        Op::End | Op::Add { .. } | Op::Relu { .. } => 0,
    }
}

/// Returns the values of an input.
pub(super) fn values(binding: &Binding, inputs: &Inputs) -> Result<Vec<f32>, PortError> {
    let tensor = port(binding).tensor(inputs)?;
    let values = tensor.as_f32();
    let element = PortError::Element { name: binding.name.clone(), element: ElementType::F32 };
    values.map(<[f32]>::to_vec).ok_or(element)
}

fn port(binding: &Binding) -> Port {
    Port { name: binding.name.clone(), shape: binding.shape.clone(), vectors: None, element: None }
}

fn outside(binding: &Binding) -> TargetError {
    TargetError::failed(format!("output `{}` is not within the memory", binding.name))
}
