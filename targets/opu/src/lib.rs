//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.

pub mod target;

pub use target::Opu;
