//! All tests of the OPU that need more than one module.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "tests say what they skip")]

#[path = "main/isa.rs"]
mod isa;
#[path = "main/lower.rs"]
mod lower;
