//! Outermost fields of a protobuf: [`check`] finds where a file was cut off, [`fields`]
//! distinguishes formats.
//!
//! prost reports truncation as an underflow somewhere inside. The header of the outermost field
//! gives the original length.

use crate::error::ImportError;
use crate::format::Format;

/// Highest plausible field number of a model, with room for newer fields. A higher number shows
/// that the file is not a model.
const MAX_FIELD: u64 = 1000;

/// Wire type of fields with a length: strings and messages.
pub(crate) const LENGTH: u64 = 2;

/// An outermost field.
pub(crate) struct Field {
    /// Field number.
    pub(crate) number: u64,
    /// Wire type.
    pub(crate) wire: u64,
    /// Byte offset of the content.
    pub(crate) start: usize,
    /// Byte offset after the content.
    pub(crate) end: usize,
}

/// Reason why a field cannot be read.
pub(crate) enum FieldError {
    /// The field ends beyond the file.
    Truncated { offset: usize, needed: u64, present: usize },
    /// The bytes are not a field of a model.
    NoField { offset: usize, reason: String },
}

impl FieldError {
    fn in_file_of(self, format: Format) -> ImportError {
        match self {
            Self::Truncated { offset, needed, present } => ImportError::Truncated { offset, needed, present },
            Self::NoField { offset, reason } => ImportError::NotModel { format, offset, reason },
        }
    }
}

/// Checks the outermost fields of a file of `format`.
///
/// # Errors
///
/// A field is invalid or ends beyond the file, or the file is empty.
pub(crate) fn check(bytes: &[u8], format: Format) -> Result<(), ImportError> {
    if bytes.is_empty() {
        return Err(no_field(0, "the file is empty").in_file_of(format));
    }
    fields(bytes).try_for_each(|field| field.map(drop).map_err(|error| error.in_file_of(format)))
}

/// Iterates over the outermost fields, up to the first invalid one.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<Field, FieldError>> + '_ {
    let mut offset = Some(0).filter(|_| !bytes.is_empty());
    std::iter::from_fn(move || {
        let field = field(bytes, offset?);
        offset = field.as_ref().ok().map(|field| field.end).filter(|&end| end < bytes.len());
        Some(field)
    })
}

/// Reads the field that begins at `start`.
fn field(bytes: &[u8], start: usize) -> Result<Field, FieldError> {
    let (key, body) = varint(bytes, start, start)?;
    let (number, wire) = (key >> 3, key & 7);
    if !(1..=MAX_FIELD).contains(&number) {
        return Err(no_field(start, &format!("{number} is not a field number of a model")));
    }
    let (length, body) = match wire {
        0 => return Ok(Field { number, wire, start: body, end: varint(bytes, start, body)?.1 }),
        1 => (8, body),
        LENGTH => varint(bytes, start, body)?,
        5 => (4, body),
        wire => return Err(no_field(start, &format!("wire type {wire} does not occur in a model"))),
    };
    let present = bytes.len() - body;
    match usize::try_from(length) {
        Ok(length) if length <= present => Ok(Field { number, wire, start: body, end: body + length }),
        _ => Err(FieldError::Truncated { offset: start, needed: length, present }),
    }
}

/// Reads a varint; returns its value and the offset after it. `start` is the offset of its field.
fn varint(bytes: &[u8], start: usize, offset: usize) -> Result<(u64, usize), FieldError> {
    let mut value = 0u64;
    // Default: no bytes are left beyond the end, which is an error below.
    for (count, &byte) in bytes.get(offset..).unwrap_or_default().iter().enumerate().take(10) {
        // Ten bytes shift by at most 63; bits beyond 64 are lost, as in every protobuf reader.
        value |= u64::from(byte & 0x7f) << (7 * count);
        if byte & 0x80 == 0 {
            return Ok((value, offset + count + 1));
        }
    }
    let present = bytes.len().saturating_sub(offset);
    if present < 10 {
        return Err(FieldError::Truncated { offset: start, needed: present as u64 + 1, present });
    }
    Err(no_field(start, "a number of more than 10 bytes"))
}

fn no_field(offset: usize, reason: &str) -> FieldError {
    FieldError::NoField { offset, reason: reason.to_owned() }
}
