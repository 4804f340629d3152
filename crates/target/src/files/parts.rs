//! [`Parts`]: hashes of the files of an artifact, so that files of two compilations are not mixed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::files::hash::sha256;
use crate::files::read::{ReadError, Reader};

/// A file of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactFile {
    /// Plain file name, without a folder.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// SHA-256 of each file of an artifact as 64 hexadecimal digits, by plain file name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parts(BTreeMap<String, String>);

impl Parts {
    /// Computes the hashes of `files`.
    pub fn of(files: &[ArtifactFile]) -> Self {
        files.iter().map(|file| (file.name.clone(), sha256(&file.bytes))).collect()
    }

    /// Returns whether no hashes are recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that the file called `name` is the one that was written together with the manifest
    /// called `manifest`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Mixed`].
    pub fn check(&self, manifest: &str, name: &str, bytes: &[u8]) -> Result<(), ReadError> {
        let (actual, expected) = (sha256(bytes), self.0.get(name));
        if expected == Some(&actual) {
            return Ok(());
        }
        let (name, manifest, expected) = (name.to_owned(), manifest.to_owned(), expected.cloned());
        Err(ReadError::Mixed { name, manifest, expected, actual })
    }
}

impl FromIterator<(String, String)> for Parts {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(hashes: I) -> Self {
        Self(hashes.into_iter().collect())
    }
}

/// A reader that returns only files that belong to a manifest.
pub struct Checked<'a> {
    /// Reader of the files.
    pub files: &'a dyn Reader,
    /// Name of the manifest, for errors.
    pub manifest: &'a str,
    /// Hashes recorded in the manifest.
    pub parts: &'a Parts,
}

impl Reader for Checked<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let bytes = self.files.read(path)?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.parts.check(self.manifest, name, &bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> ArtifactFile {
        ArtifactFile { name: name.to_owned(), bytes: bytes.to_vec() }
    }

    /// Source: FIPS 180-2, appendix B.1.
    #[test]
    fn hashes_are_sha_256() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
    }

    #[test]
    fn only_the_files_it_was_written_with_belong_to_it() {
        let parts = Parts::of(&[file("a", b"1"), file("b", b"2")]);
        assert_eq!(parts.check("m", "a", b"1"), Ok(()));
        let error = parts.check("m", "b", b"1").map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("`b` is not the file that `m` was written with")));
        let error = parts.check("m", "c", b"1").map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| { text.starts_with("`c` is not a file that `m` was written with") }));
        assert!(Parts::default().check("m", "a", b"1").is_err(), "nothing is known of any file");
    }

    #[test]
    fn a_checked_reader_gives_no_other_file() {
        let parts = Parts::of(&[file("a", b"1")]);
        let old = |path: &str| Ok(if path == "d/a" { b"1".to_vec() } else { b"0".to_vec() });
        let files = Checked { files: &old, manifest: "m", parts: &parts };
        assert_eq!(files.read("d/a"), Ok(b"1".to_vec()));
        assert!(matches!(files.read("e/a"), Err(ReadError::Mixed { .. })));
    }
}
