//! [`DrraProgram`]: a program that can be run and timed.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

use npukit_asm::Experiment;
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_target::{
    Compiled, Finding, Inputs, MachineOptions, MemoryReport, Output, OwnValues, Port, PortError, ProgramInfo,
    ProgramPart, ProgramReport, ProgramWords, RunOptions, RunResult, Saturations, Stage, TargetError,
    TimeForm, TimeOptions, TimeReport, UnitTime, Whole, share,
};
use npukit_trace::{MemoryMap, Recorder};

use super::machine::DrraMachine;
use super::maps::{Shown, maps};
use super::options::chosen;
use super::{fabric_of_the_seed, meant};
use crate::check::{findings_with, lints, memory};
use crate::clock::{Counts, Liveness, ROW_BYTES, Table, Timeline, Tracks, no_activity, port_names};
use crate::config::component::Component;
use crate::config::fabric::{Fabric, ROW_WORDS, Row};
use crate::config::revision::Revision;
use crate::machine::exec::saturate;
use crate::machine::{DEFAULT_LIMIT, Machine, Observer, Run};
use crate::program::artifact::{Artifact, Binding};
use crate::program::binary::{Image, read_image};
use crate::target::DrraInstance;

/// Name of the instruction memory in reports.
pub(super) const INSTRUCTIONS: &str = "instructions of a cell";

/// Program with the positions of its tensors.
pub(super) struct DrraProgram {
    artifact: Artifact,
    /// Program information, computed on first use.
    info: OnceLock<ProgramInfo>,
}

impl DrraProgram {
    pub fn new(artifact: Artifact) -> Self {
        Self { artifact, info: OnceLock::new() }
    }

    fn machine(&self, revision: Revision) -> Result<Machine, TargetError> {
        let Artifact { fabric, program, .. } = &self.artifact;
        let mut fabric = fabric.clone();
        fabric.options.revision = revision;
        Machine::new(&fabric, program).map_err(TargetError::failed)
    }

    /// Reads a tensor from the output buffer. Errors: unwritten words, if they are tracked.
    fn output(&self, machine: &Machine, binding: &Binding) -> Result<Output, TargetError> {
        let mut raw: Vec<i32> = Vec::new();
        for row in binding.row as usize..(binding.row + binding.rows) as usize {
            if let Some(fault) = machine.unwritten(row, ROW_WORDS) {
                return Err(TargetError::failed(fault));
            }
            raw.extend(machine.output.read(row).map_err(TargetError::failed)?.map(i32::from));
        }
        let values = raw.iter().map(|value| *value as f32).collect();
        let values = Tensor::from_f32(shape(binding), values).map_err(|_| self.info().unsupported("run"))?;
        Ok(Output { name: binding.name.clone(), values, raw })
    }

    /// Runs the program for its timing, which does not depend on the tensors' contents.
    fn observe(&self, observer: &mut impl Observer) -> Result<Run, TargetError> {
        let mut machine = self.machine(self.artifact.fabric.options.revision)?;
        machine.set_input(&self.artifact.image).map_err(TargetError::failed)?;
        machine.run(DEFAULT_LIMIT, observer).map_err(TargetError::failed)
    }

    /// Returns the rows of the input buffer, and the number of elements that do not fit a word.
    fn image(&self, inputs: &Inputs) -> Result<(Image, u64), TargetError> {
        let mut image = self.artifact.image.clone();
        let mut saturated = 0;
        for binding in &self.artifact.inputs {
            let tensor = inputs.iter().find(|(name, _)| *name == binding.name).map(|(_, tensor)| tensor);
            let missing = || PortError::Missing { name: binding.name.clone(), shape: shape(binding) };
            let tensor = tensor.ok_or_else(missing).map_err(TargetError::failed)?;
            if tensor.shape() != shape(binding) {
                let (name, actual) = (binding.name.clone(), tensor.shape().to_vec());
                let error = PortError::Shape { name, actual, shape: shape(binding) };
                return Err(TargetError::failed(error));
            }
            let (elements, lost) = integers(&binding.name, tensor).map_err(TargetError::failed)?;
            saturated += lost;
            for (row, elements) in (binding.row..).zip(elements.chunks(ROW_WORDS)) {
                let mut values = Row::default();
                values.iter_mut().zip(elements).for_each(|(value, element)| *value = *element);
                image.insert(row, values);
            }
        }
        Ok((image, saturated))
    }
}

/// Shape of a tensor: rows of 16 elements.
fn shape(binding: &Binding) -> Vec<usize> {
    vec![binding.rows as usize, ROW_WORDS]
}

fn port(binding: &Binding) -> Port {
    Port { name: binding.name.clone(), shape: shape(binding), vectors: None, element: None }
}

/// Rounds to 16 bits, and counts the elements that do not fit.
fn integers(name: &str, tensor: &Tensor) -> Result<(Vec<i16>, u64), PortError> {
    let wide: Vec<i64> = match tensor.data() {
        TensorData::F32(values) => values.iter().map(|value| value.round() as i64).collect(),
        TensorData::I64(values) => values.clone(),
        TensorData::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
        TensorData::Bool(_) => {
            return Err(PortError::Element { name: name.to_owned(), element: ElementType::F32 });
        }
    };
    let lost = wide.iter().filter(|value| i64::from(saturate(**value)) != **value).count();
    Ok((wide.into_iter().map(saturate).collect(), lost as u64))
}

impl DrraProgram {
    fn made_info(&self) -> ProgramInfo {
        let Artifact { name, fabric_name, fabric, program, inputs, outputs, .. } = &self.artifact;
        // Default: a program that does not decode has no findings here; `lint` and every run report
        // the error.
        let ops = program.decode(fabric).unwrap_or_default();
        let warnings = lints(fabric, &ops).into_iter().map(|(at, lint)| format!("{at}: {lint}"));
        let warnings = fabric.unreleased().into_iter().chain(warnings);
        // Default: 0 without programs.
        let longest = program.cells.values().map(Vec::len).max().unwrap_or(0) as u64;
        let depth =
            fabric.cells.iter().map(|cell| cell.iram_words).min().expect("a fabric has a cell") as u64;
        let (aggregate, unit) = (program.instructions() as u64, "instructions".to_owned());
        let iram = MemoryReport { maximum: longest, aggregate, depth, unit };
        let report = ProgramReport {
            name: name.clone(),
            target: format!("drra:{fabric_name}"),
            instructions: program.instructions(),
            macs: None,
            memory: BTreeMap::from([(INSTRUCTIONS.to_owned(), iram)]),
            host_steps: Vec::new(),
            layers: Vec::new(),
            choices: BTreeMap::new(),
            saturated_constants: None,
            warnings: warnings.collect(),
        };
        let ports = |all: &[Binding]| all.iter().map(port).collect();
        let rows = inputs.iter().chain(outputs).map(|binding| u64::from(binding.rows));
        let copied = rows.reduce(u64::saturating_add).map(|rows| rows.saturating_mul(ROW_BYTES as u64));
        ProgramInfo {
            time_forms: &[TimeForm::Cycles],
            ..ProgramInfo::new(report, ports(inputs), ports(outputs)).with_copies(copied)
        }
    }
}

impl Compiled for DrraProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let Artifact { fabric_name, fabric, program, .. } = &self.artifact;
        let (name, fabric) = (fabric_name.clone(), fabric.clone());
        let instance = Box::new(DrraInstance::new(&name, fabric, Vec::new()));
        let bytes = instance.words(program)?;
        Ok(ProgramWords { instance, parts: vec![ProgramPart { bytes, ..ProgramPart::default() }] })
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let revision = self.artifact.fabric.options.revision;
        let revision = meant(revision, options.meaning, || self.lint())?;
        let (image, saturated) = self.image(inputs)?;
        let mut machine = self.machine(revision)?;
        machine.unset(options.unset);
        options.repeat(|| {
            machine.set_input(&image).map_err(TargetError::failed)?;
            let run = machine.run(DEFAULT_LIMIT, &mut ()).map_err(TargetError::failed)?;
            let outputs = self.artifact.outputs.iter().map(|binding| self.output(&machine, binding));
            let results = run.saturated_sums;
            let saturations = Saturations { inputs: saturated, results, layers: Vec::new() };
            Ok(RunResult { outputs: outputs.collect::<Result<_, _>>()?, saturations, data: Vec::new() })
        })
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        let revision = self.artifact.fabric.options.revision;
        let revision = meant(revision, options.meaning, || self.lint())?;
        let (image, _) = self.image(inputs)?;
        let mut machine = self.machine(revision)?;
        machine.set_input(&image).map_err(TargetError::failed)?;
        let Artifact { name, fabric_name, program, inputs, outputs, .. } = &self.artifact;
        let names = (name.clone(), format!("drra:{fabric_name}"));
        let machine = DrraMachine::new(names, machine, program, (inputs, outputs));
        machine.recorded()?;
        Ok(Box::new(machine))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        let Artifact { fabric, fabric_name, program, .. } = &self.artifact;
        let of_memory = memory(fabric, program, &Experiment::default());
        findings_with(fabric, program, of_memory, &fabric_of_the_seed(fabric_name))
            .map_err(TargetError::failed)
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let clock = clock(&self.artifact.fabric, options)?;
        let fabric = &self.artifact.fabric;
        let mut counts = Counts::new(fabric);
        let run = self.observe(&mut counts)?;
        let activity = options.counts_activity.then(|| {
            let mut activity = no_activity(fabric, 0);
            activity.add(0, counts.macs(), &counts.bytes());
            activity
        });
        Ok(report(&self.artifact, &counts, &run, clock).with_activity(activity))
    }

    fn record(&self, options: &TimeOptions, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        let fabric = &self.artifact.fabric;
        clock(fabric, options)?;
        let tracks = Tracks::new(fabric, recorder);
        let mut timeline = Timeline::new(fabric, |played| tracks.show(recorder, &played, 0, None));
        let run = self.observe(&mut timeline)?;
        timeline.finish();
        Ok(run.cycles)
    }

    fn memory_maps(&self, _time: &TimeReport) -> Vec<MemoryMap> {
        let mut lives = Liveness::default();
        // A program that faults has no timing.
        let Ok(run) = self.observe(&mut lives) else { return Vec::new() };
        let rows = |output: &Binding| output.row as usize..(output.row + output.rows) as usize;
        let needed = lives.finish(run.cycles, self.artifact.outputs.iter().flat_map(rows));
        let call = Shown { kernel: 0, layer: None, start: 0, cycles: run.cycles };
        let kernels = BTreeMap::from([(0, needed)]);
        maps(&self.artifact.fabric, run.cycles, &kernels, std::iter::once(call))
    }

    fn write_time(
        &self,
        form: TimeForm,
        options: &TimeOptions,
        out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        if form != TimeForm::Cycles {
            return Err(self.info().unsupported(form.verb()));
        }
        clock(&self.artifact.fabric, options)?;
        let mut table = Table::new(&self.artifact.fabric, out).map_err(TargetError::failed)?;
        self.observe(&mut table)?;
        table.finish().map_err(TargetError::failed)
    }

    fn own_values(&self) -> OwnValues<'_> {
        OwnValues { read_text: Some(Box::new(image_tensor)), ..OwnValues::default() }
    }
}

/// Reads a memory image in which all rows belong to the only input.
fn image_tensor(name: &str, bytes: &[u8]) -> Result<Tensor, TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| TargetError::in_file(name, error))?;
    let image = read_image(text).map_err(|error| TargetError::in_file(name, error))?;
    let rows = image.last_key_value().map_or(0, |(row, _)| *row as usize + 1);
    let mut values = vec![0.0; rows * ROW_WORDS];
    for (row, elements) in &image {
        let places = values.iter_mut().skip(*row as usize * ROW_WORDS);
        places.zip(elements).for_each(|(place, element)| *place = f32::from(*element));
    }
    Tensor::from_f32(vec![rows, ROW_WORDS], values).map_err(|_| TargetError::in_file(name, "too many rows"))
}

/// Returns the clock in MHz and its source: the requested clock, otherwise the clock of the
/// fabric's file.
pub(super) fn clock(fabric: &Fabric, options: &TimeOptions) -> Result<Option<(f64, String)>, TargetError> {
    Ok(fabric.systems.own.clock(chosen(Stage::Time, &options.options)?.number("clock-mhz")))
}

fn report(artifact: &Artifact, counts: &Counts<'_>, run: &Run, clock: Option<(f64, String)>) -> TimeReport {
    let (clock_mhz, clock_source) = clock.unzip();
    let fabric = &artifact.fabric;
    let cells = Whole { cycles: run.cell_cycles.iter().sum(), multipliers: 0 };
    let kinds = counts.kinds.iter();
    let kinds = kinds.map(|(kind, &(instructions, cycles))| cells.kind(kind, instructions, 0, cycles));
    let units = port_names(fabric).into_iter().filter_map(|port| {
        let busy = *counts.ports.get(&(port.cell, port.number))?;
        Some(UnitTime { unit: port.text, busy, share: share(busy, run.cycles), waits: Vec::new() })
    });
    let has_dpu = |cell: &&crate::config::fabric::Cell| {
        cell.resources.iter().any(|part| part.component == Component::Dpu)
    };
    let dpus = fabric.cells.iter().filter(has_dpu).count() as u64;
    let notes = run.warnings.iter().map(ToString::to_string);
    let more = (run.more_warnings > 0).then(|| format!("and {} other warnings", run.more_warnings));
    TimeReport {
        cycles: BTreeMap::from([("machine".to_owned(), run.cycles)]),
        clock: "machine".to_owned(),
        assumptions: vec![
            "Cycles do not depend on the tensors' values.".to_owned(),
            "Cycles of instructions are summed over all cells; a port is busy in a cycle with an address."
                .to_owned(),
            "The array is busy in a cycle in which words are read for a dpu.".to_owned(),
        ],
        notes: notes.chain(more).collect(),
        milliseconds: clock_mhz.map(|mhz| run.cycles as f64 / (mhz * 1e3)),
        clock_mhz,
        clock_source,
        array_busy: share(counts.computing.values().sum(), dpus * run.cycles),
        kinds: kinds.collect(),
        units: units.collect(),
        ..TimeReport::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;
    use crate::isa::asm::assemble;

    /// Eight unwritten words of file 1 go to file 2 and from there to file 3, where they are never
    /// read.
    const COPY: &str = "cell (row=1, col=0)
swb(slot=0, channel=2, source=1, target=2)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=8)
dsu(slot=2, port=word_write)
rep(slot=2, port=word_write, iter=8)
dsu(slot=2, port=word_read, init_addr=0)
rep(slot=2, port=word_read, iter=8)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=8)
act(param=1, ports=0b00010010)
swb(slot=0, channel=3, source=2, target=3)
wait(cycle=12)
act(param=2, ports=0b00010010)
wait(cycle=9)
halt()
";

    #[test]
    fn maps_of_a_program_by_hand_are_those_of_its_run() {
        let fabric = preset("3x1").unwrap();
        let program = assemble(&fabric, "copy.asm", COPY).unwrap().program;
        let (name, fabric_name) = ("copy".to_owned(), "3x1".to_owned());
        let (image, inputs, outputs) = (Image::new(), Vec::new(), Vec::new());
        let program =
            DrraProgram::new(Artifact { name, fabric_name, fabric, program, image, inputs, outputs });
        let time = program.time(&TimeOptions::default()).unwrap();
        let maps = program.memory_maps(&time);
        let found: Vec<_> =
            maps.iter().map(|map| (&map.name[..], map.used, map.rows, map.cells[0])).collect();
        assert_eq!(found, [("(1, 0) rf 1", 8, 8, -1), ("(1, 0) rf 2", 8, 8, 0)]);
        // Each word of file 1 is needed one cycle longer than the word before.
        let before: Vec<i64> = maps[0].cells.chunks(2).filter(|run| run[0] == -1).map(|run| run[1]).collect();
        assert!(before.len() == 8 && before.is_sorted_by(|a, b| a + 1 == *b), "{before:?}");
        // Each word of file 2 is needed for the same number of cycles, from its write to its read.
        let written: Vec<i64> = maps[1].cells.chunks(2).filter(|run| run[0] == 1).map(|run| run[1]).collect();
        assert_eq!(written, [written[0]; 8]);
        assert!(written[0] > 12, "{written:?}");
    }
}
