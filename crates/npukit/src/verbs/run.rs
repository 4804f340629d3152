//! `npu run`: a program over samples, bit-exactly; a model is also compared with float.

mod by_hand;
mod float_reference;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Instant;

use npukit_target::{
    Compiled, HostStepReport, Meaning, RunOptions, RunResult, Saturation, Saturations, Survey, TargetError,
    TimeOptions, Unset,
};
use serde::Serialize;

use crate::Context;
use crate::compare::device_dump;
use crate::compare::layer_compare::{self, Requested, Run, compare_layers};
use crate::compare::like::Like;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, Samples, wanted};
use crate::model::origin::Origin;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::model::{self, ModelOptions};
use crate::numbers::accuracy::{self, Labels};
use crate::numbers::doubt;
use crate::numbers::finite::NonFinite;
use crate::numbers::max_error::MaxError;
use crate::numbers::quantise;
use crate::numbers::underflow;
use crate::report::comparison::Comparison;
use crate::report::on_chip::OnChip;
use crate::report::rescale::Report as RescalingReport;
use crate::run::batch::{in_model_shape, machine_by, machine_calls};
use crate::run::samples::{DumpedTensor, OutputReport, Outputs, reports};
use crate::run::speed::{Speed, batch, timed};
use crate::run::stack::Stack;
use crate::run::stateful::{Stateful, States};
use crate::run::waves::Waves;
use crate::targets::is_artifact;
use float_reference::FloatReference;

pub(crate) use by_hand::filled_by_hand;
pub use by_hand::{Expectations, FailedExpectation, Hand, HandFiles, HandReport, run_by_hand};

/// What to run, on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The program.
    pub source: Source,
    /// Its inputs.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Whether samples are calls that hand on a state.
    pub stateful: Stateful,
    /// For an artifact: the model that it was compiled from, whose names and shapes its inputs and outputs take.
    pub like: Option<String>,
    /// Gives the machine's integers instead of real values.
    pub raw: bool,
    /// Compares every layer with float.
    pub compare: bool,
    /// `[NAME=]FILE`: outputs that a driver read from a board, to compare with bit for bit.
    pub board: Option<String>,
    /// Gives every tensor.
    pub dump: bool,
    /// What counts where hardware computes something else than the instructions say.
    pub meaning: Meaning,
    /// The largest difference to float that counts as a success.
    pub max_error: Option<MaxError>,
    /// Makes a run fail whose outputs are not to be relied on: inputs saturate, or they are too far from float.
    pub strict: bool,
    /// Makes reading memory that nobody has written a fault.
    pub check: bool,
    /// Measures accuracy.
    pub accuracy: Option<accuracy::Options>,
    /// Where waveforms of what each unit does when will be, when they are asked for.
    pub waves: Option<String>,
    /// What is for programs that a person wrote.
    pub hand: Hand,
}

impl Request {
    /// Refuses what needs a model, or an artifact.
    fn check(&self) -> Result<(), Error> {
        if self.hand != Hand::default() {
            return Err(Error::OnlyByHand { path: self.source.path.clone() });
        }
        if self.like.is_some() && !is_artifact(&self.source.path) {
            return Err(Error::NeedlessLike { path: self.source.path.clone() });
        }
        let unused = match (self.requested() != Requested::default(), self.max_error) {
            (true, _) => "`--compare` or `--dump`",
            (_, Some(_)) => "`--max-error`",
            _ if self.strict => "`--strict`",
            _ => return Ok(()),
        };
        if is_artifact(&self.source.path) {
            let (path, option) = (self.source.path.clone(), unused.to_owned());
            return Err(Error::NeedlessOption { path, option });
        }
        Ok(())
    }

    /// Waveforms of the program, when they are asked for.
    fn waves(&self, compiled: &dyn Compiled) -> Result<Option<Waves>, Error> {
        self.waves.as_deref().map(|path| Waves::of(compiled, self.meaning, path)).transpose()
    }

    fn requested(&self) -> Requested {
        Requested { compare: self.compare, dump: self.dump }
    }

    /// Runs a sample: of an artifact on memory that holds anything, as a board's does, the first sample twice in a row and
    /// where nobody may read what is not written. A program that does so is told of in `unwritten`, and then runs.
    fn run_sample(
        &self,
        compiled: &dyn Compiled,
        (place, sample): (usize, &Sample),
        unwritten: &OnceLock<TargetError>,
    ) -> Result<RunResult, TargetError> {
        let is_artifact = is_artifact(&self.source.path);
        let unset = match (self.check, is_artifact) {
            (true, _) => Unset::Poison,
            (false, true) => Unset::Garbage(GARBAGE),
            (false, false) => Unset::Zero,
        };
        let times = if is_artifact && place == 0 { TWICE } else { NonZeroU32::MIN };
        let options = RunOptions { meaning: self.meaning, unset, times, ..RunOptions::default() };
        if is_artifact && place == 0 && !self.check {
            match compiled.run_with(sample, &RunOptions { unset: Unset::Poison, ..options }) {
                Err(error) => unwritten.get_or_init(|| error),
                ran => return ran,
            };
        }
        compiled.run_with(sample, &options)
    }
}

/// Seed of what lies in memory before an artifact runs.
const GARBAGE: u64 = 0x6E70_756B;
const TWICE: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// What the compiler chose; empty for artifacts.
    pub choices: BTreeMap<String, String>,
    /// Samples run.
    pub samples: usize,
    /// Of a run on the machine, at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// Against the float evaluator; for models only.
    #[serde(flatten)]
    pub comparison: Option<Comparison>,
    /// Labels found, when there are labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<accuracy::Report>,
    /// Values that did not fit the number format, over all samples: inputs and results.
    pub saturations: u64,
    /// Those of them that are inputs.
    pub saturated_inputs: u64,
    /// Those of them that are results, by layer.
    pub saturations_by_layer: Vec<Saturation>,
    /// NaN and infinity.
    pub non_finite: NonFinite,
    /// What the number format rounds to zero; for models on targets with a fixed-point format.
    pub underflow: Option<underflow::Report>,
    /// What came of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<RescalingReport>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// Every layer beside float, when asked for.
    // The key that programs which read the JSON know.
    #[serde(rename = "truth", skip_serializing_if = "Option::is_none")]
    pub layer_compare: Option<layer_compare::Report>,
    /// The tensors of the dump, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dump: Vec<DumpedTensor>,
    /// How much of the model the chip does.
    #[serde(flatten)]
    pub on_chip: OnChip,
    /// Steps done by the host.
    pub host_steps: Vec<HostStepReport>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Why the run is not a success, a sentence each: what is not as allowed, and comparisons with values
    /// that are not numbers.
    pub failures: Vec<String>,
    /// Of everything.
    pub seconds: f64,
}

/// Files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Files {
    /// `.npz` of the outputs.
    pub outputs: Vec<u8>,
    /// `.npz` of every tensor, when asked for. `machine/NAME` is the value `NAME` of the compiled graph as the
    /// machine has it; with a comparison, `float/NAME` is that of the whole network in float, and
    /// `layer/NAME` that of its layer in float on the machine's operands. All in the model's scale.
    pub dump: Option<Vec<u8>>,
    /// Waveforms, when asked for.
    pub waves: Option<Waves>,
}

/// Runs all samples; also gives the files.
///
/// # Errors
///
/// Those of [`compile`](super::compile::compile) for a model, [`Error::Target`] for an artifact that cannot
/// be loaded; [`Error::NeedlessTarget`] and [`Error::NeedlessOption`] for options that are for models;
/// [`Error::UnknownInput`], [`Error::Array`], [`Error::Media`], [`Error::Preprocess`] and [`Error::Port`] for inputs;
/// [`Error::State`] for calls that hand on nothing; [`Error::Target`] when the machine faults; [`Error::Eval`] when the evaluator beside it does.
pub fn run(request: &Request, context: Context<'_>) -> Result<(Report, Files), Error> {
    let start = Instant::now();
    request.check()?;
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    let program = request.source.program_for(&request.inputs, context)?;
    let (mut report, outputs) = ran(&program, request, labels, context)?;
    report.seconds = start.elapsed().as_secs_f64();
    let waves = request.waves(&*program.compiled)?;
    Ok((report, Files { outputs: outputs.npz(request.raw)?, dump: outputs.dump, waves }))
}

/// As [`run`], of the program that `request.source` has become.
///
/// # Errors
///
/// Those of [`run`], but for what has become of the source.
pub fn run_program(
    program: &Program,
    request: &Request,
    context: Context<'_>,
) -> Result<(Report, Outputs), Error> {
    request.check()?;
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    ran(program, request, labels, context)
}

fn ran(
    Program { compiled, origin, .. }: &Program,
    request: &Request,
    labels: Option<Labels>,
    context: Context<'_>,
) -> Result<(Report, Outputs), Error> {
    let start = Instant::now();
    let outcome = Outcome::of(request, &**compiled, origin.as_ref(), context)?;
    let of_board = |file: &String| device_dump::compare(file, &outcome.stacks, context.reader);
    // Default: without a board nothing is found.
    let board = request.board.as_ref().map(of_board).transpose()?.unwrap_or_default();
    let mut reference = match origin {
        Some(origin) => outcome.reference(origin)?,
        None => FloatReference::of(&outcome.samples, &outcome.stacks),
    };
    let accuracy = labels
        .as_ref()
        .zip(request.accuracy.as_ref())
        .map(|(labels, options)| labels.judge(options, &outcome.stacks, Some(&reference.outputs)));
    let accuracy = accuracy.transpose()?;
    let dump = reference.dump.as_mut().map(|dump| std::mem::take(&mut dump.npz));
    let (mut report, stacks) = outcome.report(origin.as_ref(), reference, accuracy, start);
    report.notes.extend(board.notes);
    report.failures.extend(board.failures);
    Ok((report, Outputs { stacks, dump }))
}

/// The warning of a program that stops where nobody may read what is not written, and runs else.
fn told_of_unwritten(error: &TargetError) -> String {
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut told: Vec<String> = chain.map(ToString::to_string).collect();
    // A transparent error says what its cause says.
    told.dedup();
    let error = told.join(": ");
    format!(
        "memory that nobody has written is read, which on a board holds anything: {error}; `--check` stops there"
    )
}

/// What the machine made of all samples.
struct Outcome<'a> {
    request: &'a Request,
    compiled: &'a dyn Compiled,
    samples: Vec<Sample>,
    /// How the inputs were understood.
    notes: Vec<String>,
    /// That the program reads memory that nobody has written.
    unwritten: Option<String>,
    stacks: Vec<Stack>,
    saturations: Saturations,
}

impl<'a> Outcome<'a> {
    fn of(
        request: &'a Request,
        compiled: &'a dyn Compiled,
        origin: Option<&Origin>,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let like = request.like.as_ref().map(|path| {
            let model = model::load(path, &ModelOptions::default(), &request.inputs, context.reader)?;
            Like::new(compiled, &model, path)
        });
        let like = like.transpose()?;
        let inputs = match &like {
            Some(like) => like.inputs(),
            None => wanted::of_program(compiled.inputs(), origin.map(|origin| &origin.model)),
        };
        let stateful = match origin {
            Some(origin) => request.stateful.with_states(&origin.model.states),
            None => request.stateful.clone(),
        };
        let states = States::of(&stateful, &compiled.inputs(), &compiled.outputs())?;
        let (files, preprocess, states) = (&request.inputs, &request.preprocess, states.as_ref());
        let text = Some(&read_text as &inputs::ReadText<'_>);
        let Samples { mut samples, mut notes } =
            inputs::samples_of_calls(files, &inputs, preprocess, context.reader, text, states)?;
        if let Some(like) = &like {
            notes.splice(0..0, like.notes());
            samples = samples.into_iter().map(|sample| like.packed(sample)).collect();
        }
        let unwritten = OnceLock::new();
        let run = |place, sample: &Sample| request.run_sample(compiled, (place, sample), &unwritten);
        let (stacks, saturations) = match states {
            Some(states) => machine_calls(compiled, &mut samples, states, run)?,
            None => machine_by(compiled, &samples, run)?,
        };
        let unwritten = unwritten.into_inner().map(|error| told_of_unwritten(&error));
        let stacks = if let Some(like) = &like { like.unpacked(stacks) } else { stacks };
        Ok(Self { request, compiled, samples, notes, unwritten, stacks, saturations })
    }

    /// The model in float beside it, and what of its layers is requested.
    fn reference(&self, origin: &Origin) -> Result<FloatReference, Error> {
        let (compiled, mut reference) = (self.compiled, FloatReference::of(&self.samples, &self.stacks));
        let model_samples = in_model_shape(compiled, &self.samples);
        let comparison = reference.compare(origin, compiled, &model_samples, &self.stacks)?;
        let requested = self.request.requested();
        if requested != Requested::default() {
            let run = Run {
                origin,
                compiled,
                samples: &self.samples,
                model_samples: &model_samples,
                stacks: &self.stacks,
                comparison,
                saturations: &self.saturations,
            };
            (reference.layer_compare, reference.dump) = compare_layers(&run, requested)?;
        }
        Ok(reference)
    }

    /// The time of a run, or why there is none; neither for a target without a clock.
    fn speed(&self, stated: Option<usize>) -> (Speed, Option<String>) {
        let options = TimeOptions { meaning: self.request.meaning, ..TimeOptions::default() };
        match timed(self.compiled, &options) {
            Ok(time) => (Speed::of(&time, batch(&self.compiled.inputs(), stated)), None),
            Err(TargetError::Unsupported { .. }) => (Speed::default(), None),
            Err(error) => (Speed::default(), Some(format!("no time is known of the program: {error}"))),
        }
    }

    fn report(
        self,
        origin: Option<&Origin>,
        reference: FloatReference,
        accuracy: Option<accuracy::Report>,
        start: Instant,
    ) -> (Report, Vec<Stack>) {
        let program = self.compiled.report();
        let (speed, untimed) = self.speed(origin.and_then(|origin| origin.model.batch));
        // Default: an artifact, which has no model beside it, has no remarks.
        let remarks = origin.map(Origin::remarks).unwrap_or_default();
        let Remarks { notes, mut warnings } = remarks.with_notes(self.notes);
        let on_chip = OnChip::of(&Survey::of(self.compiled));
        warnings.extend(on_chip.warning());
        // Of an artifact its compilation has told.
        warnings.extend(origin.iter().flat_map(|_| program.warnings.iter().cloned()));
        warnings.extend(untimed);
        warnings.extend(self.unwritten);
        warnings.extend(reference.warnings(self.request, origin, &self.saturations));
        let mut failures = reference.failures(self.request.max_error);
        let minimum = self.request.accuracy.as_ref().and_then(|options| options.minimum);
        failures.extend(accuracy.as_ref().and_then(|report| report.failure(minimum)));
        let doubt = origin.zip(reference.comparison.as_ref());
        let doubt = doubt.and_then(|(origin, found)| doubt::doubt(origin, &self.saturations, found));
        let is_strict = self.request.strict || self.request.max_error.is_some() || minimum.is_some();
        if is_strict {
            failures.extend(doubt);
        } else if !origin.is_some_and(|origin| reference.suggests_calibration(origin, &self.saturations)) {
            warnings.extend(doubt);
        }
        let found = origin.map(|origin| (origin.rescaling.clone(), origin.quantisation.clone()));
        // Default: an artifact was rescaled and quantised, if at all, when it was compiled.
        let (rescaling, quantisation) = found.unwrap_or_default();
        let report = Report {
            name: program.name,
            target: program.target,
            choices: program.choices,
            samples: self.samples.len(),
            speed,
            outputs: reports(&self.stacks),
            comparison: reference.comparison,
            accuracy,
            saturations: self.saturations.total(),
            saturated_inputs: self.saturations.inputs,
            saturations_by_layer: self.saturations.layers,
            non_finite: reference.non_finite,
            underflow: reference.underflow,
            rescaling,
            quantisation,
            layer_compare: reference.layer_compare,
            // Default: a dump that nobody asked for has no tensors.
            dump: reference.dump.map(|dump| dump.tensors).unwrap_or_default(),
            on_chip,
            host_steps: program.host_steps,
            notes,
            warnings,
            failures,
            seconds: start.elapsed().as_secs_f64(),
        };
        (report, self.stacks)
    }
}
