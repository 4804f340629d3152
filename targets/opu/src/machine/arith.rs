//! Number systems that replace the machine's numbers, and the memory for them.

pub(crate) mod element_memory;
pub(crate) mod field;
pub(crate) mod float;
pub(crate) mod interval;
