//! Problems by what is wrong: [`groups`], with consequences folded under their cause.
//!
//! A node is refused for want of an operand when the node that makes the operand is refused. Which of two refusals is
//! the other's consequence only the target knows, so it is asked again: with results of refused nodes given as inputs of
//! the graph, consequences are gone.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::{Graph, ValueId};
use npukit_target::Problem;
use serde::Serialize;

/// One thing that is wrong, and with which nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Operator of the nodes.
    pub op: String,
    /// Why they cannot be lowered.
    pub reason: String,
    /// What to change.
    pub hint: String,
    /// How many nodes there are.
    pub count: usize,
    /// Their names.
    pub nodes: Vec<String>,
    /// Names of further nodes that are refused because these are, and for no reason of their own.
    pub consequences: Vec<String>,
}

/// The problems by operator, reason and hint, in their order. Those at places of `causes` are consequences of the
/// problems at the places given there.
pub(super) fn groups(problems: &[Problem], causes: &BTreeMap<usize, usize>) -> Vec<Group> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for problem in
        problems.iter().enumerate().filter(|(place, _)| !causes.contains_key(place)).map(|(_, p)| p)
    {
        let Problem { node, op, reason, hint } = problem;
        let place = *places.entry((op, reason, hint)).or_insert_with(|| {
            let (op, reason, hint) = (op.clone(), reason.clone(), hint.clone());
            groups.push(Group { op, reason, hint, count: 0, nodes: Vec::new(), consequences: Vec::new() });
            groups.len() - 1
        });
        groups[place].count += 1;
        groups[place].nodes.push(node.clone());
    }
    for (&place, &cause) in causes {
        let Problem { op, reason, hint, .. } = &problems[cause];
        if let Some(group) = places.get(&(op, reason, hint)) {
            groups[*group].consequences.push(problems[place].node.clone());
        }
    }
    groups
}

/// For each place of a problem that is a consequence, the place of its cause. `check` finds the problems of a graph, as
/// it found `problems` of this one.
pub(super) fn causes(
    graph: &Graph,
    problems: &[Problem],
    check: impl Fn(&Graph) -> Option<Vec<Problem>>,
) -> BTreeMap<usize, usize> {
    let refused = Refused::new(graph, problems);
    let after = refused.nearest(graph);
    if after.is_empty() {
        return BTreeMap::new();
    }
    let Some(again) = check(&refused.given(graph)) else { return BTreeMap::new() };
    let remaining: BTreeSet<&str> = again.iter().map(|problem| problem.node.as_str()).collect();
    let is_left = |place: usize| remaining.contains(problems[place].node.as_str());
    // A graph that is refused as a whole says nothing of its nodes.
    if !(0..problems.len()).filter(|place| !after.contains_key(place)).all(is_left) {
        return BTreeMap::new();
    }
    let caused = after.iter().filter(|(place, _)| !is_left(**place));
    caused.map(|(&place, &cause)| (place, root(cause, &after, &is_left))).collect()
}

/// The first cause: consequences have consequences.
fn root(mut cause: usize, after: &BTreeMap<usize, usize>, is_left: &impl Fn(usize) -> bool) -> usize {
    while let Some(&earlier) = after.get(&cause).filter(|_| !is_left(cause)) {
        cause = earlier;
    }
    cause
}

/// The nodes of a graph that are refused, with the places of their problems.
struct Refused(BTreeMap<usize, usize>);

impl Refused {
    fn new(graph: &Graph, problems: &[Problem]) -> Self {
        let mut places = BTreeMap::new();
        for (place, problem) in problems.iter().enumerate() {
            places.entry(problem.node.as_str()).or_insert(place);
        }
        let of =
            |(index, node): (usize, &npukit_graph::Node)| Some((index, *places.get(node.name.as_str())?));
        Self(graph.nodes.iter().enumerate().filter_map(of).collect())
    }

    /// For each place of a problem behind another on a way through the graph, the place of the nearest one before it.
    fn nearest(&self, graph: &Graph) -> BTreeMap<usize, usize> {
        let mut of_value: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut after = BTreeMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            let before = node.inputs.iter().find_map(|id| of_value.get(id).copied());
            let own = self.0.get(&index).copied();
            if let (Some(own), Some(before)) = (own, before) {
                after.entry(own).or_insert(before);
            }
            if let Some(place) = own.or(before) {
                of_value.extend(node.outputs.iter().map(|&id| (id, place)));
            }
        }
        after
    }

    /// The graph in which whoever consumes a result of a refused node is given it as an input.
    fn given(&self, graph: &Graph) -> Graph {
        let mut given = graph.clone();
        let mut inputs = BTreeMap::new();
        for &index in self.0.keys() {
            for &id in &graph.nodes[index].outputs {
                let value = graph.value(id);
                let input = given.add_input(format!("{}/given", value.name), value.info.clone());
                inputs.insert(id, input);
                if !given.outputs.contains(&id) {
                    given.outputs.push(id);
                }
            }
        }
        for id in given.nodes.iter_mut().flat_map(|node| &mut node.inputs) {
            *id = inputs.get(id).copied().unwrap_or(*id);
        }
        given
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Relu, Unary, UnaryKind};
    use npukit_graph::{Operator, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;

    /// A chain of nodes called by their places: `true` is a Sin, `false` a Relu.
    fn chain(sins: &[bool]) -> Graph {
        let mut graph = Graph::default();
        let mut last = graph.add_input("x", ValueInfo { shape: vec![2], element: ElementType::F32 });
        for (index, &sin) in sins.iter().enumerate() {
            let op = if sin { Unary { kind: UnaryKind::Sin }.into() } else { Relu.into() };
            last = graph.add_node(format!("n{index}"), op, vec![last], &[&format!("v{index}")]).unwrap()[0];
        }
        graph.outputs.push(last);
        graph
    }

    /// A machine that has no Sin, and refuses what comes of something refused.
    fn check(graph: &Graph) -> Vec<Problem> {
        let mut refused: BTreeSet<ValueId> = BTreeSet::new();
        let mut problems = Vec::new();
        for node in &graph.nodes {
            let reason = match &node.op {
                npukit_graph::Op::Unary(_) => "no Sin",
                _ if node.inputs.iter().any(|id| refused.contains(id)) => "nobody knows where its operand is",
                _ => continue,
            };
            refused.extend(&node.outputs);
            let (node, op) = (node.name.clone(), node.op.name().to_owned());
            problems.push(Problem { node, op, reason: reason.to_owned(), hint: String::new() });
        }
        problems
    }

    #[test]
    fn consequences_are_folded_under_their_cause() {
        let graph = chain(&[false, true, false, false, true, false]);
        let problems = check(&graph);
        assert_eq!(problems.len(), 5);
        let causes = causes(&graph, &problems, |graph| Some(check(graph)));
        let groups = groups(&problems, &causes);
        let [sin] = &groups[..] else { panic!("{groups:?}") };
        assert_eq!((sin.count, sin.nodes.join(" ")), (2, "n1 n4".to_owned()));
        assert_eq!(sin.consequences, ["n2", "n3", "n5"]);
    }

    #[test]
    fn a_graph_refused_as_a_whole_says_nothing_of_its_nodes() {
        let graph = chain(&[true, false]);
        let problems = check(&graph);
        assert!(causes(&graph, &problems, |_| Some(Vec::new())).is_empty());
        assert!(causes(&graph, &problems, |_| None).is_empty());
    }
}
