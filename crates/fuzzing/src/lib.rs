//! Fuzz tests of every reader: one function for each kind of file that a user may supply, listed in
//! [`TARGETS`].
//!
//! `fuzz/` passes these functions to `cargo fuzz`, and a test here replays its corpora with many
//! kinds of damage. The first byte of an input selects the reader ([`artifacts`] uses two bytes);
//! the rest is the file.
//!
//! No reader may panic, whatever the bytes are. An error must have a message. Accepted content must
//! be valid, and be read back unchanged after writing. A function panics if one of these does not
//! hold.

mod arrays;
mod artifacts;
mod assembly;
mod certificates;
mod configurations;
mod decoders;
mod instances;
mod kept;
mod llm;
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
pub use llm::llm;
pub use messages::messages;
pub use models::models;
pub use spaces::spaces;
pub use vectors::vectors;
pub use words::words;

/// Passes bytes to a reader, and checks the result.
pub type Reader = fn(&[u8]);

/// Every function, with the name of its fuzz target and corpus.
pub const TARGETS: [(&str, Reader); 13] = [
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
    ("llm", llm),
];

/// Checks that an error, or one of its causes, names `file`.
fn check_message(file: &str, error: &dyn Error) {
    let text = message(error);
    assert!(text.contains(file), "an error does not name {file}: {text:?}");
}

/// Returns the message of an error with its causes, which must not be empty.
fn message(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(!text.is_empty(), "an error has no message");
    text
}

/// Reads no file: all files are absent.
fn absent(path: &str) -> Result<Vec<u8>, ReadError> {
    Err(ReadError::Absent { path: path.to_owned() })
}
