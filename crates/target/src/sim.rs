//! What simulators share: memories, faults, the run loop.
//!
//! [`Flat`] and [`Paged`] are memories of vectors, which may hold [`garbage`] where nobody wrote, or poison; [`run`] steps a machine through a program and
//! turns what goes wrong into a [`Fault`]. The crate knows no instruction and prints nothing.

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
