//! The verbs: a module each, with a request, a function and a report.

pub mod asm;
pub mod bench;
pub mod check;
pub mod compile;
pub mod conform;
pub mod demo;
pub mod diff;
pub mod eval;
pub mod generate;
pub mod isa;
pub mod lint;
pub mod list;
pub mod run;
pub mod time;
pub mod zoo;

pub use crate::comparison::Comparison;
pub use crate::samples::{DumpedTensor, OutputReport};
pub use crate::source::Source;
