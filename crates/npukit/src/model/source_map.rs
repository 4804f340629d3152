//! [`SourceMapFile`]: the source map next to a binary program.

use npukit_target::{ProgramText, ReadError, Reader, read_source_map};

/// Extension of a source map, appended to the full name of the program's file.
pub const MAP: &str = ".map";

/// Result of looking for a source map.
#[derive(Default)]
pub(crate) struct SourceMapFile {
    /// Source text of the program, if there is a valid map.
    pub text: Option<ProgramText>,
    /// Reason why an existing map is not used.
    pub note: Option<String>,
}

impl SourceMapFile {
    /// Reads the map of `words`, the contents of the file at `path`. Standard input has no map.
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
