//! Parts that simulators share: memories, faults and the run loop.
//!
//! [`Flat`] and [`Paged`] are memories of vectors; unwritten elements may hold [`garbage`] or
//! poison. [`run`] steps a machine through a program and turns errors into a [`Fault`]. The module
//! knows no instruction set and prints nothing.

mod fault;
mod garbage;
mod memory;
mod paged;
mod run;

pub use fault::Fault;
pub use garbage::garbage;
pub use memory::{Flat, TooLarge};
pub use paged::Paged;
pub use run::run;
