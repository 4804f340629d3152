//! Translation of Loop: [`Importer::repeat`].

use std::collections::HashMap;

use npukit_graph::op::{Body, Logic, LogicKind, Loop};
use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::TensorData;

use super::{MAX_NODES, is_true};
use crate::elements::typed;
use crate::onnx::attributes::Attributes;
use crate::onnx::error::Reason;
use crate::onnx::importer::{Binding, Importer, name_of};
use crate::onnx::proto::NodeProto;
use crate::onnx::scope::Branch;

/// Whether the loop continues.
#[derive(Clone, Copy)]
enum Goes {
    On,
    /// It continues if the value is true.
    When(ValueId),
    Ends,
}

/// Number of iterations of a Loop.
struct Rounds {
    count: i64,
    /// Most iterations that are unrolled.
    most: i64,
}

/// Outcome of unrolling a Loop.
enum Unrolled {
    /// Results of the Loop.
    Results(Vec<ValueId>),
    /// A value that an iteration needs failed; the failure is recorded.
    Failed,
    /// There are too many iterations, or their number is unknown.
    Stays,
}

impl<'a> Importer<'a, '_> {
    /// Translates a Loop and returns its results.
    pub(super) fn repeat(
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
            Some(condition) => match self.builder.truth(condition, "cond")? {
                Some(true) => Goes::On,
                Some(false) => Goes::Ends,
                None => Goes::When(self.scalar(node, condition)?),
            },
        };
        let known = limit.map_or(Ok(Some(i64::MAX)), |limit| self.integer(limit))?;
        let most = (MAX_NODES / body.nodes()) as i64;
        let unrolled = match known {
            Some(rounds) if rounds <= most || matches!(goes, Goes::On) => {
                self.unroll(node, body, Rounds { count: rounds, most }, goes, carried.clone())
            }
            _ => Ok(Unrolled::Stays),
        };
        match unrolled? {
            Unrolled::Failed => Ok(None),
            Unrolled::Results(results) => Ok(Some(results)),
            Unrolled::Stays => {
                self.looped(node, body, known.filter(|_| limit.is_some()), goes, limit, &carried)
            }
        }
    }

    /// Unrolls the iterations of a Loop. Stays a Loop if there may be more than `most` iterations.
    fn unroll(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        Rounds { count: rounds, most }: Rounds,
        mut goes: Goes,
        mut carried: Vec<ValueId>,
    ) -> Result<Unrolled, Reason> {
        let stacked = body.scope.proto.output.len() - 1 - carried.len();
        let mut stacks = vec![Vec::new(); stacked];
        let truth = self.constant(node, vec![], TensorData::Bool(vec![true]))?;
        for round in 0..rounds {
            match goes {
                Goes::Ends => break,
                Goes::When(_) if rounds > most || stacked > 0 => return Ok(Unrolled::Stays),
                _ if round == most || self.reserve_round(body).is_err() => return Ok(Unrolled::Stays),
                _ => {}
            }
            let number = self.constant(node, vec![], TensorData::I64(vec![round]))?;
            let inputs = [&[number, truth], carried.as_slice()].concat();
            let Some(mut results) = self.results_of(node, body, &inputs) else { return Ok(Unrolled::Failed) };
            for (stack, result) in stacks.iter_mut().zip(results.drain(1 + carried.len()..)) {
                stack.push(result);
            }
            let next = results.remove(0);
            if next == truth && rounds > most {
                // The loop may have too many iterations.
                return Ok(Unrolled::Stays);
            }
            if let Goes::When(condition) = goes {
                let changed = results.into_iter().zip(&carried);
                let chosen =
                    changed.map(|(new, &old)| self.builder.either(name_of(node), condition, [new, old]));
                carried = chosen.collect::<Result<_, _>>()?;
            } else {
                carried = results;
            }
            goes = self.goes_on(node, goes, next)?;
        }
        let stacked = if stacks.iter().any(Vec::is_empty) {
            self.empty_stacks(node, body, &carried)?
        } else {
            let stacks = stacks.into_iter().map(|stack| self.stack(node, stack, 0));
            Some(stacks.collect::<Result<_, _>>()?)
        };
        let Some(stacked) = stacked else { return Ok(Unrolled::Failed) };
        Ok(Unrolled::Results([carried, stacked].concat()))
    }

    /// Returns whether there is another iteration after one with the condition `next`.
    fn goes_on(&mut self, node: &'a NodeProto, goes: Goes, next: ValueId) -> Result<Goes, Reason> {
        Ok(match (self.builder.truth(next, "cond")?, goes) {
            (Some(false), _) => Goes::Ends,
            (Some(true), goes) => goes,
            (None, Goes::When(condition)) => {
                let next = self.scalar(node, next)?;
                Goes::When(self.add(node, Logic { kind: LogicKind::And }, vec![condition, next])?)
            }
            (None, _) => Goes::When(self.scalar(node, next)?),
        })
    }

    /// Returns the stacked results of zero iterations. Their shapes follow from one iteration.
    fn empty_stacks(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        carried: &[ValueId],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let truth = self.constant(node, vec![], TensorData::Bool(vec![true]))?;
        let number = self.constant(node, vec![], TensorData::I64(vec![0]))?;
        let Some(results) = self.results_of(node, body, &[&[number, truth], carried].concat()) else {
            return Ok(None);
        };
        let mut empty = Vec::new();
        for &like in results.iter().skip(1 + carried.len()) {
            let ValueInfo { shape, element } = self.builder.graph.value(like).info.clone();
            let none =
                typed(element, [&[0], shape.as_slice()].concat(), TensorData::empty(element.storage()))?;
            empty.push(self.builder.constant(name_of(node), none));
        }
        Ok(Some(empty))
    }

    /// Returns the first operands of a Loop: the most iterations, and whether there is a first one.
    fn bounds(
        &mut self,
        node: &'a NodeProto,
        goes: Goes,
        limit: Option<ValueId>,
    ) -> Result<Vec<ValueId>, Reason> {
        let most = match limit {
            Some(limit) => self.scalar(node, limit)?,
            None => self.constant(node, vec![], TensorData::I64(vec![i64::MAX]))?,
        };
        let begins = match goes {
            Goes::When(condition) => condition,
            _ => self.constant(node, vec![], TensorData::Bool(vec![matches!(goes, Goes::On)]))?,
        };
        Ok(vec![most, begins])
    }

    /// Translates a Loop that stays one operator.
    fn looped(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        known: Option<i64>,
        goes: Goes,
        limit: Option<ValueId>,
        carried: &[ValueId],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let name = name_of(node);
        let mut outer = self.bounds(node, goes, limit)?;
        outer.extend(carried);
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
        let body = Body(inner.graph.into());
        let op = Loop { body, carried: carried.len(), stacked };
        self.builder.emit(name, op.into(), outer).map(Some)
    }
}
