//! Tensors of a file to [`Tensor`]: dimensions and sizes are checked before anything is held.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::error::Reason;
use super::proto::{TensorProto, data_type};

/// Largest rank read. The standard sets no limit; no operator here has a use for more.
pub(super) const MAX_RANK: usize = 32;

/// Most elements of one value: 1 GiB of floats.
pub(super) const MAX_ELEMENTS: usize = 1 << 28;

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

/// The shape behind dimensions that must all be known.
pub(super) fn shape(dims: &[i64]) -> Result<Vec<usize>, Reason> {
    if dims.len() > MAX_RANK {
        return Err(Reason::Rank { rank: dims.len(), limit: MAX_RANK });
    }
    let sizes = dims.iter().enumerate().map(|(axis, &size)| {
        usize::try_from(size).ok().filter(|&size| size <= MAX_ELEMENTS).ok_or(Reason::Dimension {
            axis,
            size,
            limit: MAX_ELEMENTS,
        })
    });
    let shape = sizes.collect::<Result<Vec<_>, _>>()?;
    check_shape(&shape)?;
    Ok(shape)
}

/// Refuses shapes of too many axes or elements. Empty axes count as 1, so that products of any
/// part of an accepted shape do not overflow either.
pub(super) fn check_shape(shape: &[usize]) -> Result<(), Reason> {
    if shape.len() > MAX_RANK {
        return Err(Reason::Rank { rank: shape.len(), limit: MAX_RANK });
    }
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size.max(1)));
    match elements {
        Some(elements) if elements <= MAX_ELEMENTS => Ok(()),
        _ => Err(Reason::TooLarge { shape: shape.to_vec(), limit: MAX_ELEMENTS }),
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

/// Joins a shape and its elements.
pub(super) fn tensor(shape: Vec<usize>, data: TensorData) -> Result<Tensor, Reason> {
    let expected = shape.iter().product();
    Tensor::new(shape.clone(), data).map_err(|data| {
        let found = data.len();
        Reason::DataSize { shape, expected, found, unit: "elements" }
    })
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
