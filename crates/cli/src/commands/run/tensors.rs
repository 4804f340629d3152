//! Tensors of `npu run --dump`: [`traced`] writes them for an artifact, whose layers are not
//! compared; [`table`] lists the tensors of a model on a target.

use std::io::Write;

use npukit::Source;
use npukit::report::DumpedTensor;
use npukit::verbs::run::Request;
use npukit::verbs::trace::{self, Report, trace};

use crate::commands::trace::tensors;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{self, Column};

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
    let request = trace::Request { source, model: request.like.clone(), inputs, preprocess, unlimited };
    Ok(trace(&request, out, context())?)
}

/// Returns the tensors of a trace for the report of a run, and their table.
pub fn listed(report: Report) -> (Vec<DumpedTensor>, String) {
    let table = format!("\n{}", tensors(&report.tensors));
    (report.tensors.into_iter().map(DumpedTensor::from).collect(), table)
}

/// Returns the table of the tensors of a model on a target; empty without a dump.
pub fn table(dump: &[DumpedTensor]) -> String {
    let row = |tensor: &DumpedTensor| vec![tensor.name.clone(), format!("{:?}", tensor.shape)];
    let columns = [Column::left("tensor"), Column::left("shape")];
    if dump.is_empty() {
        String::new()
    } else {
        format!("\n{}", table::table(&columns, dump.iter().map(row)))
    }
}
