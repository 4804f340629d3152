//! `npu run` for an assembly or binary program: fills its memories, runs it, shows memories, and
//! checks the expectations in the text.

mod expectations;

use std::time::Instant;

use npukit_asm::{Experiment, MemoryRange, SourceFault, SourceLocation, Statement, StatementKind, Values};
use npukit_numeric::npy::{NpyArray, NpyData, member_names, write_npz};
use npukit_target::{
    AsmOptions, AsmProgram, Compiled, Instance, Limits, Machine, ProgramText, TargetError, TimeOptions,
    UninitMemory, raw_numbers,
};
use serde::Serialize;

use super::Request;
use crate::Context;
use crate::error::Error;
use crate::model::source::Input;
use crate::model::source_map::SourceMapFile;
use crate::run::latency::{Speed, timed};
use crate::run::memory_files::{
    DumpRequest, MemFile, Memories, MemoryDump, MotionRequest, of_values, read, written,
};
use crate::run::motion;
use crate::run::waves::Waves;
use expectations::Expected;

pub use expectations::{Expectations, FailedExpectation};

/// Options that only apply to assembly programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsmRunOptions {
    /// Files that fill memories before the run, after the files of the text.
    pub mem: Vec<MemFile>,
    /// Memory ranges to show or write after the run.
    pub dumps: Vec<DumpRequest>,
    /// Step to draw in motion, if any.
    pub motion: Option<MotionRequest>,
    /// Limits of instructions and cycles.
    pub limits: Limits,
}

/// Report of a run of an assembly program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AsmReport {
    /// File name of the program, without folder and extension.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Number of instructions executed.
    pub instructions: u64,
    /// Number of cycles, if the machine or its clock counts them.
    pub cycles: Option<u64>,
    /// Time of the run at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Memory ranges of `.output` after the run.
    pub outputs: Vec<MemoryDump>,
    /// Requested memory ranges after the run.
    pub dumps: Vec<MemoryDump>,
    /// Results of the expectations in the text.
    pub expectations: Expectations,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the program's author: reads of unwritten memory, and hazards.
    pub warnings: Vec<String>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Files of a run of an assembly program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AsmRunFiles {
    /// Contents of the `.npz` file of the ranges of `.output`.
    pub outputs: Vec<u8>,
    /// Files of the dumps: path and contents.
    pub dumps: Vec<(String, Vec<u8>)>,
    /// Waveforms, if requested.
    pub waves: Option<Waves>,
    /// SVG of a step in motion, if requested.
    pub motion: Option<String>,
}

impl Request {
    /// Whether the file is an assembly or binary program, rather than a model or an artifact.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] for a file without extension that cannot be read.
    pub fn is_asm(&self, context: Context<'_>) -> Result<bool, Error> {
        Ok(matches!(self.source.input(context)?, Input::Assembly(_)))
    }

    /// Refuses options that only apply to models and artifacts.
    fn check_asm(&self) -> Result<(), Error> {
        let source = &self.source;
        let unused = [
            (self.model.is_some(), "`--model`"),
            (self.compare, "`--compare`"),
            (self.max_error.is_some(), "`--max-error`"),
            (self.accuracy.is_some(), "`--labels`"),
            (self.dump, "`--dump` without a memory"),
            (
                self.preprocess != Default::default(),
                "`--scale`, `--mean`, `--std`, `--resize`, `--crop` or `--samples`",
            ),
            (!source.calibration.is_default(), "`--calibrate`, `--rescale` or `--quantize`"),
            (
                source.model != Default::default(),
                "`--batch`, `--dim`, `--input-shape`, `--const`, `--outputs` or `--resize-mode`",
            ),
            (!source.options.is_empty(), "an option of the compiler"),
        ];
        match unused.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => {
                Err(Error::NotAssembly { path: source.path.clone(), option: option.to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// Runs an assembly program; also returns the files.
///
/// # Errors
///
/// Returns:
///
/// - [`Error::NotAssembly`] for options that only apply to models,
/// - [`Error::Read`] and [`Error::Target`] for the program,
/// - [`Error::MemoryFile`] for memories,
/// - [`Error::Array`] and [`Error::Numbers`] for files that fill them,
/// - [`Error::NoMotion`] if the step to draw has no drawing,
/// - [`Error::Target`] if the machine stops before the end.
pub fn run_asm(request: &Request, context: Context<'_>) -> Result<(AsmReport, AsmRunFiles), Error> {
    let start = Instant::now();
    let written = LoadedProgram::read(request, context)?;
    let (program, text) = (&written.program, written.text());
    let mut experiment = written.filled(request, context)?;
    let motion = request.asm_options.motion.as_ref();
    let motion = motion.map(|motion| motion::drawn(&*experiment.memories.machine, motion)).transpose()?;
    let ran = experiment.run()?;
    let (outputs, dumps, expectations) = experiment.results()?;
    let compiled = program.compiled()?;
    let (cycles, speed) = cycles_of(&*compiled, ran.cycles, request);
    let mut files = experiment.files(&outputs, &dumps)?;
    files.waves = request.waves(&*compiled)?;
    files.motion = motion;
    let mut warnings = written.instance.info().warnings.clone();
    warnings.extend(text.warnings.iter().cloned());
    warnings.extend(ran.remarks.iter().map(|remark| text.remark(remark)));
    if expectations.passed == 0 || !expectations.failed.is_empty() {
        warnings.extend(experiment.raw_numbers());
    }
    let report = AsmReport {
        name: compiled.report().name,
        target: compiled.report().target,
        instructions: ran.instructions,
        cycles,
        speed,
        outputs: outputs.into_iter().map(MemoryDump::reported).collect(),
        dumps: dumps.into_iter().map(MemoryDump::reported).collect(),
        expectations,
        notes: experiment.notes,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, files))
}

/// Machine with filled memories, source text of its program, and notes.
type Filled = (Box<dyn Machine>, ProgramText, Vec<String>);

/// Loads an assembly program on its machine and fills the memories, before the first instruction.
///
/// # Errors
///
/// Fails as [`run_asm`] does, except for errors of the run.
pub(crate) fn asm_machine(request: &Request, context: Context<'_>) -> Result<Filled, Error> {
    let written = LoadedProgram::read(request, context)?;
    let Running { memories, notes, .. } = written.filled(request, context)?;
    Ok((memories.machine, written.text().clone(), notes))
}

/// Assembly program on its instance, and the source map next to it.
struct LoadedProgram {
    instance: Box<dyn Instance>,
    program: Box<dyn AsmProgram>,
    source_map: SourceMapFile,
}

impl LoadedProgram {
    fn read(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        request.check_asm()?;
        let source = &request.source;
        let bytes = context.reader.read(&source.path)?;
        let instance = source.instance(context.reader)?;
        let program = source.asm_program(&*instance, &bytes, context)?;
        let source_map = source_map(&*program, &source.path, &bytes, context);
        Ok(Self { instance, program, source_map })
    }

    fn text(&self) -> &ProgramText {
        // Default: without a map, the program's own text.
        self.source_map.text.as_ref().unwrap_or(self.program.text())
    }

    /// Creates the machine with filled memories.
    fn filled<'a>(&'a self, request: &'a Request, context: Context<'a>) -> Result<Running<'a>, Error> {
        let mut experiment = Running::new(request, &*self.program, self.text(), context)?;
        experiment.notes.extend(self.source_map.note.clone());
        experiment.fill()?;
        Ok(experiment)
    }
}

/// Reads the source map next to a binary program.
fn source_map(program: &dyn AsmProgram, path: &str, bytes: &[u8], context: Context<'_>) -> SourceMapFile {
    let is_text = program.text().sources.texts().next().is_some();
    if is_text { SourceMapFile::default() } else { SourceMapFile::of(path, bytes, context.reader) }
}

/// Returns the cycles of the run, counted by the machine or otherwise by the target's clock, and
/// the corresponding time.
fn cycles_of(compiled: &dyn Compiled, counted: Option<u64>, request: &Request) -> (Option<u64>, Speed) {
    let options = TimeOptions { meaning: request.meaning, ..TimeOptions::default() };
    // The time is unknown if the clock cannot run the program; `npu time` reports the reason.
    let Ok(mut time) = timed(compiled, &options) else { return (counted, Speed::default()) };
    let of_clock = time.cycles.get(&time.clock).copied();
    if let (Some(counted), Some(mhz)) = (counted, time.clock_mhz) {
        time.milliseconds = Some(counted as f64 / (mhz * 1e3));
    }
    (counted.or(of_clock), Speed::of(&time, Some(1)))
}

/// Program on its machine.
struct Running<'a> {
    request: &'a Request,
    text: &'a ProgramText,
    memories: Memories,
    context: Context<'a>,
    notes: Vec<String>,
}

/// Range, and its name in the report.
type Named<'a> = (&'a str, &'a MemoryRange);

impl<'a> Running<'a> {
    fn new(
        request: &'a Request,
        program: &dyn AsmProgram,
        text: &'a ProgramText,
        context: Context<'a>,
    ) -> Result<Self, Error> {
        let unset = if request.check { UninitMemory::Poison } else { UninitMemory::Zero };
        let machine = program.machine(&AsmOptions { meaning: request.meaning, unset })?;
        Ok(Self { request, text, memories: Memories::new(machine), context, notes: Vec::new() })
    }

    fn experiment(&self) -> &'a Experiment {
        &self.text.experiment
    }

    /// Fills memories: from the text, then with the given inputs, then from the command line.
    fn fill(&mut self) -> Result<(), Error> {
        self.check_inputs()?;
        let mut faults = Vec::new();
        for Statement { place, kind } in &self.experiment().statements {
            let filled = match kind {
                StatementKind::Data { range, values } => self.fill_with(range, Some(values), None),
                StatementKind::Input { name, range, values } => {
                    self.fill_with(range, values.as_ref(), Some(name))
                }
                StatementKind::Output { range, .. } => {
                    self.memories.find(range, None).map(|_| ()).map_err(Error::from)
                }
                StatementKind::Expect { range, values, .. } => self.expected(range, values).map(|_| ()),
            };
            faults.extend(filled.err().map(|error| self.fault(*place, &error)));
        }
        if !faults.is_empty() {
            return Err(TargetError::text(Faults { path: self.request.source.path.clone(), faults }).into());
        }
        for MemFile { memory, address, path } in &self.request.asm_options.mem {
            let numbers = read(path, memory, self.context.reader)?;
            let range = MemoryRange { memory: memory.clone(), start: *address, end: None, is_one: false };
            self.memories.fill(&range, &numbers)?;
        }
        for dump in &self.request.asm_options.dumps {
            self.memories.find(&dump.range, None)?;
        }
        Ok(())
    }

    /// Returns a warning for each line of the text whose integers represent real numbers below 1:
    /// most likely, real numbers were meant.
    fn raw_numbers(&self) -> Vec<String> {
        let found = raw_numbers(self.experiment(), &*self.memories.machine);
        found.iter().map(|(place, message)| self.text.sources.excerpt(*place, message)).collect()
    }

    /// Refuses files for inputs that the text does not name.
    fn check_inputs(&self) -> Result<(), Error> {
        let names = self.inputs();
        let known = || {
            if names.is_empty() {
                "none; declare one with `.input NAME, MEMORY[A:B]`".to_owned()
            } else {
                names.join(", ")
            }
        };
        for file in &self.request.inputs {
            let name = file.name.as_deref();
            let is_known = name.map_or(names.len() == 1, |name| names.contains(&name));
            if !is_known {
                // Default: a file without a name is identified by its path.
                let name = name.unwrap_or(&file.path).to_owned();
                return Err(npukit_target::PortError::Unknown { name, known: known() }.into());
            }
        }
        Ok(())
    }

    fn inputs(&self) -> Vec<&'a str> {
        let name = |statement: &'a Statement| match &statement.kind {
            StatementKind::Input { name, .. } => Some(name.as_str()),
            _ => None,
        };
        self.experiment().statements.iter().filter_map(name).collect()
    }

    /// Fills a range with the data given for the input of that name, otherwise with `values`.
    fn fill_with(
        &mut self,
        range: &MemoryRange,
        values: Option<&Values>,
        input: Option<&String>,
    ) -> Result<(), Error> {
        let reader = self.context.reader;
        let is_for = |name: &Option<String>| name.as_ref().is_none_or(|name| Some(name) == input);
        let given = self.request.inputs.iter().filter(|_| input.is_some()).find(|file| is_for(&file.name));
        let numbers = match (given, values) {
            (Some(file), _) => read(&file.path, input.map_or("", |name| name), reader)?,
            (None, Some(values)) => of_values(values, &range.memory, reader)?,
            (None, None) => {
                let name = input.cloned().unwrap_or_else(|| range.memory.clone());
                return Err(Error::AssemblyInput { name });
            }
        };
        Ok(self.memories.fill(range, &numbers)?)
    }

    fn run(&mut self) -> Result<npukit_target::RunOutcome, Error> {
        let ran = self.memories.machine.run(self.request.asm_options.limits);
        ran.map_err(|stopped| self.text.stopped(stopped).into())
    }

    fn fault(&self, place: SourceLocation, error: &Error) -> SourceFault {
        let help = miette::Diagnostic::help(error).map(|help| help.to_string());
        self.text.fault(place, npukit_base::Coded::code(error), error.to_string()).with_help(help)
    }

    /// Returns the contents of outputs and dumps, and the results of the expectations.
    fn results(&self) -> Result<(Vec<MemoryDump>, Vec<MemoryDump>, Expectations), Error> {
        let outputs = self.experiment().statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Output { name, range } => Some((name.as_str(), range)),
            _ => None,
        });
        let held = |(name, range): Named<'_>| self.memories.held(name, range).map_err(Error::from);
        let outputs = outputs.map(held).collect::<Result<_, _>>()?;
        let dumps = self.request.asm_options.dumps.iter().map(|dump| {
            let held = held((&dump.text, &dump.range))?;
            Ok::<_, Error>(MemoryDump { file: dump.path.clone(), ..held })
        });
        let dumps = dumps.collect::<Result<_, _>>()?;
        let mut expectations = Expectations::default();
        for Statement { place, kind } in &self.experiment().statements {
            if let StatementKind::Expect { range, values, tolerance } = kind {
                let expected = self.expected(range, values)?;
                let wrong = expected.wrong(&self.memories, *tolerance)?;
                expectations.count(wrong.map(|wrong| wrong.failed(&self.text.sources, *place)));
            }
        }
        Ok((outputs, dumps, expectations))
    }

    fn expected(&self, range: &MemoryRange, values: &Values) -> Result<Expected, Error> {
        let numbers = of_values(values, &range.memory, self.context.reader)?;
        let (range, placed) = self.memories.placed(range, &numbers)?;
        let reals = numbers.reals(placed.len());
        Ok(Expected { range, placed, reals })
    }

    fn files(&self, outputs: &[MemoryDump], dumps: &[MemoryDump]) -> Result<AsmRunFiles, Error> {
        let raw = self.request.raw;
        let file = |held: &MemoryDump| {
            let path = held.file.clone()?;
            let memory = self.memories.find(
                &MemoryRange { memory: held.memory.clone(), start: 0, end: Some(0), is_one: false },
                None,
            );
            let bytes = memory.map_err(Error::from).and_then(|found| {
                let memory = self.memories.memory(found.memory);
                written(held, &path, raw, |number| memory.pattern(number))
            });
            Some(bytes.map(|bytes| (path, bytes)))
        };
        let dumps = dumps.iter().filter_map(file).collect::<Result<_, _>>()?;
        Ok(AsmRunFiles { outputs: npz(outputs, raw)?, dumps, waves: None, motion: None })
    }
}

/// Returns an `.npz` file of the ranges of `.output`: real values if the memory has them, integers
/// if `raw`.
fn npz(outputs: &[MemoryDump], raw: bool) -> Result<Vec<u8>, Error> {
    let names = member_names(outputs.iter().map(|held| held.name.as_str()));
    let shapes: Vec<[usize; 2]> =
        outputs.iter().map(|held| [(held.end - held.start) as usize, held.lanes]).collect();
    let floats: Vec<Option<Vec<f32>>> = outputs
        .iter()
        .map(|held| Some(held.real.as_ref().filter(|_| !raw)?.iter().map(|&value| value as f32).collect()))
        .collect();
    let mut arrays = Vec::new();
    for (((held, shape), floats), name) in outputs.iter().zip(&shapes).zip(&floats).zip(&names) {
        let data = floats.as_ref().map_or(NpyData::I64(&held.raw), |floats| NpyData::F32(floats));
        let misfit = || Error::Output {
            name: held.name.clone(),
            reason: format!("its values do not match the shape {shape:?}"),
        };
        arrays.push((name.as_str(), NpyArray::new(shape, data).ok_or_else(misfit)?));
    }
    Ok(write_npz(&arrays)?)
}

/// Errors in lines of an experiment; never empty.
#[derive(Debug, thiserror::Error)]
#[error("{} in {path}", npukit_base::counted(.faults.len() as u64, "error"))]
struct Faults {
    path: String,
    faults: Vec<SourceFault>,
}

impl miette::Diagnostic for Faults {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.faults.iter().map(|fault| fault as &dyn miette::Diagnostic)))
    }
}
