//! `npu check`: whether a model fits a target, and every unsupported node.

use std::collections::BTreeMap;

use npukit_target::{CompileEstimate, Compiled, Problem, TargetError};

use crate::Context;
use crate::error::Error;
use crate::model::compile_job::{CompileJob, CompiledModel};
pub use crate::model::problem_groups::Group;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::numbers::weights::{self, Weight};
pub use crate::report::check::Report;
use crate::report::coverage::Coverage;
use crate::report::verdict::{SaturationRisk, Verdict};
use crate::run::batch::machine;

/// Checks a model without compiling it, unless there are samples or ranges to judge number formats.
/// Problems are part of the report, not errors.
///
/// # Errors
///
/// Fails as [`check_program`] does.
pub fn check(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    if source.calibration.inputs.is_empty() && source.calibration.ranges.is_empty() {
        checked(source, context, surveyed)
    } else {
        check_program(source, context)
    }
}

/// Checks a model and its program, including memory use and time.
///
/// # Errors
///
/// Fails as [`compile`](super::compile::compile) does, and as the machine does on calibration
/// samples. [`Error::Refused`] and programs that do not fit the instance are part of the report
/// instead.
pub fn check_program(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    checked(source, context, compiled)
}

/// Returns the report of `judge`, or the reasons why the model is refused.
fn checked(
    source: &Source,
    context: Context<'_>,
    judge: impl Fn(&Source, CompileJob, Context<'_>) -> Result<Report, Error>,
) -> Result<Report, Error> {
    match supported(source, context, judge) {
        Err(Error::Refused { report }) => Ok(*report),
        result => result,
    }
}

fn supported(
    source: &Source,
    context: Context<'_>,
    judge: impl Fn(&Source, CompileJob, Context<'_>) -> Result<Report, Error>,
) -> Result<Report, Error> {
    let origin = source.on_instance(&[], context)?;
    let (name, Remarks { notes, mut warnings }) = (origin.model.graph.name.clone(), origin.remarks());
    let (graph, target) = (origin.model.simplified.clone(), origin.instance.info().name.clone());
    let report = match judge(source, origin, context) {
        Err(Error::Target(TargetError::Failed(error))) => {
            Report::refused(&target, Some(&graph), vec![whole_model(&name, &*error)], &BTreeMap::new())
        }
        result => result?,
    };
    warnings.extend(report.warnings);
    let notes = if report.supported { report.notes } else { notes };
    Ok(Report { notes, warnings, ..report })
}

/// Judges the model by the instance's survey.
fn surveyed(source: &Source, mut origin: CompileJob, _context: Context<'_>) -> Result<Report, Error> {
    source.check_calibration(&*origin.instance)?;
    source.scale_as_stated(&mut origin)?;
    let estimate = origin.estimate()?;
    let notes = origin.remarks().notes;
    let weights = match origin.instance.info().quantization {
        // Integers are chosen from samples.
        Some(_) => Vec::new(),
        None => origin.altered_weights()?,
    };
    let risk = SaturationRisk::of(&origin, &weights, None, 0, None);
    let report = fitting(&origin, &estimate, Verdict::of(&estimate, risk), &weights, notes);
    Ok(Report { is_compiled: false, ..report })
}

/// Judges the compiled program; its values are measured on calibration samples, if there are any.
fn compiled(source: &Source, mut origin: CompileJob, context: Context<'_>) -> Result<Report, Error> {
    // Quantization checks the nodes itself.
    if origin.instance.info().quantization.is_none() {
        origin.admit()?;
    }
    let quantized = source.quantize(origin, context)?;
    let CompiledModel { mut origin, program: compiled } = source.calibrate(quantized, context)?;
    // Copied before the samples are read again, which would repeat the notes.
    let notes = origin.remarks().notes;
    let samples = source.samples(&mut origin.model, context)?;
    let measured = (!samples.is_empty()).then(|| machine(&*compiled, &samples)).transpose()?;
    let saturations = measured.as_ref().map(|(_, saturations)| saturations);
    let weights = origin.altered_weights()?;
    let constants = compiled.report().saturated_constants;
    let risk = SaturationRisk::of(&origin, &weights, constants, samples.len(), saturations);
    Ok(of_compiled(&origin, &*compiled, risk, &weights, notes))
}

/// Judges a program and the model it was compiled from.
pub(crate) fn of_compiled(
    origin: &CompileJob,
    compiled: &dyn Compiled,
    risk: SaturationRisk,
    weights: &[Weight],
    notes: Vec<String>,
) -> Report {
    let estimate = CompileEstimate::of(compiled);
    let (verdict, untimed) = Verdict::of(&estimate, risk).timed(compiled, origin.model.batch);
    let mut report = fitting(origin, &estimate, verdict, weights, notes);
    report.warnings.extend(untimed);
    report
}

/// Creates the report of a model that fits.
fn fitting(
    origin: &CompileJob,
    estimate: &CompileEstimate,
    verdict: Verdict,
    altered: &[Weight],
    notes: Vec<String>,
) -> Report {
    let on_chip = Coverage::of(estimate);
    let found =
        on_chip.warning().into_iter().chain(origin.number_warnings()).chain(estimate.warnings.clone());
    let warnings = found.chain(weights::warnings(altered)).collect();
    let (quantization, rescaling) = (origin.quantization.clone(), origin.rescaling.clone());
    Report {
        target: origin.instance.info().name.clone(),
        supported: true,
        is_compiled: true,
        verdict,
        on_chip,
        host_steps: estimate.host_steps.clone(),
        rescaling,
        quantization,
        notes,
        warnings,
        ..Report::default()
    }
}

/// Returns a problem that is not about a single node, such as a memory that is too small.
fn whole_model(name: &str, error: &(dyn std::error::Error + 'static)) -> Problem {
    Problem {
        node: name.to_owned(),
        op: "model".to_owned(),
        reason: error.to_string(),
        hint: "try a larger instance".to_owned(),
    }
}
