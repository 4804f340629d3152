//! Text to words and back, for any [`IsaSpec`](npukit_isa::IsaSpec).
//!
//! A line holds one instruction, in one of the forms its table gives; [`assemble`] reads a file and
//! names every fault in it, [`disassemble`] writes text that assembles to the same bytes.
//!
//! - `;` and `//` begin a comment.
//! - Numbers are `64`, `0x40` or `0b100_0000`. Case does not count.
//! - `.word 0500070000000010` is an instruction as bytes in file order, for what has no form.
//! - `.context NAME` says how the following lines are read, where the bits alone do not.

mod assemble;
mod disassemble;
mod error;
mod grammar;
mod matcher;

pub use assemble::{Assembly, Line, assemble};
pub use disassemble::{Disassembly, DisassemblyLine, disassemble, disassemble_in};
pub use error::{AsmError, AsmErrors};
