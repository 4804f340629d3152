//! Operand checks shared by all operators.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// Float types that the standard computes with.
pub(super) const FLOATS: &[ElementType] =
    &[ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16];

/// Types that the standard computes with: floats and integers of whole bytes.
pub(super) const NUMBERS: &[ElementType] = &[
    ElementType::F32,
    ElementType::F64,
    ElementType::F16,
    ElementType::BF16,
    ElementType::I64,
    ElementType::I32,
    ElementType::I16,
    ElementType::I8,
    ElementType::U64,
    ElementType::U32,
    ElementType::U16,
    ElementType::U8,
];

/// The operands of an operator to check. Methods that take an index `i` require it to be below the
/// minimum number of operands, or below [`Operands::len`].
pub(super) struct Operands<'a> {
    op: &'static str,
    infos: Vec<&'a ValueInfo>,
}

impl<'a> Operands<'a> {
    /// Checks that there are `least` to `most` operands of bounded size.
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

    /// Checks that operand `i` holds floats on `least` to `most` axes, and returns its shape. If
    /// the first operand holds floats too, the types must be equal.
    pub(super) fn floats(
        &self,
        i: usize,
        operand: &'static str,
        least: usize,
        most: usize,
    ) -> Result<&'a [usize], OpError> {
        self.element(i, operand, FLOATS)?;
        if FLOATS.contains(&self.infos[0].element) {
            self.element(i, operand, &[self.infos[0].element])?;
        }
        self.rank(i, operand, least, most)
    }

    /// Checks the number of axes of operand `i`, and returns its shape.
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

    /// Checks that operand `i` is a vector of `expected` floats of any type; `what` describes its
    /// length.
    pub(super) fn vector(
        &self,
        i: usize,
        operand: &'static str,
        what: &'static str,
        expected: usize,
    ) -> Result<(), OpError> {
        self.element(i, operand, FLOATS)?;
        let found = self.rank(i, operand, 1, 1)?[0];
        self.size(what, expected, found)
    }

    /// Checks one size.
    pub(super) fn size(&self, what: &'static str, expected: usize, found: usize) -> Result<(), OpError> {
        if expected == found { Ok(()) } else { Err(OpError::Size { op: self.op, what, expected, found }) }
    }

    /// Checks the operands of a convolution in `group` groups: `x [n, h, w, ci]`, `weights [kh, kw,
    /// ci / group, co]` and optionally `bias [co]`. Returns the shapes of the first two.
    pub(super) fn convolution(&self, group: usize) -> Result<(&'a [usize], &'a [usize]), OpError> {
        let x = self.floats(0, "operand", 4, 4)?;
        let weights = self.floats(1, "weights", 4, 4)?;
        let (channels, filters) = (x[3], weights[3]);
        for (what, found) in [("input channels", channels), ("output channels", filters)] {
            if group == 0 || found % group != 0 {
                return Err(OpError::Multiple { op: self.op, what, found, divisor: group });
            }
        }
        self.size("input channels of the weights", channels / group, weights[2])?;
        if self.len() == 3 {
            self.vector(2, "bias", "length of the bias", filters)?;
        }
        Ok((x, weights))
    }

    /// Checks the whole shape of operand `i`.
    pub(super) fn same_shape(&self, i: usize, expected: &[usize]) -> Result<(), OpError> {
        let found = self.shape(i);
        if found == expected {
            return Ok(());
        }
        Err(OpError::Shapes { op: self.op, left: expected.to_vec(), right: found.to_vec() })
    }

    /// Checks that `indices` has the same number of axes as `data` and, except along `axis`, no
    /// larger sizes.
    pub(super) fn within(&self, axis: usize, data: &[usize], indices: &[usize]) -> Result<(), OpError> {
        let mut sizes = data.iter().zip(indices).enumerate();
        if data.len() == indices.len() && sizes.all(|(i, (size, part))| i == axis || part <= size) {
            return Ok(());
        }
        Err(OpError::Shapes { op: self.op, left: data.to_vec(), right: indices.to_vec() })
    }

    /// Returns the number of indices in a tuple, the size of the last axis of `indices`. It must be
    /// at most `most`; `indices` must have an axis.
    pub(super) fn tuple_width(&self, most: usize, indices: &[usize]) -> Result<usize, OpError> {
        // Default: no axes mean no tuples; the caller checked the number of axes.
        let width = indices.last().copied().unwrap_or_default();
        let (attribute, legal) =
            ("size of the last axis of the indices", "at most the number of remaining axes");
        let error = || OpError::Attribute { op: self.op, attribute, found: width.to_string(), legal };
        if width <= most { Ok(width) } else { Err(error()) }
    }

    /// Checks that operand `i` has `axis`.
    pub(super) fn axis(&self, i: usize, axis: usize) -> Result<(), OpError> {
        let rank = self.shape(i).len();
        if axis < rank { Ok(()) } else { Err(OpError::Axis { op: self.op, axis, rank }) }
    }
}

/// Returns a result of `shape`, after checking its size.
pub(super) fn result(shape: Vec<usize>, element: ElementType) -> Result<Vec<ValueInfo>, OpError> {
    elements(&shape)?;
    Ok(vec![ValueInfo { shape, element }])
}

/// Infers the results from tensors. Every evaluation starts with it, so later code may rely on the
/// operands.
pub(super) fn infer_tensors(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Vec<ValueInfo>, OpError> {
    let values: Vec<Value> = inputs.iter().map(|&tensor| as_value(tensor)).collect();
    op.infer(&values.iter().collect::<Vec<_>>())
}

/// Returns the inferred results if all of them are empty.
pub(super) fn empty_results(op: &dyn Operator, infos: &[ValueInfo]) -> Result<Vec<Tensor>, OpError> {
    let empty = |info: &ValueInfo| build(op, &info.shape, TensorData::empty(info.element.storage()));
    of_inferred_types(op, infos, infos.iter().map(empty).collect::<Result<_, _>>()?)
}

/// Rounds or wraps the computed results to the inferred types.
pub(super) fn of_inferred_types(
    op: &dyn Operator,
    infos: &[ValueInfo],
    results: Vec<Tensor>,
) -> Result<Vec<Tensor>, OpError> {
    let typed = |(info, result): (&ValueInfo, Tensor)| {
        result.with_element(info.element).map_err(|error| OpError::Element { op: op.name(), error })
    };
    infos.iter().zip(results).map(typed).collect()
}

/// Returns the tensor as a value without a name. Only integers are copied, since only they can
/// determine a shape.
pub(super) fn as_value(tensor: &Tensor) -> Value {
    let info = ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
    let decides = matches!(tensor.element(), ElementType::I64 | ElementType::I32);
    Value { name: String::new(), info, constant: decides.then(|| Arc::new(tensor.clone())) }
}

/// Returns the floats of operand `i`.
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
        legal: FLOATS.to_vec(),
    })
}

/// Returns operand `i`.
pub(super) fn tensor<'a>(op: &dyn Operator, inputs: &[&'a Tensor], i: usize) -> Result<&'a Tensor, OpError> {
    let count = OpError::OperandCount { op: op.name(), least: i + 1, most: usize::MAX, found: inputs.len() };
    inputs.get(i).copied().ok_or(count)
}

/// Builds a tensor of the inferred shape.
pub(super) fn build(op: &dyn Operator, shape: &[usize], data: TensorData) -> Result<Tensor, OpError> {
    let expected = elements(shape)?;
    Tensor::new(shape.to_vec(), data).map_err(|data| OpError::Size {
        op: op.name(),
        what: "number of computed elements",
        expected,
        found: data.len(),
    })
}

/// Builds the only result, a tensor of floats.
pub(super) fn build_floats(
    op: &dyn Operator,
    infos: &[ValueInfo],
    data: Vec<f32>,
) -> Result<Vec<Tensor>, OpError> {
    Ok(vec![build(op, &infos[0].shape, TensorData::F32(data))?])
}

/// Applies an expression to the elements of any type, keeping the type.
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
