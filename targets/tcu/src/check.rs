//! What is wrong with a program before it runs: [`validate`]; and which writes of it nobody reads ([`dataflow`]).

pub(crate) mod dataflow;
pub(crate) mod lints;
pub(crate) mod problem;
pub(crate) mod validate;
