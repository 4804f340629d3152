//! `npu check`: every node of a model that a target cannot take.

mod groups;

use std::collections::BTreeMap;

use npukit_import::onnx::{ImportError, NodeProblem};
use npukit_target::{HostStepReport, Instance, Problem, TargetError};
use serde::Serialize;

use super::{Origin, Source};
use crate::error::Error;
use crate::remarks::Remarks;
use crate::{Context, quantise};
pub use groups::Group;

/// Whether a model can be compiled, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Whether it compiles as it is.
    pub supported: bool,
    /// Everything that stands in the way.
    pub problems: Vec<Problem>,
    /// The same by what is wrong, consequences under their cause.
    pub groups: Vec<Group>,
    /// Steps that would be left to the host.
    pub host_steps: Vec<HostStepReport>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

/// Checks a model. What stands in its way is a report, not an error.
pub fn check(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    match supported(source, context) {
        Err(Error::Refused { report }) => Ok(*report),
        result => result,
    }
}

/// Compiles a model.
///
/// Errors: [`Error::Refused`] with everything that stands in its way.
fn supported(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let origin = source.read(&[], context)?;
    origin.admit()?;
    let (name, Remarks { notes, warnings }) = (origin.model.graph.name.clone(), origin.remarks());
    let compiled = source.quantised(origin, context).and_then(|origin| {
        let host_steps = origin.compile()?.report().host_steps;
        Ok(Report { supported: true, host_steps, quantisation: origin.quantisation, ..Report::default() })
    });
    let report = match compiled {
        Err(Error::Target(TargetError::Failed(error))) => {
            Report::refused(vec![whole_model(&name, &*error)], &BTreeMap::new())
        }
        result => result?,
    };
    Ok(Report { notes, warnings, ..report })
}

/// A target's error, with consequences under their cause where it refuses nodes.
pub(super) fn explained(origin: &Origin, error: TargetError) -> Error {
    let TargetError::Refused(problems) = error else { return error.into() };
    let Remarks { notes, warnings } = origin.remarks();
    let causes = groups::causes(&origin.model.simplified, &problems, |graph| {
        origin.instance.check(graph, &origin.options).ok()
    });
    let report = Report { notes, warnings, ..Report::refused(problems, &causes) };
    Error::Refused { report: Box::new(report) }
}

/// An error of a model's import: one for its nodes' sake is a refusal.
pub(super) fn of_import(instance: &dyn Instance, error: Error) -> Error {
    let Error::Import { source, path } = error else { return error };
    match *source {
        ImportError::Problems { problems } => {
            let problems = problems.iter().map(import_problem).collect();
            let report =
                Report { warnings: instance.warnings(), ..Report::refused(problems, &BTreeMap::new()) };
            Error::Refused { report: Box::new(report) }
        }
        other => Error::Import { path, source: other.into() },
    }
}

impl Report {
    /// Of a model with problems; those at places of `causes` are consequences.
    fn refused(problems: Vec<Problem>, causes: &BTreeMap<usize, usize>) -> Self {
        Self { groups: groups::groups(&problems, causes), problems, ..Self::default() }
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

/// A problem of no node in particular: a memory that is too small.
fn whole_model(name: &str, error: &(dyn std::error::Error + 'static)) -> Problem {
    Problem {
        node: name.to_owned(),
        op: "model".to_owned(),
        reason: error.to_string(),
        hint: "try a larger instance".to_owned(),
    }
}
