//! [`Hashed`]: a reader that takes down the hashes of the files of a model or of an artifact.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use npukit_target::{Part, ReadError, Reader, folder, sha256, sha256_of_file};
use npukit_verify::Files;

/// Gives files, and takes down the SHA-256 of those that belong to one.
pub(crate) struct Hashed<'a> {
    reader: &'a dyn Reader,
    /// The file that names the others.
    root: &'a str,
    /// Whether every file that is read belongs to it, or only those that it names.
    is_alone: bool,
    seen: Mutex<BTreeMap<String, Seen>>,
}

/// A file that belongs to another.
struct Seen {
    /// From the folder of that.
    name: String,
    /// None of one that was read in parts.
    sha256: Option<String>,
}

impl<'a> Hashed<'a> {
    /// Takes down the model at `path` and what it names; other files are given, too.
    pub fn of_model(reader: &'a dyn Reader, path: &'a str) -> Self {
        Self { reader, root: path, is_alone: false, seen: Mutex::default() }
    }

    /// Takes down everything that is read, for the artifact whose manifest is at `path`.
    pub fn of_artifact(reader: &'a dyn Reader, path: &'a str) -> Self {
        Self { is_alone: true, ..Self::of_model(reader, path) }
    }

    /// The files that were read, with the hashes of the bytes that were given.
    ///
    /// Of a file that was read in parts it is that of the whole file as it is now.
    ///
    /// # Errors
    ///
    /// What stands against reading these once more.
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

    /// The name of the file at `path` from the folder of the root.
    fn name_of(&self, path: &str) -> String {
        let name = path.strip_prefix(folder(self.root)).unwrap_or(path); // Default: it lies elsewhere.
        name.replace('\\', "/")
    }

    /// Takes down that the file at `path` is read; whole, with its hash.
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

impl Reader for Hashed<'_> {
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
        // What an artifact reads is taken down when it is read.
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
        let reader = Hashed::of_model(&disk, "d/m.onnx");
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
        let reader = Hashed::of_artifact(&disk, "d/m.onnx");
        assert!(reader.read("d/absent").is_err());
        reader.read("d/m.onnx").unwrap();
        reader.read("d/w.bin").unwrap();
        let names: Vec<String> = reader.files().unwrap().sha256.into_keys().collect();
        assert_eq!(names, ["m.onnx", "w.bin"]);
    }
}
