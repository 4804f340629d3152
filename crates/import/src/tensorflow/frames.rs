//! [`Frames`]: the loops of a file.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::attributes::Attributes;
use super::names::Reference;
use super::proto::{GraphDef, NodeDef};

/// Nodes of a value that is passed from one iteration of a loop to the next.
#[derive(Clone, Copy)]
pub(super) struct Variable {
    pub(super) enter: usize,
    pub(super) merge: usize,
    pub(super) next: usize,
}

/// Nodes of a loop.
pub(super) struct Frame {
    pub(super) variables: Vec<Variable>,
    /// Enter nodes of values that do not change.
    pub(super) constants: Vec<usize>,
    /// Node that decides whether another iteration follows.
    pub(super) condition: Option<usize>,
    /// Switch nodes, with the index of their variable.
    pub(super) switches: Vec<(usize, usize)>,
    /// Exit nodes, with the index of their variable.
    pub(super) exits: Vec<(usize, usize)>,
}

/// The loops of a file.
#[derive(Default)]
pub(super) struct Frames {
    pub(super) all: Vec<Rc<Frame>>,
    /// Index of the loop that an Exit leaves.
    pub(super) of_exit: HashMap<usize, usize>,
}

impl Frames {
    /// Finds the loops of a file. `nodes` maps names to node indices.
    pub(super) fn of(proto: &GraphDef, nodes: &HashMap<&str, usize>) -> Self {
        let producer = |node: &NodeDef, place: usize| {
            let reference = Reference::parse(node.input.get(place)?)?;
            nodes.get(reference.node).copied()
        };
        let op = |index: usize| proto.node[index].op.as_str();
        let of_op = |name: &'static str| (0..proto.node.len()).filter(move |&index| op(index) == name);
        let mut enters: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for index in of_op("Enter").chain(of_op("RefEnter")) {
            let name = Attributes::new(&proto.node[index]).string("frame_name");
            if let Ok(Some(name)) = name {
                enters.entry(name).or_default().push(index);
            }
        }
        let mut begins: HashMap<usize, (usize, usize)> = HashMap::new();
        for merge in of_op("Merge") {
            let pair = [0, 1].map(|place| producer(&proto.node[merge], place));
            if let [Some(enter), Some(next)] = pair
                && (op(enter), op(next)) == ("Enter", "NextIteration")
            {
                begins.insert(enter, (merge, next));
            }
        }
        let mut frames = Self::default();
        for enters in enters.into_values() {
            let mut frame = Frame {
                variables: Vec::new(),
                constants: Vec::new(),
                condition: None,
                switches: Vec::new(),
                exits: Vec::new(),
            };
            for enter in enters {
                match begins.get(&enter) {
                    Some(&(merge, next)) => frame.variables.push(Variable { enter, merge, next }),
                    None => frame.constants.push(enter),
                }
            }
            frame.find(proto, producer);
            for &(exit, _) in &frame.exits {
                frames.of_exit.insert(exit, frames.all.len());
            }
            frames.all.push(Rc::new(frame));
        }
        frames
    }
}

impl Frame {
    /// Finds the nodes that belong to the Merge nodes.
    fn find(&mut self, proto: &GraphDef, producer: impl Fn(&NodeDef, usize) -> Option<usize>) {
        let place = |merge: usize| self.variables.iter().position(|variable| variable.merge == merge);
        let mut of_switch = HashMap::new();
        for (index, node) in proto.node.iter().enumerate().filter(|(_, node)| node.op == "Switch") {
            let Some(variable) = producer(node, 0).and_then(place) else { continue };
            let condition = producer(node, 1).filter(|&condition| proto.node[condition].op == "LoopCond");
            self.condition = self.condition.or(condition);
            of_switch.insert(index, variable);
        }
        for (index, node) in proto.node.iter().enumerate().filter(|(_, node)| node.op == "Exit") {
            let switch = producer(node, 0);
            self.exits
                .extend(switch.and_then(|switch| of_switch.get(&switch)).map(|&variable| (index, variable)));
        }
        self.switches = of_switch.into_iter().collect();
        self.switches.sort_unstable();
    }

    /// Enter nodes of the loop.
    pub(super) fn enters(&self) -> impl Iterator<Item = usize> {
        self.variables.iter().map(|variable| variable.enter).chain(self.constants.iter().copied())
    }
}
