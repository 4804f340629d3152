//! The command with its parts; what is on the screen, and what keys do.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod process;
mod real;
mod screen;
#[allow(dead_code, reason = "the engine's own tests have use for all of it")]
#[path = "../../../debug/tests/main/toy.rs"]
mod toy;
mod toys;

// What the toy is made of.
use {npukit_asm as _, npukit_base as _};
