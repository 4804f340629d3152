//! Conversion of a file's tensors to [`Tensor`]. Dimensions and sizes are checked before memory is
//! allocated.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::error::Reason;
use super::external::External;
use super::proto::TensorProto;
use crate::elements::{from_raw, from_words, packed, typed};
use crate::shape::of_constant;
pub(super) use crate::shape::{MAX_ELEMENTS, check_shape, shape, size, tensor};

/// Element types by code of the file; an unsupported type is an error with its name.
const CODES: [Result<ElementType, &str>; 29] = [
    Err("undefined"),
    Ok(ElementType::F32),
    Ok(ElementType::U8),
    Ok(ElementType::I8),
    Ok(ElementType::U16),
    Ok(ElementType::I16),
    Ok(ElementType::I32),
    Ok(ElementType::I64),
    Err("string"),
    Ok(ElementType::Bool),
    Ok(ElementType::F16),
    Ok(ElementType::F64),
    Ok(ElementType::U32),
    Ok(ElementType::U64),
    Err("complex64"),
    Err("complex128"),
    Ok(ElementType::BF16),
    Ok(ElementType::F8E4M3FN),
    Ok(ElementType::F8E4M3FNUZ),
    Ok(ElementType::F8E5M2),
    Ok(ElementType::F8E5M2FNUZ),
    Ok(ElementType::U4),
    Ok(ElementType::I4),
    Ok(ElementType::F4E2M1),
    Ok(ElementType::F8E8M0),
    Ok(ElementType::U2),
    Ok(ElementType::I2),
    Ok(ElementType::F6E2M3),
    Ok(ElementType::F6E3M2),
];

/// Returns the element type of a code in the file.
pub(super) fn element_type(code: i32) -> Result<ElementType, Reason> {
    match usize::try_from(code).ok().and_then(|code| CODES.get(code)) {
        Some(Ok(element)) => Ok(*element),
        Some(Err(name)) => Err(Reason::ElementType { name: (*name).to_owned() }),
        None => Err(Reason::ElementType { name: code.to_string() }),
    }
}

/// Whether the elements are in another file. Location entries have no effect unless the tensor
/// itself declares it.
pub(super) fn is_external(proto: &TensorProto) -> bool {
    proto.data_location == 1
}

/// Reads a tensor stored in the file or next to it.
pub(super) fn read(proto: &TensorProto, external: &External<'_>) -> Result<Tensor, Reason> {
    if proto.segment.is_some() {
        return Err(Reason::TensorKind { kind: "segmented" });
    }
    let element = element_type(proto.data_type)?;
    let shape = shape(&proto.dims).map_err(of_constant)?;
    if is_external(proto) {
        let expected = (shape.iter().product::<usize>() * element.bits()).div_ceil(8);
        let bytes = external.bytes(proto, &shape, expected)?;
        return from_raw(element, shape, &bytes);
    }
    match &proto.raw_data {
        Some(raw) => from_raw(element, shape, raw),
        None => from_typed(element, shape, proto),
    }
}

/// Reads a tensor from the standard's field for its type.
fn from_typed(element: ElementType, shape: Vec<usize>, proto: &TensorProto) -> Result<Tensor, Reason> {
    let count = shape.iter().product::<usize>();
    let narrow = matches!(element.bits(), 2 | 4);
    let (found, expected) = match element {
        ElementType::F32 => (proto.float_data.len(), count),
        ElementType::F64 => (proto.double_data.len(), count),
        ElementType::I64 => (proto.int64_data.len(), count),
        ElementType::U64 | ElementType::U32 => (proto.uint64_data.len(), count),
        // Each entry is one byte of packed elements.
        _ if narrow => (proto.int32_data.len(), (count * element.bits()).div_ceil(8)),
        _ => (proto.int32_data.len(), count),
    };
    if found != expected {
        return Err(Reason::DataSize { shape, expected, found, unit: "elements" });
    }
    match element {
        ElementType::F32 => typed(element, shape, TensorData::F32(proto.float_data.clone())),
        ElementType::F64 => from_words(element, shape, proto.double_data.iter().map(|v| v.to_bits())),
        ElementType::I64 => typed(element, shape, TensorData::I64(proto.int64_data.clone())),
        ElementType::U64 | ElementType::U32 => from_words(element, shape, proto.uint64_data.iter().copied()),
        _ if narrow => {
            let bytes: Vec<u8> = proto.int32_data.iter().map(|&value| value as u8).collect();
            from_words(element, shape, packed(&bytes, element.bits(), count))
        }
        _ => from_words(element, shape, proto.int32_data.iter().map(|&value| value as u32 as u64)),
    }
}
