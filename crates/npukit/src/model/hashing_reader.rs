//! [`HashingReader`]: a reader that records the hashes of the files of a model or artifact.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use npukit_target::{Part, ReadError, Reader, folder, sha256, sha256_of_file};
use npukit_verify::Files;

/// Reader that records the SHA-256 of the files that belong to one root file.
pub(crate) struct HashingReader<'a> {
    reader: &'a dyn Reader,
    /// Path of the root file, which names the others.
    root: &'a str,
    /// Whether every file that is read belongs to the root, or only the files that it names.
    is_alone: bool,
    seen: Mutex<BTreeMap<String, Seen>>,
}

/// File that belongs to the root.
struct Seen {
    /// Path relative to the root's folder.
    name: String,
    /// Hash as 64 hexadecimal digits; `None` for a file that was read in parts.
    sha256: Option<String>,
}

impl<'a> HashingReader<'a> {
    /// Records the model at `path` and the files that it names; other files can be read, too.
    pub fn of_model(reader: &'a dyn Reader, path: &'a str) -> Self {
        Self { reader, root: path, is_alone: false, seen: Mutex::default() }
    }

    /// Records everything that is read, for the artifact whose manifest is at `path`.
    pub fn of_artifact(reader: &'a dyn Reader, path: &'a str) -> Self {
        Self { is_alone: true, ..Self::of_model(reader, path) }
    }

    /// Returns the recorded files, with the hashes of the bytes that were read.
    ///
    /// For a file that was read in parts, the hash covers the whole file as it is now.
    ///
    /// # Errors
    ///
    /// Fails if a file that was read in parts cannot be read again.
    pub fn files(&self) -> Result<Files, ReadError> {
        let seen = self.seen();
        let entry = |(path, file): (&String, &Seen)| {
            let hash = file.sha256.clone().map_or_else(|| sha256_of_file(self.reader, path), Ok);
            Ok((file.name.clone(), hash?))
        };
        let sha256 = seen.iter().map(entry).collect::<Result<_, ReadError>>()?;
        Ok(Files { file: self.name_of(self.root), sha256 })
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the file at `path` relative to the root's folder.
    fn name_of(&self, path: &str) -> String {
        let name = path.strip_prefix(folder(self.root)).unwrap_or(path); // Default: it is elsewhere.
        name.replace('\\', "/")
    }

    /// Records that the file at `path` was read; with its hash if it was read as a whole.
    fn note(&self, path: &str, hash: Option<impl FnOnce() -> String>) {
        let mut seen = self.seen();
        if !seen.contains_key(path) && (self.is_alone || path == self.root) {
            seen.insert(path.to_owned(), Seen { name: self.name_of(path), sha256: None });
        }
        if let (Some(file), Some(hash)) = (seen.get_mut(path), hash)
            && file.sha256.is_none()
        {
            file.sha256 = Some(hash());
        }
    }
}

impl Reader for HashingReader<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let bytes = self.reader.read(path)?;
        self.note(path, Some(|| sha256(&bytes)));
        Ok(bytes)
    }

    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        let part = self.reader.read_range(path, range)?;
        self.note(path, None::<fn() -> String>);
        Ok(part)
    }

    fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
        let found = self.reader.beside(path, location)?;
        // Files of an artifact are recorded when they are read.
        if path == self.root && !self.is_alone {
            let name = location.replace('\\', "/");
            self.seen().entry(found.clone()).or_insert(Seen { name, sha256: None });
        }
        Ok(found)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.reader.list(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn disk() -> BTreeMap<String, Vec<u8>> {
        ["d/m.onnx", "d/w.bin", "x.npy"].map(|path| (path.to_owned(), path.as_bytes().to_vec())).into()
    }

    #[test]
    fn a_model_is_its_file_and_those_that_it_names() {
        let disk = disk();
        let reader = HashingReader::of_model(&disk, "d/m.onnx");
        for path in ["d/m.onnx", "x.npy", "d/m.onnx"] {
            reader.read(path).unwrap();
        }
        let beside = reader.beside("d/m.onnx", "w.bin").unwrap();
        assert_eq!(reader.read_range(&beside, 2..4).unwrap().bytes, b"w.");
        let found = reader.files().unwrap();
        assert_eq!(found.file, "m.onnx");
        let expected = [("m.onnx", "d/m.onnx"), ("w.bin", "d/w.bin")];
        let expected = expected.map(|(name, text)| (name.to_owned(), sha256(text.as_bytes())));
        assert_eq!(found.sha256, expected.into());
    }

    #[test]
    fn an_artifact_is_all_that_is_read_and_is_there() {
        let disk = disk();
        let reader = HashingReader::of_artifact(&disk, "d/m.onnx");
        assert!(reader.read("d/absent").is_err());
        reader.read("d/m.onnx").unwrap();
        reader.read("d/w.bin").unwrap();
        let names: Vec<String> = reader.files().unwrap().sha256.into_keys().collect();
        assert_eq!(names, ["m.onnx", "w.bin"]);
    }
}
