//! [`Source`]: the input of compiling, running or timing, and how it becomes a program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use npukit_graph::Graph;
use npukit_import::onnx::{ImportError, NodeProblem};
use npukit_target::{
    AsmProgram, Compiled, Instance, Measures, Phase, Port, Problem, SEGMENTS_EXTENSION, Target,
    TypicalInputs, program_text,
};

use crate::Context;
use crate::error::Error;
use crate::inputs::{self, InputFile, Sample, Samples, wanted};
use crate::model::compile_job::{CompileJob, CompiledModel, Quantized};
use crate::model::program::Program;
use crate::model::{self, Model, ModelOptions};
use crate::numbers::assumed::AssumedRanges;
use crate::numbers::quantize;
use crate::numbers::quantize::{SampleOrigin, Typical};
use crate::numbers::rescale::{self, Calibration, Chosen, Mode, OWN_SAMPLES, OwnInputs, Trial};
use crate::report::check::Report;
use crate::run::batch::tensors;
use crate::targets::{
    Artifact, has_extension, instance_of, is_artifact, load, resolve, target, target_of_artifact,
};
use crate::verbs::disasm::other_instance;

/// Input of compiling, running or timing: a model for a target, or an artifact.
///
/// Created by [`Source::model`] or [`Source::artifact`]; the other fields may be set afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Path of the `.onnx`, `.pb` or `.tflite` file, or of the artifact's manifest.
    pub path: String,
    /// Target of a model, or one of its instances after a `:`; `None` for an artifact.
    pub target: Option<String>,
    /// Options of the target for compiling a model, by name.
    pub options: BTreeMap<String, String>,
    /// Options for reading a model.
    pub model: ModelOptions,
    /// Samples for choosing the number formats of a model.
    pub calibration: Calibration,
}

/// Kind of the file of a [`Source`].
pub(crate) enum Input {
    /// Model, which is compiled.
    Model,
    /// Manifest of an artifact.
    Artifact,
    /// Assembly or binary program, with the bytes of the file.
    Assembly(Vec<u8>),
}

/// Inputs and outputs of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ports {
    /// Inputs of the model.
    pub inputs: Vec<Port>,
    /// Outputs of the model.
    pub outputs: Vec<Port>,
}

impl Source {
    /// Creates a source for the model at `path`. `target` is a name, optionally with `:` and an
    /// instance; it is looked up when the source is used.
    pub fn model(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self { path: path.into(), target: Some(target.into()), ..Self::default() }
    }

    /// Creates a source for the artifact whose manifest is at `path`. The artifact contains its
    /// target.
    pub fn artifact(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Returns the program: compiles the model, or reads the artifact.
    ///
    /// # Errors
    ///
    /// Fails as [`compile`](crate::verbs::compile::compile) does for a model, and with
    /// [`Error::Target`] for an artifact that cannot be read. Returns [`Error::NeedlessTarget`] or
    /// [`Error::NeedlessOption`] for options that only apply to models.
    pub fn program(&self, context: Context<'_>) -> Result<Program, Error> {
        self.program_for(&[], context)
    }

    /// Returns the model as imported, which is what the float evaluator computes. Does not need a
    /// target.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`], [`Error::UnknownFile`], [`Error::Import`] or
    /// [`Error::OpenDimensions`].
    pub fn graph(&self, context: Context<'_>) -> Result<Graph, Error> {
        Ok(self.read_model(&[], context)?.graph)
    }

    /// Returns the inputs and outputs of the model. Does not need a target.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::graph`] does.
    pub fn ports(&self, context: Context<'_>) -> Result<Ports, Error> {
        let graph = self.graph(context)?;
        Ok(Ports { inputs: model::ports(&graph), outputs: model::output_ports(&graph) })
    }

    /// Returns the program, compiled or loaded.
    ///
    /// Open sizes of a model's inputs are taken from `inputs`, otherwise from the calibration
    /// samples. This applies to all methods here.
    pub(crate) fn program_for(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Program, Error> {
        match self.input(context)? {
            Input::Model => {
                let CompiledModel { origin, program } = self.compile(inputs, context)?;
                Ok(Program { compiled: program, origin: Some(origin), instance_warnings: Vec::new() })
            }
            Input::Artifact => self.loaded(context),
            Input::Assembly(bytes) => self.assembled(&bytes, context),
        }
    }

    /// Loads the program of an artifact, which needs no options.
    fn loaded(&self, context: Context<'_>) -> Result<Program, Error> {
        if self.target.is_some() {
            return Err(Error::NeedlessTarget { path: self.path.clone() });
        }
        let needless = |option: &str| {
            let (path, option) = (self.path.clone(), option.to_owned());
            let advice = "it takes effect when the model is compiled: give the model instead";
            Err(Error::NeedlessOption { path, option, advice })
        };
        if !self.options.is_empty() {
            let keys: Vec<String> = self.options.keys().map(|key| format!("`{key}`")).collect();
            return needless(&format!("option {}", keys.join(", ")));
        }
        if self.model != ModelOptions::default() {
            return Err(Error::NeedlessOption {
                path: self.path.clone(),
                option: "`--batch`, `--dim`, `--input-shape`, `--const`, `--outputs` or `--resize-mode`"
                    .to_owned(),
                advice: "they apply to the model that it was compiled from: add `--model MODEL`",
            });
        }
        if self.calibration.prepares_nothing() {
            return Err(Error::NothingToPrepare);
        }
        if !self.calibration.is_default() {
            return needless("`--calibrate`, `--range`, `--rescale` or `--quantize`");
        }
        let _phase = Phase::begin("read artifact");
        let loaded = load(&self.path, context.reader)?;
        let Artifact { compiled, .. } = loaded.ok_or_else(|| model::unknown(&self.path))?;
        Ok(Program { compiled, origin: None, instance_warnings: Vec::new() })
    }

    /// Compiles the model, stage by stage.
    pub(crate) fn compile(&self, inputs: &[InputFile], context: Context<'_>) -> Result<CompiledModel, Error> {
        let origin = self.on_instance(inputs, context)?;
        let quantized = self.quantize(origin, context)?;
        self.calibrate(quantized, context)
    }

    /// Quantizes the model if the instance needs that, or applies the scales that the model
    /// contains.
    pub(crate) fn quantize(&self, mut origin: CompileJob, context: Context<'_>) -> Result<Quantized, Error> {
        self.check_calibration(&*origin.instance)?;
        if origin.instance.info().quantization.is_some() {
            // Checked here, before samples are evaluated.
            origin.admit()?;
            let typical = self.typical(&mut origin.model, context)?;
            origin.quantize(self.calibration.method, &typical)?;
        }
        self.scale_as_stated(&mut origin)?;
        self.lend_samples(&mut origin, context)?;
        Ok(Quantized(origin))
    }

    /// Compiles the program, with powers of two between its layers if the samples require them.
    pub(crate) fn calibrate(
        &self,
        Quantized(mut origin): Quantized,
        context: Context<'_>,
    ) -> Result<CompiledModel, Error> {
        let mut program = origin.compile()?;
        if origin.quantization.is_none() {
            program = self.rescaled(&mut origin, program, context)?;
        }
        Ok(CompiledModel { origin, program })
    }

    /// Scales the model by its own ranges, if the instance supports it, unless there are
    /// calibration samples or scaling is disabled.
    pub(crate) fn scale_as_stated(&self, origin: &mut CompileJob) -> Result<(), Error> {
        let is_wanted = self.calibration.inputs.is_empty() && self.calibration.mode != Mode::Never;
        if !is_wanted || !origin.states_ranges() {
            return Ok(());
        }
        // Values computed by the host have no scales.
        origin.admit()?;
        origin.scale_as_stated()
    }

    /// Reads the model and its instance.
    pub(crate) fn on_instance(
        &self,
        inputs: &[InputFile],
        context: Context<'_>,
    ) -> Result<CompileJob, Error> {
        let instance = self.instance(context.reader)?;
        let model = self.read_model(inputs, context).map_err(|error| of_import(&*instance, error))?;
        self.on(instance, model, context)
    }

    /// Prepares a model that was read before, with its instance.
    pub(crate) fn of_model(&self, model: Model, context: Context<'_>) -> Result<CompileJob, Error> {
        self.on(self.instance(context.reader)?, model, context)
    }

    /// Prepares a model that was read before, for the instance of an artifact.
    pub(crate) fn beside(
        &self,
        artifact: &dyn Compiled,
        model: Model,
        context: Context<'_>,
    ) -> Result<CompileJob, Error> {
        self.on(artifact.words()?.instance, model, context)
    }

    fn on(
        &self,
        instance: Box<dyn Instance>,
        mut model: Model,
        context: Context<'_>,
    ) -> Result<CompileJob, Error> {
        model.remarks = model.remarks.with_default_instance(self.target.as_deref());
        let mut origin = CompileJob::new(instance, model, self.options.clone())?;
        origin.options.reading = self.model.recorded();
        // Default: without a cache, nothing is stored.
        origin.options.cache = context.cache.cloned().unwrap_or_default();
        Ok(origin)
    }

    /// Returns the source of the program alone: the options for reading a model apply to the
    /// artifact's `model` if it is given.
    pub(crate) fn without(&self, model: Option<&String>) -> Cow<'_, Self> {
        match model {
            Some(_) => Cow::Owned(Self { model: ModelOptions::default(), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// Reads the model.
    fn read_model(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Model, Error> {
        let samples = if inputs.is_empty() { &self.calibration.inputs } else { inputs };
        model::load(&self.path, &self.model, samples, context.reader)
    }

    /// Returns inputs for choosing scales: the given typical inputs, otherwise the first inputs of
    /// the run itself, otherwise generated ones.
    fn typical(&self, model: &mut Model, context: Context<'_>) -> Result<Typical, Error> {
        let assumed = AssumedRanges::of(&model.graph, &self.calibration.ranges)?;
        let samples = self.samples(model, context)?;
        let own = if samples.is_empty() && self.calibration.ranges.is_empty() {
            self.own_samples(model, context)
        } else {
            None
        };
        Ok(match own {
            Some(samples) => Typical { samples, assumed, from: SampleOrigin::Run },
            None => Typical { samples, assumed, from: SampleOrigin::Given },
        })
    }

    /// Returns the first samples of the run itself. `None` if the inputs are not complete samples
    /// of the model: the run then refuses them, or completes them with states.
    fn own_samples(&self, model: &Model, context: Context<'_>) -> Option<Vec<Sample>> {
        let OwnInputs { files, preprocess } =
            self.calibration.own.as_ref().filter(|own| !own.files.is_empty())?;
        let read = inputs::samples(files, &wanted::of_model(model), preprocess, context.reader, None);
        let Samples { mut samples, .. } = read.ok()?;
        samples.truncate(OWN_SAMPLES);
        Some(samples)
    }

    /// Gives the compiler typical inputs if it measures programs on them: calibration samples, or
    /// generated ones.
    fn lend_samples(&self, origin: &mut CompileJob, context: Context<'_>) -> Result<(), Error> {
        let measures = (origin.instance.info().measures)(&origin.options)?;
        if measures == Measures::Never {
            return Ok(());
        }
        let Typical { mut samples, from, assumed } = self.typical(&mut origin.model, context)?;
        let made_up = samples.is_empty();
        if measures == Measures::WhereGiven && (made_up || from == SampleOrigin::Run) {
            return Ok(());
        }
        let graph = &origin.model.simplified;
        if made_up {
            samples = quantize::stand_ins(graph, &assumed);
        }
        let tensors = samples.iter().map(|sample| tensors(graph, sample)).collect::<Result<Vec<_>, _>>()?;
        origin.options.samples = TypicalInputs { tensors: tensors.into(), made_up };
        Ok(())
    }

    /// Refuses calibration options that the instance does not use.
    pub(crate) fn check_calibration(&self, instance: &dyn Instance) -> Result<(), Error> {
        let Calibration { mode, method, .. } = &self.calibration;
        if self.calibration.prepares_nothing() {
            return Err(Error::NothingToPrepare);
        }
        let unfit = |option| Err(Error::UnfitOption { option, target: instance.info().name.clone() });
        match instance.info().quantization {
            Some(_) if *mode != Mode::Auto => unfit("--rescale"),
            None if method.is_some() => unfit("--quantize"),
            _ => Ok(()),
        }
    }

    /// Reads the calibration samples; notes on how they were read are added to the model.
    pub(crate) fn samples(&self, model: &mut Model, context: Context<'_>) -> Result<Vec<Sample>, Error> {
        let Samples { samples, notes } = self.calibration_samples(model, context)?;
        model.remarks = std::mem::take(&mut model.remarks).with_notes(notes);
        Ok(samples)
    }

    /// Reads the calibration samples, with notes on how they were read.
    pub(crate) fn calibration_samples(&self, model: &Model, context: Context<'_>) -> Result<Samples, Error> {
        let Calibration { inputs: files, preprocess, .. } = &self.calibration;
        if files.is_empty() {
            return Ok(Samples::default());
        }
        inputs::samples(files, &wanted::of_model(model), preprocess, context.reader, None)
    }

    /// Returns the program that the samples require, if there are any: rescaled, or with the last
    /// nodes of the network on the host.
    fn rescaled(
        &self,
        origin: &mut CompileJob,
        plain: Box<dyn Compiled>,
        context: Context<'_>,
    ) -> Result<Box<dyn Compiled>, Error> {
        let Calibration { inputs, mode, .. } = &self.calibration;
        match (inputs.is_empty(), mode) {
            _ if origin.is_scaled_as_stated => return Ok(plain),
            (true, Mode::Always) => return Err(Error::NoCalibration),
            (_, Mode::Never) => return Ok(plain),
            _ => {}
        }
        let typical = self.typical(&mut origin.model, context)?;
        let Some(samples) = origin.samples_to_scale(typical)? else { return Ok(plain) };
        let plain = if origin.leave_unfit_ends(&samples)? { origin.compile()? } else { plain };
        let CompileJob { instance, model, options, .. } = &*origin;
        let trial = Trial { instance: &**instance, model, options, samples: &samples };
        let (chosen, report) = rescale::choose(&trial, &*plain, *mode)?;
        origin.rescaling = Some(report);
        let Some(Chosen { graph, exponents, scales, compiled }) = chosen else { return Ok(plain) };
        (origin.model.simplified, origin.exponents, origin.options.scales) = (graph, exponents, scales);
        Ok(compiled)
    }

    /// Returns the kind of the file. With a target, a file that is neither a model nor another
    /// known kind is an assembly program.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] for a file without extension that cannot be read.
    pub(crate) fn input(&self, context: Context<'_>) -> Result<Input, Error> {
        if self.is_artifact() {
            return Ok(Input::Artifact);
        }
        self.refuse_folder(context.reader)?;
        if self.target.is_none() || model::is_known(&self.path) {
            return Ok(Input::Model);
        }
        let bytes = context.reader.read(&self.path)?;
        Ok(if model::is_model(&self.path, &bytes) { Input::Model } else { Input::Assembly(bytes) })
    }

    /// Wraps an assembly program in the form of a compiled one.
    fn assembled(&self, bytes: &[u8], context: Context<'_>) -> Result<Program, Error> {
        let instance = self.instance(context.reader)?;
        let program = self.asm_program(&*instance, bytes, context)?;
        let instance_warnings = instance.info().warnings.clone();
        Ok(Program { compiled: program.compiled()?, origin: None, instance_warnings })
    }

    /// Reads the assembly program whose file holds `bytes`.
    pub(crate) fn asm_program(
        &self,
        instance: &dyn Instance,
        bytes: &[u8],
        context: Context<'_>,
    ) -> Result<Box<dyn AsmProgram>, Error> {
        instance.asm_program(&self.path, bytes, context.reader).map_err(|error| {
            let is_text = program_text(bytes).is_some();
            let other = || other_instance(&self.path, instance, bytes, "words".to_owned());
            if is_text { None } else { other() }.unwrap_or(error.into())
        })
    }

    /// Whether it is an artifact rather than a model.
    pub(crate) fn is_artifact(&self) -> bool {
        is_artifact(&self.path)
    }

    /// Returns the accelerator of the artifact, or the named one.
    pub(crate) fn accelerator(&self, context: Context<'_>) -> Result<&'static Target, Error> {
        if let Some(target) = target_of_artifact(&self.path, context.reader)? {
            return Ok(target);
        }
        self.refuse_folder(context.reader)?;
        target(instance_of(self.named_target()?).0)
    }

    /// Returns the target that was named. If none was named and the file type is unknown, the error
    /// reports the file type.
    fn named_target(&self) -> Result<&str, Error> {
        let has_ending = Path::new(&self.path).extension().is_some();
        self.target.as_deref().ok_or_else(|| {
            if has_ending && !model::is_known(&self.path) {
                model::unknown(&self.path)
            } else {
                Error::NoTarget
            }
        })
    }

    /// Refuses a folder of artifacts.
    fn refuse_folder(&self, reader: &dyn npukit_target::Reader) -> Result<(), Error> {
        const SHOWN: usize = 3;
        if self.is_artifact() || model::is_known(&self.path) {
            return Ok(());
        }
        // Default: a path that cannot be listed; reading it gives the error.
        let files = reader.list(&self.path).unwrap_or_default();
        let mut inside: Vec<String> =
            files.into_iter().filter(|file| *file != self.path && is_artifact(file)).collect();
        // The parts of a program in segments do not run alone.
        if inside.iter().any(|file| has_extension(file, SEGMENTS_EXTENSION)) {
            inside.retain(|file| has_extension(file, SEGMENTS_EXTENSION));
        }
        inside.truncate(SHOWN);
        match inside.is_empty() {
            true => Ok(()),
            false => Err(Error::Folder { path: self.path.clone(), inside }),
        }
    }

    pub(crate) fn instance(&self, reader: &dyn npukit_target::Reader) -> Result<Box<dyn Instance>, Error> {
        self.refuse_folder(reader)?;
        resolve(self.named_target()?, reader)
    }
}

/// Converts an error of a model's import: unsupported nodes become a refusal.
fn of_import(instance: &dyn Instance, error: Error) -> Error {
    let Error::Import { source, path } = error else { return error };
    match *source {
        ImportError::Problems { problems } => {
            let problems = problems.iter().map(import_problem).collect();
            let report = Report {
                warnings: instance.info().warnings.clone(),
                ..Report::refused(&instance.info().name, None, problems, &BTreeMap::new())
            };
            Error::Refused { report: Box::new(report) }
        }
        other => Error::Import { path, source: other.into() },
    }
}

fn import_problem(problem: &NodeProblem) -> Problem {
    Problem {
        node: problem.node.clone(),
        op: problem.op.clone(),
        reason: problem.reason.to_string(),
        hint: problem.hint.clone(),
    }
}
