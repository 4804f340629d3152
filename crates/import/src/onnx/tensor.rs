//! Tensors of a file to [`Tensor`]: dimensions and sizes are checked before anything is held.

mod elements;

use npukit_numeric::{ElementType, Tensor};

use super::error::Reason;
use super::proto::TensorProto;
pub(super) use crate::shape::{MAX_ELEMENTS, check_shape, shape, tensor};

/// Element types by code of the file; the names of those that are not read.
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

/// The element type behind a code of the file.
pub(super) fn element_type(code: i32) -> Result<ElementType, Reason> {
    match usize::try_from(code).ok().and_then(|code| CODES.get(code)) {
        Some(Ok(element)) => Ok(*element),
        Some(Err(name)) => Err(Reason::ElementType { name: (*name).to_owned() }),
        None => Err(Reason::ElementType { name: code.to_string() }),
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
    match &proto.raw_data {
        Some(raw) => elements::from_raw(element, shape, raw),
        None => elements::from_typed(element, shape, proto),
    }
}
