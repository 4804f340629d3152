//! Readers of files: [`Disk`] for the repository, [`Files`] for an artifact.

use std::path::Path;

use npukit_target::{ArtifactFile, ReadError, Reader};

/// Reader of files on the disk.
pub struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(path).map_err(|error| ReadError::of(path, &error))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        if !Path::new(path).is_dir() {
            return Ok(vec![path.to_owned()]);
        }
        let entries = std::fs::read_dir(path).map_err(|error| ReadError::of(path, &error))?;
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| ReadError::of(path, &error))?;
            files.extend(self.list(&entry.path().to_string_lossy())?);
        }
        files.sort();
        Ok(files)
    }
}

/// Reader of the files of an artifact.
pub struct Files<'a>(pub &'a [ArtifactFile]);

impl Reader for Files<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let file = self.0.iter().find(|file| file.name == path);
        file.map(|file| file.bytes.clone()).ok_or_else(|| ReadError::Absent { path: path.to_owned() })
    }
}
