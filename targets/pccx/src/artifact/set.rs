//! A container among the files that it was written with: [`read_set`].

use npukit_target::{Parts, ReadError, Reader, TargetError, sibling};
use serde::Deserialize;

use super::read;
use crate::program::Program;

/// Ending of containers.
const CONTAINER: &str = "pcp";
/// Ending of manifests.
const MANIFEST: &str = "manifest.toml";
/// Endings of what says the same as the container: its words and its text.
const LISTINGS: [&str; 2] = ["memh", "s"];

/// What a manifest says of the other files; those of earlier versions say nothing.
#[derive(Deserialize)]
struct Hashes {
    sha256: Option<Parts>,
}

/// The name, without an ending, and the program of the container at `path`.
///
/// It stands for itself. With a manifest beside it it is one of a set: then it is the one that was written with that,
/// and so are words and text that lie there too.
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
        let parts = hashes(&text).map_err(|error| TargetError::failed(format!("{manifest}: {error}")))?;
        let Some(parts) = parts else { return Ok(()) };
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

/// Those in the text of a manifest, if it has any.
fn hashes(text: &[u8]) -> Result<Option<Parts>, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("byte {} is not UTF-8 text", error.valid_up_to()))?;
    toml::from_str(text).map(|Hashes { sha256 }| sha256).map_err(|error| error.to_string())
}
