//! Fusion of a graph's nodes into layers. A target implements [`Fuse`]; [`fuse`] walks the nodes.
//!
//! A *chain* starts at a node and takes in, one after the other, nodes that can work on its value
//! before the value is stored. A finished chain is a layer. Other nodes need no work of the
//! machine: their results are *views* of values in memory. A node that cannot be lowered is
//! reported, and its readers are still lowered, so that they are reported too.

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, NodeId, Operator, ValueId};

use crate::readers::Readers;
use crate::refusal::{Refusals, Reject};

/// Result of lowering a node.
#[derive(Clone, Debug)]
pub enum Lowered<Chain> {
    /// The node's results are views of values in memory; no layer is needed.
    Views,
    /// A chain that starts with the node.
    Chain(Chain),
}

/// Rules by which a machine turns nodes into layers.
pub trait Fuse<'g> {
    /// A layer under construction.
    type Chain;
    /// Location of a value in memory.
    type View;
    /// A failure that an instance with more memory would not have.
    type Shortage;

    /// Returns the state of the fusion.
    fn fusion(&mut self) -> &mut Fusion<'g, Self::View, Self::Shortage>;

    /// Lowers node `id` as the first node of a chain, or as views.
    ///
    /// # Errors
    ///
    /// The reason why the machine cannot compute the node.
    fn start(&mut self, id: NodeId) -> Result<Lowered<Self::Chain>, Reject<Self::Shortage>>;

    /// Returns the nodes of a chain so far.
    fn nodes(chain: &Self::Chain) -> &[NodeId];

    /// Returns the nodes that may join a chain next, the most likely first.
    fn candidates(&mut self, chain: &mut Self::Chain) -> Vec<NodeId>;

    /// Appends node `id` to the chain, which then ends in the node's result. Returns `false`, with
    /// the chain unchanged, if the node must start a chain of its own.
    ///
    /// # Errors
    ///
    /// The reason why the machine cannot compute the chain at all.
    fn follow(&mut self, chain: &mut Self::Chain, id: NodeId) -> Result<bool, Reject<Self::Shortage>>;

    /// Turns a complete chain into a layer.
    ///
    /// # Errors
    ///
    /// The reason why the machine cannot compute the chain.
    fn finish(&mut self, chain: Self::Chain) -> Result<(), Reject<Self::Shortage>>;

    /// Returns a placeholder location for a result of a refused node, so that its readers are still
    /// lowered. `None` if the value cannot have a location.
    fn stand_in(&mut self, value: ValueId) -> Option<Self::View>;
}

/// Lowers every node that is not done yet.
pub fn fuse<'g, F: Fuse<'g>>(target: &mut F) {
    for id in target.fusion().graph.node_ids() {
        if target.fusion().is_done(id) {
            continue;
        }
        target.fusion().set_done(id);
        let lowered = target.start(id).and_then(|lowered| match lowered {
            Lowered::Views => Ok(()),
            Lowered::Chain(chain) => grow(target, chain),
        });
        if let Err(reject) = lowered {
            refuse(target, id, reject);
        }
    }
}

/// Appends followers to the chain until none fits, then finishes it.
fn grow<'g, F: Fuse<'g>>(target: &mut F, mut chain: F::Chain) -> Result<(), Reject<F::Shortage>> {
    F::nodes(&chain).iter().for_each(|&id| target.fusion().set_done(id));
    while let Some(id) = follower(target, &mut chain)? {
        target.fusion().set_done(id);
    }
    target.finish(chain)
}

/// Appends the first candidate that fits, and returns it.
fn follower<'g, F: Fuse<'g>>(
    target: &mut F,
    chain: &mut F::Chain,
) -> Result<Option<NodeId>, Reject<F::Shortage>> {
    for id in target.candidates(chain) {
        if !target.fusion().is_done(id) && target.follow(chain, id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Reports a node, and gives its results placeholder locations.
fn refuse<'g, F: Fuse<'g>>(target: &mut F, id: NodeId, reject: Reject<F::Shortage>) {
    let node = target.fusion().graph.node(id);
    target.fusion().report(&node.name, node.op.name(), reject);
    for &output in &node.outputs {
        match target.stand_in(output) {
            Some(view) => target.fusion().set_view(output, view),
            None => target.fusion().set_unmade(output),
        }
    }
}

/// State of a fusion: the views, the refused nodes and the nodes that are done.
#[derive(Clone, Debug)]
pub struct Fusion<'g, View, Shortage> {
    /// The graph to lower.
    pub graph: &'g Graph,
    /// Readers and producer of each value.
    pub readers: Readers,
    /// Nodes that were refused so far.
    pub refusals: Refusals<Shortage>,
    views: HashMap<ValueId, View>,
    unmade: HashSet<ValueId>,
    done: Vec<bool>,
}

impl<'g, View, Shortage> Fusion<'g, View, Shortage> {
    /// Creates the state for `graph`, with no node lowered yet.
    pub fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            readers: Readers::of(graph),
            refusals: Refusals::none(),
            views: HashMap::new(),
            unmade: HashSet::new(),
            done: vec![false; graph.nodes.len()],
        }
    }

    /// Whether node `id` is already lowered.
    pub fn is_done(&self, id: NodeId) -> bool {
        self.done[id.0 as usize]
    }

    /// Marks node `id` as lowered.
    pub fn set_done(&mut self, id: NodeId) {
        self.done[id.0 as usize] = true;
    }

    /// Returns the location of `value`, if it has one already.
    pub fn view(&self, value: ValueId) -> Option<&View> {
        self.views.get(&value)
    }

    /// Sets the location of `value`.
    pub fn set_view(&mut self, value: ValueId, view: View) {
        self.views.insert(value, view);
    }

    /// Whether `value` has no location in memory because its producer was refused.
    pub fn is_unmade(&self, value: ValueId) -> bool {
        self.unmade.contains(&value)
    }

    /// Marks `value` as having no location.
    pub fn set_unmade(&mut self, value: ValueId) {
        self.unmade.insert(value);
    }

    /// Records that operator `op` of `node` cannot be lowered.
    pub fn report(&mut self, node: &str, op: &str, reject: Reject<Shortage>) {
        self.refusals.add(node, op, reject);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Relu, Softmax, Unary, UnaryKind};
    use npukit_graph::{Op, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;
    use crate::refusal::Problem;

    /// Chains rectifications. Refuses softmax, and chains that end in a tanh. Treats absolute
    /// values as views.
    struct Toy<'g> {
        fusion: Fusion<'g, &'static str, u64>,
        layers: Vec<String>,
    }

    impl<'g> Fuse<'g> for Toy<'g> {
        type Chain = Vec<NodeId>;
        type View = &'static str;
        type Shortage = u64;

        fn fusion(&mut self) -> &mut Fusion<'g, &'static str, u64> {
            &mut self.fusion
        }

        fn start(&mut self, id: NodeId) -> Result<Lowered<Vec<NodeId>>, Reject<u64>> {
            let node = self.fusion.graph.node(id);
            match &node.op {
                Op::Softmax(_) => Err(Reject::new("no softmax", "end before it")),
                Op::Unary(Unary { kind: UnaryKind::Exp }) => Err(Reject::Shortage(7)),
                _ if self.fusion.is_unmade(node.inputs[0]) => Err(Reject::Consequence),
                Op::Unary(Unary { kind: UnaryKind::Abs }) => Ok(Lowered::Views),
                _ => Ok(Lowered::Chain(vec![id])),
            }
        }

        fn nodes(chain: &Vec<NodeId>) -> &[NodeId] {
            chain
        }

        fn candidates(&mut self, chain: &mut Vec<NodeId>) -> Vec<NodeId> {
            let last = self.fusion.graph.node(chain[chain.len() - 1]);
            self.fusion.readers.only(last.outputs[0]).into_iter().collect()
        }

        fn follow(&mut self, chain: &mut Vec<NodeId>, id: NodeId) -> Result<bool, Reject<u64>> {
            let follows = matches!(self.fusion.graph.node(id).op, Op::Relu(_));
            chain.extend(follows.then_some(id));
            Ok(follows)
        }

        fn finish(&mut self, chain: Vec<NodeId>) -> Result<(), Reject<u64>> {
            let graph = self.fusion.graph;
            let names: Vec<&str> = chain.iter().map(|&id| graph.node(id).name.as_str()).collect();
            let last = graph.node(chain[chain.len() - 1]);
            if matches!(last.op, Op::Unary(Unary { kind: UnaryKind::Tanh })) {
                return Err(Reject::new("no tanh", "leave it out"));
            }
            self.fusion.set_view(last.outputs[0], "made");
            self.layers.push(names.join("+"));
            Ok(())
        }

        fn stand_in(&mut self, value: ValueId) -> Option<&'static str> {
            (self.fusion.graph.value(value).name != "softmax").then_some("stands in")
        }
    }

    fn unary(kind: UnaryKind) -> Op {
        Unary { kind }.into()
    }

    /// Builds a graph of nodes named like their results, each applied to the result of another
    /// node.
    fn graph(nodes: &[(&str, Op, &str)], outputs: &[&str]) -> Graph {
        let mut graph = Graph::default();
        graph.add_input("x", ValueInfo { shape: vec![4], element: ElementType::F32 });
        for (name, op, input) in nodes {
            let input = graph.find_value(input).unwrap();
            graph.add_node(*name, op.clone(), vec![input], &[name]).unwrap();
        }
        graph.outputs = outputs.iter().map(|name| graph.find_value(name).unwrap()).collect();
        graph
    }

    fn fused(graph: &Graph) -> Toy<'_> {
        let mut toy = Toy { fusion: Fusion::new(graph), layers: Vec::new() };
        fuse(&mut toy);
        toy
    }

    #[test]
    fn chains_end_where_another_node_or_the_caller_reads() {
        let relu = || Op::from(Relu);
        let nodes = [
            ("a", unary(UnaryKind::Neg), "x"),
            ("b", relu(), "a"),
            ("c", relu(), "b"),
            ("view", unary(UnaryKind::Abs), "c"),
            ("d", relu(), "c"),
            ("e", relu(), "d"),
        ];
        let graph = graph(&nodes, &["d", "e", "view"]);
        let toy = fused(&graph);
        assert_eq!(toy.layers, ["a+b+c", "d", "e"]);
        assert!(toy.fusion.refusals.problems.is_empty() && toy.fusion.refusals.shortages.is_empty());
        assert!(graph.node_ids().all(|id| toy.fusion.is_done(id)));
        let c = graph.find_value("c").unwrap();
        assert_eq!((toy.fusion.view(c), toy.fusion.view(graph.inputs[0])), (Some(&"made"), None));
    }

    #[test]
    fn what_reads_a_refused_result_is_looked_at() {
        let softmax = Softmax { axis: 0, axis_end: 1 };
        let nodes = [
            ("softmax", softmax.into(), "x"),
            ("consequence", unary(UnaryKind::Neg), "softmax"),
            ("tanh", unary(UnaryKind::Tanh), "x"),
            ("after", unary(UnaryKind::Neg), "tanh"),
            ("exp", unary(UnaryKind::Exp), "x"),
        ];
        let graph = graph(&nodes, &["consequence", "after", "exp"]);
        let toy = fused(&graph);
        let problem = |node, op, reason, hint| Problem::new(node, op, reason, hint);
        let expected = [
            problem("softmax", "Softmax", "no softmax", "end before it"),
            problem("tanh", "Tanh", "no tanh", "leave it out"),
        ];
        assert_eq!(toy.fusion.refusals.problems, expected);
        assert_eq!(toy.fusion.refusals.shortages, [7]);
        assert_eq!(toy.layers, ["after"]);
        assert_eq!(toy.fusion.view(graph.find_value("tanh").unwrap()), Some(&"stands in"));
    }
}
