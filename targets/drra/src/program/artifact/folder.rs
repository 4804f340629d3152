//! [`Folder`]: a manifest and the files next to it.

use std::fmt::Display;
use std::string::FromUtf8Error;

use npukit_target::{Reader, TargetError, sibling};

use super::ArtifactError;

/// Manifest and the files next to it.
pub(super) struct Folder<'a> {
    /// Path of the manifest.
    pub path: &'a str,
    /// Reader of the files.
    pub files: &'a dyn Reader,
}

impl Folder<'_> {
    /// Reads the manifest as text.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or is not UTF-8.
    pub fn own(&self) -> Result<String, TargetError> {
        text(self.path, self.files.read(self.path).map_err(TargetError::failed)?)
    }

    /// Reads the bytes of a file next to the manifest.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, TargetError> {
        sibling(self.path, name).and_then(|path| self.files.read(&path)).map_err(TargetError::failed)
    }

    /// Reads a text file next to the manifest.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not UTF-8.
    pub fn text(&self, name: &str) -> Result<String, TargetError> {
        text(name, self.bytes(name)?)
    }

    /// Creates an error in the manifest.
    pub fn wrong(&self, reason: &dyn Display) -> TargetError {
        wrong(self.path, reason)
    }
}

/// Converts the bytes of a text file.
fn text(file: &str, bytes: Vec<u8>) -> Result<String, TargetError> {
    let at = |error: FromUtf8Error| error.utf8_error().valid_up_to();
    String::from_utf8(bytes).map_err(|error| wrong(file, &format!("byte {} is not UTF-8 text", at(error))))
}

/// Creates an error in a file.
pub(super) fn wrong(file: &str, reason: &dyn Display) -> TargetError {
    TargetError::failed(ArtifactError::File { file: file.to_owned(), reason: reason.to_string() })
}
