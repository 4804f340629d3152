//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Clock`] says how long instructions take.

pub mod clock;
pub mod config;
pub mod datatype;
pub mod fault;
pub mod op;
pub mod target;
pub mod timing;

pub use clock::Clock;
pub use config::{Config, Timing, Types};
pub use datatype::DataType;
pub use fault::{Buffer, FaultKind};
pub use op::{Activation, Addend, Class, Op, Order, Pool, Post, Shape};
pub use target::Opu;
