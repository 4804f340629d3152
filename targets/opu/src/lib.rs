//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Clock`] says how long instructions take.

pub mod clock;
pub mod codec;
pub mod config;
pub mod datatype;
pub mod fault;
pub mod isa;
pub mod layout;
pub mod lower;
pub mod op;
pub mod program;
pub mod target;
pub mod timing;

pub use clock::Clock;
pub use codec::{decode, decode_program, encode, encode_program};
pub use config::{Config, Timing, Types};
pub use datatype::DataType;
pub use fault::{Buffer, FaultKind};
pub use isa::isa;
pub use layout::Planes;
pub use op::{Activation, Addend, Class, Op, Order, Pool, Post, Shape};
pub use program::Program;
pub use target::Opu;
