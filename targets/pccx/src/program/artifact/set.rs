//! Reads a container together with the files that were written with it: [`read_set`].

use npukit_target::{Parts, ReadError, Reader, Seal, TargetError, sibling};
use serde::Deserialize;

use super::read;
use crate::program::Program;

/// Extension of containers.
const CONTAINER: &str = "pcp";
/// Suffix of manifests.
const MANIFEST: &str = "manifest.toml";
/// Extensions of files that repeat content of the container: its words and its text.
const LISTINGS: [&str; 2] = ["memh", "s"];

/// Hashes in a manifest: of the manifest itself and of the other files.
#[derive(Deserialize)]
struct Hashes {
    digest: Seal,
    sha256: Parts,
}

/// Returns the name without extension and the program of the container at `path`.
///
/// A container may be read alone. If a manifest is next to it, both must be from the same
/// compilation, and so must words and text in the same folder; the manifest must be unchanged.
///
/// # Errors
/// [`TargetError::Failed`] with the file: a file that cannot be read, an invalid manifest, files of
/// two compilations, and errors of [`read`].
pub fn read_set(path: &str, files: &dyn Reader) -> Result<(String, Program), TargetError> {
    let bytes = files.read(path).map_err(TargetError::failed)?;
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = file.strip_suffix(&format!(".{CONTAINER}")).unwrap_or(file);
    let set = Set { path, name, files };
    set.check(file, &bytes)?;
    let program = read(&bytes).map_err(|error| TargetError::failed(format!("{path}: {error}")))?;
    Ok((name.to_owned(), program))
}

/// Files next to a container.
struct Set<'a> {
    path: &'a str,
    name: &'a str,
    files: &'a dyn Reader,
}

impl Set<'_> {
    /// Checks the container `file` and the files next to it.
    fn check(&self, file: &str, bytes: &[u8]) -> Result<(), TargetError> {
        let manifest = format!("{}.{MANIFEST}", self.name);
        let Some(text) = self.beside(&manifest)? else { return Ok(()) };
        let wrong = |error| TargetError::failed(format!("{manifest}: {error}"));
        let text = text_of(&text).map_err(wrong)?;
        let Hashes { digest, sha256: parts } =
            toml::from_str(text).map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        digest.check(&manifest, text).map_err(TargetError::failed)?;
        parts.check(&manifest, file, bytes).map_err(TargetError::failed)?;
        for ending in LISTINGS {
            let listing = format!("{}.{ending}", self.name);
            if let Some(bytes) = self.beside(&listing)? {
                parts.check(&manifest, &listing, &bytes).map_err(TargetError::failed)?;
            }
        }
        Ok(())
    }

    fn beside(&self, name: &str) -> Result<Option<Vec<u8>>, TargetError> {
        let read = sibling(self.path, name).and_then(|path| self.files.read(&path));
        ReadError::optional(read).map_err(TargetError::failed)
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8 text", error.valid_up_to()))
}
