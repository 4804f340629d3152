//! All tests of the TCU that need more than one module.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/shared.rs"]
mod shared;
