//! KTH's DRRA: a coarse-grained reconfigurable fabric.

pub mod pasm;
pub mod schedule;
pub mod target;

pub use target::Drra;
