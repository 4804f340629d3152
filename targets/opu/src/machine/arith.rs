//! Number systems that replace the machine's numbers, and the memory for them.

pub(crate) mod field;
pub(crate) mod float;
pub(crate) mod interval;
pub(crate) mod shadow_memory;
