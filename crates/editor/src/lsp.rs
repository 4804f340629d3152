//! Language server for assembly programs of any target that has a
//! [`Language`](npukit_asm::analysis::Language).
//!
//! [`serve`] answers an editor over a connection, [`stdio`] over standard input and output. A
//! [`Workshop`] provides the instances, and the instance that a folder is for. Each kind of request
//! has a module, such as `hover` or `rename`. These modules take a [`Document`] and its analysis,
//! and are independent of messages.

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
