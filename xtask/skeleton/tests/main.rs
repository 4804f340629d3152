//! All tests of the target that need more than one module.

#[path = "main/suite.rs"]
mod suite;
