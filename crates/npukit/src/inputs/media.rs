//! [`Given`]: what files hold that inputs are made of, and which are pictures or sounds ([`media`]).

use npukit_numeric::Tensor;
use npukit_target::{ReadError, Reader};

use crate::targets::has_extension;

/// What is in a file, or in several that belong together.
#[derive(Debug)]
pub(super) enum Given {
    /// An array of samples.
    Array(Tensor),
    /// Samples as a tool of the target writes them, rows of vectors where it has such.
    Rows(Tensor),
    /// Pictures, each a sample.
    Pictures(Vec<Media>),
    /// Sounds, each a sample.
    Sounds(Vec<Media>),
}

/// A file that is decoded for its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Media {
    pub path: String,
    pub bytes: Vec<u8>,
}

const PICTURES: [&str; 3] = ["png", "jpg", "jpeg"];

const SOUNDS: [&str; 1] = ["wav"];

/// What is decoded for its input.
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

/// What files that end like this one are; none for other files.
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
