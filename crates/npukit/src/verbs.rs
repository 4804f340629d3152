//! The verbs: a module each, with a request, a function and a report.

pub mod asm;
pub mod bench;
pub mod check;
pub mod compile;
pub mod conform;
pub mod demo;
pub mod eval;
pub mod generate;
pub mod isa;
pub mod lint;
pub mod list;
pub mod run;
pub mod time;
pub mod zoo;

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_graph::quantise::Method;
use npukit_target::{CompileOptions, Compiled, Instance, TargetError};

use crate::error::Error;
use crate::inputs::{self, InputFile, Sample};
use crate::model::{self, Model, ModelOptions};
use crate::quantise::{self, Job};
use crate::remarks::Remarks;
use crate::rescale::{self, Calibration, Chosen, Exponents, Mode, Trial};
use crate::targets::{artifact_target, resolve};
use crate::{Context, Progress};

pub use crate::comparison::Comparison;
pub use crate::samples::{DumpedTensor, OutputReport};

/// What to compile, run or time: a model for a target, or an artifact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// The `.onnx` or `.pb` file, or the artifact's manifest.
    pub path: String,
    /// For a model, as `tcu:pynqz1`.
    pub target: Option<String>,
    /// For a model: the target's own options, by name.
    pub options: BTreeMap<String, String>,
    /// For a model: how it is read.
    pub model: ModelOptions,
    /// For a model: samples by which its numeric range is chosen.
    pub calibration: Calibration,
}

/// A program, and what it was made from.
struct Program {
    compiled: Box<dyn Compiled>,
    origin: Option<Origin>,
}

/// What a program was made from.
pub(crate) struct Origin {
    pub instance: Box<dyn Instance>,
    /// Its `simplified` graph is the one compiled, rescaled where that was chosen.
    pub model: Model,
    pub options: CompileOptions,
    /// Of the compiled graph's values.
    pub exponents: Exponents,
    /// What came of the calibration, if there was one.
    pub rescaling: Option<rescale::Report>,
    /// What came of the quantisation, for a target that asks for one.
    pub quantisation: Option<quantise::Report>,
}

impl Source {
    /// The program: compiled, or loaded.
    ///
    /// What a model leaves open of its inputs' shapes is as in `inputs`, else as in the samples to calibrate by; this
    /// holds for everything here.
    fn program(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Program, Error> {
        let Some(target) = artifact_target(&self.path) else {
            let (origin, compiled) = self.compile(inputs, context)?;
            return Ok(Program { compiled, origin: Some(origin) });
        };
        if self.target.is_some() {
            return Err(Error::NeedlessTarget { path: self.path.clone() });
        }
        let needless = |option| Err(Error::NeedlessOption { path: self.path.clone(), option });
        if !self.options.is_empty() {
            return needless("`--strategy`, `--order` or `--minimise`");
        }
        if self.model != ModelOptions::default() {
            return needless("`--batch`, `--dim`, `--input-shape`, `--outputs` or `--resize`");
        }
        if self.calibration != Calibration::default() {
            return needless("`--calibrate`, `--rescale` or `--quantise`");
        }
        Ok(Program { compiled: target.load(&self.path, context.reader)?, origin: None })
    }

    /// The program made from the model, rescaled when the calibration says so, and what it is made from.
    fn compile(
        &self,
        inputs: &[InputFile],
        context: Context<'_>,
    ) -> Result<(Origin, Box<dyn Compiled>), Error> {
        let mut origin = self.load(inputs, context)?;
        let compiled = origin.compile()?;
        if origin.quantisation.is_some() {
            return Ok((origin, compiled));
        }
        let chosen = self.calibrate(&mut origin, &*compiled, context)?;
        let Some(Chosen { graph, exponents, compiled }) = chosen else { return Ok((origin, compiled)) };
        (origin.model.simplified, origin.exponents) = (graph, exponents);
        Ok((origin, compiled))
    }

    /// The model for its instance, as it enters the target.
    fn origin(&self, context: Context<'_>) -> Result<Origin, Error> {
        if self.calibration == Calibration::default() {
            return self.load(&[], context);
        }
        Ok(self.compile(&[], context)?.0)
    }

    /// The model for its instance: not rescaled, but quantised where the instance asks for it.
    fn load(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Origin, Error> {
        let origin = self.read(inputs, context)?;
        if origin.instance.quantisation().is_some() {
            // Before samples are evaluated for nothing.
            origin.admit()?;
        }
        self.quantised(origin, context)
    }

    /// The model and its instance.
    fn read(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Origin, Error> {
        let instance = self.instance(context.reader)?;
        let model = self.model(inputs, context).map_err(|error| check::of_import(&*instance, error))?;
        Origin::new(instance, model, self.options.clone())
    }

    /// The model.
    fn model(&self, inputs: &[InputFile], context: Context<'_>) -> Result<Model, Error> {
        let samples = if inputs.is_empty() { &self.calibration.inputs } else { inputs };
        model::load(&self.path, &self.model, samples, context.reader)
    }

    /// The model with its tensors as integers, where the instance asks for it.
    fn quantised(&self, mut origin: Origin, context: Context<'_>) -> Result<Origin, Error> {
        self.check_calibration(&*origin.instance)?;
        let samples = if origin.instance.quantisation().is_some() {
            self.samples(&origin.model, context)?
        } else {
            Vec::new()
        };
        origin.quantise(self.calibration.method, &samples, context.progress)?;
        Ok(origin)
    }

    /// Refuses what the instance has no use for.
    fn check_calibration(&self, instance: &dyn Instance) -> Result<(), Error> {
        let Calibration { mode, method, .. } = &self.calibration;
        let unfit = |option| Err(Error::UnfitOption { option, target: instance.name() });
        match instance.quantisation() {
            Some(_) if *mode != Mode::Auto => unfit("--rescale"),
            None if method.is_some() => unfit("--quantise"),
            _ => Ok(()),
        }
    }

    /// The samples to calibrate by.
    fn samples(&self, model: &Model, context: Context<'_>) -> Result<Vec<Sample>, Error> {
        let files = &self.calibration.inputs;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        inputs::samples(files, &model::ports(&model.graph), context.reader, None)
    }

    /// The rescaled program, when there are samples and they ask for one.
    fn calibrate(
        &self,
        origin: &mut Origin,
        plain: &dyn Compiled,
        context: Context<'_>,
    ) -> Result<Option<Chosen>, Error> {
        let Calibration { inputs, mode, .. } = &self.calibration;
        match (inputs.is_empty(), mode) {
            (true, Mode::Always) => return Err(Error::NoCalibration),
            (true, _) | (_, Mode::Never) => return Ok(None),
            _ => {}
        }
        let samples = self.samples(&origin.model, context)?;
        let Origin { instance, model, options, .. } = &*origin;
        let (samples, progress) = (&samples[..], context.progress);
        let trial = Trial { instance: &**instance, model, options, samples, progress };
        let (chosen, report) = rescale::choose(&trial, plain, *mode)?;
        origin.rescaling = Some(report);
        Ok(chosen)
    }

    fn instance(&self, reader: &dyn npukit_target::Reader) -> Result<Box<dyn Instance>, Error> {
        resolve(self.target.as_deref().ok_or(Error::NoTarget)?, reader)
    }
}

impl Origin {
    /// The model for its instance: as it is, or between real numbers where it passes through integers and the
    /// instance chooses those.
    pub(crate) fn new(
        instance: Box<dyn Instance>,
        mut model: Model,
        options: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        if instance.quantisation().is_some() {
            model.lift()?;
        }
        let model_name = model.file_name.clone();
        let options = CompileOptions { model_name, options, ..CompileOptions::default() };
        let exponents = Exponents::new();
        Ok(Self { instance, model, options, exponents, rescaling: None, quantisation: None })
    }

    /// What there is to say of the model and of the instance.
    pub(crate) fn remarks(&self) -> Remarks {
        self.model.remarks.clone().with_instance(&*self.instance)
    }

    /// The program.
    pub(crate) fn compile(&self) -> Result<Box<dyn Compiled>, Error> {
        let compiled = self.instance.compile(&self.model.simplified, &self.options);
        compiled.map_err(|error| check::explained(self, error))
    }

    /// Refuses a model with nodes that the instance does not take.
    fn admit(&self) -> Result<(), Error> {
        match self.instance.check(&self.model.simplified, &self.options)? {
            problems if problems.is_empty() => Ok(()),
            problems => Err(check::explained(self, TargetError::Refused(problems))),
        }
    }

    /// The graph that the instance lowers.
    pub(crate) fn prepared(&self) -> Result<Graph, Error> {
        let graph = &self.model.simplified;
        if self.options.prepared {
            return Ok(graph.clone());
        }
        self.instance.prepare(graph, &self.options).map_err(|error| check::explained(self, error))
    }

    /// Makes the compiled graph the instance's own and its tensors integers, when the instance asks for that.
    /// Without a method it is the one that is nearest to float on the samples.
    pub(crate) fn quantise(
        &mut self,
        method: Option<Method>,
        samples: &[Sample],
        progress: &Progress<'_>,
    ) -> Result<(), Error> {
        let Some(scheme) = self.instance.quantisation() else { return Ok(()) };
        self.model.simplified = self.prepared()?;
        let job = Job { graph: &self.model.simplified, scheme: &scheme, method, samples, progress };
        let (quantisation, report) = job.run()?;
        (self.options.prepared, self.options.quantisation) = (true, Some(quantisation));
        self.quantisation = Some(report);
        Ok(())
    }
}
