//! KTH's DRRA: a coarse-grained reconfigurable fabric.

pub mod target;

pub use target::Drra;
