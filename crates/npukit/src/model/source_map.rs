//! [`Beside`]: the source map that lies beside words.

use npukit_target::{ProgramText, ReadError, Reader, read_source_map};

/// What ends the name of a map, behind the whole name of the words.
pub const MAP: &str = ".map";

/// What lies beside words.
#[derive(Default)]
pub(crate) struct Beside {
    /// Where they come from, if a map of them says so.
    pub text: Option<ProgramText>,
    /// Why a map that is there is of no use.
    pub note: Option<String>,
}

impl Beside {
    /// The map of `words`, which are the file at `path`. Standard input has no neighbours.
    pub fn of(path: &str, words: &[u8], files: &dyn Reader) -> Self {
        if path.starts_with('-') {
            return Self::default();
        }
        let path = format!("{path}{MAP}");
        let map = match ReadError::optional(files.read(&path)) {
            Ok(None) => return Self::default(),
            Ok(Some(map)) => map,
            Err(error) => return Self { note: Some(error.to_string()), ..Self::default() },
        };
        match read_source_map(&map, words) {
            Ok(text) => Self { text: Some(text), note: None },
            Err(error) => Self { note: Some(format!("{path} is not used: {error}")), ..Self::default() },
        }
    }
}
