//! Loop: repeated evaluation of a graph, whose number of iterations may be known only at run time.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::operands::{Operands, build, infer_tensors, tensor};
use super::{OpError, Operator};
use crate::eval::evaluate;
use crate::ir::{Graph, Value, ValueInfo};

/// Maximum number of iterations; a loop that takes more is considered endless.
const MAX_ROUNDS: i64 = 1 << 24;

/// Evaluates its body while a condition holds, at most a given number of times.
///
/// Operands: the number of iterations (an integer), the initial condition (a boolean), `carried`
/// values, and any other values that the body needs. Results: the carried values after the last
/// iteration.
///
/// The body's inputs are the iteration number from 0, the condition, and the rest of the operands.
/// Its outputs are the next condition and the carried values. With `stacked`, which is then the
/// number of iterations, the body has more outputs. Each adds a result: its values of all
/// iterations, concatenated along a new first axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Graph of one iteration.
    pub body: Body,
    /// Number of values passed from one iteration to the next.
    pub carried: usize,
    /// Number of iterations if results are stacked; it must not depend on the inputs.
    pub stacked: Option<usize>,
}

impl Operator for Loop {
    fn name(&self) -> &'static str {
        "Loop"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let body: &Graph = &self.body.0;
        let operands = Operands::new(self, inputs, 2 + self.carried, body.inputs.len())?;
        operands.element(0, "number of iterations", &[ElementType::I64])?;
        operands.element(1, "condition", &[ElementType::Bool])?;
        operands.size("number of operands", body.inputs.len(), operands.len())?;
        for (index, &id) in body.inputs.iter().enumerate() {
            let (expected, found) = (&body.value(id).info, operands.info(index));
            if expected.shape != found.shape {
                let (expected, found) = (expected.shape.clone(), found.shape.clone());
                return Err(OpError::Carried { op: self.name(), index, expected, found });
            }
        }
        let stacked = body.outputs.len().saturating_sub(1 + self.carried);
        if stacked > 0 && self.stacked.is_none() {
            return Err(OpError::ResultCount {
                op: self.name(),
                expected: self.carried,
                found: body.outputs.len(),
            });
        }
        let mut infos = Vec::new();
        for (index, &id) in body.outputs.iter().enumerate().skip(1) {
            let info = &body.value(id).info;
            if index <= self.carried {
                let carried = operands.info(index + 1);
                if info.shape != carried.shape {
                    let (expected, found) = (carried.shape.clone(), info.shape.clone());
                    return Err(OpError::Carried { op: self.name(), index: index + 1, expected, found });
                }
                infos.push(carried.clone());
            } else {
                // Default: a loop with stacked results has a known number of iterations, as checked
                // above.
                let shape = [&[self.stacked.unwrap_or_default()], info.shape.as_slice()].concat();
                infos.push(ValueInfo { shape, element: info.element });
            }
        }
        Ok(infos)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let rounds = match tensor(self, inputs, 0)?.data() {
            TensorData::I64(rounds) => rounds.first().copied(),
            _ => None,
        };
        // Default: inference ensures an integer number of iterations.
        let rounds = rounds.unwrap_or_default();
        let mut state: Vec<Tensor> = inputs.iter().map(|&tensor| tensor.clone()).collect();
        let mut stacks: Vec<Option<TensorData>> = vec![None; infos.len() - self.carried];
        let mut round = 0;
        while round < rounds && holds(&state[1]) {
            if round == MAX_ROUNDS {
                return Err(OpError::Endless { op: self.name(), limit: MAX_ROUNDS });
            }
            state[0] = build(self, &[], TensorData::I64(vec![round]))?;
            let body = |error| OpError::Body { op: self.name(), error: Box::new(error) };
            let mut results = evaluate(&self.body.0, &state).map_err(body)?;
            for (stack, result) in stacks.iter_mut().zip(results.drain(1 + self.carried..)) {
                push(stack, result.data());
            }
            state[1..].iter_mut().zip(results).for_each(|(old, new)| *old = new);
            round += 1;
        }
        let carried = state.drain(2..2 + self.carried).map(Ok);
        let stacks = infos[self.carried..].iter().zip(stacks).map(|(info, stack)| {
            let stack = stack.unwrap_or_else(|| TensorData::empty(info.element.storage()));
            build(self, &info.shape, stack)
        });
        carried.chain(stacks).collect()
    }
}

/// Whether a condition is true.
fn holds(condition: &Tensor) -> bool {
    matches!(condition.data(), TensorData::Bool(values) if values.first() == Some(&true))
}

/// Appends elements to the elements of earlier iterations.
fn push(stack: &mut Option<TensorData>, data: &TensorData) {
    match (stack, data) {
        (stack @ None, data) => *stack = Some(data.clone()),
        (Some(TensorData::F32(stack)), TensorData::F32(data)) => stack.extend(data),
        (Some(TensorData::I64(stack)), TensorData::I64(data)) => stack.extend(data),
        (Some(TensorData::I32(stack)), TensorData::I32(data)) => stack.extend(data),
        (Some(TensorData::Bool(stack)), TensorData::Bool(data)) => stack.extend(data),
        // An output has the same type in every iteration.
        _ => {}
    }
}
