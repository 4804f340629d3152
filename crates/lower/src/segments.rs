//! Segments of a graph: the parts that the machine computes in one program each, and the host's
//! parts between them.
//!
//! The machine lists the nodes that it refuses; these go to the host. [`Segments::of`] cuts the
//! rest into as few programs as the dependencies allow. It also moves cheap nodes next to the
//! host's nodes to the host, so that values do not go back and forth.

mod sharing;

use std::collections::BTreeSet;

use npukit_graph::{Graph, NodeId, ValueId};

/// Processor that computes a part of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// The machine, with one program.
    Chip,
    /// The host.
    Host,
}

/// Nodes that are computed together, without a transfer in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Processor that computes the nodes.
    pub place: Processor,
    /// The nodes, in graph order.
    pub nodes: Vec<NodeId>,
    /// Values that the nodes read and do not produce, by value number; without constants.
    pub inputs: Vec<ValueId>,
    /// Values that the nodes produce and that other segments or the caller read, by value number.
    pub outputs: Vec<ValueId>,
}

/// A graph cut into segments; each reads only results of the segments before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Segments in execution order.
    pub parts: Vec<Segment>,
}

impl Segments {
    /// Cuts a valid graph. The machine does not compute a node if `refused` is true at its index.
    ///
    /// The number of programs follows from the path that returns most often from the host to the
    /// machine: one program for each return. Nodes that do not depend on each other through the
    /// host share a program.
    ///
    /// # Panics
    ///
    /// Panics if `refused` is shorter than the list of nodes.
    pub fn of(graph: &Graph, refused: &[bool]) -> Self {
        let on_host = sharing::share(graph, refused);
        let phases = phases(graph, &on_host);
        let last = phases.iter().copied().max().map_or(0, |last| last + 1);
        let segment = |phase| Segment::new(graph, phase, &phases);
        Self { parts: (0..last).map(segment).filter(|segment| !segment.nodes.is_empty()).collect() }
    }

    /// Returns the number of programs.
    pub fn on_chip(&self) -> usize {
        self.parts.iter().filter(|part| part.place == Processor::Chip).count()
    }

    /// Returns the multiply-accumulates of the nodes that the machine computes.
    pub fn macs_on_chip(&self, graph: &Graph) -> u64 {
        let macs: Vec<u64> = graph.macs_by_node().collect();
        let chip = self.parts.iter().filter(|part| part.place == Processor::Chip);
        chip.flat_map(|part| &part.nodes).map(|&id| macs[index(id)]).fold(0, u64::saturating_add)
    }
}

impl Segment {
    fn new(graph: &Graph, phase: usize, phases: &[usize]) -> Self {
        let nodes: Vec<NodeId> = graph.node_ids().filter(|&id| phases[index(id)] == phase).collect();
        let made: BTreeSet<ValueId> =
            nodes.iter().flat_map(|&id| graph.node(id).outputs.iter().copied()).collect();
        let read = nodes.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        let inputs: BTreeSet<ValueId> =
            read.filter(|value| !made.contains(value) && graph.constant(*value).is_none()).collect();
        let elsewhere = graph.node_ids().filter(|&id| phases[index(id)] != phase);
        let wanted: BTreeSet<ValueId> = elsewhere
            .flat_map(|id| graph.node(id).inputs.iter().copied())
            .chain(graph.outputs.iter().copied())
            .collect();
        let place = if phase.is_multiple_of(2) { Processor::Chip } else { Processor::Host };
        let outputs = made.intersection(&wanted).copied().collect();
        Self { place, nodes, inputs: inputs.into_iter().collect(), outputs }
    }
}

/// Returns the phase in which each node is computed, as early as its operands allow. The machine
/// computes even phases, the host odd ones. No node reads a result of a later phase, so each phase
/// runs without interruption.
fn phases(graph: &Graph, on_host: &[bool]) -> Vec<usize> {
    let mut of_value = vec![0; graph.values.len()];
    let mut phases = Vec::with_capacity(graph.nodes.len());
    for (node, &is_host) in graph.nodes.iter().zip(on_host) {
        let ready = node.inputs.iter().map(|input| of_value[input.0 as usize]).fold(0, usize::max);
        let is_its_kind = ready % 2 == usize::from(is_host);
        let phase = if is_its_kind { ready } else { ready + 1 };
        node.outputs.iter().for_each(|output| of_value[output.0 as usize] = phase);
        phases.push(phase);
    }
    phases
}

fn index(id: NodeId) -> usize {
    id.0 as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Binary, BinaryKind, MatMul, Relu, Softmax};
    use npukit_graph::{Op, ValueInfo};
    use npukit_numeric::{ElementType, Tensor};

    use super::*;

    /// Builds a graph of nodes named like their results: `p` multiplies by a matrix, `s` is a
    /// softmax, `r` a rectification, `+` a sum of two.
    fn graph(nodes: &[(&str, char, &[&str])], outputs: &[&str]) -> Graph {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![2, 2], element: ElementType::F32 });
        let matrix = graph.add_constant("m", Tensor::from_f32(vec![2, 2], vec![1.0; 4]).unwrap());
        assert_eq!((x.0, matrix.0), (0, 1));
        for &(name, kind, inputs) in nodes {
            let mut inputs: Vec<_> = inputs.iter().map(|name| graph.find_value(name).unwrap()).collect();
            let op: Op = match kind {
                'p' => {
                    inputs.push(matrix);
                    MatMul.into()
                }
                's' => Softmax { axis: 1, axis_end: 2 }.into(),
                'r' => Relu.into(),
                _ => Binary { kind: BinaryKind::Add }.into(),
            };
            graph.add_node(name, op, inputs, &[name]).unwrap();
        }
        graph.outputs = outputs.iter().map(|name| graph.find_value(name).unwrap()).collect();
        graph
    }

    /// Returns the segments as text; softmax is refused.
    fn cut(graph: &Graph) -> Vec<String> {
        let refused: Vec<bool> = graph.nodes.iter().map(|node| matches!(node.op, Op::Softmax(_))).collect();
        let names = |ids: &[ValueId]| {
            ids.iter().map(|&id| graph.value(id).name.as_str()).collect::<Vec<_>>().join(",")
        };
        let text = |part: &Segment| {
            let nodes: Vec<&str> = part.nodes.iter().map(|&id| graph.node(id).name.as_str()).collect();
            format!(
                "{:?} {}: {} -> {}",
                part.place,
                nodes.join(" "),
                names(&part.inputs),
                names(&part.outputs)
            )
        };
        Segments::of(graph, &refused).parts.iter().map(text).collect()
    }

    #[test]
    fn paths_beside_the_host_are_in_the_programs_that_there_are() {
        let nodes: &[(&str, char, &[&str])] = &[
            ("a", 'p', &["x"]),
            ("s", 's', &["a"]),
            ("b", 'p', &["x"]),
            ("c", '+', &["s", "b"]),
            ("d", 'p', &["c"]),
        ];
        // The host adds its own result and the machine's: one map goes back instead of two.
        assert_eq!(
            cut(&graph(nodes, &["d"])),
            ["Chip a b: x -> a,b", "Host s c: a,b -> c", "Chip d: c -> d"]
        );
    }

    /// Without the check, `b` and `d` would be one program, which would need its own result through
    /// the host.
    #[test]
    fn no_program_waits_for_itself() {
        let nodes: &[(&str, char, &[&str])] = &[
            ("b", 'p', &["x"]),
            ("s", 's', &["b"]),
            ("c", 'p', &["s"]),
            ("t", 's', &["c"]),
            ("d", 'p', &["t"]),
            ("e", 'p', &["b"]),
            ("y", '+', &["d", "e"]),
        ];
        let expected = [
            "Chip b e: x -> b,e",
            "Host s: b -> s",
            "Chip c: s -> c",
            "Host t: c -> t",
            "Chip d y: t,e -> y",
        ];
        assert_eq!(cut(&graph(nodes, &["y"])), expected);
    }

    #[test]
    fn what_is_cheap_between_the_hosts_nodes_is_the_hosts() {
        let nodes: &[(&str, char, &[&str])] = &[
            ("a", 'p', &["x"]),
            ("s", 's', &["a"]),
            ("r", 'r', &["s"]),
            ("t", 's', &["r"]),
            ("u", 'r', &["t"]),
            ("b", 'p', &["x"]),
            ("v", 'r', &["b"]),
        ];
        let expected = ["Chip a b v: x -> a,v", "Host s r t u: a -> u"];
        assert_eq!(cut(&graph(nodes, &["u", "v"])), expected);
        let all = graph(&nodes[..1], &["a"]);
        assert_eq!(cut(&all), ["Chip a: x -> a"]);
        assert_eq!(Segments::of(&all, &[false]).macs_on_chip(&all), 8);
        assert_eq!(Segments::of(&all, &[true]).macs_on_chip(&all), 0);
        assert_eq!(Segments::of(&all, &[true]).on_chip(), 0);
    }
}
