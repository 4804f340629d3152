//! Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and
//! the drivers load.

pub mod codec;
pub mod config;
pub mod op;
pub mod program;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, DataType};
pub use op::Op;
pub use program::Program;
