//! Tensil's tensor compute unit (TCU): a systolic array with accumulators and a SIMD unit.
//!
//! [`Config`] is an instance, [`Op`] an instruction, and [`Program`] the result of the compiler,
//! which drivers load.

mod check;
mod circuit;
mod clock;
mod config;
mod isa;
mod lower;
mod machine;
mod program;
mod target;
mod vectors;

pub use check::problem::{Problem, Severity};
pub use check::validate::{validate, validate_with};
pub use clock::timing::{Estimate, estimate};
pub use config::{Config, DataType, Overlap, Reading};
pub use isa::codec::{Codec, decode_program, encode_program};
pub use isa::fault::FaultKind;
pub use isa::isa;
pub use isa::listing::listing;
pub use isa::op::{Memory, Op, Register};
pub use machine::configuration::Configuration;
pub use machine::state::MachineError;
pub use machine::{AccessError, Machine};
pub use program::Program;
pub use target::TCU;

npukit_base::internals!(
    artifact = program::artifact,
    board = config::board,
    check = isa::check,
    clock = clock,
    codec = isa::codec,
    config = config,
    hazard = clock::hazard,
    alu = machine::alu,
    losing = machine::losing,
    lower = lower,
    op = isa::op,
    program = program,
    run = program::run,
    samples = clock::samples,
    timing = clock::timing
);
