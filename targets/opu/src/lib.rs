//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Machine`] runs it; [`Clock`] says how long instructions take.

pub mod artifact;
mod benchmarks;
pub mod clock;
pub mod codec;
pub mod config;
mod conform;
pub mod datatype;
pub mod exact;
pub mod exec;
pub mod fault;
pub mod isa;
pub mod layout;
pub mod lower;
pub mod machine;
pub mod memory;
pub mod op;
pub mod program;
pub mod run;
pub mod state;
pub mod target;
pub mod tensor;
pub mod timing;
pub mod validate;
pub mod value;

pub use clock::Clock;
pub use codec::{decode, decode_program, encode, encode_program};
pub use config::{Config, Timing, Types};
pub use datatype::DataType;
pub use exec::{Arithmetic, Numerics};
pub use fault::{Buffer, FaultKind};
pub use isa::isa;
pub use layout::Planes;
pub use machine::{AccessError, Machine};
pub use op::{Access, Activation, Addend, Class, Effects, Extent, Op, Order, Pool, Post, Shape};
pub use program::Program;
pub use run::{Board, RunError};
pub use state::Registers;
pub use target::Opu;
