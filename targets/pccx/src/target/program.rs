//! [`PccxProgram`]: a program that can be reported, run, timed and traced.

mod field;

use std::io::Write;
use std::sync::{Arc, OnceLock};

use npukit_numeric::Tensor;
use npukit_target::{
    ArtifactFile, Chosen, Compiled, FieldProgram, Finding, HazardMode, HostStepReport, HostWork, Inputs,
    Layer, LayerWork, MachineOptions, MemoryReport, Output, Parts, Port, PortError, ProgramInfo, ProgramPart,
    ProgramReport, ProgramWords, RunOptions, RunResult, Saturations, Stage, TargetError, TimeForm,
    TimeOptions, TimeReport, UninitMemory, to_element,
};
use npukit_trace::{MemoryMap, Recorder};

use super::machine::{FloatShadow, PccxMachine, Stepped};
use crate::check::{Filled, asm_findings, findings, program_warnings};
use crate::clock::record::{memory_map, record};
use crate::clock::timing::cost;
use crate::clock::{self, Timeline, report};
use crate::config::Config;
use crate::host::asm_run::memories_of;
use crate::isa::codec::{Codec, encode_program};
use crate::isa::op::Banks;
use crate::lower::{Executable, OPTIONS};
use crate::machine::Machine;
use crate::program::host::Host;
use crate::program::{HostOp, artifact, runtime};
use crate::target::PccxInstance;

/// A program and its instance.
pub(super) struct PccxProgram {
    pub name: String,
    /// Full name of target and instance.
    pub target: String,
    pub executable: Executable,
    pub config: Config,
    /// Memories that are filled before an assembly program runs; `None` for a compiled program.
    for_asm: Option<Filled>,
    /// Findings, computed on first use.
    findings: OnceLock<Vec<Finding>>,
    /// Information on the program, computed on first use.
    info: OnceLock<ProgramInfo>,
}

impl PccxProgram {
    pub fn new(name: String, target: String, executable: Executable, config: Config) -> Self {
        let (findings, info) = (OnceLock::new(), OnceLock::new());
        Self { name, target, executable, config, for_asm: None, findings, info }
    }

    /// Marks the program as an assembly program.
    pub fn for_asm(self, filled: Filled) -> Self {
        Self { for_asm: Some(filled), ..self }
    }

    fn findings(&self) -> &[Finding] {
        let program = &self.executable.program;
        self.findings.get_or_init(|| match &self.for_asm {
            None => findings(&self.config, program, self.host()),
            Some(filled) => {
                let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
                asm_findings(&self.config, &program.code, &syncs, filled)
            }
        })
    }

    /// Checks that sequential execution gives the same results as hardware. The effect of hazards
    /// and of unwritten memory on hardware is unknown.
    fn agrees(&self, meaning: HazardMode) -> Result<(), TargetError> {
        let errors: Vec<Finding> = self.findings().iter().filter(|found| found.is_error()).cloned().collect();
        match meaning {
            HazardMode::Agreed | HazardMode::Hardware if !errors.is_empty() => {
                Err(TargetError::Differs(errors))
            }
            _ => Ok(()),
        }
    }

    /// Returns a fault if the program reads unwritten data.
    fn reads_no_poison(&self) -> Result<(), TargetError> {
        let poison = self.findings().iter().find(|found| found.code.starts_with(UNWRITTEN));
        match poison {
            None => Ok(()),
            Some(found) => Err(TargetError::failed(fault(found))),
        }
    }

    fn result(&self, results: Vec<Tensor>) -> RunResult {
        let outputs = self.host().graph.outputs.iter().zip(results).map(|(&id, values)| {
            // The machine stores a real value as its BF16 pattern.
            let bits = |&value: &f64| i32::from(crate::machine::bf16::bf(value as f32));
            let raw = values.reals().iter().map(bits).collect();
            Output { name: self.host().graph.value(id).name.clone(), values, raw }
        });
        RunResult { outputs: outputs.collect(), saturations: Saturations::default(), data: Vec::new() }
    }

    const fn host(&self) -> &Host {
        &self.executable.host
    }

    fn timeline(&self, options: &TimeOptions) -> Result<Timeline, TargetError> {
        Chosen::new("pccx", &OPTIONS, Stage::Time, &options.options)?;
        let program = &self.executable.program;
        Ok(clock::run_with_host(&self.config, &program.code, &program.syncs()))
    }

    /// Returns the multiply-accumulates of the model if known, otherwise of the instructions.
    fn macs(&self) -> u64 {
        if !self.host().layers.is_empty() {
            return self.host().layers.iter().map(|layer| layer.macs).fold(0, u64::saturating_add);
        }
        let mut banks = Banks::default();
        let one = |op| {
            let macs = cost(&self.config, &banks, op).macs;
            banks.step(op);
            macs
        };
        self.executable.program.code.iter().map(one).sum()
    }

    /// Returns a warning if the instance's timing is lost in an artifact because it is not a
    /// built-in instance.
    fn forgotten(&self) -> Option<String> {
        if self.for_asm.is_some() {
            return None;
        }
        let preset = self.executable.program.preset();
        let kept = Config::named(preset)?;
        (kept.timing != self.config.timing).then(|| {
            format!("files of pccx do not store `[timing]` and `[system]`: `npu time` uses the values of pccx:{preset} instead")
        })
    }

    fn ports(&self, ids: &[npukit_graph::ValueId]) -> Vec<Port> {
        let port = |&id| {
            let value = self.host().graph.value(id);
            let element = Some(value.info.element);
            Port { name: value.name.clone(), shape: value.info.shape.clone(), vectors: None, element }
        };
        ids.iter().map(port).collect()
    }

    fn host_steps(&self) -> Vec<HostStepReport> {
        let known = self.host().layers.iter().filter_map(|layer| {
            let helped = layer.help.clone().map(|help| ("a part".to_owned(), help));
            let (op, reason) = layer.host.clone().or(helped)?;
            let output = layer.results.first().cloned().unwrap_or_default();
            Some(HostStepReport { node: layer.name.clone(), op, output, reason })
        });
        let unknown = |step: &HostOp| HostStepReport {
            node: format!("before instruction {}", step.position),
            op: format!("host operation {}", step.kind),
            output: String::new(),
            reason: "the program contains this host operation".to_owned(),
        };
        match self.host().layers.is_empty() {
            true => self.executable.program.host_ops.iter().map(unknown).collect(),
            false => known.collect(),
        }
    }

    /// Returns the number of elements that each host step computes; `None` for operations of a
    /// program without a graph.
    fn host_elements(&self) -> Vec<Option<u64>> {
        let graph = &self.host().graph;
        let elements = |name: &String| {
            let shape = graph.shape(graph.find_value(name)?);
            Some(shape.iter().fold(1, |all: u64, &size| all.saturating_mul(size as u64)))
        };
        let layers = self.host().layers.iter();
        let helped = layers.filter(|layer| layer.host.is_some() || layer.help.is_some());
        match self.host().layers.is_empty() {
            true => vec![None; self.executable.program.host_ops.len()],
            false => helped.map(|layer| layer.results.iter().map(elements).sum()).collect(),
        }
    }

    /// Returns the compiler's warnings; for an assembly program, its findings.
    fn warnings(&self) -> Vec<String> {
        match self.host().layers.is_empty() {
            true => program_warnings(&self.config, &self.executable.program),
            false => self.host().warnings.clone(),
        }
    }

    /// Returns a sample's tensors in the order of the inputs.
    pub fn sample(&self, inputs: &Inputs) -> Result<Vec<Tensor>, PortError> {
        let tensor = |(port, &id): (Port, _)| {
            let element = self.host().graph.value(id).info.element;
            let tensor = to_element(&port.name, port.tensor(inputs)?, element)?;
            tensor.with_element(element).map_err(|_| PortError::Element { name: port.name, element })
        };
        let inputs = &self.host().graph.inputs;
        self.ports(inputs).into_iter().zip(inputs).map(tensor).collect()
    }

    /// Returns the machine before its first step; the host has its inputs.
    fn stepped(&self, inputs: &Inputs) -> Result<PccxMachine, TargetError> {
        let tensors = self.sample(inputs).map_err(TargetError::failed)?;
        let Executable { program, host } = &self.executable;
        npukit_graph::eval::check_inputs(&host.graph, &tensors).map_err(TargetError::failed)?;
        let mut machine = Machine::new(&self.config).map_err(TargetError::failed)?;
        let mut session = runtime::Session::new(&mut machine, program, host).map_err(TargetError::failed)?;
        session.begin(tensors.into_iter().map(Arc::new).collect());
        let kept = session.pause();
        let windows = program.windows.iter();
        let windows =
            windows.map(|window| ((window.direction, window.number), window.size_bytes.div_ceil(16)));
        let memories = memories_of(&self.config, &windows.collect());
        let names = (self.name.clone(), self.target.clone());
        let program = Stepped::new(names, &self.config, self.executable.clone(), memories);
        Ok(PccxMachine::of_program(program, machine, kept))
    }
}

/// Trace formats of the target's own tools.
const TIME_FORMS: &[TimeForm] = &[TimeForm::Trace("pccx")];

/// Prefix of the codes of findings about unwritten data.
const UNWRITTEN: &str = "unwritten-";

/// Describes the first read of unwritten data, with its place.
fn fault(found: &Finding) -> String {
    let place =
        found.instruction.map_or_else(|| "at its end".to_owned(), |index| format!("instruction {index}"));
    let layer = found.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer `{layer}`)"));
    format!("{place}{layer}: {}", found.message)
}

impl PccxProgram {
    fn made_info(&self) -> ProgramInfo {
        let (program, host) = (&self.executable.program, self.host());
        let [maximum, aggregate] = host.words;
        let depth = self.config.l2_words.into();
        let unit = "words".to_owned();
        let l2 = MemoryReport { maximum, aggregate, depth, unit };
        let l2 = (maximum > 0).then(|| ("L2".to_owned(), l2));
        let report = ProgramReport {
            name: self.name.clone(),
            target: self.target.clone(),
            instructions: program.code.len(),
            macs: Some(self.macs()),
            memory: l2.into_iter().collect(),
            host_steps: self.host_steps(),
            layers: host.layers.iter().map(|layer| layer.name.clone()).collect(),
            choices: host.choices.clone(),
            saturated_constants: None,
            warnings: self.warnings().into_iter().chain(self.forgotten()).collect(),
        };
        let layer = |layer: &crate::program::host::Layer| Layer {
            name: layer.name.clone(),
            results: layer.results.clone(),
        };
        let real = host.graph.inputs.iter().filter(|&&id| host.graph.becomes_real(id));
        let of_host = host.layers.iter().filter(|layer| layer.host.is_some());
        let info = ProgramInfo::new(report, self.ports(&host.graph.inputs), self.ports(&host.graph.outputs));
        ProgramInfo {
            // The clock already includes transfers through the coherent port, so no bytes are added
            // here.
            host: HostWork { elements: self.host_elements(), copied_bytes: Some(0) },
            layers: host.layers.iter().map(layer).collect(),
            host_macs: of_host.map(|layer| layer.macs).fold(0, u64::saturating_add),
            time_forms: TIME_FORMS,
            reading: host.reading.clone(),
            real_inputs: real.map(|&id| host.graph.value(id).name.clone()).collect(),
            ..info
        }
    }
}

impl Compiled for PccxProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        let mut program = self.executable.program.clone();
        if !self.host().graph.values.is_empty() {
            // Readers of the files do not know the timing, so the files do not contain it.
            let mut host = self.host().clone();
            host.warnings.extend(self.forgotten());
            program.extras.extend(host.sections());
        }
        let file = |extension, bytes| ArtifactFile { name: format!("{}.{extension}", self.name), bytes };
        let mut files = vec![
            file("pcp", artifact::write(&program).map_err(TargetError::failed)?),
            file("memh", artifact::memh(&program).map_err(TargetError::failed)?.into_bytes()),
            file("s", artifact::assembly(&program).map_err(TargetError::failed)?.into_bytes()),
        ];
        let manifest = artifact::manifest(&program, Parts::of(&files)).map_err(TargetError::failed)?;
        files.push(file("manifest.toml", manifest.into_bytes()));
        Ok(files)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let codec = Codec::new(&self.config);
        let bytes = encode_program(&codec, &self.executable.program.code).map_err(TargetError::failed)?;
        let mut first = 0;
        let layers = self.host().layers.iter().map(|layer| {
            let begins = std::mem::replace(&mut first, layer.end as usize);
            (begins, layer.name.clone())
        });
        let layers = layers.collect();
        // Default: a name without the target is the instance's.
        let name = self.target.strip_prefix("pccx:").unwrap_or(&self.target);
        let instance = Box::new(PccxInstance::new(name, self.config.clone()));
        Ok(ProgramWords { instance, parts: vec![ProgramPart { bytes, layers, ..ProgramPart::default() }] })
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        if options.unset == UninitMemory::Poison {
            self.reads_no_poison()?;
        }
        self.agrees(options.meaning)?;
        let tensors = self.sample(inputs).map_err(TargetError::failed)?;
        let mut machine = Machine::with(&self.config, options.unset).map_err(TargetError::failed)?;
        let program = &self.executable.program;
        let mut session =
            runtime::Session::new(&mut machine, program, self.host()).map_err(TargetError::failed)?;
        options.repeat(|| Ok(self.result(session.run(&tensors).map_err(TargetError::failed)?)))
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        self.agrees(options.meaning)?;
        let machine = self.stepped(inputs)?;
        let Some(graph) = options.graph else { return Ok(Box::new(machine)) };
        let tensors = self.sample(inputs).map_err(TargetError::failed)?;
        Ok(Box::new(machine.beside(FloatShadow::new(&self.executable, &self.config, tensors, graph)?)))
    }

    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        self.agrees(HazardMode::Agreed)?;
        Ok(Box::new(field::PccxField { owner: self }))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Ok(self.findings().to_vec())
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        self.agrees(options.meaning)?;
        let timeline = self.timeline(options)?;
        let layers = &self.host().layers;
        let work: Vec<LayerWork<'_>> =
            layers.iter().map(|layer| LayerWork { name: &layer.name, macs: layer.macs }).collect();
        let layer_of = |index: usize| layers.partition_point(|layer| layer.end as usize <= index);
        let code = &self.executable.program.code;
        let counts = || report::activity(&self.config, code, &timeline, layers.len(), layer_of);
        let counts = options.counts_activity.then(counts);
        Ok(report::report(&self.config, code, &timeline, &work, layer_of).with_activity(counts))
    }

    fn record(&self, options: &TimeOptions, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        let timeline = self.timeline(options)?;
        let (config, code, layers) = (&self.config, &self.executable.program.code, &self.host().layers);
        let layer_of = |index: usize| {
            let place = layers.partition_point(|layer| layer.end as usize <= index);
            (!layers.is_empty()).then_some(place)
        };
        record(config, code, &timeline, layer_of, recorder);
        Ok(timeline.cycles)
    }

    fn memory_maps(&self, time: &TimeReport) -> Vec<MemoryMap> {
        memory_map(&self.config, &self.executable.program.code, &time.moments()).into_iter().collect()
    }

    fn write_time(
        &self,
        form: TimeForm,
        options: &TimeOptions,
        out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        if !TIME_FORMS.contains(&form) {
            return Err(self.info().unsupported(form.verb()));
        }
        let timeline = self.timeline(options)?;
        let container = report::lab_container(&self.config, &self.executable.program.code, &timeline);
        out.write_all(&container.write()).map_err(TargetError::failed)
    }
}
