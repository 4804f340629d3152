//! Runs of a program: samples, memories, results and speed.

pub(crate) mod batch;
pub(crate) mod eval_limits;
pub(crate) mod latency;
pub(crate) mod memory_files;
pub(crate) mod motion;
pub(crate) mod samples;
pub(crate) mod stack;
pub(crate) mod stateful;
pub(crate) mod summary;
pub(crate) mod waves;
