//! Problems grouped by cause: [`groups`], with consequences below their cause.
//!
//! A node may be refused only because the node that computes its operand is refused. Only the
//! target knows whether a refusal is such a consequence, so it is asked again with the results of
//! refused nodes as inputs of the graph. Consequences are gone then ([`causes`]).

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::{Graph, Operator, ValueId};
use npukit_numeric::ElementType;
use npukit_target::Problem;
use serde::Serialize;

/// Problem, and the nodes that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Group {
    /// Operator of the nodes.
    pub op: String,
    /// Reason why the nodes cannot be lowered.
    pub reason: String,
    /// Advice on what to change.
    pub hint: String,
    /// Number of nodes with this problem.
    pub count: usize,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Names of further nodes that are refused only because of these nodes.
    pub consequences: Vec<String>,
}

/// Groups the problems by operator, reason and hint, in order. Keys of `causes` are places of
/// consequences; values are places of their causes.
pub(crate) fn groups(problems: &[Problem], causes: &BTreeMap<usize, usize>) -> Vec<Group> {
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

/// Returns the place of the cause for each place of a problem that is a consequence. `check` finds
/// the problems of a graph, as it found `problems` of this one.
///
/// A problem that comes after no other problem is a cause. With the results of all causes given as
/// inputs, the problems after them are checked again: they are causes too, or are gone. Problems
/// with the same words as a known cause are not checked again. Nodes after the checked ones stay in
/// the graph, because a target may accept at the end of a model what it refuses in between.
pub(crate) fn causes(
    graph: &Graph,
    problems: &[Problem],
    check: impl Fn(&Graph) -> Option<Vec<Problem>>,
) -> BTreeMap<usize, usize> {
    let mut search = Search::new(graph, problems);
    for _ in 0..MAX_ROUNDS {
        let asked = search.advance();
        let Some(given) = Some(search.given()).filter(|_| !asked.is_empty()) else { break };
        let Some(again) = check(&given).filter(|again| again.iter().all(|problem| search.is_known(problem)))
        else {
            break;
        };
        let remaining: BTreeSet<Key<'_>> = again.iter().map(key).collect();
        for (place, cause) in asked {
            if remaining.contains(&key(&problems[place])) {
                search.settle(place);
            } else {
                search.causes.insert(place, cause);
            }
        }
    }
    search.causes
}

/// Maximum number of checks; problems that are undecided then are treated as causes.
const MAX_ROUNDS: usize = 64;

/// Node and operator.
type Key<'a> = (&'a str, &'a str);

fn key(problem: &Problem) -> Key<'_> {
    (&problem.node, &problem.op)
}

/// State of the search for causes in a graph.
struct Search<'a> {
    graph: &'a Graph,
    problems: &'a [Problem],
    /// Places of problems by node.
    of_node: BTreeMap<usize, usize>,
    /// Places of problems by input.
    of_input: BTreeMap<ValueId, usize>,
    /// Names of nodes and values.
    names: BTreeSet<&'a str>,
    /// Places of known causes.
    settled: BTreeSet<usize>,
    /// Operator, reason and hint of known causes.
    said: BTreeSet<(&'a str, &'a str, &'a str)>,
    /// Places of consequences, with the places of their causes.
    causes: BTreeMap<usize, usize>,
}

/// Problems before a value.
#[derive(Clone, Copy, Default)]
struct Before {
    /// Place of the nearest cause.
    cause: Option<usize>,
    /// Whether there is a problem that is still undecided.
    is_open: bool,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, problems: &'a [Problem]) -> Self {
        let mut places = BTreeMap::new();
        for (place, problem) in problems.iter().enumerate() {
            places.entry(key(problem)).or_insert(place);
        }
        let nodes = graph.nodes.iter().enumerate();
        let of_node = nodes.filter_map(|(i, node)| Some((i, *places.get(&(&*node.name, node.op.name()))?)));
        let inputs = graph.inputs.iter();
        let of_input = inputs.filter_map(|&id| Some((id, *places.get(&(&*graph.value(id).name, "input"))?)));
        let names = graph.nodes.iter().map(|node| &*node.name);
        Self {
            graph,
            problems,
            of_node: of_node.collect(),
            of_input: of_input.collect(),
            names: names.chain(graph.values.iter().map(|value| &*value.name)).collect(),
            settled: BTreeSet::new(),
            said: BTreeSet::new(),
            causes: BTreeMap::new(),
        }
    }

    /// Decides the problems that need no check; returns the places that do, with the cause before
    /// each.
    fn advance(&mut self) -> Vec<(usize, usize)> {
        let (graph, mut asked) = (self.graph, Vec::new());
        let mut before: BTreeMap<ValueId, Before> = BTreeMap::new();
        for (&id, &place) in &self.of_input.clone() {
            self.settle(place);
            before.insert(id, Before { cause: Some(place), is_open: false });
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            let operands = node.inputs.iter().filter_map(|id| before.get(id).copied());
            let joined = operands.fold(Before::default(), |all, one| Before {
                cause: all.cause.or(one.cause),
                is_open: all.is_open || one.is_open,
            });
            let after = self.after(index, joined, &mut asked);
            if after.cause.is_some() || after.is_open {
                before.extend(node.outputs.iter().map(|&id| (id, after)));
            }
        }
        asked
    }

    /// Returns the problems before the results of a node, from the problems before its operands.
    fn after(&mut self, index: usize, operands: Before, asked: &mut Vec<(usize, usize)>) -> Before {
        let own = self.of_node.get(&index).copied().filter(|place| !self.causes.contains_key(place));
        let Some(place) = own else { return operands };
        if !operands.is_open && !self.settled.contains(&place) {
            match operands.cause {
                Some(cause) if !self.said.contains(&self.words(place)) => asked.push((place, cause)),
                _ => self.settle(place),
            }
        }
        Before { cause: Some(place), is_open: !self.settled.contains(&place) }
    }

    fn words(&self, place: usize) -> (&'a str, &'a str, &'a str) {
        let Problem { op, reason, hint, .. } = &self.problems[place];
        (op, reason, hint)
    }

    /// Records a cause.
    fn settle(&mut self, place: usize) {
        self.settled.insert(place);
        self.said.insert(self.words(place));
    }

    /// Whether a problem belongs to a node, an input or an output, or was there from the start. A
    /// refusal of a whole graph does not concern single nodes.
    fn is_known(&self, problem: &Problem) -> bool {
        self.names.contains(&*problem.node) || self.problems.iter().any(|known| key(known) == key(problem))
    }

    /// Returns the graph without the nodes that are causes; their results become float inputs, like
    /// refused inputs.
    fn given(&self) -> Graph {
        let mut given = self.graph.clone();
        let is_cut =
            |index: &usize| self.of_node.get(index).is_some_and(|place| self.settled.contains(place));
        let cut: BTreeSet<usize> = (0..given.nodes.len()).filter(is_cut).collect();
        let made: Vec<ValueId> = cut.iter().flat_map(|&index| given.nodes[index].outputs.clone()).collect();
        for &id in made.iter().chain(self.of_input.keys()) {
            given.values[id.0 as usize].info.element = ElementType::F32;
        }
        // They are also outputs, so that no host lays them out for their readers.
        let further: Vec<ValueId> = made.iter().copied().filter(|id| !given.outputs.contains(id)).collect();
        given.outputs.extend(further);
        given.inputs.extend(made);
        let mut index = 0..;
        given.nodes.retain(|_| index.next().is_some_and(|index| !cut.contains(&index)));
        given
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_graph::op::{Relu, Unary, UnaryKind};

    use super::*;

    /// Chain of nodes named by their position: `true` is a Sin, `false` a Relu.
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

    /// Target that does not support Sin, and refuses nodes after a refused node.
    fn check(graph: &Graph) -> Vec<Problem> {
        let mut refused: BTreeSet<ValueId> = BTreeSet::new();
        let mut problems = Vec::new();
        for node in &graph.nodes {
            let reason = match &node.op {
                npukit_graph::Op::Unary(_) => "no Sin",
                _ if node.inputs.iter().any(|id| refused.contains(id)) => {
                    "the location of its operand is unknown"
                }
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
        let whole = Problem { node: "fabric".to_owned(), op: "fabric".to_owned(), ..problems[0].clone() };
        assert!(causes(&graph, &problems, |_| Some(vec![whole.clone()])).is_empty());
        assert!(causes(&graph, &problems, |_| None).is_empty());
    }

    /// Target whose host computes the last nodes of a model.
    fn but_the_last(graph: &Graph) -> Vec<Problem> {
        let mut problems = check(graph);
        let is_last = |problem: &Problem| {
            let node = graph.nodes.iter().find(|node| node.name == problem.node);
            node.is_some_and(|node| node.outputs.iter().all(|&id| graph.is_output(id)))
        };
        problems.retain(|problem| !is_last(problem));
        problems
    }

    #[test]
    fn what_the_host_takes_at_the_end_is_refused_before_for_its_own_sake() {
        // The first and the second Sin are refused, the second one not because of the first.
        let graph = chain(&[true, true, false, true]);
        let problems: Vec<Problem> =
            but_the_last(&graph).into_iter().filter(|problem| problem.reason == "no Sin").collect();
        let kinds = |problems: &[Problem]| {
            let mut problems = problems.to_vec();
            // Like targets that give a different reason for each node.
            problems.iter_mut().for_each(|problem| problem.reason += &problem.node);
            problems
        };
        let problems = kinds(&problems);
        assert_eq!(problems.len(), 2);
        let found = causes(&graph, &problems, |graph| Some(kinds(&but_the_last(graph))));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn what_the_host_takes_at_the_beginning_is_refused_behind_for_its_own_sake() {
        // Target whose host computes nodes that read only an input.
        let but_the_first = |graph: &Graph| -> Vec<Problem> {
            let is_hosts = |id: &ValueId| graph.inputs.contains(id) && !graph.is_output(*id);
            let hosts = graph.nodes.iter().filter(|node| node.inputs.iter().all(is_hosts));
            let hosts: BTreeSet<&str> = hosts.map(|node| node.name.as_str()).collect();
            let others = check(graph).into_iter().filter(|problem| !hosts.contains(problem.node.as_str()));
            others.map(|problem| Problem { reason: problem.reason + &problem.node, ..problem }).collect()
        };
        let graph = chain(&[false, true, true, true]);
        let problems = but_the_first(&graph);
        assert_eq!(problems.len(), 3);
        let found = causes(&graph, &problems, |graph| Some(but_the_first(graph)));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn kinds_are_asked_for_once() {
        let graph = chain(&[true; 1000]);
        let problems = check(&graph);
        let asked = std::cell::Cell::new(0);
        let counted = |graph: &Graph| {
            asked.set(asked.get() + 1);
            Some(check(graph))
        };
        assert!(causes(&graph, &problems, counted).is_empty());
        assert_eq!(asked.get(), 0, "all have the reason of the first");
    }
}
