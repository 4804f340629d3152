//! [`SourceFile`]: text files of the workspace, which chores check.

use std::path::{Path, PathBuf};

use crate::Error;

/// A text file of the workspace.
pub struct SourceFile {
    /// Path relative to the root, with `/` as separator.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    /// Text before the tests, which are the last item of a file.
    pub fn code(&self) -> &str {
        let mut end = 0;
        for line in self.text.split_inclusive('\n') {
            if line.trim() == "#[cfg(test)]" {
                break;
            }
            end += line.len();
        }
        &self.text[..end]
    }
}

/// Folders without source files of ours. Cargo's build folders are recognized by [`CACHE`].
const FOREIGN: &[&str] = &[".git", ".venv", "__pycache__"];

/// File that marks a folder whose contents can be regenerated.
const CACHE: &str = "CACHEDIR.TAG";

/// Reads every UTF-8 file of ours below `root`, sorted by path.
pub fn source_files(root: &Path) -> Result<Vec<SourceFile>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for name in names(&root.join(&folder))? {
            let (path, full) = (folder.join(&name), root.join(&folder).join(&name));
            if full.is_dir() {
                let foreign = FOREIGN.contains(&name.as_str()) || full.join(CACHE).exists();
                folders.extend((!foreign).then_some(path));
            } else if let Ok(text) = std::fs::read_to_string(&full) {
                files.push(SourceFile { path: path.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Names of the entries of `folder`.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    entries.map(|e| e.map(|e| e.file_name().to_string_lossy().into_owned()).map_err(failed)).collect()
}
