//! Conditions: truth values that choose between two values or end a loop.

use npukit_graph::op::{Reshape, Where};
use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::{ElementType, TensorData};

use crate::builder::{Builder, first};
use crate::error::Reason;

impl Builder {
    /// Returns the truth value of a condition, or `None` if it is not a constant. `operand` is its
    /// name in errors.
    pub(crate) fn truth(&self, condition: ValueId, operand: &'static str) -> Result<Option<bool>, Reason> {
        let ValueInfo { shape, element } = &self.graph.value(condition).info;
        if *element != ElementType::Bool || shape.iter().product::<usize>() != 1 {
            let (found, legal) = (format!("{element:?} {shape:?}"), "one truth value".to_owned());
            return Err(Reason::OperandValue { operand, found, legal });
        }
        let constant = self.graph.constant(condition).map(|constant| constant.data());
        Ok(constant.map(|data| matches!(data, TensorData::Bool(values) if values == &[true])))
    }

    /// Returns a one-element value reshaped to a scalar.
    pub(crate) fn scalar(&mut self, name: &str, value: ValueId) -> Result<ValueId, Reason> {
        if self.graph.shape(value).is_empty() {
            return Ok(value);
        }
        first(&self.emit(name, Reshape { shape: vec![] }.into(), vec![value])?, name)
    }

    /// Returns `yes` where the condition holds, and `no` otherwise. Both have the same shape and
    /// type.
    pub(crate) fn either(
        &mut self,
        name: &str,
        condition: ValueId,
        [yes, no]: [ValueId; 2],
    ) -> Result<ValueId, Reason> {
        if yes == no {
            return Ok(yes);
        }
        let [left, right] = [yes, no].map(|id| &self.graph.value(id).info);
        if left != right {
            return Err(Reason::Branches { taken: left.to_string(), other: right.to_string() });
        }
        let condition = self.scalar(name, condition)?;
        first(&self.emit(name, Where.into(), vec![condition, yes, no])?, name)
    }
}
