//! `npu check`: every node of a model that a target cannot take.

mod groups;

use std::collections::BTreeMap;

use npukit_import::onnx::ImportError;
use npukit_target::{HostStepReport, Problem, TargetError};
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

/// Checks a model. A model that cannot be imported for its nodes' sake is a report, not an error.
pub fn check(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let instance = source.instance(context.reader)?;
    let model = match source.model(&[], context) {
        Err(Error::Import { source, path }) => match *source {
            ImportError::Problems { problems } => {
                let warnings = instance.warnings();
                return Ok(Report { warnings, ..refused(problems.iter().map(import_problem).collect()) });
            }
            other => return Err(Error::Import { path, source: other.into() }),
        },
        model => model?,
    };
    let name = model.graph.name.clone();
    let origin = Origin::new(instance, model, source.options.clone())?;
    let Remarks { notes, warnings } = origin.remarks();
    Ok(Report { notes, warnings, ..of_origin(source, &name, origin, context)? })
}

/// Checks a model that could be imported.
fn of_origin(source: &Source, name: &str, origin: Origin, context: Context<'_>) -> Result<Report, Error> {
    let problems = origin.instance.check(&origin.model.simplified)?;
    if !problems.is_empty() {
        let graph = &origin.model.simplified;
        let causes = groups::causes(graph, &problems, |graph| origin.instance.check(graph).ok());
        return Ok(Report { groups: groups::groups(&problems, &causes), problems, ..Report::default() });
    }
    match source.quantised(origin, context).and_then(|origin| Ok((origin.compile()?, origin.quantisation))) {
        Ok((compiled, quantisation)) => {
            let host_steps = compiled.report().host_steps;
            Ok(Report { supported: true, host_steps, quantisation, ..Report::default() })
        }
        Err(Error::Target(TargetError::Refused(problems))) => Ok(refused(problems)),
        Err(Error::Target(TargetError::Failed(error))) => Ok(refused(vec![whole_model(name, &*error)])),
        Err(error) => Err(error),
    }
}

fn refused(problems: Vec<Problem>) -> Report {
    Report { groups: groups::groups(&problems, &BTreeMap::new()), problems, ..Report::default() }
}

fn import_problem(problem: &npukit_import::onnx::NodeProblem) -> Problem {
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
