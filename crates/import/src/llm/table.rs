//! [`Table`]: the tensors of a model, with their places in files.

use std::collections::BTreeMap;

use npukit_graph::language::Rows;
use npukit_numeric::RowFormat;

use super::gguf::Gguf;
use super::{LlmError, listed};
use crate::safetensors::{LENGTH_BYTES, entries};
use crate::sidecar_files::ReadRange;

/// Place of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Path of the file.
    pub(super) path: String,
    /// Sizes, the slowest axis first.
    pub(super) shape: Vec<usize>,
    /// Format of the rows, or the name of an unsupported type.
    pub(super) format: Result<RowFormat, String>,
    /// Offset in the file, in bytes.
    offset: u64,
    /// Size in bytes.
    bytes: u64,
}

/// Tensors of a model, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) places: BTreeMap<String, Place>,
}

impl Table {
    /// Returns the table of a GGUF file.
    pub(super) fn of_gguf(path: &str, file: &Gguf) -> Self {
        let place = |(name, info): (&String, &super::gguf::TensorInfo)| {
            let format = info.element.format().ok_or_else(|| info.element.name.to_owned());
            let (offset, bytes) = (info.offset, info.bytes);
            (name.clone(), Place { path: path.to_owned(), shape: info.shape.clone(), format, offset, bytes })
        };
        Self { places: file.tensors.iter().map(place).collect() }
    }

    /// Reads the header of a safetensors file.
    pub(super) fn of_safetensors(path: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        let unreadable = |reason| LlmError::File { path: path.to_owned(), reason };
        let invalid = |reason: String| LlmError::SafeTensors { path: path.to_owned(), reason };
        let before = LENGTH_BYTES as u64;
        let first = files(path, 0..before).map_err(unreadable)?;
        let length: [u8; LENGTH_BYTES] = first.bytes[..]
            .try_into()
            .map_err(|_| invalid("it is shorter than the length of its header".to_owned()))?;
        let length = u64::from_le_bytes(length);
        let rest = first.file_bytes.saturating_sub(before);
        let too_long = || invalid(format!("its header of {length} bytes is longer than the file"));
        let data = rest.checked_sub(length).ok_or_else(too_long)?;
        let header = files(path, before..before + length).map_err(unreadable)?.bytes;
        let too_large =
            |_| invalid(format!("{data} bytes of elements are more than this computer can address"));
        let entries = entries(&header, usize::try_from(data).map_err(too_large)?).map_err(invalid)?;
        let place = |(name, entry): (String, crate::safetensors::Entry)| {
            let [from, to] = entry.data_offsets.map(|offset| offset as u64);
            let known = [RowFormat::F32, RowFormat::F16, RowFormat::Bf16];
            let format = known.into_iter().find(|format| format.name() == entry.dtype);
            let place = Place {
                path: path.to_owned(),
                shape: entry.shape,
                format: format.ok_or(entry.dtype),
                offset: before + length + from,
                bytes: to - from,
            };
            (name, place)
        };
        Ok(Self { places: entries.into_iter().map(place).collect() })
    }

    /// Returns the place of a tensor.
    pub(super) fn get(&self, name: &str) -> Option<&Place> {
        self.places.get(name)
    }
}

impl Place {
    /// Returns the place of a tensor that no file has.
    pub(super) fn absent(path: &str, shape: Vec<usize>, format: RowFormat) -> Self {
        Self { path: path.to_owned(), shape, format: Ok(format), offset: 0, bytes: 0 }
    }

    /// Returns the format of the rows.
    pub(super) fn format(&self, name: &str) -> Result<RowFormat, LlmError> {
        self.format.clone().map_err(|found| LlmError::Elements {
            path: self.path.clone(),
            name: name.to_owned(),
            found,
            known: listed(RowFormat::ALL.map(RowFormat::name)),
        })
    }

    /// Returns the shape as rows and columns. A vector is one row.
    pub(super) fn matrix(&self) -> [usize; 2] {
        let columns = self.shape.last().copied().unwrap_or(1);
        [self.shape.iter().rev().skip(1).product(), columns]
    }

    /// Reads the tensor called `name`, whose elements must be finite.
    pub(super) fn read(&self, name: &str, files: &ReadRange<'_>) -> Result<Rows, LlmError> {
        let failed = |reason| LlmError::File { path: self.path.clone(), reason };
        let part = files(&self.path, self.offset..self.offset + self.bytes).map_err(failed)?;
        let found = part.bytes.len();
        let cut = || failed(format!("tensor `{name}` has {found} of {} bytes", self.bytes));
        let rows = Rows::new(self.format(name)?, self.matrix(), part.bytes).ok_or_else(cut)?;
        match rows.first_not_finite() {
            None => Ok(rows),
            Some([row, column]) => {
                let (path, name) = (self.path.clone(), name.to_owned());
                Err(LlmError::NotFinite { path, name, row, column })
            }
        }
    }
}
