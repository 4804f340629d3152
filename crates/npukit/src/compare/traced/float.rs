//! [`Float`]: a graph in the float evaluator, with all its values.

use std::collections::{BTreeMap, HashSet};

use npukit_graph::{Graph, ValueId};

use super::{Given, Line, Shown, TensorKind, Values, axes};
use crate::Context;
use crate::compare::layer_compare::float_chain;
use crate::error::Error;
use crate::inputs::{self, Sample, wanted};
use crate::model::Model;

/// Graph, and samples for it.
pub(crate) struct Float {
    graph: Graph,
    pub(super) samples: Vec<Sample>,
    pub(super) lines: Vec<Line>,
    /// Names of the graph's values in the model; a value that is missing here keeps its own name.
    shown: BTreeMap<String, Shown>,
}

impl Float {
    /// Collects all values of a model except constants that are not outputs. Also returns notes on
    /// how its inputs were read.
    ///
    /// # Errors
    ///
    /// Fails if the samples cannot be read.
    pub fn of_model(
        model: &Model,
        given: Given<'_>,
        context: Context<'_>,
    ) -> Result<(Self, Vec<String>), Error> {
        let inputs = wanted::of_model(model);
        let found = inputs::samples(given.inputs, &inputs, given.preprocess, context.reader, None)?;
        let graph = model.graph.clone();
        let line = |&id: &ValueId| line(&graph, id, &Shown::plain(&graph.value(id).name, 0));
        let results = graph.nodes.iter().flat_map(|node| &node.outputs);
        let constants = graph.outputs.iter().filter(|&&id| graph.constant(id).is_some());
        let lines = graph.inputs.iter().chain(results).chain(constants).map(line).collect();
        Ok((Self { graph, samples: found.samples, lines, shown: BTreeMap::new() }, found.notes))
    }

    /// Returns the values `shown` of the graph that a program is compiled from, in float, in the
    /// form that the program has them in `lines`.
    pub fn beside(
        graph: &Graph,
        shown: &BTreeMap<String, Shown>,
        samples: &[Sample],
        lines: &[Line],
    ) -> Self {
        let (graph, shown) = (graph.clone(), shown.clone());
        Self { graph, samples: samples.to_vec(), lines: lines.to_vec(), shown }
    }

    pub(super) fn values(&self, index: usize, wanted: &HashSet<&str>) -> Result<Values, Error> {
        let Some(sample) = self.samples.get(index) else { return Ok(Values::default()) };
        let shown = |name: &str| match self.shown.get(name) {
            Some(shown) => shown.clone(),
            None => Shown::plain(name, 0),
        };
        let chain = float_chain(&self.graph, sample, |name| match self.shown.get(name) {
            Some(shown) => wanted.contains(shown.name.as_str()),
            None => wanted.contains(name),
        })?;
        let mut values = Values::default();
        for (name, tensor) in chain {
            let shown = shown(&name);
            values.shown.insert(shown.name.clone(), shown.show(&tensor, &[]));
        }
        Ok(values)
    }
}

/// Describes a value of a graph.
pub(super) fn line(graph: &Graph, id: ValueId, shown: &Shown) -> Line {
    let kind = match (graph.inputs.contains(&id), graph.outputs.contains(&id)) {
        (true, _) => TensorKind::Input,
        (_, true) => TensorKind::Output,
        _ => TensorKind::Value,
    };
    Line {
        name: shown.name.clone(),
        shape: shown.shape(graph.shape(id)),
        axes: shown.axes(axes(graph, id)),
        layer: None,
        kind,
    }
}
