//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Machine`] runs it; [`Clock`] says how long instructions take.

mod any_run;
mod area;
mod artifact;
mod benchmarks;
mod clock;
mod codec;
mod config;
mod conform;
mod datatype;
mod diagnose;
mod element_memory;
mod exact;
mod exec;
mod fault;
mod field;
mod isa;
mod layout;
mod lints;
mod lives;
mod lower;
mod machine;
mod memory;
mod op;
mod program;
mod ranged;
mod real;
mod run;
mod state;
mod target;
mod tensor;
mod terms;
mod timing;
mod usage;
mod validate;
mod value;

pub use clock::Clock;
pub use codec::{decode, decode_program, encode, encode_program};
pub use config::{Config, Timing, Types, Validity};
pub use datatype::DataType;
pub use exec::{Arithmetic, Numerics};
pub use fault::{Buffer, FaultKind};
pub use isa::isa;
pub use layout::{Border, LayoutError, Planes};
pub use machine::{AccessError, Machine};
pub use op::{Access, Activation, Addend, Class, Effects, Extent, Op, Order, Pool, Post, Shape};
pub use program::Program;
pub use run::{Board, RunError};
pub use state::Registers;
pub use target::OPU;

npukit_base::internals!(
    artifact, clock, codec, config, exec, layout, lives, lower, machine, memory, op, program, state, validate
);
