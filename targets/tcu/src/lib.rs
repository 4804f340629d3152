//! Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and
//! the drivers load.

pub mod artifact;
mod benchmarks;
pub mod board;
pub mod check;
pub mod clock;
pub mod codec;
pub mod config;
pub mod configuration;
pub mod conform;
pub mod csv;
mod exec;
pub mod fault;
pub mod hazard;
pub mod isa;
mod keys;
pub mod lanes;
pub mod listing;
pub mod lower;
mod lut;
pub mod machine;
pub mod op;
mod poison;
pub mod program;
pub mod run;
pub mod samples;
pub mod state;
pub mod target;
pub mod timing;
pub mod validate;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, DataType};
pub use configuration::{Configuration, Register};
pub use fault::{FaultKind, Memory};
pub use isa::isa;
pub use listing::listing;
pub use machine::{AccessError, LayerSaturations, Machine};
pub use op::Op;
pub use program::Program;
pub use state::MachineError;
pub use target::Tcu;
pub use timing::{Estimate, estimate, estimate_layers};
pub use validate::{Problem, Severity, validate, validate_with};
