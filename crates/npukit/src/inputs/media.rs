//! [`Given`]: data for inputs read from files. The function [`media`] recognizes images and audio.

use npukit_numeric::Tensor;
use npukit_target::{ReadError, Reader};

use crate::targets::has_extension;

/// Contents of a file, or of several files that belong together.
#[derive(Debug)]
pub(super) enum Given {
    /// Array of samples.
    Array(Tensor),
    /// Samples as written by a tool of the target: rows of vectors, if the target has them.
    Rows(Tensor),
    /// Images, one sample per file.
    Pictures(Vec<Media>),
    /// Audio files, one sample per file.
    Sounds(Vec<Media>),
    /// Random numbers, from this seed.
    Random(u64),
}

/// File that is decoded for its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Media {
    pub path: String,
    pub bytes: Vec<u8>,
}

const PICTURES: [&str; 3] = ["png", "jpg", "jpeg"];

const SOUNDS: [&str; 1] = ["wav"];

/// Kind of media.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pictures,
    Sounds,
}

impl Kind {
    pub fn given(self, media: Vec<Media>) -> Given {
        match self {
            Self::Pictures => Given::Pictures(media),
            Self::Sounds => Given::Sounds(media),
        }
    }
}

/// Returns the kind of media by the file's extension, or `None` for other files.
pub(super) fn media(path: &str) -> Option<Kind> {
    let path = path.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| has_extension(&path, ending));
    match (ends(&PICTURES), ends(&SOUNDS)) {
        (true, _) => Some(Kind::Pictures),
        (_, true) => Some(Kind::Sounds),
        _ => None,
    }
}

pub(super) fn one(path: &str, reader: &dyn Reader) -> Result<Media, ReadError> {
    Ok(Media { path: path.to_owned(), bytes: reader.read(path)? })
}
