//! What the machine computes with instead of its own numbers, and the memory that holds it.

pub(crate) mod element_memory;
pub(crate) mod field;
pub(crate) mod float;
pub(crate) mod interval;
