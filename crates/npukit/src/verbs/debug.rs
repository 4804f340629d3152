//! `npu debug`: opens a program on its machine before its first step, for a debugger.

use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, HazardMode, Machine, MachineOptions, ProgramText};
use serde::Serialize;

use super::run::{self, AsmRunOptions, asm_machine};
use crate::Context;
use crate::compare::shape_source::ShapeSource;
use crate::error::Error;
use crate::inputs::made_up;
use crate::inputs::wanted::{self, Wanted};
use crate::inputs::{self, InputFile, Preprocess, ReadText, Sample};
use crate::model;
use crate::model::compile_job::Quantized;
use crate::model::source::{Input, Source};
use crate::run::memory_files::MemFile;

/// Parameters of a debug session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Program: assembly text, words, an artifact, or a model to compile.
    pub source: Source,
    /// Model that an artifact was compiled from. Its values in float are shown next to the
    /// machine's numbers.
    pub model: Option<String>,
    /// Inputs of the program; the first sample is used. Zeros if empty.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Files that fill memories before the run, for an assembly program.
    pub mem: Vec<MemFile>,
    /// How hazards are handled: as the hardware does, or sequentially.
    pub meaning: HazardMode,
}

/// Result of a script of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the program.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Number of steps of the program.
    pub steps: usize,
    /// Output of the commands.
    pub printed: String,
    /// Number of expectations that hold.
    pub passed: usize,
    /// Expectations that failed and commands that could not be executed, one sentence each.
    pub failures: Vec<String>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
}

impl Report {
    /// Creates the report for the program of `machine`.
    pub fn new(
        machine: &dyn Machine,
        printed: String,
        passed: usize,
        failures: Vec<String>,
        notes: Vec<String>,
    ) -> Self {
        let (name, target) = (machine.name().to_owned(), machine.target().to_owned());
        Self { name, target, steps: machine.steps(), printed, passed, failures, notes }
    }
}

/// Program before its first step.
pub struct Opened {
    /// Machine with the program loaded.
    pub machine: Box<dyn Machine>,
    /// Source lines of its instructions; empty unless it is an assembly program.
    pub text: ProgramText,
    /// Assumptions that were made.
    pub notes: Vec<String>,
}

/// Opens a program.
///
/// # Errors
///
/// Fails as [`run`](super::run::run) does before it runs anything, and with [`Error::Target`] if
/// the target has no debugger for this kind of program.
pub fn open(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    let path = || request.source.path.clone();
    match (request.source.input(context)?, &request.model) {
        (Input::Assembly(_), _) => open_asm(request, context),
        _ if !request.mem.is_empty() => Err(Error::OnlyAssembly { path: path() }),
        (_, None) => compiled(request, context),
        (Input::Model, Some(_)) => Err(Error::NeedlessModel { path: path() }),
        (Input::Artifact, Some(model)) => beside(request, model, context),
    }
}

/// Opens an assembly program.
fn open_asm(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    if request.model.is_some() {
        return Err(Error::NeedlessModel { path: request.source.path.clone() });
    }
    let asm_options = AsmRunOptions { mem: request.mem.clone(), ..AsmRunOptions::default() };
    let request = run::Request {
        source: request.source.clone(),
        inputs: request.inputs.clone(),
        preprocess: request.preprocess.clone(),
        meaning: request.meaning,
        asm_options,
        ..run::Request::default()
    };
    let (machine, text, notes) = asm_machine(&request, context)?;
    Ok(Opened { machine, text, notes })
}

/// Opens a model, or an artifact alone.
fn compiled(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    let program = request.source.program_for(&request.inputs, context)?;
    let mut notes = program.notes();
    let (compiled, origin) = (&*program.compiled, program.origin.as_ref());
    let wanted = wanted::of_program(compiled, origin.map(|origin| &origin.model));
    let sample = sample(request, compiled, &wanted, &mut notes, context)?;
    let graph = origin.map(|origin| &origin.model.simplified);
    let machine = compiled.machine(&sample, &MachineOptions { meaning: request.meaning, graph })?;
    Ok(Opened { machine, text: ProgramText::default(), notes })
}

/// Opens an artifact with its model, which gives inputs their names and shapes.
fn beside(request: &Request, path: &str, context: Context<'_>) -> Result<Opened, Error> {
    let artifact = Source::artifact(&request.source.path).program(context)?;
    let compiled = &*artifact.compiled;
    let source = Source { path: path.to_owned(), ..request.source.clone() };
    let model = model::load(path, &source.model.for_artifact(compiled)?, &request.inputs, context.reader)?;
    let like = ShapeSource::new(compiled, &model, path)?;
    let mut notes = like.notes();
    let sample = sample(request, compiled, &like.inputs(), &mut notes, context)?;
    let Quantized(origin) = source.quantize(source.beside(compiled, model, context)?, context)?;
    let options = MachineOptions { meaning: request.meaning, graph: Some(&origin.model.simplified) };
    let machine = compiled.machine(&like.packed(sample), &options)?;
    Ok(Opened { machine, text: ProgramText::default(), notes })
}

/// Returns the first sample; zeros if none is given.
fn sample(
    request: &Request,
    compiled: &dyn Compiled,
    wanted: &[Wanted],
    notes: &mut Vec<String>,
    context: Context<'_>,
) -> Result<Sample, Error> {
    if request.inputs.is_empty() {
        notes.push("no inputs were given: they are zero".to_owned());
        return wanted.iter().map(zeros).collect();
    }
    let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
    let text = Some(&read_text as &ReadText<'_>);
    let found = inputs::samples(&request.inputs, wanted, &request.preprocess, context.reader, text)?;
    notes.extend(found.notes);
    let first = found.samples.into_iter().next();
    Ok(first.unwrap_or_default()) // Default: a program without inputs has an empty sample.
}

/// Returns an input of zeros.
fn zeros(Wanted { port, element, .. }: &Wanted) -> Result<(String, Tensor), Error> {
    // Default: a program that does not specify its type takes real numbers.
    let zeros = made_up::zeros(&port.shape, element.unwrap_or(ElementType::F32));
    let zeros = zeros.ok_or_else(|| {
        let reason = format!("zeros of shape {:?} do not fit in memory", port.shape);
        Error::Output { name: port.name.clone(), reason }
    })?;
    Ok((port.name.clone(), zeros))
}
