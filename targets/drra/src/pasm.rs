//! PASM: operations on ports of a fabric, and constraints between their starts.
//!
//! [`parse`] reads a program, with every fault of the file in one [`PasmErrors`]; [`format()`] lays a text out and
//! keeps its comments; [`constraint`] are the expressions of `cstr`; [`pattern`] is when the events of an
//! operation happen.

pub mod ast;
pub mod constraint;
pub(crate) mod error;
mod layout;
mod parser;
pub mod pattern;

pub use ast::Program;
pub use error::{PasmError, PasmErrors};
pub use layout::format;
pub(crate) use layout::layout as layout_of;
pub use parser::parse;
