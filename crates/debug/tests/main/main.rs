//! The engine on a machine small enough to be computed by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod engine;
mod scripts;
mod toy;
