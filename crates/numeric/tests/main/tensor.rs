//! Tensors with elements that are values of their type.

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

#[test]
fn elements_are_seen_as_they_are_held() {
    let floats = Tensor::from_f32(vec![2, 1], vec![1.5, -2.0]).unwrap();
    assert_eq!((floats.as_f32(), floats.as_i64()), (Some(&[1.5, -2.0][..]), None));
    let integers = Tensor::new(vec![2], TensorData::I64(vec![3, 1 << 40])).unwrap();
    assert_eq!((integers.as_f32(), integers.as_i64()), (None, Some(&[3, 1 << 40][..])));
}

#[test]
fn a_shape_has_all_elements() {
    assert_eq!(Tensor::from_f32(vec![2, 3], vec![0.0; 5]), Err(vec![0.0; 5]));
    assert_eq!(Tensor::from_f32(vec![2, 0], vec![0.0]), Err(vec![0.0]));
    assert_eq!(Tensor::from_f32(vec![usize::MAX, 2], vec![0.0]), Err(vec![0.0]));
    let none = Tensor::from_f32(vec![2, 0, usize::MAX], vec![]).unwrap();
    assert!(none.data().is_empty());
    assert!(!Tensor::from_f32(vec![], vec![0.0]).unwrap().data().is_empty());
}

#[test]
fn element_types_have_their_standard_names() {
    let names: Vec<String> = ElementType::ALL.iter().map(ToString::to_string).collect();
    let expected = "float32 float64 float16 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz \
                    float8e8m0 float6e2m3 float6e3m2 float4e2m1 int64 int32 int16 int8 int4 int2 uint64 \
                    uint32 uint16 uint8 uint4 uint2 bool";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn integer_types_have_a_range() {
    for element in ElementType::ALL {
        let name = element.name();
        assert_eq!(element.is_integer(), name.contains("int"), "{name}");
        assert_eq!(element.integer_range().is_some(), element.is_integer(), "{name}");
    }
    assert_eq!(ElementType::U8.integer_range(), Some((0, 255)));
    assert_eq!(ElementType::U32.integer_range(), Some((0, i64::from(u32::MAX))));
    assert_eq!(ElementType::U64.integer_range(), Some((0, i64::MAX)));
    assert_eq!(ElementType::I4.integer_range(), Some((-8, 7)));
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

#[test]
fn every_storage_is_read_as_reals() {
    let reals = |data: TensorData| Tensor::new(vec![2], data).unwrap().reals();
    assert_eq!(reals(TensorData::F32(vec![0.5, -3.0])), [0.5, -3.0]);
    assert_eq!(reals(TensorData::I64(vec![1 << 53, -7])), [9_007_199_254_740_992.0, -7.0]);
    assert_eq!(reals(TensorData::I32(vec![4, -7])), [4.0, -7.0]);
    assert_eq!(reals(TensorData::Bool(vec![true, false])), [1.0, 0.0]);
}
