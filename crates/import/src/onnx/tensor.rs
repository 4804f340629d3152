//! Tensors of a file to [`Tensor`]: dimensions and sizes are checked before anything is held.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::error::Reason;
use super::proto::{TensorProto, data_type};
pub(super) use crate::shape::{MAX_ELEMENTS, check_shape, shape, tensor};

/// Names of the element types, by code.
const NAMES: [&str; 27] = [
    "undefined",
    "float32",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "float64",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
];

/// The element type behind a code of the file.
pub(super) fn element_type(code: i32) -> Result<ElementType, Reason> {
    match code {
        data_type::FLOAT => Ok(ElementType::F32),
        data_type::INT32 => Ok(ElementType::I32),
        data_type::INT64 => Ok(ElementType::I64),
        data_type::BOOL => Ok(ElementType::Bool),
        _ => {
            let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
            Err(Reason::ElementType { name: name.map_or(format!("{code}"), |&name| name.to_owned()) })
        }
    }
}

/// The tensor that a file holds.
pub(super) fn read(proto: &TensorProto) -> Result<Tensor, Reason> {
    if proto.data_location == 1 || !proto.external_data.is_empty() {
        let location = proto.external_data.iter().find(|entry| entry.key == "location");
        return Err(Reason::ExternalData { location: location.map(|e| e.value.clone()).unwrap_or_default() });
    }
    if proto.segment.is_some() {
        return Err(Reason::TensorKind { kind: "segmented" });
    }
    let element = element_type(proto.data_type)?;
    let shape = shape(&proto.dims)?;
    let data = match &proto.raw_data {
        Some(raw) => from_raw(element, &shape, raw)?,
        None => from_typed(element, &shape, proto)?,
    };
    tensor(shape, data)
}

fn from_raw(element: ElementType, shape: &[usize], raw: &[u8]) -> Result<TensorData, Reason> {
    let size_bytes = match element {
        ElementType::F32 | ElementType::I32 => 4,
        ElementType::I64 => 8,
        ElementType::Bool => 1,
    };
    let expected = shape.iter().product::<usize>() * size_bytes;
    if raw.len() != expected {
        return Err(Reason::DataSize { shape: shape.to_vec(), expected, found: raw.len(), unit: "bytes" });
    }
    Ok(match element {
        ElementType::F32 => TensorData::F32(words(raw).map(f32::from_le_bytes).collect()),
        ElementType::I32 => TensorData::I32(words(raw).map(i32::from_le_bytes).collect()),
        ElementType::I64 => TensorData::I64(words(raw).map(i64::from_le_bytes).collect()),
        ElementType::Bool => TensorData::Bool(raw.iter().map(|&byte| byte != 0).collect()),
    })
}

/// The whole words of `N` bytes in `raw`.
fn words<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> {
    raw.as_chunks().0.iter().copied()
}

fn from_typed(element: ElementType, shape: &[usize], proto: &TensorProto) -> Result<TensorData, Reason> {
    let found = match element {
        ElementType::F32 => proto.float_data.len(),
        ElementType::I64 => proto.int64_data.len(),
        ElementType::I32 | ElementType::Bool => proto.int32_data.len(),
    };
    let expected = shape.iter().product();
    if found != expected {
        return Err(Reason::DataSize { shape: shape.to_vec(), expected, found, unit: "elements" });
    }
    Ok(match element {
        ElementType::F32 => TensorData::F32(proto.float_data.clone()),
        ElementType::I64 => TensorData::I64(proto.int64_data.clone()),
        ElementType::I32 => TensorData::I32(proto.int32_data.clone()),
        ElementType::Bool => TensorData::Bool(proto.int32_data.iter().map(|&value| value != 0).collect()),
    })
}
