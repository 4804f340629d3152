//! Tests of the command: its process, its screen and its keys.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod process;
mod real;
mod screen;
mod serve;
#[allow(dead_code, reason = "the tests of the engine use all of it")]
#[path = "../../../debug/tests/main/toy.rs"]
mod toy;
mod toys;

// Dependencies of the toy machine.
use {npukit_asm as _, npukit_base as _};
