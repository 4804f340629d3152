//! Static checks of a program: [`validate`] finds faults, and [`dataflow`] finds writes that are
//! never read.

pub(crate) mod dataflow;
pub(crate) mod lints;
pub(crate) mod problem;
pub(crate) mod validate;
