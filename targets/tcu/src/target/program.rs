//! [`TcuProgram`]: a program to write, run and time.

mod bounds;
mod breakdown;
mod export;
mod field;
mod image;
mod meaning;
mod placed;
mod settings;
mod stepped;
mod tensors;
mod time;
mod timeline;
mod trace;

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use npukit_graph::Graph;
use npukit_graph::rescale::Scales;
use npukit_target::rtl::{Circuit, Defects};
use npukit_target::{
    ArtifactFile, BoundedProgram, Compiled, CosimJudge, CosimOptions, FieldProgram, Finding, HazardMode,
    HostStepReport, Inputs, Instance, Layer, Machine, MachineOptions, MemoryReport, ModelReading, Output,
    OwnValues, ProgramInfo, ProgramPart, ProgramReport, ProgramWords, RunOptions, RunResult, Saturation,
    Saturations, TargetError, TimeForm, TimeOptions, TimeReport,
};
use npukit_trace::{MemoryMap, Recorder};

use crate::circuit::cosim::ExpectedRun;
use crate::config::{ClockParams, Config, DataType, System};
use crate::isa::codec::encode_program;
use crate::lower;
use crate::program::run::{Driver, RunOutcome};
use crate::program::{Binding, MemoryUse, Program, Usage, artifact, csv};
use crate::target::TcuInstance;
use bounds::TcuBounds;
use field::TcuField;
use meaning::Differences;

/// A program with its origin.
pub(super) struct TcuProgram {
    program: Program,
    /// Name of the instance, if it has one.
    board: Option<String>,
    /// Memory and cycles of the hardware, if the compiler determined them.
    clocked: Option<(ClockParams, u64)>,
    /// Choices of the compiler.
    choices: BTreeMap<String, String>,
    saturated_constants: Option<u64>,
    /// Values of the graph that each layer saves; empty for a program read from files.
    results: Vec<Vec<String>>,
    /// Messages of the compiler.
    rewrites: Vec<String>,
    /// Whether the program is for the embedded driver, which is compiled for an architecture.
    is_embedded: bool,
    /// Deviations of the hardware, computed on demand.
    differences: OnceLock<Differences>,
    /// Info of the program, computed on demand.
    info: OnceLock<ProgramInfo>,
}

/// Maximum inputs and outputs of the C driver (specification 6.2).
const DRIVER_PORTS: usize = 4;
const DRIVER_NAME: usize = 256;
/// Vectors at the end of DRAM0 that drivers reserve (specification 6.4).
const DRIVER_PROBE: u64 = 2;

impl TcuProgram {
    /// Creates a program that was read from files.
    pub fn loaded(program: Program, board: Option<String>) -> Self {
        let (choices, results) = (BTreeMap::new(), Vec::new());
        Self {
            program,
            board,
            clocked: None,
            choices,
            saturated_constants: None,
            results,
            rewrites: Vec::new(),
            is_embedded: false,
            differences: OnceLock::new(),
            info: OnceLock::new(),
        }
    }

    /// Creates a program that was just compiled.
    pub fn compiled(compiled: lower::Compiled, board: String, system: System, reading: ModelReading) -> Self {
        let choices = BTreeMap::from([("strategy".to_owned(), compiled.strategy.name().to_owned())]);
        let saturated_constants = Some(compiled.saturated_constants);
        let lower::Compiled { program, results, clocked, .. } = compiled;
        let program = Program { system: Some(system), reading, ..program };
        Self { clocked, choices, saturated_constants, results, ..Self::loaded(program, Some(board)) }
    }

    /// Sets whether the program is for the embedded driver.
    pub fn for_embedded(self, is_embedded: bool) -> Self {
        Self { is_embedded, ..self }
    }

    /// Adds messages of the compiler.
    pub fn rewrites(self, rewrites: Vec<String>) -> Self {
        Self { rewrites, info: OnceLock::new(), ..self }
    }

    /// Returns the system of the program; an open one if the artifact does not record it.
    fn system(&self) -> &System {
        // Default: a system without any figures.
        self.program.system.as_ref().unwrap_or(&System::OPEN)
    }

    /// Returns the program itself.
    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the circuit of its instance.
    pub(super) fn circuit(&self, defects: Defects) -> Result<Circuit, TargetError> {
        self.instance().circuit(defects)
    }

    /// Returns the instance of the program.
    fn instance(&self) -> TcuInstance {
        let Program { config, .. } = &self.program;
        let n = config.array_size;
        let name = self.board.clone().unwrap_or_else(|| format!("{n}x{n}"));
        TcuInstance::new(&name, config.clone(), self.system().clone(), Vec::new())
    }

    pub(super) fn target(&self) -> String {
        let n = self.program.config.array_size;
        self.board.as_ref().map_or_else(|| format!("tcu:{n}x{n}"), |board| format!("tcu:{board}"))
    }

    fn memory(&self) -> BTreeMap<String, MemoryReport> {
        let (config, used) = (&self.program.config, &self.program.memory);
        if *used == MemoryUse::default() {
            return BTreeMap::new();
        }
        let of = |(name, used, depth): (&str, Usage, u64)| {
            let Usage { maximum, aggregate } = used;
            (name.to_owned(), MemoryReport { maximum, aggregate, depth, unit: "vectors".to_owned() })
        };
        [
            ("dram0", used.dram0, config.dram0_depth),
            ("dram1", used.dram1, config.dram1_depth),
            ("local", used.local, config.local_depth),
            ("accumulators", used.accumulators, config.accumulator_depth),
        ]
        .into_iter()
        .map(of)
        .collect()
    }

    /// Returns the nonzero exponents of inputs and outputs by name.
    fn port_scales(&self) -> Scales {
        let ports = self.program.inputs.iter().chain(&self.program.outputs);
        let scaled = ports.map(|binding| (binding.name.clone(), binding.exponent()));
        scaled.filter(|(_, exponent)| *exponent != 0).collect()
    }

    fn macs(&self) -> Option<u64> {
        let layers = &self.program.layers;
        (!layers.is_empty()).then(|| layers.iter().map(|layer| layer.macs).sum())
    }

    /// Returns warnings about limits of the C driver that this program exceeds.
    fn warnings(&self) -> Vec<String> {
        let Program { inputs, outputs, name, .. } = &self.program;
        let too_many = |what: &str, ports: &[Binding]| {
            let pieces: usize = ports.iter().map(|binding| binding.pieces.len()).sum();
            (pieces > DRIVER_PORTS)
                .then(|| format!("{pieces} entries of {what}, but the C driver takes at most {DRIVER_PORTS}"))
        };
        let names = inputs.iter().chain(outputs).map(|binding| &binding.name).chain([name]);
        let long = names.filter(|name| name.len() > DRIVER_NAME);
        let long = long.map(|name| {
            format!("name `{name}` is too long: the C driver takes at most {DRIVER_NAME} characters")
        });
        let ports = too_many("inputs", inputs).into_iter().chain(too_many("outputs", outputs));
        let rewrites = self.rewrites.iter().cloned();
        rewrites.chain(ports).chain(long).chain(self.probe_warning()).chain(self.embedded_warning()).collect()
    }

    /// Returns why the embedded driver cannot be compiled for the program, if so (specification 2).
    fn embedded_warning(&self) -> Option<String> {
        let Config { data_type, simd_registers_depth, .. } = self.program.config;
        let unfit = data_type != DataType::Fp16Bp8 || simd_registers_depth == 0;
        (self.is_embedded && unfit).then(|| {
            let name = data_type.name();
            format!("{name} with {simd_registers_depth} registers: the C driver requires FP16BP8 and at least one register")
        })
    }

    /// Returns a warning if the last two vectors of DRAM0 are used. Drivers detect the end of a
    /// program with them (specification 6.4).
    fn probe_warning(&self) -> Option<String> {
        let (used, depth) = (self.program.memory.dram0.maximum, self.program.config.dram0_depth);
        (used > depth.saturating_sub(DRIVER_PROBE)).then(|| {
            format!(
                "{used} of {depth} vectors of DRAM0 are used, but drivers reserve the last {DRIVER_PROBE}"
            )
        })
    }

    fn report(&self) -> ProgramReport {
        ProgramReport {
            name: self.program.name.clone(),
            target: self.target(),
            instructions: self.program.instructions.len(),
            macs: self.macs(),
            memory: self.memory(),
            host_steps: self.program.host_steps.iter().map(HostStepReport::from).collect(),
            layers: self.program.layers.iter().map(|layer| layer.name.clone()).collect(),
            choices: self.choices.clone(),
            saturated_constants: self.saturated_constants,
            warnings: self.warnings(),
        }
    }

    /// Returns the bytes of inputs and outputs in DRAM0; `None` for a program that declares none.
    fn copied_bytes(&self) -> Option<u64> {
        let Program { config, inputs, outputs, .. } = &self.program;
        let pieces = inputs.iter().chain(outputs).flat_map(|binding| &binding.pieces);
        let vectors = pieces.map(|piece| piece.size).reduce(u64::saturating_add);
        vectors.map(|vectors| vectors.saturating_mul(config.vector_bits() / 8))
    }

    fn made_info(&self) -> ProgramInfo {
        let Program { inputs, outputs, layers, .. } = &self.program;
        let ports = |all: &[Binding]| all.iter().map(|binding| self.port(binding)).collect();
        let layers = layers.iter().zip(&self.results);
        let layer = |(layer, results): (&crate::program::Layer, &Vec<String>)| Layer {
            name: layer.name.clone(),
            results: results.clone(),
        };
        ProgramInfo {
            layers: layers.map(layer).collect(),
            scales: self.port_scales(),
            time_forms: &[TimeForm::Samples],
            reading: self.program.reading.clone(),
            ..ProgramInfo::new(self.report(), ports(inputs), ports(outputs)).with_copies(self.copied_bytes())
        }
    }
}

impl Compiled for TcuProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        let mut files = artifact::write(&self.program).map_err(TargetError::failed)?;
        files.extend(self.is_embedded.then(|| artifact::header(&self.program.config, self.system())));
        Ok(files)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let Program { config, instructions, layers, .. } = &self.program;
        let bytes = encode_program(config, instructions).map_err(TargetError::failed)?;
        let layers = layers.iter().map(|layer| (layer.first, layer.name.clone())).collect();
        let instance = Box::new(self.instance());
        Ok(ProgramWords { instance, parts: vec![ProgramPart { bytes, layers, ..ProgramPart::default() }] })
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let lost = self.lost(options.meaning)?;
        let (raw, saturated_inputs) = self.packed(inputs)?;
        let mut driver = Driver::new(&self.program, options.unset, &lost).map_err(TargetError::failed)?;
        options.repeat(|| {
            let finished = driver.run(&raw).map_err(TargetError::failed)?;
            let data = if options.driver_data { self.data_of(&raw, finished)? } else { Vec::new() };
            Ok(RunResult { data, ..self.result(finished, saturated_inputs)? })
        })
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn Machine>, TargetError> {
        Ok(Box::new(self.stepped(inputs, options)?))
    }

    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        self.agree(HazardMode::Agreed)?;
        Ok(Box::new(TcuField::new(self)))
    }

    fn in_bounds(&self, graph: &Graph) -> Result<Box<dyn BoundedProgram + '_>, TargetError> {
        self.agree(HazardMode::Agreed)?;
        Ok(Box::new(
            TcuBounds::new(self, graph)
                .ok_or_else(|| self.info().unsupported("verify --bounds of a program in floats"))?,
        ))
    }

    fn cosim(
        &self,
        inputs: &Inputs,
        options: &CosimOptions,
        judge: &mut CosimJudge<'_>,
    ) -> Result<ControlFlow<(), Vec<Output>>, TargetError> {
        let circuit = self.circuit(options.defects)?;
        let (inputs, saturated) = self.packed(inputs)?;
        let beside = ExpectedRun::new(&self.program, circuit, &inputs, self.board_memory(), options)?;
        if judge(&beside.to_run()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(self.result(&beside.into_outcome(), saturated)?.outputs))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Ok(self.findings())
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let time = match &options.measured {
            Some(measured) => self.samples_report(measured, options),
            None if options.is_brief => self.known_time().map_or_else(|| self.time_report(options), Ok),
            None => self.time_report(options),
        };
        let counts = options.counts_activity.then(|| breakdown::activity(&self.program));
        Ok(time?.with_activity(counts))
    }

    fn write_time(
        &self,
        form: TimeForm,
        options: &TimeOptions,
        out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        match form {
            TimeForm::Samples => self.write_samples(options, out),
            TimeForm::Cycles | TimeForm::Trace(_) => Err(self.info().unsupported(form.verb())),
        }
    }

    fn record(&self, options: &TimeOptions, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        self.record_trace(options, recorder)
    }

    fn memory_maps(&self, time: &TimeReport) -> Vec<MemoryMap> {
        self.maps(&time.moments())
    }

    fn own_values(&self) -> OwnValues<'_> {
        OwnValues {
            read_text: Some(Box::new(|name, bytes| {
                csv::read(name, bytes, self.lanes()).map_err(TargetError::failed)
            })),
            read_image: Some(Box::new(|memory, image| self.image(memory, image))),
            writer: Some(Box::new(|output, element| self.last_writer(output, element))),
            unpack: Some(Box::new(|port, sample| self.unpacked(port, sample))),
        }
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
