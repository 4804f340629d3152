//! Arrays of one element type for inputs of another: [`to_element`].

use npukit_numeric::{ElementType, Storage, Tensor, TensorData};

use crate::port::PortError;

/// The tensor given for input `name`, with elements of type `element`.
///
/// Floats of 16 bits and more are rounded to each other. Integers, floats of 8 bits and less, and whatever becomes an
/// integer must be values of the type; truth values are 0 and 1. Other kinds of elements stay as they are, for the
/// evaluator to refuse: a whole number is not meant as a truth value. (Where real numbers are wanted, files of integers
/// have become real before, and that was said.)
///
/// # Errors
///
/// [`PortError::Value`] at the first element that the type does not have.
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

/// The tensor, or the position and text of an element that is not a value of the type.
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

/// Floats as the integers that they are. Those of 64 bits are held as 32, which are surely the same up to 2^24 only.
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
        assert!(error.contains("element 1 of input `x` is -9, which int4 does not have"), "{error}");
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
    fn other_kinds_are_left_to_the_evaluator() {
        let tensor = Tensor::new(vec![1], TensorData::I64(vec![1])).unwrap();
        for element in [ElementType::F32, ElementType::Bool] {
            assert_eq!(to_element("x", &tensor, element), Ok(tensor.clone()));
        }
    }
}
