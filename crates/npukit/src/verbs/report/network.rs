//! The network as it was compiled, with the layer of each node: [`network`].

use std::collections::{BTreeMap, HashMap, HashSet};

use npukit_graph::{Graph, Operator, ValueId};
use npukit_report::{GraphNode, Network};
use npukit_target::{Compiled, TimeReport};

use crate::error::Error;
use crate::model::compile_job::CompileJob;

/// Returns the nodes of the graph that `compiled` was lowered from, the edges between them, and the
/// layer in `time` of each.
pub(super) fn network(
    origin: &CompileJob,
    compiled: &dyn Compiled,
    time: &TimeReport,
) -> Result<Network, Error> {
    let graph = origin.prepared()?;
    let layers = layer_of_each(&graph, compiled, time);
    let report = compiled.report();
    let hosts: HashSet<&str> = report.host_steps.iter().map(|step| step.node.as_str()).collect();
    let node = |(place, (node, macs)): (usize, (&npukit_graph::Node, u64))| {
        let layer = layers.get(&place).copied();
        GraphNode {
            name: node.name.clone(),
            op: node.op.name().to_owned(),
            layer: layer.map_or(-1, |layer| layer as i64),
            place: match layer {
                _ if hosts.contains(node.name.as_str()) => "host",
                Some(_) => "chip",
                None => "",
            }
            .to_owned(),
            macs,
            shape: node.outputs.first().map_or_else(Vec::new, |&id| graph.shape(id).to_vec()),
        }
    };
    let nodes = graph.nodes.iter().zip(graph.macs_by_node()).enumerate().map(node).collect();
    Ok(Network { nodes, edges: edges(&graph) })
}

/// Returns pairs of a node and one that uses its result, each pair once.
fn edges(graph: &Graph) -> Vec<[usize; 2]> {
    let producers = graph.producers();
    let producer = |id: &ValueId| Some(producers.get(id.0 as usize).copied().flatten()?.0 as usize);
    let edges = graph.nodes.iter().enumerate().flat_map(|(to, node)| {
        let from: Vec<usize> = node.inputs.iter().filter_map(producer).collect();
        from.into_iter().map(move |from| [from, to])
    });
    let mut edges: Vec<[usize; 2]> = edges.collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns the layer of each node, by index: the layer named after it, otherwise the first one
/// whose results need it.
fn layer_of_each(graph: &Graph, compiled: &dyn Compiled, time: &TimeReport) -> BTreeMap<usize, usize> {
    let places: HashMap<&str, usize> = time.layers.iter().map(|layer| layer.name.as_str()).zip(0..).collect();
    let node_places: HashMap<&str, usize> =
        graph.nodes.iter().map(|node| node.name.as_str()).zip(0..).collect();
    let layers = &compiled.info().layers;
    let results =
        |names: &[String]| names.iter().filter_map(|name| graph.find_value(name)).collect::<Vec<_>>();
    let known: HashSet<ValueId> = layers.iter().flat_map(|layer| results(&layer.results)).collect();
    let mut found: BTreeMap<usize, usize> = named(graph, time).collect();
    for layer in layers {
        let Some(&place) = places.get(layer.name.as_str()) else { continue };
        for node in graph.part(&known, &results(&layer.results)).nodes {
            if let Some(&node) = node_places.get(node.name.as_str()) {
                found.entry(node).or_insert(place);
            }
        }
    }
    found
}

/// Returns the nodes that layers are named after: the names of a layer's nodes are joined by `+`,
/// which may also occur in a name.
fn named<'a>(graph: &'a Graph, time: &'a TimeReport) -> impl Iterator<Item = (usize, usize)> + 'a {
    let layers: Vec<String> = time.layers.iter().map(|layer| format!("+{}+", layer.name)).collect();
    graph.nodes.iter().enumerate().filter_map(move |(node, one)| {
        let name = format!("+{}+", one.name);
        Some((node, layers.iter().position(|layer| layer.contains(&name))?))
    })
}
