//! `npu debug`: a program on its machine before its first step, for a debugger.

use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, Machine, MachineOptions, Meaning, ProgramText};
use serde::Serialize;

use super::run::{self, Hand, filled_by_hand};
use crate::Context;
use crate::compare::like::Like;
use crate::error::Error;
use crate::inputs::made_up;
use crate::inputs::wanted::{self, Wanted};
use crate::inputs::{self, InputFile, Preprocess, ReadText, Sample};
use crate::model;
use crate::model::origin::Quantized;
use crate::model::source::{Input, Source};
use crate::run::hand::MemFile;

/// What to debug, on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The program: text, words, an artifact, or a model to compile.
    pub source: Source,
    /// Of an artifact: the model that it was compiled from. What it computes in float stands beside the machine's numbers.
    pub model: Option<String>,
    /// Its inputs, of which the first sample counts; zeros when none are given.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Of text and words: what fills memories before the run.
    pub mem: Vec<MemFile>,
    /// What counts where hardware computes something else than the instructions say.
    pub meaning: Meaning,
}

/// What came of a script of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the program.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Steps that it has.
    pub steps: usize,
    /// What the commands have printed.
    pub printed: String,
    /// Expectations that hold.
    pub passed: usize,
    /// What is not as expected, or could not be done, a sentence each.
    pub failures: Vec<String>,
    /// What was taken for granted.
    pub notes: Vec<String>,
}

impl Report {
    /// Of the program that `machine` has.
    pub fn new(
        machine: &dyn Machine,
        (printed, passed, failures): (String, usize, Vec<String>),
        notes: Vec<String>,
    ) -> Self {
        let (name, target) = (machine.name().to_owned(), machine.target().to_owned());
        Self { name, target, steps: machine.steps(), printed, passed, failures, notes }
    }
}

/// A program before its first step.
pub struct Opened {
    /// The machine.
    pub machine: Box<dyn Machine>,
    /// Where its instructions stand; empty for what no person wrote.
    pub text: ProgramText,
    /// What was taken for granted.
    pub notes: Vec<String>,
}

/// Opens a program.
///
/// # Errors
///
/// Those of [`run`](super::run::run) before anything runs; [`Error::Target`] for a program of a target whose programs of
/// this kind have no debugger.
pub fn open(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    let path = || request.source.path.clone();
    match (request.source.input(context)?, &request.model) {
        (Input::Assembly(_), _) => by_hand(request, context),
        _ if !request.mem.is_empty() => Err(Error::OnlyByHand { path: path() }),
        (_, None) => compiled(request, context),
        (Input::Model, Some(_)) => Err(Error::NeedlessLike { path: path() }),
        (Input::Artifact, Some(model)) => beside(request, model, context),
    }
}

/// A program that a person wrote.
fn by_hand(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    if request.model.is_some() {
        return Err(Error::NeedlessLike { path: request.source.path.clone() });
    }
    let hand = Hand { mem: request.mem.clone(), ..Hand::default() };
    let request = run::Request {
        source: request.source.clone(),
        inputs: request.inputs.clone(),
        preprocess: request.preprocess.clone(),
        meaning: request.meaning,
        hand,
        ..run::Request::default()
    };
    let (machine, text, notes) = filled_by_hand(&request, context)?;
    Ok(Opened { machine, text, notes })
}

/// A model, or an artifact alone.
fn compiled(request: &Request, context: Context<'_>) -> Result<Opened, Error> {
    let program = request.source.program_for(&request.inputs, context)?;
    let mut notes = program.notes();
    let (compiled, origin) = (&*program.compiled, program.origin.as_ref());
    let wanted = wanted::of_program(compiled.inputs(), origin.map(|origin| &origin.model));
    let sample = sample(request, compiled, &wanted, &mut notes, context)?;
    let graph = origin.map(|origin| &origin.model.simplified);
    let machine = compiled.machine(&sample, &MachineOptions { meaning: request.meaning, graph })?;
    Ok(Opened { machine, text: ProgramText::default(), notes })
}

/// An artifact beside its model, whose names and shapes inputs have.
fn beside(request: &Request, path: &str, context: Context<'_>) -> Result<Opened, Error> {
    let artifact = Source::artifact(&request.source.path).program(context)?;
    let compiled = &*artifact.compiled;
    let source = Source { path: path.to_owned(), ..request.source.clone() };
    let model = model::load(path, &source.model, &request.inputs, context.reader)?;
    let like = Like::new(compiled, &model, path)?;
    let mut notes = like.notes();
    let sample = sample(request, compiled, &like.inputs(), &mut notes, context)?;
    let Quantized(origin) = source.quantize(source.beside(compiled, model, context)?, context)?;
    let options = MachineOptions { meaning: request.meaning, graph: Some(&origin.model.simplified) };
    let machine = compiled.machine(&like.packed(sample), &options)?;
    Ok(Opened { machine, text: ProgramText::default(), notes })
}

/// The first sample; zeros where none is given.
fn sample(
    request: &Request,
    compiled: &dyn Compiled,
    wanted: &[Wanted],
    notes: &mut Vec<String>,
    context: Context<'_>,
) -> Result<Sample, Error> {
    if request.inputs.is_empty() {
        notes.push("no inputs are given: they are zeros".to_owned());
        return wanted.iter().map(zeros).collect();
    }
    let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
    let text = Some(&read_text as &ReadText<'_>);
    let found = inputs::samples(&request.inputs, wanted, &request.preprocess, context.reader, text)?;
    notes.extend(found.notes);
    let first = found.samples.into_iter().next();
    Ok(first.unwrap_or_default()) // Default: a program without inputs has an empty sample.
}

/// An input of zeros.
fn zeros(Wanted { port, element, .. }: &Wanted) -> Result<(String, Tensor), Error> {
    // Default: a program that says nothing else takes real numbers.
    let zeros = made_up::zeros(&port.shape, element.unwrap_or(ElementType::F32));
    let zeros = zeros.ok_or_else(|| {
        let reason = format!("no zeros of shape {:?} fit into memory", port.shape);
        Error::Output { name: port.name.clone(), reason }
    })?;
    Ok((port.name.clone(), zeros))
}
