//! pccx: a 4-bit accelerator for language models.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Machine`] executes them; [`WeightImage`] is what
//! its engines multiply by.

mod artifact;
mod benchmarks;
mod bf16;
mod check;
mod clock;
mod codec;
mod config;
mod conform;
mod exec;
mod fault;
mod generate;
mod host;
mod host_cmd;
mod isa;
mod lab;
mod listing;
mod lower;
mod machine;
mod op;
mod program;
mod report;
mod runtime;
mod state;
mod target;
mod timing;
mod trace;
mod uop;
mod upstream;
mod usage;
mod weights;

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

/// What the tests of this crate look into; no part of its interface.
#[doc(hidden)]
pub mod internals {
    pub mod artifact {
        pub use crate::artifact::*;
    }
    pub mod bf16 {
        pub use crate::bf16::*;
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
    pub mod conform {
        pub use crate::conform::*;
    }
    pub mod fault {
        pub use crate::fault::*;
    }
    pub mod generate {
        pub use crate::generate::*;
    }
    pub mod host {
        pub use crate::host::*;
    }
    pub mod lab {
        pub use crate::lab::*;
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
    pub mod report {
        pub use crate::report::*;
    }
    pub mod runtime {
        pub use crate::runtime::*;
    }
    pub mod trace {
        pub use crate::trace::*;
    }
    pub mod usage {
        pub use crate::usage::*;
    }
}
