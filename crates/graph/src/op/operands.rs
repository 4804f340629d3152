//! Checks that all operators make of their operands.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// Integer types, in which models compute shapes, and floats.
pub(super) const NUMBERS: &[ElementType] = &[ElementType::F32, ElementType::I64, ElementType::I32];

/// The operands of an operator under inspection. Methods that take an index `i` expect it below
/// the least number of operands, or below [`Operands::len`].
pub(super) struct Operands<'a> {
    op: &'static str,
    infos: Vec<&'a ValueInfo>,
}

impl<'a> Operands<'a> {
    /// Takes `least` to `most` operands of bounded size.
    pub(super) fn new(
        op: &dyn Operator,
        inputs: &[&'a Value],
        least: usize,
        most: usize,
    ) -> Result<Self, OpError> {
        let (op, found) = (op.name(), inputs.len());
        if found < least || found > most {
            return Err(OpError::OperandCount { op, least, most, found });
        }
        let infos: Vec<&ValueInfo> = inputs.iter().map(|value| &value.info).collect();
        infos.iter().try_for_each(|info| elements(&info.shape).map(drop))?;
        Ok(Self { op, infos })
    }

    pub(super) fn len(&self) -> usize {
        self.infos.len()
    }

    pub(super) fn info(&self, i: usize) -> &'a ValueInfo {
        self.infos[i]
    }

    pub(super) fn shape(&self, i: usize) -> &'a [usize] {
        &self.infos[i].shape
    }

    /// Checks the element type of operand `i`.
    pub(super) fn element(
        &self,
        i: usize,
        operand: &'static str,
        legal: &[ElementType],
    ) -> Result<ElementType, OpError> {
        let found = self.infos[i].element;
        if legal.contains(&found) {
            return Ok(found);
        }
        Err(OpError::ElementType { op: self.op, operand, found, legal: legal.to_vec() })
    }

    /// Checks that operand `i` holds floats on `least` to `most` axes; gives its shape.
    pub(super) fn floats(
        &self,
        i: usize,
        operand: &'static str,
        least: usize,
        most: usize,
    ) -> Result<&'a [usize], OpError> {
        self.element(i, operand, &[ElementType::F32])?;
        self.rank(i, operand, least, most)
    }

    /// Checks the number of axes of operand `i`; gives its shape.
    pub(super) fn rank(
        &self,
        i: usize,
        operand: &'static str,
        least: usize,
        most: usize,
    ) -> Result<&'a [usize], OpError> {
        let shape = self.shape(i);
        if shape.len() < least || shape.len() > most {
            return Err(OpError::Rank { op: self.op, operand, least, most, shape: shape.to_vec() });
        }
        Ok(shape)
    }

    /// Checks that operand `i` is a vector of `expected` floats; `what` names its length.
    pub(super) fn vector(
        &self,
        i: usize,
        operand: &'static str,
        what: &'static str,
        expected: usize,
    ) -> Result<(), OpError> {
        let found = self.floats(i, operand, 1, 1)?[0];
        self.size(what, expected, found)
    }

    /// Checks one size.
    pub(super) fn size(&self, what: &'static str, expected: usize, found: usize) -> Result<(), OpError> {
        if expected == found { Ok(()) } else { Err(OpError::Size { op: self.op, what, expected, found }) }
    }

    /// Checks that operand `i` has `axis`.
    pub(super) fn axis(&self, i: usize, axis: usize) -> Result<(), OpError> {
        let rank = self.shape(i).len();
        if axis < rank { Ok(()) } else { Err(OpError::Axis { op: self.op, axis, rank }) }
    }
}

/// A result of `shape`, its size checked.
pub(super) fn result(shape: Vec<usize>, element: ElementType) -> Result<Vec<ValueInfo>, OpError> {
    elements(&shape)?;
    Ok(vec![ValueInfo { shape, element }])
}

/// Infers the results from tensors: every evaluation starts with it, so that what follows may
/// rely on the operands.
pub(super) fn infer_tensors(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Vec<ValueInfo>, OpError> {
    let values: Vec<Value> = inputs.iter().map(|&tensor| as_value(tensor)).collect();
    op.infer(&values.iter().collect::<Vec<_>>())
}

/// The results, when none of them has an element.
pub(super) fn empty_results(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Option<Vec<Tensor>>, OpError> {
    let infos = infer_tensors(op, inputs)?;
    if infos.iter().any(|info| !info.shape.contains(&0)) {
        return Ok(None);
    }
    infos.iter().map(|info| build(op, &info.shape, empty(info.element))).collect::<Result<_, _>>().map(Some)
}

fn empty(element: ElementType) -> TensorData {
    match element {
        ElementType::F32 => TensorData::F32(Vec::new()),
        ElementType::I64 => TensorData::I64(Vec::new()),
        ElementType::I32 => TensorData::I32(Vec::new()),
        ElementType::Bool => TensorData::Bool(Vec::new()),
    }
}

/// The tensor as a value of no name. Only integers can decide a shape: they alone are copied.
fn as_value(tensor: &Tensor) -> Value {
    let info = ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
    let decides = matches!(tensor.element(), ElementType::I64 | ElementType::I32);
    Value { name: String::new(), info, constant: decides.then(|| Arc::new(tensor.clone())) }
}

/// The floats of operand `i`.
pub(super) fn floats<'a>(
    op: &dyn Operator,
    inputs: &[&'a Tensor],
    i: usize,
    operand: &'static str,
) -> Result<&'a [f32], OpError> {
    let tensor = tensor(op, inputs, i)?;
    tensor.as_f32().ok_or_else(|| OpError::ElementType {
        op: op.name(),
        operand,
        found: tensor.element(),
        legal: vec![ElementType::F32],
    })
}

/// Operand `i`.
pub(super) fn tensor<'a>(op: &dyn Operator, inputs: &[&'a Tensor], i: usize) -> Result<&'a Tensor, OpError> {
    let count = OpError::OperandCount { op: op.name(), least: i + 1, most: usize::MAX, found: inputs.len() };
    inputs.get(i).copied().ok_or(count)
}

/// A tensor of the inferred shape.
pub(super) fn build(op: &dyn Operator, shape: &[usize], data: TensorData) -> Result<Tensor, OpError> {
    let expected = elements(shape)?;
    Tensor::new(shape.to_vec(), data).map_err(|data| OpError::Size {
        op: op.name(),
        what: "number of elements computed",
        expected,
        found: data.len(),
    })
}

/// The only result, of floats.
pub(super) fn build_floats(
    op: &dyn Operator,
    infos: &[ValueInfo],
    data: Vec<f32>,
) -> Result<Vec<Tensor>, OpError> {
    let shape = infos.first().map(|info| info.shape.as_slice()).unwrap_or_default();
    Ok(vec![build(op, shape, TensorData::F32(data))?])
}

/// Applies an expression to the elements, whatever their type, keeping the type.
macro_rules! map_data {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            npukit_numeric::TensorData::F32($values) => npukit_numeric::TensorData::F32($body),
            npukit_numeric::TensorData::I64($values) => npukit_numeric::TensorData::I64($body),
            npukit_numeric::TensorData::I32($values) => npukit_numeric::TensorData::I32($body),
            npukit_numeric::TensorData::Bool($values) => npukit_numeric::TensorData::Bool($body),
        }
    };
}
pub(crate) use map_data;
