//! Scales from the ranges in a model, without samples: [`as_stated`].

use npukit_graph::Node;
use npukit_graph::pass::PassError;
use npukit_graph::rescale::{Limits, Ranges, Rescaled, is_known, rescale_beside};
use npukit_target::{CompileOptions, GraphForm, Instance};

use crate::error::Error;
use crate::model::Model;

/// Factor by which the ranges in a model must fit: intermediate sums, and values before the model
/// clips them, are larger.
const MARGIN: f64 = 2.5;

/// Returns the graph with the scales that the ranges in the model require; `None` if they require
/// none.
pub(crate) fn as_stated(
    instance: &dyn Instance,
    model: &Model,
    options: &CompileOptions,
) -> Result<Option<Rescaled>, Error> {
    let failed = |source: PassError| Error::Simplify { path: model.file_name.clone(), source: source.into() };
    let format = instance.info().number_format;
    let Some((largest, step)) = format.and_then(|format| Some((format.largest(), format.step()?))) else {
        return Ok(None);
    };
    let graph = instance.prepare(&model.simplified, options, GraphForm::Decomposed)?;
    let Some(ranges) = Ranges::stated(&graph) else { return Ok(None) };
    let of_host = instance.nodes_of_host(&graph)?;
    let is_host = |node: &Node| of_host.contains(&node.name);
    let limits = Limits {
        largest,
        step,
        margin: MARGIN,
        fill: true,
        functions: instance.info().scaling.functions,
        balance: true,
        ports: true,
        addends: instance.info().scaling.max_mean_terms,
    };
    // A value of unknown range would lose precision next to values that fill the format.
    let fill = is_known(&graph, &ranges, &limits, &is_host);
    let limits = Limits { fill, balance: fill, ..limits };
    rescale_beside(&graph, &ranges, &limits, &is_host).map_err(failed)
}
