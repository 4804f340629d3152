//! Any bytes to every reader: a function for each kind of file a user may hand in, listed in [`TARGETS`].
//!
//! `fuzz/` gives these functions to `cargo fuzz`, and a test here replays its corpora, damaged in many ways. The
//! first byte of an input names the reader ([`artifacts`] takes two), the rest is the file.
//!
//! No reader may panic, whatever the bytes are; what it refuses it must explain, and what it accepts must hold: what
//! is written again reads back the same. A function panics where that is not so.

mod arrays;
mod artifacts;
mod assembly;
mod certificates;
mod configurations;
mod decoders;
mod instances;
mod kept;
mod messages;
mod models;
mod spaces;
mod vectors;
mod words;

use std::error::Error;

use npukit_target::ReadError;

pub use arrays::arrays;
pub use artifacts::artifacts;
pub use assembly::assembly;
pub use certificates::certificates;
pub use configurations::configurations;
pub use decoders::decoders;
pub use kept::kept;
pub use messages::messages;
pub use models::models;
pub use spaces::spaces;
pub use vectors::vectors;
pub use words::words;

/// Gives bytes to a reader, and looks at what comes of it.
pub type Reader = fn(&[u8]);

/// Every function, with the name of its fuzz target and corpus.
pub const TARGETS: [(&str, Reader); 12] = [
    ("models", models),
    ("arrays", arrays),
    ("configurations", configurations),
    ("artifacts", artifacts),
    ("assembly", assembly),
    ("words", words),
    ("vectors", vectors),
    ("decoders", decoders),
    ("certificates", certificates),
    ("spaces", spaces),
    ("kept", kept),
    ("messages", messages),
];

/// An error must name `file` as its place, itself or in what caused it.
fn told_of(file: &str, error: &dyn Error) {
    let text = told(error);
    assert!(text.contains(file), "an error does not name {file}: {text:?}");
}

/// What an error says with its causes, which must be something.
fn told(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(!text.is_empty(), "an error says nothing");
    text
}

/// There is no such file.
fn absent(path: &str) -> Result<Vec<u8>, ReadError> {
    Err(ReadError::Absent { path: path.to_owned() })
}
