//! Conditions and loops in TensorFlow's lowered form.
//!
//! A condition consists of Switch, which passes values into a branch, and Merge, which returns the
//! result of the taken branch. Here both branches are computed, and Merge selects between them. A
//! loop is a frame. Enter passes values in. Merge begins an iteration with these values or the
//! values of NextIteration. LoopCond decides whether another iteration follows. Switch passes
//! values into it or to Exit. A loop is translated together with its first Exit. It is unrolled if
//! the file determines a small number of iterations; otherwise it becomes an operator that repeats
//! a graph.

use std::collections::HashSet;
use std::rc::Rc;

use npukit_graph::ValueId;
use npukit_graph::op::{Body, Loop};
use npukit_numeric::TensorData;

use super::binding::{Binding, Item};
use super::error::Reason;
use super::frames::Frame;
use super::importer::Importer;
use super::names::Reference;
use super::order;
use super::proto::NodeDef;
use crate::node::ELEMENTS_PER_RESULT;
use crate::shape::tensor;

/// Maximum number of nodes that unrolling one loop adds.
const MAX_NODES: usize = 1 << 15;

/// Maximum nesting of loops.
const MAX_LOOPS: usize = 16;

/// Maximum nesting of conditions.
const MAX_DEPTH: usize = 64;

/// Nodes of one iteration of a loop.
struct Plan {
    /// Nodes that the condition depends on, in order.
    condition: Vec<usize>,
    /// Nodes that the values of the next iteration depend on.
    body: Vec<usize>,
    /// Nodes of the iteration that differ between iterations.
    varying: HashSet<usize>,
}

impl<'a> Importer<'a> {
    /// For each node, the nodes that must be translated before it. For an Exit, these are the
    /// producers of the values that enter the loop.
    pub(super) fn producers(&self) -> Vec<Vec<usize>> {
        let mut producers = self.dependencies();
        let entering: Vec<Vec<usize>> = self
            .frames
            .all
            .iter()
            .map(|frame| frame.enters().flat_map(|enter| producers[enter].clone()).collect())
            .collect();
        for (&exit, &frame) in &self.frames.of_exit {
            producers[exit].clone_from(&entering[frame]);
        }
        producers
    }

    /// Translates a node of conditions, loops or lists. Returns `None` for other nodes.
    pub(super) fn flow(&mut self, index: usize) -> Option<Result<Binding, Reason>> {
        let node = &self.proto.node[index];
        match node.op.as_str() {
            "Exit" => {
                let frame =
                    self.frames.of_exit.get(&index).map(|&frame| Rc::clone(&self.frames.all[frame]))?;
                Some(self.leave(index, &frame))
            }
            "Switch" | "RefSwitch" => Some(self.pass(node, 2)),
            "Merge" | "RefMerge" => Some(self.merge(node)),
            "LoopCond" | "NextIteration" | "Enter" => Some(self.pass(node, 1)),
            "Identity" | "IdentityN" | "Snapshot" if self.takes_list(node) => Some(self.pass(node, 1)),
            _ => self.of_lists(node),
        }
    }

    fn takes_list(&self, node: &NodeDef) -> bool {
        matches!(
            node.input.first().and_then(|text| self.item(text, node).ok().flatten()),
            Some(Item::List(_))
        )
    }

    /// Returns the value or list of a reference, or `None` if it failed. The failure is recorded.
    pub(super) fn item(&self, text: &str, user: &NodeDef) -> Result<Option<Item>, Reason> {
        let undefined = || Reason::Undefined { name: text.to_owned() };
        let reference = Reference::parse(text).ok_or(Reason::OperandMissing { operand: "data" })?;
        let index = *self.nodes.get(reference.node).ok_or_else(undefined)?;
        match &self.bindings[index] {
            Some(Binding::List(list)) => Ok(Some(Item::List(Rc::clone(list)))),
            Some(Binding::Failed) => Ok(None),
            Some(Binding::Values(_)) => Ok(self.result(index, reference.index)?.map(Item::Value)),
            // TensorFlow does not write graphs that need a value before it is known.
            None => Err(Reason::Cycle { nodes: vec![user.name.clone(), text.to_owned()] }),
        }
    }

    /// Returns the first operand, repeated for all results.
    fn pass(&mut self, node: &NodeDef, results: usize) -> Result<Binding, Reason> {
        let text = node.input.first().ok_or(Reason::OperandMissing { operand: "data" })?;
        Ok(match self.item(text, node)? {
            Some(Item::Value(id)) => Binding::Values(vec![id; results]),
            Some(Item::List(list)) => Binding::List(list),
            None => Binding::Failed,
        })
    }

    /// Returns the result of a Merge after a condition.
    fn merge(&mut self, node: &'a NodeDef) -> Result<Binding, Reason> {
        let mut branches = [None, None];
        let mut condition = None;
        for text in node.input.iter().filter(|text| !text.starts_with('^')) {
            let unknown = || Reason::Operator { operator: "Merge without a Switch before it".to_owned() };
            let (switch, taken) = self.branch(text).ok_or_else(unknown)?;
            let of_switch = &self.proto.node[switch];
            let predicate = of_switch.input.get(1).ok_or_else(unknown)?;
            condition = Some(self.item(predicate, of_switch)?);
            branches[usize::from(taken)] = Some(self.item(text, node)?);
        }
        let ([Some(no), Some(yes)], Some(condition)) = (branches, condition) else {
            return Err(Reason::Operator { operator: "Merge without two branches".to_owned() });
        };
        let (Some(no), Some(yes), Some(Item::Value(condition))) = (no, yes, condition) else {
            return Ok(Binding::Failed);
        };
        let chosen = match (self.builder.truth(condition, "pred")?, no, yes) {
            (Some(true), _, yes) => yes,
            (Some(false), no, _) => no,
            (None, Item::Value(no), Item::Value(yes)) => {
                Item::Value(self.builder.either(&node.name, condition, [yes, no])?)
            }
            _ => return Err(Reason::Sequence { name: node.name.clone() }),
        };
        Ok(match chosen {
            Item::Value(id) => Binding::Values(vec![id]),
            Item::List(list) => Binding::List(list),
        })
    }

    /// Returns the Switch at the start of the branch that leads to a reference, and whether the
    /// branch is taken for a true condition.
    fn branch(&self, text: &'a str) -> Option<(usize, bool)> {
        let (mut stack, mut seen) = (vec![(text, 0)], HashSet::new());
        while let Some((text, depth)) = stack.pop() {
            let Some(reference) = Reference::parse(text.trim_start_matches('^')) else { continue };
            let Some(&index) = self.nodes.get(reference.node) else { continue };
            if depth > MAX_DEPTH || !seen.insert((index, reference.index, depth)) {
                continue;
            }
            let node = &self.proto.node[index];
            let depth = match node.op.as_str() {
                "Switch" | "RefSwitch" if depth == 0 => return Some((index, reference.index == 1)),
                "Switch" | "RefSwitch" => depth - 1,
                "Merge" | "RefMerge" => depth + 1,
                _ => depth,
            };
            // Operands first, on top of the stack. Control inputs only order nodes, so they are
            // searched last.
            let (waits, operands): (Vec<&String>, Vec<&String>) =
                node.input.iter().partition(|text| text.starts_with('^'));
            stack.extend(
                waits.into_iter().chain(operands.into_iter().rev()).map(|text| (text.as_str(), depth)),
            );
        }
        None
    }

    /// Translates a loop, and returns the result of the Exit at `index`.
    fn leave(&mut self, index: usize, frame: &Frame) -> Result<Binding, Reason> {
        let node = &self.proto.node[index];
        let results = match self.run_loop(node, frame) {
            Ok(Some(results)) => results,
            Ok(None) | Err(Reason::Cycle { .. }) if frame.condition.is_none() => {
                return Err(Reason::Operator { operator: "Exit of a loop without LoopCond".to_owned() });
            }
            other => {
                for &(exit, _) in frame.exits.iter().filter(|(exit, _)| *exit != index) {
                    self.bindings[exit] = Some(Binding::Failed);
                }
                if matches!(other, Ok(None)) && !self.has_problems() {
                    // A needed node has no value, for example a list in place of a condition.
                    return Err(Reason::Undefined { name: node.name.clone() });
                }
                return other.map(|_| Binding::Failed);
            }
        };
        let mut own = Binding::Failed;
        for &(exit, variable) in &frame.exits {
            let Some(result) = results.get(variable) else { continue };
            let binding = |result: &Item| match result {
                Item::Value(id) => Binding::Values(vec![*id]),
                Item::List(list) => Binding::List(Rc::clone(list)),
            };
            if exit == index {
                own = binding(result);
            } else {
                self.bindings[exit] = Some(binding(result));
            }
        }
        Ok(own)
    }

    /// Returns the variables of a loop after its end, or `None` if a part of it failed. The failure
    /// is recorded.
    fn run_loop(&mut self, node: &NodeDef, frame: &Frame) -> Result<Option<Vec<Item>>, Reason> {
        let Some(condition) = frame.condition else { return Ok(None) };
        if self.rounds >= MAX_LOOPS {
            return Err(Reason::Nesting { limit: MAX_LOOPS });
        }
        let mut carried = Vec::new();
        for variable in &frame.variables {
            let Some(item) = self.entering(variable.enter)? else { return Ok(None) };
            carried.push(item);
        }
        for &enter in &frame.constants {
            let Some(item) = self.entering(enter)? else { return Ok(None) };
            self.bind_item(enter, item, 1);
        }
        let plan = self.plan(frame, condition);
        self.rounds += 1;
        let results = self.rounds_of(node, frame, &plan, carried);
        self.rounds -= 1;
        self.forget(frame, &plan);
        results
    }

    /// Unrolls the iterations of a loop, or adds an operator that repeats one.
    fn rounds_of(
        &mut self,
        node: &NodeDef,
        frame: &Frame,
        plan: &Plan,
        begin: Vec<Item>,
    ) -> Result<Option<Vec<Item>>, Reason> {
        let condition = frame.condition.ok_or(Reason::OperandMissing { operand: "LoopCond" })?;
        let nodes = plan.condition.len() + plan.body.len();
        let most = MAX_NODES / nodes.max(1);
        let mut carried = begin.clone();
        for round in 0.. {
            self.builder.reserve(&[nodes + 1, ELEMENTS_PER_RESULT])?;
            if !self.round(frame, plan, &plan.condition, &carried) {
                return Ok(None);
            }
            let Some(goes_on) = self.value(condition) else { return Ok(None) };
            match self.builder.truth(goes_on, "pred")? {
                Some(false) => return Ok(Some(carried)),
                Some(true) if round < most => {}
                _ => break,
            }
            let Some(next) = self.next(frame, plan, &carried)? else { return Ok(None) };
            carried = next;
        }
        self.looped(node, frame, plan, &begin)
    }

    /// Returns the value that an Enter passes into the loop.
    fn entering(&self, enter: usize) -> Result<Option<Item>, Reason> {
        let node = &self.proto.node[enter];
        self.item(node.input.first().ok_or(Reason::OperandMissing { operand: "data" })?, node)
    }

    fn bind_item(&mut self, index: usize, item: Item, results: usize) {
        self.bindings[index] = Some(match item {
            Item::Value(id) => Binding::Values(vec![id; results]),
            Item::List(list) => Binding::List(list),
        });
    }

    /// Orders the nodes of an iteration.
    fn plan(&self, frame: &Frame, condition: usize) -> Plan {
        let mut producers = self.producers();
        let merges = frame.variables.iter().map(|variable| variable.merge);
        let switches = frame.switches.iter().map(|&(switch, _)| switch);
        let begins: Vec<usize> = merges.chain(switches).chain(frame.enters()).collect();
        begins.iter().for_each(|&node| producers[node].clear());
        let nexts: Vec<usize> = frame.variables.iter().map(|variable| variable.next).collect();
        let ordered = |wanted: Vec<usize>| -> Vec<usize> {
            let nodes = order::sort(&producers, wanted).nodes;
            nodes.into_iter().filter(|node| !begins.contains(node)).collect()
        };
        let (condition, body) = (ordered(vec![condition]), ordered(nexts));
        let constants: HashSet<usize> = frame.constants.iter().copied().collect();
        let mut varying: HashSet<usize> =
            begins.into_iter().filter(|node| !constants.contains(node)).collect();
        for &node in condition.iter().chain(&body) {
            if producers[node].iter().any(|producer| varying.contains(producer)) {
                varying.insert(node);
            }
        }
        Plan { condition, body, varying }
    }

    /// Translates nodes of an iteration that begins with these values. Returns whether all
    /// succeeded.
    fn round(&mut self, frame: &Frame, plan: &Plan, nodes: &[usize], carried: &[Item]) -> bool {
        for (variable, item) in frame.variables.iter().zip(carried) {
            self.bind_item(variable.merge, item.clone(), 1);
        }
        for &(switch, variable) in &frame.switches {
            if let Some(item) = carried.get(variable) {
                self.bind_item(switch, item.clone(), 2);
            }
        }
        for &index in nodes {
            if plan.varying.contains(&index) || self.bindings[index].is_none() {
                // An Exit of an inner loop is translated again.
                let binding = self.add_node(index);
                self.bindings[index] = Some(binding);
            }
        }
        !nodes.iter().any(|&index| matches!(self.bindings[index], Some(Binding::Failed)))
    }

    /// Returns the values at the start of the next iteration.
    fn next(&mut self, frame: &Frame, plan: &Plan, carried: &[Item]) -> Result<Option<Vec<Item>>, Reason> {
        if !self.round(frame, plan, &plan.body, carried) {
            return Ok(None);
        }
        let nexts = frame.variables.iter().map(|variable| match &self.bindings[variable.next] {
            Some(Binding::Values(values)) => values.first().map(|&id| Item::Value(id)),
            Some(Binding::List(list)) => Some(Item::List(Rc::clone(list))),
            _ => None,
        });
        Ok(nexts.collect())
    }

    /// Value of a node with one result, or `None`.
    fn value(&self, index: usize) -> Option<ValueId> {
        self.result(index, 0).ok().flatten()
    }

    /// Forgets the results of the loop's nodes in their last iteration.
    fn forget(&mut self, frame: &Frame, plan: &Plan) {
        let enters: Vec<usize> = frame.enters().collect();
        for &index in plan.varying.iter().chain(&plan.condition).chain(&plan.body).chain(&enters) {
            self.bindings[index] = None;
        }
    }

    /// Returns the condition for the first iteration.
    fn begins(
        &mut self,
        node: &NodeDef,
        frame: &Frame,
        plan: &Plan,
        begin: &[Item],
    ) -> Result<Option<ValueId>, Reason> {
        let condition = frame.condition.ok_or(Reason::OperandMissing { operand: "LoopCond" })?;
        if !self.round(frame, plan, &plan.condition, begin) {
            return Ok(None);
        }
        let Some(goes_on) = self.value(condition) else { return Ok(None) };
        self.builder.scalar(&node.name, goes_on).map(Some)
    }

    /// Translates a loop that stays one operator.
    fn looped(
        &mut self,
        node: &NodeDef,
        frame: &Frame,
        plan: &Plan,
        begin: &[Item],
    ) -> Result<Option<Vec<Item>>, Reason> {
        let name = node.name.as_str();
        let value = |item: &Item| match item {
            Item::Value(id) => Ok(*id),
            Item::List(_) => Err(Reason::Sequence { name: name.to_owned() }),
        };
        let carried = begin.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        let mut constants = Vec::new();
        for &enter in &frame.constants {
            let Some(item) = self.entering(enter)? else { return Ok(None) };
            constants.push(value(&item)?);
        }
        let Some(goes_on) = self.begins(node, frame, plan, begin)? else { return Ok(None) };
        let rounds = self.builder.constant(name, tensor(Vec::new(), TensorData::I64(vec![i64::MAX]))?);
        let outer = [&[rounds, goes_on], &carried[..], &constants[..]].concat();
        let mut inner = self.builder.inner(name);
        let inputs: Vec<ValueId> =
            outer.iter().map(|&id| inner.input(name, self.builder.graph.value(id).info.clone())).collect();
        let values = |range: std::ops::Range<usize>| -> Vec<Item> {
            inputs[range].iter().map(|&id| Item::Value(id)).collect()
        };
        let (first_values, others) = (values(2..2 + carried.len()), values(2 + carried.len()..inputs.len()));
        self.forget(frame, plan);
        for (&enter, item) in frame.constants.iter().zip(others) {
            self.bind_item(enter, item, 1);
        }
        let outside = std::mem::replace(&mut self.builder, inner);
        let blocks = std::mem::take(&mut self.blocks);
        let given = self.inner_round(node, frame, plan, &first_values);
        let mut inner = std::mem::replace(&mut self.builder, outside);
        self.blocks = blocks;
        self.builder.take_back(&inner);
        let Some(given) = given? else { return Ok(None) };
        self.builder.check_round(&inner, &given, &carried)?;
        inner.graph.outputs = given;
        inner.graph.remove_dead();
        let op = Loop { body: Body(inner.graph.into()), carried: carried.len(), stacked: None };
        let results = self.builder.emit(name, op.into(), outer)?;
        Ok(Some(results.into_iter().map(Item::Value).collect()))
    }

    /// Returns the condition for another iteration after this one, and the results of this one.
    fn inner_round(
        &mut self,
        node: &NodeDef,
        frame: &Frame,
        plan: &Plan,
        carried: &[Item],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let condition = frame.condition.ok_or(Reason::OperandMissing { operand: "LoopCond" })?;
        // The body may use values that the condition computes.
        if !self.round(frame, plan, &plan.condition, carried) {
            return Ok(None);
        }
        let Some(next) = self.next(frame, plan, carried)? else { return Ok(None) };
        if !self.round(frame, plan, &plan.condition, &next) {
            return Ok(None);
        }
        let Some(goes_on) = self.value(condition) else { return Ok(None) };
        self.builder.truth(goes_on, "pred")?;
        let goes_on = self.builder.scalar(&node.name, goes_on)?;
        let values = next.iter().map(|item| match item {
            Item::Value(id) => Ok(*id),
            Item::List(_) => Err(Reason::Sequence { name: node.name.clone() }),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok(Some([&[goes_on], &values[..]].concat()))
    }
}
