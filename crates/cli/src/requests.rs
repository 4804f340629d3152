//! Conversion of arguments to requests of the library: sources, inputs, number options.

use npukit::costs::{Costs, Technology};
use npukit::{
    AccuracyOptions, Calibration, Context, GivenRange, HazardMode, InputFile, ModelOptions, OwnInputs,
    Preprocess, RescaleMode, Source, Stateful,
};

use crate::args::{
    AccuracyArgs, CalibrationArgs, CostArgs, MeaningArgs, ModelArgs, ModelSourceArgs, PreprocessArgs,
    Rescale, Resize, SamplesArgs, SourceArgs, StateArgs, StrictArgs,
};
use crate::cache;
use crate::disk::{Disk, settle};
use crate::failure::Failure;
use crate::options::CompileOptions;

/// Returns the context: files on the disk, and the cache.
pub fn context() -> Context<'static> {
    Context::new(&Disk).with_cache(cache::current())
}

pub fn model_options(args: &ModelArgs) -> ModelOptions {
    ModelOptions {
        batch: args.batch.first().map(|&batch| batch as usize),
        sizes: args.sizes.iter().cloned().collect(),
        input_shapes: args.input_shapes.iter().cloned().collect(),
        values: args.values.iter().cloned().collect(),
        outputs: args.outputs.clone(),
        resize_half_pixel: args.resize_mode.map(|mode| mode == Resize::HalfPixel),
        unlimited: args.no_limit,
    }
}

pub fn stateful(args: &StateArgs) -> Stateful {
    Stateful { enabled: args.stateful || !args.pairs.is_empty(), pairs: args.pairs.clone() }
}

pub fn preprocess(args: &PreprocessArgs) -> Preprocess {
    let (mean, std) = (args.mean.clone(), args.std.clone());
    Preprocess { scale: args.scale, mean, std, resize: args.resize, crop: args.crop, ..Preprocess::default() }
}

/// Returns the preprocessing of a verb that runs inputs: with a limit of samples, and ranges for
/// random ones.
pub fn preprocess_samples(args: &PreprocessArgs, samples: &SamplesArgs, ranges: &[GivenRange]) -> Preprocess {
    let samples = samples.samples.map(|count| count as usize);
    Preprocess { samples, ranges: ranges.to_vec(), ..preprocess(args) }
}

/// Returns the calibration of a verb that runs inputs: they are used if no calibration inputs are
/// given.
pub fn calibration_with(args: &CalibrationArgs, inputs: &[String], preprocess: &Preprocess) -> Calibration {
    // The preprocessing options apply to the calibration inputs if there are any, otherwise to the
    // inputs.
    let is_used = !args.calibrate.is_empty();
    let own = OwnInputs { files: input_files(inputs), preprocess: preprocess.clone() };
    let all = || Preprocess { samples: None, ..preprocess.clone() };
    let preprocess = if is_used { all() } else { Preprocess::default() };
    Calibration { own: Some(own), ..calibration(args, preprocess) }
}

/// Returns the preprocessing of calibration inputs. If there are only other `inputs`, the options
/// apply to them alone.
pub fn of_calibration(
    args: &CalibrationArgs,
    inputs: &[String],
    preprocessing: &PreprocessArgs,
) -> Preprocess {
    let is_other = args.calibrate.is_empty() && !inputs.is_empty();
    if is_other { Preprocess::default() } else { preprocess(preprocessing) }
}

pub fn calibration(args: &CalibrationArgs, preprocess: Preprocess) -> Calibration {
    let mode = match args.rescale {
        Rescale::Auto => RescaleMode::Auto,
        Rescale::Always => RescaleMode::Always,
        Rescale::Never => RescaleMode::Never,
    };
    let (inputs, ranges) = (input_files(&args.calibrate), args.range.clone());
    Calibration { inputs, ranges, preprocess, mode, method: args.quantize, own: None }
}

pub fn source(
    args: &SourceArgs,
    lowering: &CompileOptions,
    calibration: Calibration,
) -> Result<Source, Failure> {
    settle(&args.path);
    Ok(Source {
        path: args.path.clone(),
        target: strictly(&args.target, &args.strict)?,
        options: lowering.0.clone(),
        model: model_options(&args.model),
        calibration,
    })
}

pub fn model_source(
    args: &ModelSourceArgs,
    lowering: &CompileOptions,
    calibrating: &CalibrationArgs,
    preprocessing: &PreprocessArgs,
) -> Result<Source, Failure> {
    Ok(Source {
        path: args.model.clone(),
        target: strictly(&args.target, &args.strict)?,
        options: lowering.0.clone(),
        model: model_options(&args.reading),
        calibration: calibration(calibrating, preprocess(preprocessing)),
    })
}

/// Returns the target; with the suffix that follows its specification to the letter, if requested.
pub fn strictly(target: &Option<String>, strict: &StrictArgs) -> Result<Option<String>, npukit::Error> {
    match target {
        Some(spec) if strict.strict_draft => npukit::strict(spec).map(Some),
        None if strict.strict_draft => Err(npukit::Error::NoTarget),
        _ => Ok(target.clone()),
    }
}

/// Returns the target of a command that requires one.
pub fn needed(target: &Option<String>) -> Result<&str, npukit::Error> {
    target.as_deref().ok_or(npukit::Error::NoTarget)
}

pub fn accuracy_options(args: &AccuracyArgs) -> Option<AccuracyOptions> {
    let labels = InputFile::parse(args.labels.as_deref()?);
    let mut options = AccuracyOptions::new(labels);
    options.top = args.top as usize;
    options.worst = args.worst as usize;
    options.minimum = args.min_accuracy;
    Some(options)
}

pub fn meaning(args: &MeaningArgs) -> HazardMode {
    match (args.sequential, args.hardware) {
        (true, _) => HazardMode::Sequential,
        (_, true) => HazardMode::Hardware,
        _ => HazardMode::Agreed,
    }
}

/// Returns the requested costs beyond the accelerator's cycles.
pub fn costs(args: &CostArgs) -> Result<Costs, npukit::Error> {
    let technology = args.technology.as_deref().map(|name| Technology::load(name, context())).transpose()?;
    Ok(Costs { host: args.host.host, technology })
}

pub fn input_files(texts: &[String]) -> Vec<InputFile> {
    texts.iter().map(|text| InputFile::parse(text)).collect()
}
