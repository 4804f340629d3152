//! Description of an instruction set as a value built at run time: [`IsaSpec`].
//!
//! A target builds it from its configuration. The assembler, the disassembler, the reference page
//! and the conformance runner use only this description. [`IsaSpec::check`] finds errors in a
//! table; the tests of each target call it.
//!
//! [`instructions!`] derives the rows of a target together with its typed instructions and their
//! words.

mod check;
pub mod coding;
mod decode;
mod encode;
mod instructions;
pub mod program;
mod reference;
mod spec;
pub mod syntax;
pub mod token;

pub use check::SpecError;
pub use decode::{DecodeError, Decoded, Mode, Problem};
pub use encode::FieldError;
pub use instructions::{NoInstruction, NoOperand};
pub use npukit_base::{BitRange, Word};
pub use reference::Reference;
pub use spec::{ByteOrder, Field, FieldKind, Form, InstructionSpec, IsaSpec, Limit, Pattern, Radix, When};
