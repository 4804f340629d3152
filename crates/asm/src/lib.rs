//! Text to words and back, for any [`IsaSpec`](npukit_isa::IsaSpec).
//!
//! A line holds one instruction, in one of the forms its table gives; [`assemble`] reads a file and
//! names every fault in it, [`disassemble`] writes text that assembles to the same bytes.
//!
//! - `;`, `#` and `//` begin a comment.
//! - Numbers are `64`, `0x40` or `0b100_0000`. Case does not count.
//! - `.equ NAME, VALUE` defines a symbol; `NAME`, `NAME+4` and `NAME-4` stand where numbers do.
//! - `NAME:` before an instruction is a label. It may be used as a symbol where the instruction has a
//!   field that it names ([`InstructionSpec::label_field`](npukit_isa::InstructionSpec::label_field)).
//! - `.word 0500070000000010` is an instruction as bytes in file order, for what has no form;
//!   `.word 0x1000000000070005` is the same as a number, in a little-endian set.
//! - `.context NAME` says how the following lines are read, where the bits alone do not.

mod assemble;
mod definition;
mod disassemble;
mod error;
mod expression;
mod grammar;
mod matcher;
mod symbols;

pub use assemble::{Assembly, Line, assemble};
pub use disassemble::{Disassembly, DisassemblyLine, Words, disassemble, disassemble_as, disassemble_in};
pub use error::{AsmError, AsmErrors, Faults, source_span};
