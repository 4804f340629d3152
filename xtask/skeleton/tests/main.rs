//! Integration tests of the target.

#[path = "main/suite.rs"]
mod suite;
