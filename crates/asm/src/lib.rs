//! Assembler and disassembler for any [`IsaSpec`](npukit_isa::IsaSpec).
//!
//! A line contains one instruction, in one of the forms of its table. [`assemble`] reads a file and
//! reports every fault in it; [`disassemble`] writes text that assembles to the same bytes.
//!
//! - `;`, `#` and `//` begin a comment.
//! - Numbers are `64`, `0x40` or `0b100_0000`. Case is ignored. Expressions may be used instead of
//!   numbers.
//! - `.equ NAME, VALUE` and `.set NAME, VALUE` define symbols.
//! - `NAME:` before an instruction is a label. It can be used as a symbol if the instruction has a
//!   field for labels ([`InstructionSpec::label_field`](npukit_isa::InstructionSpec::label_field)).
//! - `.word 0500070000000010` is an instruction as bytes in file order, for words without a form;
//!   `.word 0x1000000000070005` is the same word as a number, in a little-endian set.
//! - `.context NAME` selects how the following lines are read, if the bits alone do not decide it.
//! - `.data`, `.input`, `.output`, `.expect` and `.wait` describe a run of the program: its
//!   [`Experiment`].
//! - `.include`, `.macro`, `.rept` and `.if` generate lines. An assembler with its own syntax gets
//!   them from [`expand`].
//!
//! [`analysis`] has information about a text for editors. [`format()`] formats a text, [`list`]
//! shows the result of each line. `docs/assembly.md` describes the whole language.

pub mod analysis;
mod assemble;
mod comment;
mod definition;
mod disassemble;
mod error;
mod expand;
mod expansion;
mod experiment;
mod expression;
mod format;
mod grammar;
mod listing;
mod matcher;
mod place;
mod spans;
mod symbols;

pub use assemble::{Assembly, AssemblyLine, assemble, assemble_with, list};
pub use comment::Comments;
pub use disassemble::{
    Disassembly, DisassemblyLine, ListedWord, ListingLine, Words, disassemble, disassemble_as, disassemble_in,
};
pub use error::{AsmError, AsmErrors, Faults, SourceFault, Within, source_span};
pub use expand::{
    Files, MAX_BYTES, MAX_CALLS, MAX_FILES, MAX_INCLUDED_BYTES, MAX_LINE_BYTES, MAX_LINES, Sources,
};
pub use expansion::{Expansion, expand, expand_recorded};
pub use experiment::{Experiment, MemoryRange, Separated, Statement, StatementKind, Values, Wait, separate};
pub use format::{Statements, Style, format};
pub use place::SourceLocation;
