//! `npu check`: every node of a model that a target cannot take.

use npukit_import::onnx::ImportError;
use npukit_target::{HostStepReport, Problem, TargetError};
use serde::Serialize;

use super::Source;
use crate::error::Error;
use crate::{Context, model};

/// Whether a model can be compiled, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether it compiles as it is.
    pub supported: bool,
    /// Everything that stands in the way.
    pub problems: Vec<Problem>,
    /// Steps that would be left to the host.
    pub host_steps: Vec<HostStepReport>,
}

/// Checks a model. A model that cannot be imported for its nodes' sake is a report, not an error.
pub fn check(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let instance = source.instance(context.reader)?;
    let model = match model::load(&source.path, &source.model, context.reader) {
        Err(Error::Import { source, path }) => match *source {
            ImportError::Problems { problems } => {
                return Ok(refused(problems.iter().map(import_problem).collect()));
            }
            other => return Err(Error::Import { path, source: other.into() }),
        },
        model => model?,
    };
    let problems = instance.check(&model.simplified)?;
    if !problems.is_empty() {
        return Ok(refused(problems));
    }
    match instance.compile(&model.simplified, &source.compile_options(&model.file_name)) {
        Ok(compiled) => {
            let host_steps = compiled.report().host_steps;
            Ok(Report { supported: true, problems: Vec::new(), host_steps })
        }
        Err(TargetError::Refused(problems)) => Ok(refused(problems)),
        Err(TargetError::Failed(error)) => Ok(refused(vec![whole_model(&model.graph.name, &*error)])),
        Err(error) => Err(error.into()),
    }
}

fn refused(problems: Vec<Problem>) -> Report {
    Report { supported: false, problems, host_steps: Vec::new() }
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
