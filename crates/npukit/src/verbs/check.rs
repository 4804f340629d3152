//! `npu check`: every node of a model that a target cannot take.

use std::collections::BTreeMap;

use npukit_target::{Problem, TargetError};

use crate::Context;
use crate::error::Error;
pub use crate::groups::Group;
pub use crate::refusal::Report;
use crate::remarks::Remarks;
use crate::source::Source;
use crate::weights;

/// Checks a model. What stands in its way is a report, not an error.
///
/// # Errors
///
/// Those of [`compile`](super::compile::compile) but for [`Error::Refused`] and programs that do not fit the
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
    let origin = source.read(&[], context)?;
    origin.admit()?;
    let (name, Remarks { notes, mut warnings }) = (origin.model.graph.name.clone(), origin.remarks());
    let compiled = source.quantised(origin, context).and_then(|origin| {
        let host_steps = origin.compile()?.report().host_steps;
        let warnings = weights::warnings(&origin.altered_weights()?);
        let quantisation = origin.quantisation;
        Ok(Report { supported: true, host_steps, quantisation, warnings, ..Report::default() })
    });
    let report = match compiled {
        Err(Error::Target(TargetError::Failed(error))) => {
            Report::refused(vec![whole_model(&name, &*error)], &BTreeMap::new())
        }
        result => result?,
    };
    warnings.extend(report.warnings);
    Ok(Report { notes, warnings, ..report })
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
