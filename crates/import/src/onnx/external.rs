//! Elements in files beside the model: [`External`] reads them, each file once.
//!
//! A model names such a file by a path relative to its own folder. Whatever leads out of that
//! folder is refused before anybody is asked for a file. Source: `docs/ExternalData.md` of
//! the ONNX project.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::error::Reason;
use super::proto::TensorProto;
use crate::beside::{ReadFile, inside};

/// How often all of a file may be used. Tensors share parts at times, but a small model must not
/// unfold a file into many times its size.
const USES: usize = 4;

/// The files beside a model.
pub(super) struct External<'a> {
    read: &'a ReadFile<'a>,
    files: RefCell<HashMap<String, Rc<File>>>,
}

/// A file that was asked for.
struct File {
    bytes: Result<Vec<u8>, String>,
    /// Bytes that tensors may still use, over all of them.
    room_bytes: RefCell<usize>,
}

/// The part of a file that a tensor names.
struct Place {
    location: String,
    offset: u64,
    length: Option<u64>,
}

impl<'a> External<'a> {
    /// Files that `read` gives.
    pub(super) fn new(read: &'a ReadFile<'a>) -> Self {
        Self { read, files: RefCell::default() }
    }

    /// Calls `use_bytes` with the elements of `proto`, which are in another file.
    ///
    /// Errors: a path that leaves the folder, a file that cannot be read, a part that is not in it.
    pub(super) fn with_bytes<T>(
        &self,
        proto: &TensorProto,
        use_bytes: impl FnOnce(&[u8]) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let place = Place::of(proto)?;
        let file = self.file(&place.location);
        let bytes = file.bytes.as_ref().map_err(|reason| place.refused(reason.clone()))?;
        let part = place.part(bytes)?;
        let mut room = file.room_bytes.borrow_mut();
        *room = room.checked_sub(part.len()).ok_or_else(|| {
            place.refused(format!("the tensors together take more than {USES} times the bytes it has"))
        })?;
        use_bytes(part)
    }

    fn file(&self, location: &str) -> Rc<File> {
        let read = || {
            let bytes = (self.read)(location);
            let room = bytes.as_ref().map_or(0, |bytes| bytes.len().saturating_mul(USES));
            Rc::new(File { bytes, room_bytes: RefCell::new(room) })
        };
        Rc::clone(self.files.borrow_mut().entry(location.to_owned()).or_insert_with(read))
    }
}

impl Place {
    fn of(proto: &TensorProto) -> Result<Self, Reason> {
        let value =
            |key: &str| proto.external_data.iter().find(|entry| entry.key == key).map(|e| e.value.as_str());
        let location = value("location").unwrap_or_default();
        let refused =
            |reason: &str| Reason::ExternalData { location: location.to_owned(), reason: reason.to_owned() };
        let number = |key: &str| match value(key) {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| refused(&format!("its {key} {text:?} is no number of bytes"))),
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let location = inside(location).ok_or_else(|| refused("the path leaves the model's folder"))?;
        Ok(Self { location, offset, length })
    }

    /// The part of the file's bytes.
    fn part<'b>(&self, bytes: &'b [u8]) -> Result<&'b [u8], Reason> {
        let from = usize::try_from(self.offset).ok().and_then(|offset| bytes.get(offset..));
        let part = match (from, self.length) {
            (Some(rest), None) => Some(rest),
            (Some(rest), Some(length)) => usize::try_from(length).ok().and_then(|length| rest.get(..length)),
            (None, _) => None,
        };
        part.ok_or_else(|| {
            let length = self.length.map_or_else(String::new, |length| format!("{length} bytes "));
            self.refused(format!("{length}from byte {} on are not in its {} bytes", self.offset, bytes.len()))
        })
    }

    fn refused(&self, reason: String) -> Reason {
        Reason::ExternalData { location: self.location.clone(), reason }
    }
}
