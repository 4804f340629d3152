//! Generated inputs of any element type, for inputs without data: typical values ([`typical`]) and
//! [`zeros`].

use npukit_numeric::{ElementType, Tensor};
use npukit_target::as_element;

/// Generates a seeded tensor for an input, identical on every computer. Returns `None` if it does
/// not fit in memory.
///
/// Integers are indices into tables, so they are 0, which is valid in every table. About half of
/// the booleans are true, because a mask that hides everything would hide all effects.
pub(crate) fn typical(name: &str, shape: &[usize], element: ElementType, seed: u64) -> Option<Tensor> {
    let tensor = npukit_models::zoo::stand_in(name, shape, seed)?;
    let tensor = match element {
        _ if element.is_float() => tensor,
        ElementType::Bool => signs(&tensor)?,
        _ => return zeros(shape, element),
    };
    Some(as_element(&tensor, element))
}

/// Returns zeros of an element type, or `None` if they do not fit in memory.
pub(crate) fn zeros(shape: &[usize], element: ElementType) -> Option<Tensor> {
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    Some(as_element(&Tensor::from_f32(shape.to_vec(), vec![0.0; count]).ok()?, element))
}

/// Returns 1 for each positive element, and 0 otherwise.
fn signs(tensor: &Tensor) -> Option<Tensor> {
    let signs = tensor.as_f32()?.iter().map(|&value| f32::from(u8::from(value > 0.0))).collect();
    Tensor::from_f32(tensor.shape().to_vec(), signs).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_type_has_typical_inputs_and_zeros() {
        use ElementType::*;
        for element in [F32, F64, F16, BF16, I64, I32, I8, U64, U8, Bool] {
            let made = typical("x", &[2, 8], element, 1).unwrap();
            assert_eq!((made.element(), made.shape()), (element, &[2, 8][..]));
            let zeros = zeros(&[3], element).unwrap();
            assert_eq!((zeros.element(), zeros.reals()), (element, vec![0.0; 3]));
        }
        let mask = typical("mask", &[64], Bool, 1).unwrap().reals();
        assert!((16.0..=48.0).contains(&mask.iter().sum::<f64>()), "{mask:?}");
    }
}
