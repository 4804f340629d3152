//! pccx: a 4-bit accelerator for language models.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Machine`] executes them; [`WeightImage`] is what
//! its engines multiply by.

pub mod artifact;
mod benchmarks;
pub mod bf16;
pub mod check;
pub mod clock;
pub mod codec;
pub mod config;
pub mod conform;
mod exec;
pub mod fault;
pub mod generate;
pub mod host;
pub mod host_cmd;
pub mod isa;
pub mod lab;
pub mod listing;
pub mod lower;
pub mod machine;
pub mod op;
pub mod program;
pub mod report;
pub mod runtime;
mod state;
pub mod target;
pub mod timing;
pub mod trace;
pub mod uop;
pub mod upstream;
pub mod usage;
pub mod weights;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, Profile};
pub use exec::{Quantised, evaluate, quantise};
pub use fault::{Direction, FaultKind};
pub use isa::isa;
pub use machine::{AccessError, Machine};
pub use op::Op;
pub use program::Program;
pub use state::{MachineError, upstream_words};
pub use target::Pccx;
pub use weights::{WeightError, WeightImage};
