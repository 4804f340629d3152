//! Shapes stated by a file or the caller, checked before memory is allocated for them.

use npukit_numeric::{Tensor, TensorData};

use crate::error::Reason;

/// Largest supported rank. The formats do not set a limit; the operators here do not need more.
pub(crate) const MAX_RANK: usize = 32;

/// Maximum number of elements of one value: 1 GiB of floats.
pub(crate) const MAX_ELEMENTS: usize = 1 << 28;

/// Converts dimensions that must all be known to a shape.
pub(crate) fn shape(dims: &[i64]) -> Result<Vec<usize>, Reason> {
    if dims.len() > MAX_RANK {
        return Err(Reason::Rank { rank: dims.len(), limit: MAX_RANK });
    }
    let shape = dims.iter().enumerate().map(|(axis, &dim)| size(axis, dim)).collect::<Result<Vec<_>, _>>()?;
    check_shape(&shape)?;
    Ok(shape)
}

/// Converts the size of an axis, which must be known.
pub(crate) fn size(axis: usize, size: i64) -> Result<usize, Reason> {
    let legal = usize::try_from(size).ok().filter(|&size| size <= MAX_ELEMENTS);
    legal.ok_or(Reason::Dimension { axis, size, limit: MAX_ELEMENTS })
}

/// Returns an error if a shape has too many axes or elements. Empty axes are treated as 1, so that
/// products of any part of an accepted shape do not overflow either.
pub(crate) fn check_shape(shape: &[usize]) -> Result<(), Reason> {
    if shape.len() > MAX_RANK {
        return Err(Reason::Rank { rank: shape.len(), limit: MAX_RANK });
    }
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size.max(1)));
    match elements {
        Some(elements) if elements <= MAX_ELEMENTS => Ok(()),
        _ => Err(Reason::TooLarge { shape: shape.to_vec(), limit: MAX_ELEMENTS }),
    }
}

/// Like [`check_shape`], for a constant in the file.
pub(crate) fn check_constant(shape: &[usize]) -> Result<(), Reason> {
    check_shape(shape).map_err(of_constant)
}

/// Converts a reason to one about a constant in the file.
pub(crate) fn of_constant(reason: Reason) -> Reason {
    match reason {
        Reason::TooLarge { shape, limit } => {
            let elements = shape.iter().fold(1u128, |product, &size| product.saturating_mul(size as u128));
            Reason::ConstantTooLarge { shape, elements, limit }
        }
        reason => reason,
    }
}

/// Joins a shape and its elements.
pub(crate) fn tensor(shape: Vec<usize>, data: TensorData) -> Result<Tensor, Reason> {
    let expected = shape.iter().product();
    Tensor::new(shape.clone(), data).map_err(|data| {
        let found = data.len();
        Reason::DataSize { shape, expected, found, unit: "elements" }
    })
}

/// Returns the sizes that `stated` means for an operand of shape `from`: -1 is the remaining size,
/// 0 copies a size unless `allow_zero`.
pub(crate) fn resolve(from: &[usize], stated: &[i64], allow_zero: bool) -> Result<Vec<usize>, Reason> {
    let wrong = |legal: &str| Reason::OperandValue {
        operand: "shape",
        found: format!("{stated:?} for an operand of shape {from:?}"),
        legal: legal.to_owned(),
    };
    let mut sizes = stated.to_vec();
    for (axis, size) in sizes.iter_mut().enumerate() {
        if *size == 0 && !allow_zero {
            let copied = from.get(axis).ok_or_else(|| wrong("0 only for an axis that the operand has"))?;
            *size = *copied as i64;
        }
    }
    let open: Vec<usize> = (0..sizes.len()).filter(|&axis| stated[axis] == -1).collect();
    match open[..] {
        [] => {}
        [axis] => {
            sizes[axis] = 1;
            let known: usize = shape(&sizes)?.iter().product();
            let elements: usize = from.iter().product();
            let fits = known != 0 && elements.is_multiple_of(known);
            sizes[axis] = if fits { (elements / known) as i64 } else { return Err(wrong("a divisor")) };
        }
        _ => return Err(wrong("-1 at most once")),
    }
    shape(&sizes)
}
