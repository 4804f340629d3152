//! [`Folder`]: a manifest and the files beside it.

use std::fmt::Display;
use std::string::FromUtf8Error;

use npukit_target::{Reader, TargetError, sibling};

use super::ArtifactError;

/// A manifest and the files beside it.
pub(super) struct Folder<'a> {
    /// The manifest.
    pub path: &'a str,
    /// Gives the bytes.
    pub files: &'a dyn Reader,
}

impl Folder<'_> {
    /// The manifest's text.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not UTF-8.
    pub fn own(&self) -> Result<String, TargetError> {
        text(self.path, self.files.read(self.path).map_err(TargetError::failed)?)
    }

    /// Those of a file beside it.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, TargetError> {
        sibling(self.path, name).and_then(|path| self.files.read(&path)).map_err(TargetError::failed)
    }

    /// A file beside it that is text.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not UTF-8.
    pub fn text(&self, name: &str) -> Result<String, TargetError> {
        text(name, self.bytes(name)?)
    }

    /// What is wrong with the manifest.
    pub fn wrong(&self, reason: &dyn Display) -> TargetError {
        wrong(self.path, reason)
    }
}

/// The bytes of a file that is text.
fn text(file: &str, bytes: Vec<u8>) -> Result<String, TargetError> {
    let at = |error: FromUtf8Error| error.utf8_error().valid_up_to();
    String::from_utf8(bytes).map_err(|error| wrong(file, &format!("byte {} is not UTF-8 text", at(error))))
}

/// What is wrong with a file.
pub(super) fn wrong(file: &str, reason: &dyn Display) -> TargetError {
    TargetError::failed(ArtifactError::File { file: file.to_owned(), reason: reason.to_string() })
}
