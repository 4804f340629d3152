//! Conversion of element types: [`to_element`] for user inputs, [`as_element`] for computed values.
//!
//! Every value that enters the evaluator or leaves a program passes through one of the two.

use npukit_numeric::{ElementType, Storage, Tensor, TensorData};

use crate::contract::port::PortError;

/// Converts the tensor given for input `name` to elements of type `element`.
///
/// Floats of 16 bits and more are rounded to each other. Integers, floats of 8 bits and less, and
/// conversions to integers must be exact. Truth values become 0 and 1. Other kinds stay unchanged
/// for the evaluator to refuse, since a whole number is not meant as a truth value. (Where real
/// numbers are expected, integer files were converted before, with a message.)
///
/// # Errors
///
/// [`PortError::Value`] at the first element that the type cannot represent.
pub fn to_element(name: &str, tensor: &Tensor, element: ElementType) -> Result<Tensor, PortError> {
    let converted = match (tensor.data(), element.integer_range()) {
        _ if tensor.element() == element => return Ok(tensor.clone()),
        (TensorData::F32(_), None) if element.is_float() => round(tensor, element),
        (TensorData::I64(values), Some(range)) => integers(tensor, values.iter().copied(), element, range),
        (TensorData::I32(values), Some(range)) => {
            integers(tensor, values.iter().map(|&value| value.into()), element, range)
        }
        (TensorData::Bool(values), Some(range)) => {
            integers(tensor, values.iter().map(|&value| value.into()), element, range)
        }
        (TensorData::F32(values), Some(range)) => match whole(values, tensor.element()) {
            Ok(values) => integers(tensor, values.into_iter(), element, range),
            Err(misfit) => Err(misfit),
        },
        _ => return Ok(tensor.clone()),
    };
    converted.map_err(|(position, value)| PortError::Value {
        name: name.to_owned(),
        position,
        value,
        element,
    })
}

/// Converts a tensor computed by a machine or host step to elements of type `element`.
///
/// A machine may represent a value differently: an index or a truth value as a real number, a
/// `half` as a wider float. Real numbers are rounded to the nearest integer of the type, nonzero
/// becomes true, and integers and truth values become equal real numbers.
#[must_use]
pub fn as_element(tensor: &Tensor, element: ElementType) -> Tensor {
    if tensor.element() == element {
        return tensor.clone();
    }
    let data = stored_as(tensor.data(), element);
    let held = Tensor::new(tensor.shape().to_vec(), data).ok();
    // Default: never used, since the storage has the type's number of elements.
    held.and_then(|held| held.with_element(element).ok()).unwrap_or_else(|| tensor.clone())
}

/// Returns the elements in the storage of the type; integers are clamped to its range.
fn stored_as(data: &TensorData, element: ElementType) -> TensorData {
    // Default: a type that is not an integer has no integer range.
    let (least, largest) = element.integer_range().unwrap_or((i64::MIN, i64::MAX));
    let nearest = |value: f32| (value.round_ties_even() as i64).clamp(least, largest);
    let integers: Vec<i64> = match (data, element.storage()) {
        (data, storage) if data.storage() == storage && storage == Storage::F32 => return data.clone(),
        (TensorData::F32(values), Storage::Bool) => {
            return TensorData::Bool(values.iter().map(|&value| value != 0.0).collect());
        }
        (TensorData::F32(values), _) => values.iter().map(|&value| nearest(value)).collect(),
        (TensorData::I64(values), _) => values.iter().map(|&value| value.clamp(least, largest)).collect(),
        (TensorData::I32(values), _) => {
            values.iter().map(|&value| i64::from(value).clamp(least, largest)).collect()
        }
        (TensorData::Bool(values), _) => values.iter().map(|&value| value.into()).collect(),
    };
    match element.storage() {
        Storage::F32 => TensorData::F32(integers.iter().map(|&value| value as f32).collect()),
        Storage::I64 => TensorData::I64(integers),
        Storage::I32 => TensorData::I32(integers.iter().map(|&value| value as i32).collect()),
        Storage::Bool => TensorData::Bool(integers.iter().map(|&value| value != 0).collect()),
    }
}

/// The converted tensor, or position and text of an element that the type cannot represent.
type Converted = Result<Tensor, (usize, String)>;

fn round(tensor: &Tensor, element: ElementType) -> Converted {
    let rounded = tensor.clone().with_element(element).map_err(|error| (0, error.to_string()))?;
    // Default: integers are not rounded.
    let (before, after) = (tensor.as_f32().unwrap_or_default(), rounded.as_f32().unwrap_or_default());
    let differs = |&(_, (x, y)): &(usize, (&f32, &f32))| x != y && !(x.is_nan() && y.is_nan());
    match before.iter().zip(after).enumerate().find(differs) {
        Some((position, (value, _))) if element.bits() < 16 => Err((position, value.to_string())),
        _ => Ok(rounded),
    }
}

/// Converts whole floats to integers. 64-bit floats are stored with 32 bits, which are exact only
/// up to 2^24.
fn whole(values: &[f32], element: ElementType) -> Result<Vec<i64>, (usize, String)> {
    let most = if element == ElementType::F64 { (1u64 << 24) as f32 } else { (1u64 << 63) as f32 };
    let integer = |(position, &value): (usize, &f32)| {
        let is_whole = value.fract() == 0.0 && value.abs() < most;
        if is_whole { Ok(value as i64) } else { Err((position, value.to_string())) }
    };
    values.iter().enumerate().map(integer).collect()
}

fn integers(
    tensor: &Tensor,
    values: impl Iterator<Item = i64> + Clone,
    element: ElementType,
    (least, largest): (i64, i64),
) -> Converted {
    let outside = |&(_, value): &(usize, i64)| !(least..=largest).contains(&value);
    if let Some((position, value)) = values.clone().enumerate().find(outside) {
        return Err((position, value.to_string()));
    }
    let data = match element.storage() {
        Storage::I32 => TensorData::I32(values.map(|value| value as i32).collect()),
        _ => TensorData::I64(values.collect()),
    };
    let held = Tensor::new(tensor.shape().to_vec(), data).map_err(|data| (data.len(), String::new()))?;
    held.with_element(element).map_err(|error| (0, error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn convert(data: TensorData, element: ElementType) -> Result<TensorData, PortError> {
        let tensor = Tensor::new(vec![data.len()], data).unwrap();
        let converted = to_element("x", &tensor, element)?;
        assert_eq!(converted.element(), element);
        Ok(converted.data().clone())
    }

    #[test]
    fn floats_are_rounded_unless_very_narrow() {
        let tenth = || TensorData::F32(vec![0.5, 0.1]);
        assert_eq!(convert(tenth(), ElementType::F64), Ok(tenth()));
        assert_eq!(convert(tenth(), ElementType::F16), Ok(TensorData::F32(vec![0.5, 0.099_975_586])));
        let error = convert(tenth(), ElementType::F8E5M2).unwrap_err().to_string();
        assert!(error.contains("element 1 of input `x` is 0.1"), "{error}");
        assert!(convert(TensorData::F32(vec![0.5, f32::NAN]), ElementType::F8E5M2).is_ok());
    }

    #[test]
    fn integers_must_fit() {
        let values = |value| TensorData::I64(vec![7, value]);
        assert_eq!(convert(values(-8), ElementType::I4), Ok(TensorData::I32(vec![7, -8])));
        assert_eq!(convert(TensorData::I32(vec![9]), ElementType::U64), Ok(TensorData::I64(vec![9])));
        let error = convert(values(-9), ElementType::I4).unwrap_err().to_string();
        assert!(error.contains("element 1 of input `x` is -9, which int4 cannot represent"), "{error}");
        assert!(convert(values(-1), ElementType::U64).is_err());
    }

    #[test]
    fn whole_floats_and_truth_values_are_integers() {
        let floats = |value| convert(TensorData::F32(vec![7.0, value]), ElementType::I64);
        assert_eq!(floats(-3.0), Ok(TensorData::I64(vec![7, -3])));
        for value in [0.5, f32::NAN, f32::INFINITY, -1e19] {
            assert!(floats(value).is_err(), "{value}");
        }
        assert!(convert(TensorData::F32(vec![-1.0]), ElementType::U8).is_err());
        let both = TensorData::Bool(vec![true, false]);
        assert_eq!(convert(both, ElementType::I64), Ok(TensorData::I64(vec![1, 0])));
        let doubles = |value| {
            let tensor = Tensor::from_f32(vec![1], vec![value]).unwrap().with_element(ElementType::F64);
            to_element("x", &tensor.unwrap(), ElementType::I64)
        };
        assert!(doubles(16_777_215.0).is_ok() && doubles(16_777_216.0).is_err(), "it may have been 16777217");
    }

    #[test]
    fn what_was_computed_is_of_every_type() {
        let found = |data: TensorData, element: ElementType| {
            let tensor = as_element(&Tensor::new(vec![data.len()], data).unwrap(), element);
            assert_eq!(tensor.element(), element);
            tensor.data().clone()
        };
        let reals = || TensorData::F32(vec![0.0, 1.0, 2.5, -200.0, f32::NAN]);
        assert_eq!(found(reals(), ElementType::I64), TensorData::I64(vec![0, 1, 2, -200, 0]));
        assert_eq!(found(reals(), ElementType::I8), TensorData::I32(vec![0, 1, 2, -128, 0]));
        assert_eq!(found(reals(), ElementType::U8), TensorData::I32(vec![0, 1, 2, 0, 0]));
        assert_eq!(found(reals(), ElementType::Bool), TensorData::Bool(vec![false, true, true, true, true]));
        let tenth = TensorData::F32(vec![0.1]);
        assert_eq!(found(tenth, ElementType::F16), TensorData::F32(vec![0.099_975_586]));
        for (data, reals) in [
            (TensorData::Bool(vec![true, false]), vec![1.0, 0.0]),
            (TensorData::I64(vec![-3, 9]), vec![-3.0, 9.0]),
            (TensorData::I32(vec![-3, 9]), vec![-3.0, 9.0]),
        ] {
            assert_eq!(found(data, ElementType::F32), TensorData::F32(reals));
        }
        assert_eq!(found(TensorData::I64(vec![300]), ElementType::U8), TensorData::I32(vec![255]));
        let boolean = |data| found(data, ElementType::Bool);
        assert_eq!(boolean(TensorData::I64(vec![2, 0])), TensorData::Bool(vec![true, false]));
    }

    #[test]
    fn other_kinds_are_left_to_the_evaluator() {
        let tensor = Tensor::new(vec![1], TensorData::I64(vec![1])).unwrap();
        for element in [ElementType::F32, ElementType::Bool] {
            assert_eq!(to_element("x", &tensor, element), Ok(tensor.clone()));
        }
    }
}
