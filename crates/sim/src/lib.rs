//! What simulators share: memories, faults, the run loop.
//!
//! [`Flat`] and [`Paged`] are memories of vectors; [`run`] steps a machine through a program and
//! turns what goes wrong into a [`Fault`]. The crate knows no instruction and prints nothing.

mod fault;
mod memory;
mod paged;
mod run;

pub use fault::Fault;
pub use memory::{Flat, TooLarge};
pub use paged::Paged;
pub use run::run;
