//! Scales by the ranges that a model states, without samples: [`as_stated`].

use npukit_graph::Node;
use npukit_graph::pass::PassError;
use npukit_graph::rescale::{Limits, Ranges, Rescaled, is_known, rescale_beside};
use npukit_target::{CompileOptions, GraphForm, Instance};

use crate::error::Error;
use crate::model::Model;

/// How many times ranges that a model states are to fit: sums go further, on the way to their end and where the model cuts them
/// off.
const MARGIN: f64 = 2.5;

/// The graph with the scales that the ranges ask for which the model states; none when they ask for none.
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
    let graph = instance.prepare(&model.simplified, options, GraphForm::Apart)?;
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
        addends: instance.info().scaling.addends_of_means,
    };
    // Beside values that fill the format, one whose range is not known would lose what it has.
    let fill = is_known(&graph, &ranges, &limits, &is_host);
    let limits = Limits { fill, balance: fill, ..limits };
    rescale_beside(&graph, &ranges, &limits, &is_host).map_err(failed)
}
