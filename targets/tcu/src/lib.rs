//! Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and
//! the drivers load.

mod artifact;
mod benchmarks;
mod board;
mod check;
mod clock;
mod codec;
mod config;
mod configuration;
mod conform;
mod csv;
mod exec;
mod fault;
mod hazard;
mod isa;
mod keys;
mod lanes;
mod listing;
mod lower;
mod lut;
mod machine;
mod op;
mod poison;
mod program;
mod run;
mod samples;
mod state;
mod target;
mod timing;
mod validate;

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

/// What the tests of this crate look into; no part of its interface.
#[doc(hidden)]
pub mod internals {
    pub mod artifact {
        pub use crate::artifact::*;
    }
    pub mod board {
        pub use crate::board::*;
    }
    pub mod check {
        pub use crate::check::*;
    }
    pub mod clock {
        pub use crate::clock::*;
    }
    pub mod codec {
        pub use crate::codec::*;
    }
    pub mod config {
        pub use crate::config::*;
    }
    pub mod hazard {
        pub use crate::hazard::*;
    }
    pub mod lower {
        pub use crate::lower::*;
    }
    pub mod op {
        pub use crate::op::*;
    }
    pub mod program {
        pub use crate::program::*;
    }
    pub mod run {
        pub use crate::run::*;
    }
    pub mod samples {
        pub use crate::samples::*;
    }
    pub mod timing {
        pub use crate::timing::*;
    }
}
