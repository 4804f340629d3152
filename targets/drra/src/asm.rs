//! Assembly (specification 6.1): [`assemble`] reads it, [`disassemble`] writes it.
//!
//! ```text
//! cell (row=1, col=0)
//! rep(slot=1, port=word_read, iter=32)   # any order; names or numbers; what is left out has its default
//! halt()
//! ```

mod parse;
mod print;

use npukit_asm::AsmErrors;

use crate::fabric::Fabric;
use crate::layout::{Language, layout};

pub use parse::{Source, assemble, instruction};
pub use print::{Listed, Listing, disassemble};

/// The text of a file, laid out; `name` is the file's, for messages.
///
/// # Errors
///
/// What [`assemble`] finds.
pub fn format(fabric: &Fabric, name: &str, text: &str) -> Result<String, AsmErrors> {
    assemble(fabric, name, text)?;
    Ok(layout(text, Language::Assembly))
}
