//! Operators that move elements: their evaluators move the elements' indices, which shows where
//! each element goes.

use npukit_numeric::{Element, ElementType, Tensor};

use super::{FieldTensor, NoImage, Operand, Operands};
use crate::op::{Op, Operator, PadMode, Resize, ResizeMode, ScatterKind};

/// Base of the digits of an index. A float holds a digit and half of it exactly.
const RADIX: usize = 1 << 23;

/// Returns the results of an operator that moves elements; `None` for any other operator.
pub(super) fn apply(op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
    moves(op).then(|| moved(op, operands))
}

fn moves(op: &Op) -> bool {
    match op {
        Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Split(_) | Op::Concat(_) | Op::Tile(_) => true,
        Op::Gather(_) | Op::GatherElements(_) | Op::GatherNd(_) | Op::Trilu(_) | Op::Where(_) => true,
        Op::Pad(op) => match op.mode {
            PadMode::Constant(value) => value.to_bits() == 0,
            _ => true,
        },
        Op::Resize(Resize { mode: ResizeMode::Nearest(_), .. }) => true,
        Op::ScatterElements(op) => op.kind == ScatterKind::Replace,
        Op::ScatterNd(op) => op.kind == ScatterKind::Replace,
        _ => false,
    }
}

fn moved(op: &Op, operands: &Operands<'_>) -> Result<Vec<FieldTensor>, NoImage> {
    // Index 0 is the element that fills padding.
    let mut elements = vec![Element::ZERO];
    let mut first = Vec::new();
    for index in 0..operands.list.len() {
        first.push(elements.len());
        if operands.get(index)?.element() == ElementType::F32 {
            elements.extend(&operands.field(index)?.elements);
        }
    }
    let low = numbered(op, operands, &first, |number| number % RADIX)?;
    let high = if elements.len() > RADIX {
        Some(numbered(op, operands, &first, |number| number / RADIX)?)
    } else {
        None
    };
    let result = |(index, low): (usize, &Tensor)| {
        let digits = |tensor: &Tensor| tensor.as_f32().map(<[f32]>::to_vec).ok_or(NoImage::Element);
        let low = digits(low)?;
        let high = high.as_ref().map_or_else(|| Ok(vec![0.0; low.len()]), |high| digits(&high[index]))?;
        let number = |(low, high): (f32, f32)| high as usize * RADIX + low as usize;
        let numbers = low.into_iter().zip(high).map(number);
        Ok(numbers.map(|number| elements[number]).collect::<Vec<_>>())
    };
    let elements = low.iter().enumerate().map(result).collect::<Result<Vec<_>, NoImage>>()?;
    let shapes = low.iter().map(|tensor| tensor.shape().to_vec());
    Ok(shapes.zip(elements).map(|(shape, elements)| FieldTensor { shape, elements }).collect())
}

/// Evaluates the operator on one digit of the element indices; operands that are not floats are
/// unchanged.
fn numbered(
    op: &Op,
    operands: &Operands<'_>,
    first: &[usize],
    digit: impl Fn(usize) -> usize,
) -> Result<Vec<Tensor>, NoImage> {
    let numbers = |(operand, &first): (&Operand, &usize)| match operand {
        Operand::Constant(tensor) if tensor.element() != ElementType::F32 => Ok(Tensor::clone(tensor)),
        _ => {
            let shape = operand.shape().to_vec();
            let count: usize = shape.iter().product();
            let numbers = (first..first + count).map(|number| digit(number) as f32).collect();
            Tensor::from_f32(shape, numbers).map_err(|_| NoImage::Operator)
        }
    };
    let tensors = operands.list.iter().zip(first).map(numbers).collect::<Result<Vec<_>, _>>()?;
    op.eval(&tensors.iter().collect::<Vec<_>>()).map_err(|_| NoImage::Operator)
}
