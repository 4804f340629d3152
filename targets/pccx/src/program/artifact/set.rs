//! A container among the files that it was written with: [`read_set`].

use npukit_target::{Parts, ReadError, Reader, Seal, TargetError, sibling};
use serde::Deserialize;

use super::read;
use crate::program::Program;

/// Ending of containers.
const CONTAINER: &str = "pcp";
/// Ending of manifests.
const MANIFEST: &str = "manifest.toml";
/// Endings of what says the same as the container: its words and its text.
const LISTINGS: [&str; 2] = ["memh", "s"];

/// What a manifest says of itself and of the other files.
#[derive(Deserialize)]
struct Hashes {
    digest: Seal,
    sha256: Parts,
}

/// The name, without an ending, and the program of the container at `path`.
///
/// It stands for itself. With a manifest beside it it is one of a set: then it is the one that was written with that,
/// and so are words and text that lie there too, and no byte of the manifest has changed.
///
/// # Errors
///
/// [`TargetError::Failed`] with the file: one that cannot be read, a manifest that is not one, files of two
/// compilations, and what [`read`] refuses.
pub fn read_set(path: &str, files: &dyn Reader) -> Result<(String, Program), TargetError> {
    let bytes = files.read(path).map_err(TargetError::failed)?;
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = file.strip_suffix(&format!(".{CONTAINER}")).unwrap_or(file);
    let set = Set { path, name, files };
    set.check(file, &bytes)?;
    let program = read(&bytes).map_err(|error| TargetError::failed(format!("{path}: {error}")))?;
    Ok((name.to_owned(), program))
}

/// The files beside a container.
struct Set<'a> {
    path: &'a str,
    name: &'a str,
    files: &'a dyn Reader,
}

impl Set<'_> {
    /// Checks the container, called `file`, and what there is beside it.
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
