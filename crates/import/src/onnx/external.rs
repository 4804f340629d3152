//! Elements in files next to the model: [`External`] reads the bytes of each tensor separately.
//!
//! A model names such a file by a path relative to its own folder. A path that leaves the folder is
//! refused before any file is requested. Source: `docs/ExternalData.md` of the ONNX project.

use std::cell::RefCell;
use std::collections::HashMap;

use super::error::Reason;
use super::proto::TensorProto;
use crate::foreign::LFS_POINTER;
use crate::sidecar_files::{Part, ReadRange, inside};

/// Maximum number of times that all bytes of a file may be used. Tensors may share parts, but a
/// small model must not expand a file to many times its size.
const USES: u64 = 4;

/// Files next to a model.
pub(super) struct External<'a> {
    read: &'a ReadRange<'a>,
    /// Bytes of each file that tensors may still use, in total.
    room_bytes: RefCell<HashMap<String, u64>>,
}

/// Part of a file to which a tensor refers.
struct Place {
    location: String,
    offset: u64,
    length: Option<u64>,
}

impl<'a> External<'a> {
    /// Creates the set of files that `read` reads.
    pub(super) fn new(read: &'a ReadRange<'a>) -> Self {
        Self { read, room_bytes: RefCell::default() }
    }

    /// Returns the elements of `proto`, which are in another file: shape `shape`, `expected` bytes.
    ///
    /// # Errors
    ///
    /// The path leaves the folder, the file cannot be read, or the part is outside the file or has
    /// another size.
    pub(super) fn bytes(
        &self,
        proto: &TensorProto,
        shape: &[usize],
        expected: usize,
    ) -> Result<Vec<u8>, Reason> {
        let place = Place::of(proto)?;
        let needed = expected as u64;
        let range = place.offset..place.offset.saturating_add(needed);
        let part = (self.read)(&place.location, range).map_err(|reason| place.refused(reason))?;
        let present =
            place.present(&part, needed).map_err(|reason| self.pointer(&place).unwrap_or(reason))?;
        if present != needed {
            if let Some(reason) = self.pointer(&place) {
                return Err(reason);
            }
            let found = usize::try_from(present).unwrap_or(usize::MAX);
            return Err(Reason::DataSize { shape: shape.to_vec(), expected, found, unit: "bytes" });
        }
        self.take(&place, &part)?;
        Ok(part.bytes)
    }

    /// Reason for a file that is only a pointer to the real file.
    fn pointer(&self, place: &Place) -> Option<Reason> {
        let part = (self.read)(&place.location, 0..LFS_POINTER.len() as u64).ok()?;
        let is_pointer = part.bytes == LFS_POINTER;
        is_pointer.then(|| place.refused("it is a Git LFS pointer: run `git lfs pull`".to_owned()))
    }

    /// Deducts a part from the bytes of its file that tensors may still use.
    fn take(&self, place: &Place, part: &Part) -> Result<(), Reason> {
        let mut room = self.room_bytes.borrow_mut();
        let room = room.entry(place.location.clone()).or_insert_with(|| part.file_bytes.saturating_mul(USES));
        *room = room.checked_sub(part.bytes.len() as u64).ok_or_else(|| {
            place.refused(format!("the tensors together take more than {USES} times the bytes it has"))
        })?;
        Ok(())
    }
}

impl Place {
    fn of(proto: &TensorProto) -> Result<Self, Reason> {
        let value =
            |key: &str| proto.external_data.iter().find(|entry| entry.key == key).map(|e| e.value.as_str());
        // Default: without a location, `inside` refuses the empty path.
        let location = value("location").unwrap_or_default();
        let refused =
            |reason: &str| Reason::ExternalData { location: location.to_owned(), reason: reason.to_owned() };
        let number = |key: &str| match value(key) {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| refused(&format!("its {key} {text:?} is not a number of bytes"))),
        };
        // Default: the standard defines an omitted offset as 0.
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let location = inside(location).ok_or_else(|| refused("the path leaves the model's folder"))?;
        Ok(Self { location, offset, length })
    }

    /// Number of bytes that the tensor has in its file: the stated length, or the needed length as
    /// far as the file reaches.
    fn present(&self, part: &Part, needed: u64) -> Result<u64, Reason> {
        let rest = part.file_bytes.checked_sub(self.offset);
        let present = rest.filter(|&rest| self.length.is_none_or(|length| length <= rest));
        present.map(|rest| self.length.unwrap_or(rest.min(needed))).ok_or_else(|| {
            let length = self.length.map_or_else(String::new, |length| format!("{length} bytes "));
            self.refused(format!(
                "{length}from byte {} on are not in its {} bytes",
                self.offset, part.file_bytes
            ))
        })
    }

    fn refused(&self, reason: String) -> Reason {
        Reason::ExternalData { location: self.location.clone(), reason }
    }
}
