//! Tensors of `npu run --dump` without `--compare`: [`traced`] writes them by their names and with
//! their axes in the model.

use std::io::Write;

use npukit::report::DumpedTensor;
use npukit::verbs::run::Request;
use npukit::verbs::trace::{self, Report, TracedTensor, trace};
use npukit::{Source, is_artifact};

use crate::commands::trace::tensors;
use crate::failure::Failure;
use crate::requests::context;

/// Whether the tensors of a run are traced apart. A comparison, calls with a state and a choice
/// between hardware and sequential execution write their own values.
pub fn are_apart(request: &Request) -> bool {
    let is_plain = request.stateful == Default::default() && request.meaning == Default::default();
    !request.compare && (is_plain || is_artifact(&request.source.path))
}

/// Computes the tensors of `source` with the inputs of a run, and writes them to `out`.
///
/// Errors: the errors of [`trace`].
pub fn traced(
    request: &Request,
    source: Source,
    unlimited: bool,
    out: &mut dyn Write,
) -> Result<Report, Failure> {
    let (inputs, preprocess) = (request.inputs.clone(), request.preprocess.clone());
    let request = trace::Request { source, model: request.model.clone(), inputs, preprocess, unlimited };
    Ok(trace(&request, out, context())?)
}

/// Returns the tensors of a trace for the report of a run, and their table.
pub fn listed(report: Report) -> (Vec<DumpedTensor>, String) {
    let table = table(&report.tensors);
    (report.tensors.into_iter().map(DumpedTensor::from).collect(), table)
}

/// Returns the table of written tensors after an empty line.
pub fn table(written: &[TracedTensor]) -> String {
    format!("\n{}", tensors(written))
}
