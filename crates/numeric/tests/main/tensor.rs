//! Tensors whose elements are values of their type.

use npukit_numeric::{ElementError, ElementType, Storage, Tensor, TensorData};
use proptest::prelude::*;

fn of(data: TensorData, element: ElementType) -> Result<TensorData, ElementError> {
    let tensor = Tensor::new(vec![data.len()], data).unwrap().with_element(element)?;
    assert_eq!(tensor.element(), element);
    Ok(tensor.data().clone())
}

#[test]
fn integers_lose_upper_bits() {
    let i32s = |values: &[i32], element| of(TensorData::I32(values.to_vec()), element);
    assert_eq!(i32s(&[127, 128, 255, -129], ElementType::I8), Ok(TensorData::I32(vec![127, -128, -1, 127])));
    assert_eq!(i32s(&[255, 256, -1], ElementType::U8), Ok(TensorData::I32(vec![255, 0, 255])));
    assert_eq!(i32s(&[7, 8, -9], ElementType::I4), Ok(TensorData::I32(vec![7, -8, 7])));
    assert_eq!(i32s(&[3, 4, -1], ElementType::U2), Ok(TensorData::I32(vec![3, 0, 3])));
    let i64s = |values: &[i64], element| of(TensorData::I64(values.to_vec()), element);
    assert_eq!(i64s(&[-1, 1 << 32], ElementType::U32), Ok(TensorData::I64(vec![u32::MAX.into(), 0])));
    assert_eq!(i64s(&[5, i64::MAX], ElementType::U64), Ok(TensorData::I64(vec![5, i64::MAX])));
}

#[test]
fn what_cannot_be_held_is_refused() {
    let wide = of(TensorData::I64(vec![5, -1]), ElementType::U64);
    assert_eq!(wide, Err(ElementError::TooBig { position: 1, value: u64::MAX }));
    let storage = of(TensorData::I64(vec![5]), ElementType::U8);
    assert_eq!(storage, Err(ElementError::Storage { element: ElementType::U8, found: Storage::I64 }));
}

#[test]
fn floats_are_rounded_to_infinity_and_beyond() {
    let values = of(TensorData::F32(vec![0.1, 65519.0, 65520.0, -1e9]), ElementType::F16);
    let rounded = vec![0.099_975_586, 65504.0, f32::INFINITY, f32::NEG_INFINITY];
    assert_eq!(values, Ok(TensorData::F32(rounded)));
    assert_eq!(of(TensorData::F32(vec![0.1]), ElementType::F64), Ok(TensorData::F32(vec![0.1])));
}

proptest! {
    /// Modulo two to the number of bits, within the type's range.
    #[test]
    fn integers_wrap_within_their_range(value: i64, which in 0..ElementType::ALL.len()) {
        let element = ElementType::ALL[which];
        let Some((least, largest)) = element.integer_range() else { return Ok(()) };
        let data = match element.storage() {
            Storage::I64 => TensorData::I64(vec![value]),
            _ => TensorData::I32(vec![value as i32]),
        };
        let wrapped = match of(data, element) {
            Ok(TensorData::I64(values)) => values[0],
            Ok(TensorData::I32(values)) => values[0].into(),
            _ => {
                prop_assert!(element == ElementType::U64 && value < 0);
                return Ok(());
            }
        };
        prop_assert!((least..=largest).contains(&wrapped));
        let distance = i128::from(wrapped) - i128::from(value);
        prop_assert_eq!(distance % (1i128 << element.bits()), 0);
    }
}
