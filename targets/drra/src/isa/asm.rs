//! Assembly (specification 6.1): [`assemble`] reads it, [`disassemble`] writes it.
//!
//! ```text
//! cell (row=1, col=0)
//! rep(slot=1, port=word_read, iter=32)   # any order; names or numbers; missing fields have
//! defaults halt()
//! ```

mod format;
mod parse;
mod print;

use npukit_asm::Comments;

pub use format::format;
pub(crate) use parse::{Heard, heard};
pub use parse::{Source, assemble, assemble_with, instruction, list};
pub use print::{Listed, Listing, disassemble};

/// Start of a comment.
pub(crate) const COMMENTS: Comments = Comments(&["#"]);
