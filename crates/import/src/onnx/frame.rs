//! The outermost fields of a protobuf: [`check`] finds where a file was cut off.
//!
//! prost reports a cut as an underflow somewhere inside; the header of the outermost field
//! says how long the file should have been.

use super::error::ImportError;

/// Highest field number of a model that we know of, with room for newer ones. Anything above
/// is a sign of a file that is no model at all.
const MAX_FIELD: u64 = 1000;

/// Walks over the outermost fields. Errors: one that ends beyond the file, or is no field.
pub(super) fn check(bytes: &[u8]) -> Result<(), ImportError> {
    let mut offset = 0;
    if bytes.is_empty() {
        return Err(not_onnx(0, "the file is empty"));
    }
    while offset < bytes.len() {
        offset = field(bytes, offset)?;
    }
    Ok(())
}

/// The offset behind the field that begins at `start`.
fn field(bytes: &[u8], start: usize) -> Result<usize, ImportError> {
    let (key, body) = varint(bytes, start, start)?;
    if !(1..=MAX_FIELD).contains(&(key >> 3)) {
        return Err(not_onnx(start, &format!("{} is no field number of a model", key >> 3)));
    }
    let (length, body) = match key & 7 {
        0 => return Ok(varint(bytes, start, body)?.1),
        1 => (8, body),
        2 => varint(bytes, start, body)?,
        5 => (4, body),
        wire => return Err(not_onnx(start, &format!("wire type {wire} does not occur in a model"))),
    };
    let present = bytes.len() - body;
    match usize::try_from(length) {
        Ok(length) if length <= present => Ok(body + length),
        _ => Err(ImportError::Truncated { offset: start, needed: length, present }),
    }
}

/// The number at `offset` and the offset behind it; `start` is where its field begins.
fn varint(bytes: &[u8], start: usize, offset: usize) -> Result<(u64, usize), ImportError> {
    let mut value = 0u64;
    for (count, &byte) in bytes.get(offset..).unwrap_or_default().iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(7 * count as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok((value, offset + count + 1));
        }
    }
    let present = bytes.len().saturating_sub(offset);
    if present < 10 {
        return Err(ImportError::Truncated { offset: start, needed: present as u64 + 1, present });
    }
    Err(not_onnx(start, "a number of more than 10 bytes"))
}

fn not_onnx(offset: usize, reason: &str) -> ImportError {
    ImportError::NotOnnx { offset, reason: reason.to_owned() }
}
