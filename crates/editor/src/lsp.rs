//! A language server for program text: of any target that has a [`Language`](npukit_asm::analysis::Language).
//!
//! [`serve`] answers an editor over a connection, [`stdio`] over standard input and output. What instances there are, and
//! which a folder is for, a [`Workshop`] says. Each kind of request has a module, as `hover` or `rename`; they take a
//! [`Document`] and what was found in its text, and know nothing of messages.

mod actions;
mod changes;
mod checks;
mod completion;
mod diagnostics;
mod document;
mod files;
mod formatting;
mod hints;
mod hover;
mod lines;
mod outline;
mod server;
mod signatures;
mod symbols;
mod tokens;
mod workshop;

pub use document::Document;
pub use lines::Lines;
pub use server::{LspError, messages, serve, stdio};
pub use workshop::Workshop;
