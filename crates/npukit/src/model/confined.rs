//! [`Confined`]: restricts an artifact to the folder of its manifest. Links that leave the folder
//! are refused.

use std::ops::Range;

use npukit_target::{Part, ReadError, Reader, folder};

/// Reader for the files of the artifact whose manifest is at `manifest`.
pub(crate) struct Confined<'a> {
    /// Reader of all files.
    pub reader: &'a dyn Reader,
    /// Path of the manifest.
    pub manifest: &'a str,
}

impl Confined<'_> {
    /// Refuses a file in the folder that leads out of it. Other errors are left to the actual read.
    fn check(&self, path: &str) -> Result<(), ReadError> {
        let Some(name) = path.strip_prefix(folder(self.manifest)) else { return Ok(()) };
        // The caller chose the location of the manifest, so it is not checked.
        if path == self.manifest || name.is_empty() {
            return Ok(());
        }
        match self.reader.beside(self.manifest, name) {
            Err(error @ ReadError::Elsewhere { .. }) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Reader for Confined<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.check(path)?;
        self.reader.read(path)
    }

    fn read_range(&self, path: &str, range: Range<u64>) -> Result<Part, ReadError> {
        self.check(path)?;
        self.reader.read_range(path, range)
    }

    fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
        self.reader.beside(path, location)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.reader.list(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Reader for which paths that begin with `link` lead elsewhere.
    struct Linked;

    impl Reader for Linked {
        fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
            Ok(path.as_bytes().to_vec())
        }

        fn beside(&self, path: &str, location: &str) -> Result<String, ReadError> {
            let (path, location, leads_to) = (path.to_owned(), location.to_owned(), "/elsewhere".to_owned());
            let legal = "its folder".to_owned();
            match location.starts_with("link") {
                true => Err(ReadError::Elsewhere { path, location, leads_to, legal }),
                false => Err(ReadError::Absent { path }),
            }
        }
    }

    #[test]
    fn links_that_leave_the_folder_are_refused() {
        for root in ["", "a/"] {
            let manifest = format!("{root}link.toml");
            let files = Confined { reader: &Linked, manifest: &manifest };
            let at = |name: &str| format!("{root}{name}");
            assert_eq!(files.read(&manifest).unwrap(), manifest.as_bytes());
            assert_eq!(files.read(&at("words.bin")).unwrap(), at("words.bin").as_bytes());
            let refused = files.read(&at("link.bin")).unwrap_err();
            assert!(matches!(&refused, ReadError::Elsewhere { location, .. } if location == "link.bin"));
            assert_eq!(files.read_range(&at("link.bin"), 0..4).unwrap_err(), refused);
        }
    }
}
