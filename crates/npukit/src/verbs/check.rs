//! `npu check`: whether a model fits a target, and every node that stands in the way.

use std::collections::BTreeMap;

use npukit_target::{Compiled, Problem, TargetError};

use crate::Context;
use crate::batch::machine;
use crate::error::Error;
pub use crate::groups::Group;
use crate::on_chip::OnChip;
use crate::origin::Origin;
pub use crate::refusal::Report;
use crate::remarks::Remarks;
use crate::source::Source;
use crate::verdict::{SaturationRisk, Verdict};
use crate::weights;

/// Checks a model. What stands in its way is a report, not an error.
///
/// # Errors
///
/// Those of [`compile`](super::compile::compile), and of the machine on samples to calibrate by; but for [`Error::Refused`] and programs that do not fit the
/// instance, which the report says.
pub fn check(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    match supported(source, context) {
        Err(Error::Refused { report }) => Ok(*report),
        result => result,
    }
}

/// Compiles a model.
///
/// # Errors
///
/// [`Error::Refused`] with everything that stands in its way.
fn supported(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let mut origin = source.read(&[], context)?;
    origin.admit()?;
    let (name, Remarks { notes, mut warnings }) = (origin.model.graph.name.clone(), origin.remarks());
    let graph = origin.model.simplified.clone();
    let compiled = source.quantised(origin, context).and_then(|origin| source.compiled(origin, context));
    let report = match compiled {
        Err(Error::Target(TargetError::Failed(error))) => {
            Report::refused(Some(&graph), vec![whole_model(&name, &*error)], &BTreeMap::new())
        }
        result => {
            let (origin, compiled) = result?;
            fitting(source, origin, &*compiled, context)?
        }
    };
    warnings.extend(report.warnings);
    let notes = if report.supported { report.notes } else { notes };
    Ok(Report { notes, warnings, ..report })
}

/// Of a program; with samples to calibrate by, its values are measured on them.
fn fitting(
    source: &Source,
    mut origin: Origin,
    compiled: &dyn Compiled,
    context: Context<'_>,
) -> Result<Report, Error> {
    // Before the samples are read again, and what they were understood as is taken down again.
    let notes = origin.remarks().notes;
    let samples = source.samples(&mut origin.model, context)?;
    let measured = (!samples.is_empty()).then(|| machine(compiled, &samples)).transpose()?;
    let saturations = measured.as_ref().map(|(_, saturations)| saturations);
    let weights = origin.altered_weights()?;
    let risk = SaturationRisk::of(&origin, &weights, samples.len(), saturations);
    let (verdict, untimed) = Verdict::of(compiled, origin.model.batch, risk);
    let on_chip = OnChip::of(compiled);
    let program = compiled.report().warnings;
    let found = on_chip.warning().into_iter().chain(origin.number_warnings()).chain(program);
    let warnings = found.chain(weights::warnings(&weights)).chain(untimed);
    let warnings = warnings.collect();
    let Origin { quantisation, rescaling, .. } = origin;
    Ok(Report {
        supported: true,
        verdict,
        on_chip,
        host_steps: compiled.report().host_steps,
        rescaling,
        quantisation,
        notes,
        warnings,
        ..Report::default()
    })
}

/// A problem of no node in particular: a memory that is too small.
fn whole_model(name: &str, error: &(dyn std::error::Error + 'static)) -> Problem {
    Problem {
        node: name.to_owned(),
        op: "model".to_owned(),
        reason: error.to_string(),
        hint: "try a larger instance".to_owned(),
    }
}
