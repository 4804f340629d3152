//! UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Machine`] runs it; [`Clock`] says how long instructions take.

mod artifact;
mod benchmarks;
mod clock;
mod codec;
mod config;
mod conform;
mod datatype;
mod exact;
mod exec;
mod fault;
mod isa;
mod layout;
mod lower;
mod machine;
mod memory;
mod op;
mod program;
mod run;
mod state;
mod target;
mod tensor;
mod timing;
mod validate;
mod value;

pub use clock::Clock;
pub use codec::{decode, decode_program, encode, encode_program};
pub use config::{Config, Timing, Types};
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
pub use target::Opu;

/// What the tests of this crate look into; no part of its interface.
#[doc(hidden)]
pub mod internals {
    pub mod artifact {
        pub use crate::artifact::*;
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
    pub mod exec {
        pub use crate::exec::*;
    }
    pub mod layout {
        pub use crate::layout::*;
    }
    pub mod lower {
        pub use crate::lower::*;
    }
    pub mod machine {
        pub use crate::machine::*;
    }
    pub mod memory {
        pub use crate::memory::*;
    }
    pub mod op {
        pub use crate::op::*;
    }
    pub mod program {
        pub use crate::program::*;
    }
    pub mod state {
        pub use crate::state::*;
    }
    pub mod validate {
        pub use crate::validate::*;
    }
}
