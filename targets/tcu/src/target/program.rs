//! [`TcuProgram`]: a program to write, run and time.

use std::collections::BTreeMap;

use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{
    ArtifactFile, Compiled, HostStepReport, Inputs, KindTime, LayerTime, MemoryReport, Output, Port,
    PortError, ProgramReport, RunResult, Saturation, Saturations, TargetError, TimeReport,
};

use crate::artifact::{self, Packed, quantise};
use crate::board;
use crate::csv;
use crate::lower;
use crate::program::{Binding, HostOp, MemoryUse, Program};
use crate::run::{Finished, run};
use crate::timing::{Cost, Estimate, estimate, estimate_layers};

/// A program and where it came from.
pub(super) struct TcuProgram {
    program: Program,
    /// Name of the instance, when it has one.
    board: Option<String>,
    /// What the compiler chose.
    choices: BTreeMap<String, String>,
    saturated_constants: Option<u64>,
}

/// The published estimator, and it as upstream prints it.
const ESTIMATOR: &str = "estimator";
const ESTIMATOR_UNDRAINED: &str = "estimator_undrained";

/// What the C driver takes at most (specification 6.2).
const DRIVER_PORTS: usize = 4;
const DRIVER_NAME: usize = 256;
/// Vectors at the end of DRAM0 that drivers keep for themselves (specification 6.4).
const DRIVER_PROBE: u64 = 2;

impl TcuProgram {
    /// A program read from files.
    pub fn loaded(program: Program, board: Option<String>) -> Self {
        Self { program, board, choices: BTreeMap::new(), saturated_constants: None }
    }

    /// A program just made.
    pub fn compiled(compiled: lower::Compiled, board: String) -> Self {
        let choices = BTreeMap::from([("strategy".to_owned(), compiled.strategy.name().to_owned())]);
        let saturated_constants = Some(compiled.saturated_constants);
        Self { program: compiled.program, board: Some(board), choices, saturated_constants }
    }

    fn target(&self) -> String {
        let n = self.program.config.array_size;
        self.board.as_ref().map_or_else(|| format!("tcu:{n}x{n}"), |board| format!("tcu:{board}"))
    }

    fn lanes(&self) -> usize {
        self.program.config.array_size
    }

    fn format(&self) -> NumberFormat {
        self.program.config.data_type.format()
    }

    fn port(&self, binding: &Binding) -> Port {
        let vectors = [vectors(binding), self.lanes()];
        let shape = binding.layout.as_ref().map_or(vectors.to_vec(), |layout| layout.model_shape.clone());
        Port { name: binding.name.clone(), shape, vectors: Some(vectors) }
    }

    /// The raw vectors of an input, in the model's shape or as vectors.
    fn pack(&self, binding: &Binding, inputs: &Inputs) -> Result<Packed, PortError> {
        let port = self.port(binding);
        let Some((_, tensor)) = inputs.iter().find(|(name, _)| *name == binding.name) else {
            return Err(PortError::Missing { name: port.name, shape: port.shape });
        };
        let samples = port.split(tensor)?;
        let [sample] = &samples[..] else {
            return Err(PortError::Samples { name: port.name, actual: samples.len(), expected: 1 });
        };
        let values = sample.as_f32().unwrap_or_default();
        let Packed { raw, saturated } = quantise(self.format(), values);
        let packed = match &binding.layout {
            Some(layout) if sample.shape() == layout.model_shape => layout.pack(&raw, self.lanes()),
            _ => Some(raw),
        };
        match packed {
            Some(raw) => Ok(Packed { raw, saturated }),
            None => Err(PortError::Shape {
                name: port.name,
                actual: tensor.shape().to_vec(),
                shape: port.shape,
                vectors: port.vectors,
            }),
        }
    }

    fn output(&self, binding: &Binding, finished: &Finished) -> Result<Output, TargetError> {
        let vectors = finished.output(binding).map_err(TargetError::failed)?;
        let raw = match &binding.layout {
            Some(layout) => layout.unpack(&vectors, self.lanes()).unwrap_or(vectors),
            None => vectors,
        };
        let shape = self.port(binding).shape;
        let mut values: Vec<f32> = raw.iter().map(|&raw| self.format().raw_to_f32(raw)).collect();
        for step in self.program.host_steps.iter().filter(|step| step.output == binding.name) {
            match step.op {
                HostOp::Softmax => softmax(&mut values, shape.last().copied().unwrap_or(1)),
            }
        }
        let values = Tensor::from_f32(shape, values).map_err(|values| {
            TargetError::failed(format!("output `{}` has {} values", binding.name, values.len()))
        })?;
        Ok(Output { name: binding.name.clone(), values, raw })
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

    /// Share of the array's multiplications that `macs` are.
    fn utilisation(&self, macs: u64, cycles: u64) -> f64 {
        let n = self.lanes() as f64;
        ratio(macs as f64, n * n * cycles as f64)
    }

    fn layer_times(&self, total: u64) -> Vec<LayerTime> {
        let Program { config, instructions, layers, .. } = &self.program;
        let costs = estimate_layers(config, instructions, layers);
        let time = |(layer, cost): (&crate::program::Layer, Cost)| LayerTime {
            name: layer.name.clone(),
            instructions: layer.count,
            cycles: cost.cycles,
            share: ratio(cost.cycles as f64, total as f64),
            macs: layer.macs,
            utilisation: self.utilisation(layer.macs, cost.cycles),
        };
        layers.iter().zip(costs).map(time).collect()
    }
}

impl Compiled for TcuProgram {
    fn report(&self) -> ProgramReport {
        let step = |step: &crate::program::HostStep| HostStepReport {
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

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        artifact::write(&self.program).map_err(TargetError::failed)
    }

    fn run(&self, inputs: &Inputs) -> Result<RunResult, TargetError> {
        let packed = self.program.inputs.iter().map(|binding| self.pack(binding, inputs));
        let packed = packed.collect::<Result<Vec<_>, _>>().map_err(TargetError::failed)?;
        let saturated_inputs = packed.iter().map(|input| input.saturated).sum();
        let raw: Vec<Vec<i32>> = packed.into_iter().map(|input| input.raw).collect();
        let finished = run(&self.program, &raw).map_err(TargetError::failed)?;
        let outputs = self.program.outputs.iter().map(|binding| self.output(binding, &finished));
        Ok(RunResult {
            outputs: outputs.collect::<Result<_, _>>()?,
            saturations: counts(&finished, saturated_inputs),
        })
    }

    fn time(&self) -> Result<TimeReport, TargetError> {
        let Program { config, instructions, .. } = &self.program;
        let Estimate { cycles, undrained, energy, kinds } = estimate(config, instructions);
        let clock = self.board.as_deref().and_then(board::clock);
        let multiplied: u64 =
            kinds.iter().filter(|(kind, _)| kind.starts_with("MatMul")).map(|(_, cost)| cost.vectors).sum();
        Ok(TimeReport {
            cycles: BTreeMap::from([
                (ESTIMATOR.to_owned(), cycles),
                (ESTIMATOR_UNDRAINED.to_owned(), undrained),
            ]),
            model: ESTIMATOR.to_owned(),
            milliseconds: clock.map(|clock| cycles as f64 / (clock.mhz * 1e3)),
            clock_mhz: clock.map(|clock| clock.mhz),
            clock_source: clock.map(|clock| clock.source.to_owned()),
            utilisation: self.macs().map(|macs| self.utilisation(macs, cycles)),
            array_busy: ratio(multiplied as f64, cycles as f64),
            energy,
            layers: self.layer_times(cycles),
            kinds: kinds.into_iter().map(kind_time).collect(),
        })
    }

    fn to_model(&self, port: &str, sample: &Tensor) -> Option<Tensor> {
        let layout = self.program.inputs.iter().find(|binding| binding.name == port)?.layout.as_ref()?;
        if sample.shape() == layout.model_shape {
            return None;
        }
        // Layouts move 32-bit values about; what the bits mean is no matter.
        let bits: Vec<i32> = sample.as_f32()?.iter().map(|value| value.to_bits() as i32).collect();
        let values = layout.unpack(&bits, self.lanes())?.into_iter().map(|bits| f32::from_bits(bits as u32));
        Tensor::from_f32(layout.model_shape.clone(), values.collect()).ok()
    }

    fn read_text(&self, name: &str, bytes: &[u8]) -> Result<Tensor, TargetError> {
        csv::read(name, bytes, self.lanes()).map_err(TargetError::failed)
    }
}

fn vectors(binding: &Binding) -> usize {
    binding.pieces.iter().fold(0, |sum: usize, piece| sum.saturating_add(piece.size as usize))
}

fn kind_time((kind, cost): (&'static str, Cost)) -> KindTime {
    KindTime {
        kind: kind.to_owned(),
        instructions: cost.instructions,
        vectors: cost.vectors,
        cycles: cost.cycles,
    }
}

fn counts(finished: &Finished, inputs: u64) -> Saturations {
    let layer = |(name, counted): &(String, npukit_numeric::Saturations)| Saturation {
        layer: name.clone(),
        count: counted.count(),
    };
    let layers = finished.saturations.iter().map(layer).filter(|layer| layer.count > 0).collect();
    Saturations { inputs, results: finished.saturated(), layers }
}

/// A share; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Softmax over rows of `size` values, the largest subtracted first.
fn softmax(values: &mut [f32], size: usize) {
    for row in values.chunks_mut(size.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter_mut().for_each(|value| *value = (*value - largest).exp());
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}
