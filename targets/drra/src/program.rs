//! Programs in files, and compiled models: what a driver does with them.

pub(crate) mod artifact;
pub(crate) mod binary;
pub(crate) mod call;
pub(crate) mod driver;
pub(crate) mod executable;
pub(crate) mod gather;
pub(crate) mod kernels;
pub(crate) mod plan;
