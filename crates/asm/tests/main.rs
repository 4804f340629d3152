//! Assembler and disassembler, tested on an artificial instruction set.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/directives.rs"]
mod directives;
#[path = "main/errors.rs"]
mod errors;
#[path = "main/expansion.rs"]
mod expansion;
#[path = "main/layout.rs"]
mod layout;
#[path = "main/numbers.rs"]
mod numbers;
#[path = "main/operands.rs"]
mod operands;
#[path = "main/round_trip.rs"]
mod round_trip;
#[path = "main/toy.rs"]
mod toy;
