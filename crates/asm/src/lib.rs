//! Text to words and back, for any [`IsaSpec`](npukit_isa::IsaSpec).
//!
//! A line holds one instruction, in one of the forms its table gives; [`assemble`] reads a file and
//! names every fault in it, [`disassemble`] writes text that assembles to the same bytes.
//!
//! - `;`, `#` and `//` begin a comment.
//! - Numbers are `64`, `0x40` or `0b100_0000`. Case does not count. Expressions stand where numbers do.
//! - `.equ NAME, VALUE` and `.set NAME, VALUE` define symbols.
//! - `NAME:` before an instruction is a label. It may be used as a symbol where the instruction has a
//!   field that it names ([`InstructionSpec::label_field`](npukit_isa::InstructionSpec::label_field)).
//! - `.word 0500070000000010` is an instruction as bytes in file order, for what has no form;
//!   `.word 0x1000000000070005` is the same as a number, in a little-endian set.
//! - `.context NAME` says how the following lines are read, where the bits alone do not.
//! - `.data`, `.input`, `.output`, `.expect` and `.wait` say what is around a run of the program: its [`Experiment`].
//! - `.include`, `.macro`, `.rept` and `.if` make lines. An assembler with a syntax of its own has them by [`expand`].
//!
//! [`analysis`] is what editors want to know of a text. [`format()`] lays one out, [`list`] says what each line became. `docs/assembly.md` describes the whole language.

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
pub use place::Place;
