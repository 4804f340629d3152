//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantized networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] is made by the compiler and loaded
//! by drivers; [`Machine`] computes its results; [`Clock`] computes its cycles.

mod check;
mod clock;
mod config;
mod isa;
mod lower;
mod machine;
mod program;
mod target;
mod vectors;

pub use clock::Clock;
pub use config::datatype::DataType;
pub use config::{Config, Timing, Types, Validity};
pub use isa::codec::{decode, decode_program, encode, encode_program};
pub use isa::fault::{Buffer, FaultKind};
pub use isa::isa;
pub use isa::op::{
    Access, Activation, Addend, Class, Effects, Extent, Op, Order, Pool, Post, Registers, Shape,
};
pub use machine::exec::Numerics;
pub use machine::values::Arithmetic;
pub use machine::{AccessError, Machine};
pub use program::Program;
pub use program::layout::{Border, LayoutError, Planes};
pub use program::run::{Board, RunError};
pub use target::OPU;

npukit_base::internals!(
    array = machine::array,
    artifact = program::artifact,
    clock = clock,
    codec = isa::codec,
    config = config,
    exec = machine::exec,
    layout = program::layout,
    liveness = program::liveness,
    lower = lower,
    machine = machine,
    memory = machine::memory,
    op = isa::op,
    program = program,
    state = machine::state,
    validate = check
);
