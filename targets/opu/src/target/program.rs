//! [`OpuProgram`]: a program that can be written and run.

use std::sync::OnceLock;

use npukit_graph::Graph;
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{
    ArtifactFile, BoundedProgram, Compiled, DriverData, FieldProgram, Finding, HostStepReport, Inputs, Layer,
    Machine, MachineOptions, OUTSIDE, Output, Placed, PlacedKind, Port, PortError, PortPlace, ProgramInfo,
    ProgramPart, ProgramReport, ProgramWords, RunOptions, RunResult, Saturation, Saturations, StepLayers,
    TargetError, TimeOptions, TimeReport, UninitMemory, as_element,
};
use npukit_trace::{MemoryMap, Recorder};

use super::bounds::OpuBounds;
use super::field::OpuField;
use super::machine::{FloatShadow, OpuMachine, Stepped};
use super::time;
use crate::check;
use crate::config::Types;
use crate::isa::codec::encode_program;
use crate::isa::op::Op;
use crate::program::run::Board;
use crate::program::tensor::Packed;
use crate::program::usage::usage;
use crate::program::{Binding, Program, artifact};
use crate::target::OpuInstance;

/// Program with information from the compiler.
pub(crate) struct OpuProgram {
    /// Program as compiled or read.
    pub program: Program,
    /// Origin of the program.
    pub made: ProgramOrigin,
    /// Information about the program, computed on first use.
    info: OnceLock<ProgramInfo>,
}

/// Origin of a program, with the information that depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramOrigin {
    /// Made by the compiler.
    Compiled {
        /// Number of constants that saturated.
        saturated_constants: u64,
    },
    /// Read from files.
    Read,
    /// Written as assembly, with arbitrary use of memory.
    Assembly,
}

impl ProgramOrigin {
    const fn saturated_constants(self) -> Option<u64> {
        match self {
            Self::Compiled { saturated_constants } => Some(saturated_constants),
            Self::Read | Self::Assembly => None,
        }
    }
}

impl OpuProgram {
    pub const fn new(program: Program, made: ProgramOrigin) -> Self {
        Self { program, made, info: OnceLock::new() }
    }

    fn port(binding: &Binding) -> Port {
        Port { name: binding.name.clone(), shape: binding.shape.clone(), vectors: None, element: None }
    }

    /// Returns the raw values of an input's map.
    fn pack(&self, binding: &Binding, inputs: &Inputs) -> Result<Packed, PortError> {
        Ok(binding.pack(self.program.config.types.itype, &Self::values(binding, inputs)?))
    }

    /// Returns an input's map in units of ITYPE, without rounding.
    fn exact_map(binding: &Binding, inputs: &Inputs) -> Result<Vec<f64>, PortError> {
        let (values, scale) = (Self::values(binding, inputs)?, f64::from(binding.fraction).exp2());
        let ordered = binding.order().into_iter().map(|place| f64::from(values[place]) * scale);
        Ok(binding.patched(ordered.collect()))
    }

    /// Returns the values of an input, in the model's order.
    fn values(binding: &Binding, inputs: &Inputs) -> Result<Vec<f32>, PortError> {
        let port = Self::port(binding);
        let Some((_, tensor)) = inputs.iter().find(|(name, _)| *name == binding.name) else {
            return Err(PortError::Missing { name: port.name, shape: port.shape });
        };
        let samples = port.split(tensor)?;
        let [sample] = &samples[..] else {
            return Err(PortError::Samples { name: port.name, actual: samples.len(), expected: 1 });
        };
        let sample = as_element(sample, ElementType::F32);
        let values = sample.as_f32().map(<[f32]>::to_vec);
        values.ok_or(PortError::Element { name: port.name, element: ElementType::F32 })
    }

    /// Returns the maps of all inputs in the program's order, and the number of their values that
    /// saturated.
    fn maps(&self, inputs: &Inputs) -> Result<(Vec<Vec<i32>>, u64), TargetError> {
        let packed = self.program.inputs.iter().map(|binding| self.pack(binding, inputs));
        let packed = packed.collect::<Result<Vec<Packed>, _>>().map_err(TargetError::failed)?;
        let saturated = packed.iter().map(|input| input.saturated).sum();
        Ok((packed.into_iter().map(|input| input.raw).collect(), saturated))
    }

    /// Returns the result of a run.
    fn result(&self, board: &Board<'_>, saturations: Saturations) -> Result<RunResult, TargetError> {
        let outputs = self.program.outputs.iter().map(|binding| self.output(binding, board));
        Ok(RunResult { outputs: outputs.collect::<Result<_, _>>()?, saturations, data: Vec::new() })
    }

    /// Returns the data of a run from the view of a driver: the maps of its inputs, and its
    /// outputs.
    fn data(&self, maps: &[Vec<i32>], board: &Board<'_>) -> Result<Vec<DriverData>, TargetError> {
        let mut data: Vec<DriverData> = Vec::new();
        for (place, map) in maps.iter().enumerate() {
            data.push(self.image(PortPlace::Input(place), map));
        }
        for (place, binding) in self.program.outputs.iter().enumerate() {
            let map = board.output(binding).map_err(TargetError::failed)?;
            data.push(self.image(PortPlace::Output(place), &map));
        }
        Ok(data)
    }

    /// Returns a map's elements row by row, channels last, as the bytes of its planes in memory.
    fn image(&self, place: PortPlace, map: &[i32]) -> DriverData {
        let size = self.program.config.types.itype.size_bytes() as usize;
        let bytes = map.iter().flat_map(|raw| raw.to_le_bytes().into_iter().take(size)).collect();
        DriverData { place, extension: "image", bytes, is_before_host: self.has_host_steps(place) }
    }

    /// Whether the host has steps for an output.
    fn has_host_steps(&self, place: PortPlace) -> bool {
        let PortPlace::Output(place) = place else { return false };
        let name = self.program.outputs.get(place).map(|binding| &binding.name);
        self.program.host_steps.iter().any(|step| Some(&step.output) == name)
    }

    /// Returns an output in the model's shape, after the steps of the host.
    fn output(&self, binding: &Binding, board: &Board<'_>) -> Result<Output, TargetError> {
        let itype = self.program.config.types.itype;
        let raw = binding.unpack(&board.output(binding).map_err(TargetError::failed)?);
        let values = raw.iter().map(|&raw| binding.value(itype, raw)).collect();
        let mut values = Tensor::from_f32(binding.shape.clone(), values).map_err(|values| {
            TargetError::failed(format!("output `{}` has {} values", binding.name, values.len()))
        })?;
        for step in self.program.host_steps.iter().filter(|step| step.output == binding.name) {
            values = step.op.apply(&values).map_err(TargetError::failed)?;
        }
        Ok(Output { name: binding.name.clone(), values, raw })
    }

    fn saturations(&self, inputs: u64, saturated: &[u64]) -> Saturations {
        let names = self.program.layers.iter().map(|layer| layer.name.as_str()).chain([OUTSIDE]);
        let layers = names.zip(saturated).filter(|&(_, &count)| count > 0);
        let layers: Vec<Saturation> =
            layers.map(|(name, &count)| Saturation { layer: name.to_owned(), count }).collect();
        Saturations { inputs, results: layers.iter().map(|layer| layer.count).sum(), layers }
    }

    /// Returns the program as the debugger sees it.
    fn stepped(&self) -> Stepped {
        let Program { name, instance, config, instructions, layers, .. } = &self.program;
        let end = instructions.iter().position(|op| *op == Op::End).map_or(instructions.len(), |end| end + 1);
        let mut stepped =
            Stepped::new((name.clone(), format!("opu:{instance}")), config, instructions[..end].to_vec());
        let names = layers.iter().map(|layer| layer.name.clone()).collect();
        stepped.outline.layers = StepLayers { names, of: self.program.layer_of_each() };
        stepped.outline.placed = self.placed(&stepped);
        stepped
    }

    /// Returns the locations of inputs, outputs and constants, in all parts that contain them.
    fn placed(&self, stepped: &Stepped) -> Vec<Placed> {
        let Program { inputs, outputs, segments, config, .. } = &self.program;
        let size = config.types.itype.size_bytes();
        let of = |name: &str, kind, (first, end): (u64, u64)| {
            let name = name.to_owned();
            stepped
                .views(first, end)
                .map(move |run| Placed { name: name.clone(), kind, run })
                .collect::<Vec<_>>()
        };
        let map = |binding: &Binding, kind| {
            let runs =
                binding.planes.runs(size).map(|(at, group)| (at, at + u64::from(group.channels * size)));
            let extent = runs.reduce(|(first, end), (at, to)| (first.min(at), end.max(to)));
            extent.map_or_else(Vec::new, |extent| of(&binding.name, kind, extent))
        };
        let mut all: Vec<Placed> =
            inputs.iter().flat_map(|binding| map(binding, PlacedKind::Input)).collect();
        all.extend(outputs.iter().flat_map(|binding| map(binding, PlacedKind::Output)));
        for segment in segments {
            let first = u64::from(segment.address);
            all.extend(of("constants", PlacedKind::Constant, (first, first + segment.bytes.len() as u64)));
        }
        all
    }

    /// Returns the bytes of inputs and outputs in memory; `None` for a program that declares none.
    fn copied_bytes(&self) -> Option<u64> {
        let Program { inputs, outputs, config, .. } = &self.program;
        let size = config.types.itype.size_bytes();
        let runs = inputs.iter().chain(outputs).flat_map(|binding| binding.planes.runs(size));
        runs.map(|(_, group)| u64::from(group.channels * size)).reduce(u64::saturating_add)
    }

    fn made_info(&self) -> ProgramInfo {
        let program = &self.program;
        let layers = &program.layers;
        let report = ProgramReport {
            name: program.name.clone(),
            target: format!("opu:{}", program.instance),
            instructions: program.instructions.len(),
            macs: (!layers.is_empty()).then(|| layers.iter().map(|layer| layer.macs).sum()),
            memory: usage(program),
            host_steps: program.host_steps.iter().map(HostStepReport::from).collect(),
            layers: layers.iter().map(|layer| layer.name.clone()).collect(),
            choices: program.choices.clone(),
            saturated_constants: self.made.saturated_constants(),
            warnings: program.warnings.clone(),
        };
        let ports = |all: &[Binding]| all.iter().map(Self::port).collect();
        let layer = |layer: &crate::program::Layer| Layer {
            name: layer.name.clone(),
            results: layer.results.clone(),
        };
        ProgramInfo {
            layers: layers.iter().map(layer).collect(),
            reading: program.reading.clone(),
            ..ProgramInfo::new(report, ports(&program.inputs), ports(&program.outputs))
                .with_copies(self.copied_bytes())
        }
    }
}

impl Compiled for OpuProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        artifact::write(&self.program).map_err(TargetError::failed)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let Program { instructions, layers, instance, config, .. } = &self.program;
        let bytes = encode_program(instructions, config.validity).map_err(TargetError::failed)?;
        let layers = layers.iter().map(|layer| (layer.first, layer.name.clone())).collect();
        let instance = Box::new(OpuInstance::new(instance, config.clone()));
        Ok(ProgramWords { instance, parts: vec![ProgramPart { bytes, layers, ..ProgramPart::default() }] })
    }

    /// The specification and the released simulator agree on every instruction that the simulator
    /// accepts, so the options' hazard mode is ignored.
    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let (maps, saturated) = self.maps(inputs)?;
        let mut board = Board::new(&self.program, options.unset).map_err(TargetError::failed)?;
        options.repeat(|| {
            let layers = board.run(&maps).map_err(TargetError::failed)?;
            let data = if options.driver_data { self.data(&maps, &board)? } else { Vec::new() };
            Ok(RunResult { data, ..self.result(&board, self.saturations(saturated, &layers))? })
        })
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn Machine>, TargetError> {
        let (maps, _) = self.maps(inputs)?;
        let mut board = Board::new(&self.program, UninitMemory::Zero).map_err(TargetError::failed)?;
        board.set_inputs(&maps).map_err(TargetError::failed)?;
        let (machine, loaded) = board.into_parts();
        let mut stepped = OpuMachine::new(self.stepped(), machine, loaded, false);
        if let Some(graph) = options.graph {
            let maps = self.program.inputs.iter().map(|binding| Self::exact_map(binding, inputs));
            let maps = maps.collect::<Result<Vec<_>, _>>().map_err(TargetError::failed)?;
            stepped = stepped.beside(FloatShadow::new(&self.program, graph, &maps)?);
        }
        Ok(Box::new(stepped))
    }

    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        Ok(Box::new(OpuField::new(&self.program)?))
    }

    fn in_bounds(&self, graph: &Graph) -> Result<Box<dyn BoundedProgram + '_>, TargetError> {
        let Types { itype, btype, ktype, otype } = self.program.config.types;
        if [itype, btype, ktype, otype].iter().any(|data_type| data_type.fixed().is_none()) {
            return Err(self.info().unsupported("verify --bounds in floats"));
        }
        Ok(Box::new(OpuBounds::new(&self.program, graph)?))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Ok(match self.made {
            ProgramOrigin::Assembly => check::instructions(&self.program),
            ProgramOrigin::Compiled { .. } | ProgramOrigin::Read => check::program(&self.program),
        })
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let counts = options.counts_activity.then(|| time::activity(&self.program)).transpose()?;
        Ok(time::report(&self.program, options)?.with_activity(counts))
    }

    fn record(&self, options: &TimeOptions, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        time::record(&self.program, options, recorder)
    }

    fn memory_maps(&self, time: &TimeReport) -> Vec<MemoryMap> {
        time::maps(&self.program, time)
    }
}
