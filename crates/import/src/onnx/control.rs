//! Nodes that hold graphs. An If becomes the branch that its condition takes or, where that is known only when computing,
//! both branches and a choice between their results. A Loop or a Scan becomes its rounds, one behind the other, where
//! their number is known and small; else a Loop becomes an operator that repeats a graph.

use std::collections::HashMap;

use npukit_graph::op::{Concat, Logic, LogicKind, Loop, Reshape, Slice, SliceRange, Where};
use npukit_graph::{Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::attributes::{Attributes, unsupported};
use super::builder::first;
use super::context::described;
use super::error::Reason;
use super::importer::{Binding, Importer, name_of};
use super::proto::NodeProto;
use super::scope::{Bodies, Branch};
use crate::node::NodeBuilder;

/// Most nodes that the rounds of one Loop or Scan become: two layers of a recurrent network over a thousand steps.
const MAX_NODES: usize = 1 << 16;

/// Whether there is another round.
#[derive(Clone, Copy)]
enum Goes {
    On,
    /// If the value holds.
    When(ValueId),
    Ends,
}

/// What rounds leave: values that they hand on, and for each result that they stack one per round.
struct Rounds {
    carried: Vec<ValueId>,
    stacks: Vec<Vec<ValueId>>,
}

impl<'a> Importer<'a, '_> {
    /// The results of the node at `index`, which holds graphs. None when something that they need failed, which is
    /// recorded.
    pub(super) fn control(
        &mut self,
        index: usize,
        bodies: &'a Result<Bodies, Reason>,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let mark = self.builder.graph.values.len();
        let node = &self.proto.node[index];
        let results = match bodies.as_ref().map_err(Clone::clone)? {
            Bodies::Branches { then_branch, else_branch } => {
                self.choose(index, [then_branch, else_branch], operands)
            }
            Bodies::Repeated(body) if node.op_type == "Scan" => self.scan(node, body, operands),
            Bodies::Repeated(body) => self.repeat(node, body, operands),
        }?;
        if let Some(results) = &results {
            if let Some((index, name)) = node.output.iter().enumerate().nth(results.len()) {
                return Err(Reason::Output { index, name: name.clone() });
            }
            self.name_results(node, results, mark);
        }
        self.has_bodies = true;
        Ok(results)
    }

    /// The results of an If: of the branch that the condition takes where it is known, else both and a choice.
    fn choose(
        &mut self,
        index: usize,
        [then_branch, else_branch]: [&'a Branch; 2],
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let node = &self.proto.node[index];
        let condition =
            operands.first().copied().flatten().ok_or(Reason::OperandMissing { operand: "cond" })?;
        if let Some(known) = self.truth(condition)? {
            self.conditions.insert(index, known);
            return Ok(self.results(node, if known { then_branch } else { else_branch }, &[]));
        }
        let both = [then_branch, else_branch].map(|branch| self.results(node, branch, &[]));
        let [Some(then_results), Some(else_results)] = both else { return Ok(None) };
        let condition = self.scalar(node, condition)?;
        let pairs = then_results.into_iter().zip(else_results);
        pairs.map(|(yes, no)| self.either(node, condition, yes, no)).collect::<Result<_, _>>().map(Some)
    }

    /// `yes` where the condition, one truth value, holds, else `no`.
    fn either(
        &mut self,
        node: &NodeProto,
        condition: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Result<ValueId, Reason> {
        if yes == no {
            return Ok(yes);
        }
        let graph = &self.builder.graph;
        let [left, right] = [yes, no].map(|id| &graph.value(id).info);
        if left != right {
            return Err(Reason::Branches { taken: left.to_string(), other: right.to_string() });
        }
        self.add(node, Where, vec![condition, yes, no])
    }

    /// The results of a Loop.
    fn repeat(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        self.check_read(&Attributes::new(node)?)?;
        let carried: Option<Vec<ValueId>> = operands.iter().skip(2).copied().collect();
        let carried = carried.ok_or(Reason::OperandMissing { operand: "v_initial" })?;
        self.check_body(body, 2 + carried.len(), 1 + carried.len())?;
        let limit = operands.first().copied().flatten();
        let goes = match operands.get(1).copied().flatten() {
            None => Goes::On,
            Some(condition) => match self.truth(condition)? {
                Some(true) => Goes::On,
                Some(false) => Goes::Ends,
                None => Goes::When(self.scalar(node, condition)?),
            },
        };
        let known = limit.map_or(Ok(Some(i64::MAX)), |limit| self.integer(limit))?;
        let most = (MAX_NODES / body.nodes()) as i64;
        let unrolled = match known {
            Some(rounds) if rounds <= most || matches!(goes, Goes::On) => {
                self.unroll(node, body, (rounds, most), goes, carried.clone())
            }
            _ => Ok(Some(None)),
        };
        match unrolled? {
            None => Ok(None),
            Some(Some(rounds)) => self.stacked(node, rounds).map(Some),
            Some(None) => self.looped(node, body, known.filter(|_| limit.is_some()), goes, (limit, carried)),
        }
    }

    /// The rounds of a Loop one behind the other; nothing when there are more than `most`, or when it is not known how
    /// many there are and they are not limited to so few.
    fn unroll(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        (rounds, most): (i64, i64),
        mut goes: Goes,
        mut carried: Vec<ValueId>,
    ) -> Result<Option<Option<Rounds>>, Reason> {
        let stacked = body.scope.proto.output.len() - 1 - carried.len();
        let mut stacks = vec![Vec::new(); stacked];
        let truth = self.constant(node, vec![], TensorData::Bool(vec![true]))?;
        for round in 0..rounds {
            match goes {
                Goes::Ends => break,
                Goes::When(_) if rounds > most || stacked > 0 => return Ok(Some(None)),
                _ if round == most => return Ok(Some(None)),
                _ => {}
            }
            let number = self.constant(node, vec![], TensorData::I64(vec![round]))?;
            let inputs = [&[number, truth], carried.as_slice()].concat();
            let Some(mut results) = self.results(node, body, &inputs) else { return Ok(None) };
            for (stack, result) in stacks.iter_mut().zip(results.drain(1 + carried.len()..)) {
                stack.push(result);
            }
            let next = results.remove(0);
            if let Goes::When(condition) = goes {
                let changed = results.into_iter().zip(&carried);
                let chosen = changed.map(|(new, &old)| self.either(node, condition, new, old));
                carried = chosen.collect::<Result<_, _>>()?;
            } else {
                carried = results;
            }
            goes = match (self.truth(next)?, goes) {
                (Some(false), _) => Goes::Ends,
                (Some(true), goes) => goes,
                (None, Goes::When(condition)) => {
                    let next = self.scalar(node, next)?;
                    Goes::When(self.add(node, Logic { kind: LogicKind::And }, vec![condition, next])?)
                }
                (None, _) => Goes::When(self.scalar(node, next)?),
            };
        }
        if stacks.iter().any(Vec::is_empty) {
            // No round: what one would give says the shapes of what is stacked.
            let number = self.constant(node, vec![], TensorData::I64(vec![0]))?;
            let inputs = [&[number, truth], carried.as_slice()].concat();
            let Some(results) = self.results(node, body, &inputs) else { return Ok(None) };
            for (stack, &like) in stacks.iter_mut().zip(&results[1 + carried.len()..]) {
                let ValueInfo { shape, element } = self.builder.graph.value(like).info.clone();
                let shape = [&[0], shape.as_slice()].concat();
                let none = crate::elements::typed(element, shape, TensorData::empty(element.storage()))?;
                carried.push(self.builder.constant(name_of(node), none));
                stack.clear();
            }
            stacks.clear();
        }
        Ok(Some(Some(Rounds { carried, stacks })))
    }

    /// Results that rounds hand on, then those that they stack along a new first axis.
    fn stacked(&mut self, node: &NodeProto, rounds: Rounds) -> Result<Vec<ValueId>, Reason> {
        let mut results = rounds.carried;
        for stack in rounds.stacks {
            results.push(self.stack(node, stack, 0)?);
        }
        Ok(results)
    }

    /// Values of one shape one behind the other along a new axis.
    fn stack(&mut self, node: &NodeProto, values: Vec<ValueId>, axis: usize) -> Result<ValueId, Reason> {
        let mut layers = Vec::with_capacity(values.len());
        for value in values {
            let mut shape = self.builder.graph.shape(value).to_vec();
            if axis > shape.len() {
                return Err(unsupported("scan_output_axes", axis, format!("0 to {}", shape.len())));
            }
            shape.insert(axis, 1);
            layers.push(self.add(node, Reshape { shape }, vec![value])?);
        }
        match layers.as_slice() {
            &[layer] => Ok(layer),
            _ => self.add(node, Concat { axis }, layers),
        }
    }

    /// A Loop that stays one operator.
    fn looped(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        known: Option<i64>,
        goes: Goes,
        (limit, carried): (Option<ValueId>, Vec<ValueId>),
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let name = name_of(node);
        let mut outer = vec![
            match limit {
                Some(limit) => self.scalar(node, limit)?,
                None => self.constant(node, vec![], TensorData::I64(vec![i64::MAX]))?,
            },
            match goes {
                Goes::When(condition) => condition,
                Goes::On => self.constant(node, vec![], TensorData::Bool(vec![true]))?,
                Goes::Ends => self.constant(node, vec![], TensorData::Bool(vec![false]))?,
            },
        ];
        outer.extend(&carried);
        let mut inner = self.builder.inner(name);
        let declared = body.scope.proto.input.iter().map(|input| input.name.as_str());
        let mut bindings = HashMap::new();
        for (declared, &value) in declared.zip(&outer) {
            let info = self.builder.graph.value(value).info.clone();
            bindings.insert(declared, Binding::Value(inner.input(declared, info)));
        }
        for captured in &body.captured {
            let Some(value) = self.lookup(captured, (name, &node.op_type)) else { return Ok(None) };
            let within = match self.builder.graph.constant(value) {
                Some(constant) => inner.constant(captured, constant.clone()),
                None => {
                    outer.push(value);
                    inner.input(captured, self.builder.graph.value(value).info.clone())
                }
            };
            bindings.insert(captured.as_str(), Binding::Value(within));
        }
        let results = self.branch_in(&mut inner, &body.scope, bindings, (name, &node.op_type));
        self.builder.take_back(&inner);
        let Some(results) = results else { return Ok(None) };
        let stacks = results.len() > 1 + carried.len();
        let goes_on = inner.graph.inputs.get(1) == results.first()
            || results.first().is_some_and(|&id| is_true(inner.graph.constant(id).map(AsRef::as_ref)));
        let stacked = match known {
            _ if !stacks => None,
            Some(rounds) if goes_on && matches!(goes, Goes::On) => {
                Some(usize::try_from(rounds.max(0)).map_err(|_| Reason::Rounds)?)
            }
            _ => return Err(Reason::Rounds),
        };
        inner.graph.outputs = results;
        inner.graph.remove_dead();
        let body = npukit_graph::op::Body(inner.graph.into());
        let op = Loop { body, carried: carried.len(), stacked };
        self.builder.emit(name, op.into(), outer).map(Some)
    }

    /// The results of a Scan.
    fn scan(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        if self.file.opset < 9 {
            return Err(Reason::Operator { operator: format!("Scan of opset {}", self.file.opset) });
        }
        let operands: Option<Vec<ValueId>> = operands.iter().copied().collect();
        let operands = operands.ok_or(Reason::OperandMissing { operand: "initial_state_and_scan_inputs" })?;
        let mut attributes = Attributes::new(node)?;
        let scanned = attributes.int("num_scan_inputs")?;
        let scanned = scanned.ok_or(Reason::AttributeMissing { name: "num_scan_inputs" })?;
        let states = usize::try_from(scanned).ok().and_then(|scanned| operands.len().checked_sub(scanned));
        let states = states.filter(|&states| states < operands.len());
        let states = states
            .ok_or_else(|| unsupported("num_scan_inputs", scanned, format!("1 to {}", operands.len())))?;
        self.check_body(body, operands.len(), states)?;
        let outputs = body.scope.proto.output.len() - states;
        let list = |values: Option<&[i64]>, count: usize| {
            // Default: an attribute that is left out is 0 for each, says the standard.
            let values = values.map_or_else(|| vec![0; count], <[i64]>::to_vec);
            if values.len() == count { Ok(values) } else { Err(values) }
        };
        let mut listed = |name, count: usize| {
            let values = attributes.ints(name)?;
            list(values, count).map_err(|found| unsupported(name, found, format!("{count} integers")))
        };
        let inputs = operands.len() - states;
        let (axes, backwards) =
            (listed("scan_input_axes", inputs)?, listed("scan_input_directions", inputs)?);
        let (stacked, reversed) =
            (listed("scan_output_axes", outputs)?, listed("scan_output_directions", outputs)?);
        self.check_read(&attributes)?;
        let (mut carried, scans) = (operands[..states].to_vec(), &operands[states..]);
        let mut cuts = Vec::new();
        for (&scan, &axis) in scans.iter().zip(&axes) {
            let rank = self.builder.graph.shape(scan).len();
            cuts.push((scan, NodeBuilder::axis("scan_input_axes", axis, rank)?));
        }
        let rounds = cuts.first().map_or(0, |&(scan, axis)| self.builder.graph.shape(scan)[axis]);
        let most = MAX_NODES / body.nodes();
        if rounds > most || rounds == 0 {
            let legal = format!("1 to {most}");
            let found = format!("{rounds} long where it is scanned");
            return Err(Reason::OperandValue { operand: "scan_inputs", found, legal });
        }
        let mut stacks = vec![Vec::new(); outputs];
        for round in 0..rounds {
            let mut given = carried.clone();
            for (&(scan, axis), &backwards) in cuts.iter().zip(&backwards) {
                let place = if backwards == 1 { rounds - 1 - round } else { round };
                given.push(self.cut(node, scan, axis, (place, rounds))?);
            }
            let Some(mut results) = self.results(node, body, &given) else { return Ok(None) };
            for (stack, result) in stacks.iter_mut().zip(results.drain(states..)) {
                stack.push(result);
            }
            carried = results;
        }
        for ((mut stack, axis), reversed) in stacks.into_iter().zip(stacked).zip(reversed) {
            let rank = stack.first().map_or(0, |&id| self.builder.graph.shape(id).len()) + 1;
            if reversed == 1 {
                stack.reverse();
            }
            carried.push(self.stack(node, stack, NodeBuilder::axis("scan_output_axes", axis, rank)?)?);
        }
        Ok(Some(carried))
    }

    /// The part at `place` of an axis of `length`, without that axis.
    fn cut(
        &mut self,
        node: &NodeProto,
        value: ValueId,
        axis: usize,
        (place, length): (usize, usize),
    ) -> Result<ValueId, Reason> {
        let mut shape = self.builder.graph.shape(value).to_vec();
        if shape[axis] != length {
            let (found, legal) = (format!("{} long where it is scanned", shape[axis]), length.to_string());
            return Err(Reason::OperandValue { operand: "scan_inputs", found, legal });
        }
        let ranges = vec![SliceRange { axis, start: place, length: 1, step: 1 }];
        let part = self.add(node, Slice { ranges }, vec![value])?;
        shape.remove(axis);
        self.add(node, Reshape { shape }, vec![part])
    }

    /// Checks how many inputs and outputs a repeated graph has.
    fn check_body(&self, body: &Branch, inputs: usize, outputs: usize) -> Result<(), Reason> {
        let proto = &body.scope.proto;
        if proto.input.len() == inputs && proto.output.len() >= outputs {
            return Ok(());
        }
        let found = format!("a graph of {} inputs and {} outputs", proto.input.len(), proto.output.len());
        let legal = format!("{inputs} inputs and {outputs} outputs or more");
        Err(Reason::AttributeValue { name: "body", found, legal })
    }

    /// The results of a graph that a node holds, its inputs being the values given.
    fn results(
        &mut self,
        node: &'a NodeProto,
        branch: &'a Branch,
        inputs: &[ValueId],
    ) -> Option<Vec<ValueId>> {
        let user = (name_of(node), node.op_type.as_str());
        let mut bindings = HashMap::new();
        for name in &branch.captured {
            bindings.insert(name.as_str(), Binding::Value(self.lookup(name, user)?));
        }
        let declared = branch.scope.proto.input.iter().map(|input| input.name.as_str());
        bindings.extend(declared.zip(inputs.iter().map(|&id| Binding::Value(id))));
        self.branch(&branch.scope, bindings, user)
    }

    /// Refuses attributes that nobody asked for.
    fn check_read(&self, attributes: &Attributes<'_>) -> Result<(), Reason> {
        let unread = attributes.unread();
        let unknown =
            |name: &str| Reason::AttributeUnknown { name: name.to_owned(), opset: Some(self.file.opset) };
        unread.map_or(Ok(()), |name| Err(unknown(name)))
    }

    /// A condition, where it is known; it must be one truth value.
    fn truth(&self, condition: ValueId) -> Result<Option<bool>, Reason> {
        let ValueInfo { shape, element } = &self.builder.graph.value(condition).info;
        if *element != ElementType::Bool || shape.iter().product::<usize>() != 1 {
            let (found, legal) = (format!("{element:?} {shape:?}"), "one truth value".to_owned());
            return Err(Reason::OperandValue { operand: "cond", found, legal });
        }
        Ok(self.builder.graph.constant(condition).map(|constant| is_true(Some(constant))))
    }

    /// A number of rounds, where it is known; it must be one integer.
    fn integer(&self, value: ValueId) -> Result<Option<i64>, Reason> {
        let Some(constant) = self.builder.graph.constant(value) else { return Ok(None) };
        match constant.data() {
            TensorData::I64(values) if values.len() == 1 => Ok(values.first().copied()),
            _ => {
                let (found, legal) = (described(constant), "one integer".to_owned());
                Err(Reason::OperandValue { operand: "M", found, legal })
            }
        }
    }

    /// A value of one element without axes.
    fn scalar(&mut self, node: &NodeProto, value: ValueId) -> Result<ValueId, Reason> {
        if self.builder.graph.shape(value).is_empty() {
            return Ok(value);
        }
        self.add(node, Reshape { shape: vec![] }, vec![value])
    }

    fn constant(&mut self, node: &NodeProto, shape: Vec<usize>, data: TensorData) -> Result<ValueId, Reason> {
        Ok(self.builder.constant(name_of(node), crate::shape::tensor(shape, data)?))
    }

    /// The result of a node that is added for `node`.
    fn add(
        &mut self,
        node: &NodeProto,
        op: impl Into<Op>,
        operands: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        first(&self.builder.emit(name_of(node), op.into(), operands)?, name_of(node))
    }
}

/// Whether a constant is the truth value that holds.
fn is_true(constant: Option<&Tensor>) -> bool {
    constant.is_some_and(|constant| matches!(constant.data(), TensorData::Bool(values) if values == &[true]))
}
