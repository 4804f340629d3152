//! The one test binary of this crate.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests say what they skip and measure")]

#[path = "main/isa.rs"]
mod isa;
