//! Tests of the engine on a tiny machine.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod engine;
mod scripts;
mod toy;
