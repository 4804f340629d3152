//! All tests of the TCU that need more than one module.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/config.rs"]
mod config;
#[path = "main/conform.rs"]
mod conform;
#[path = "main/isa.rs"]
mod isa;
#[path = "main/lower.rs"]
mod lower;
#[path = "main/shared.rs"]
mod shared;
#[path = "main/networks.rs"]
mod networks;
