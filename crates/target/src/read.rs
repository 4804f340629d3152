//! [`Reader`]: where bytes come from. Libraries do no I/O; the command implements this.

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The reader could not give it.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file asked for.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A file names a neighbour by something that is not a plain file name.
    #[error("`{name}` is not a plain file name: files named in `{path}` lie in its own folder")]
    NotAName {
        /// The file that names it.
        path: String,
        /// The name found there.
        name: String,
    },
}

/// Gives the bytes of files.
pub trait Reader: Sync {
    /// The bytes of the file at `path`.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// The paths of all files below the folder at `path`, sorted; a file gives itself.
    ///
    /// A reader that cannot list gives the path itself.
    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        Ok(vec![path.to_owned()])
    }
}

impl<F: Fn(&str) -> Result<Vec<u8>, ReadError> + Sync> Reader for F {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self(path)
    }
}

/// The path of the file called `name` in the folder of the file at `path`.
///
/// Errors: a name that leaves the folder (a separator, `..`, a drive) or is empty.
pub fn sibling(path: &str, name: &str) -> Result<String, ReadError> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    if !plain {
        return Err(ReadError::NotAName { path: path.to_owned(), name: name.to_owned() });
    }
    Ok(format!("{}{name}", folder(path)))
}

/// The folder of the file at `path`, with its closing separator; empty when there is none.
pub fn folder(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |end| &path[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_stays_in_its_folder() {
        assert_eq!(sibling("out/m.tmodel", "m.tprog"), Ok("out/m.tprog".to_owned()));
        assert_eq!(sibling("m.tmodel", "m.tprog"), Ok("m.tprog".to_owned()));
        for name in ["", "..", ".", "../x", "a/b", "a\\b", "/etc/passwd"] {
            assert!(sibling("out/m.tmodel", name).is_err(), "{name}");
        }
    }
}
