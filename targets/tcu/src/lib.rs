//! Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and
//! the drivers load.

mod any_run;
mod area;
mod arithmetic;
mod artifact;
mod benchmarks;
mod board;
mod check;
mod circuit;
mod clock;
mod codec;
mod columns;
mod config;
mod configuration;
mod conform;
mod cosim;
mod csv;
mod dataflow;
mod diagnose;
mod exec;
mod fault;
mod hazard;
mod isa;
mod keys;
mod lanes;
mod lints;
mod listing;
mod lower;
mod lut;
mod machine;
mod modular;
mod op;
mod poison;
mod program;
mod ranged;
mod run;
mod samples;
mod state;
mod target;
mod terms;
mod timing;
mod validate;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, DataType, Overlap, Reading};
pub use configuration::{Configuration, Register};
pub use fault::{FaultKind, Memory};
pub use isa::isa;
pub use listing::listing;
pub use machine::{AccessError, LayerSaturations, Machine};
pub use op::Op;
pub use program::Program;
pub use state::MachineError;
pub use target::TCU;
pub use timing::{Estimate, estimate, estimate_layers};
pub use validate::{Problem, Severity, validate, validate_with};

npukit_base::internals!(
    artifact, board, check, clock, codec, config, hazard, lanes, lower, op, program, run, samples, timing
);
