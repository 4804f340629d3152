//! Skeleton: a machine of three instructions, from which a new target begins.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Machine`] runs it; [`clock`] says how long it takes.

pub mod clock;
mod config;
mod isa;
mod lower;
mod machine;
mod program;
mod target;
mod vectors;

pub use config::Config;
pub use isa::op::Op;
pub use machine::Machine;
pub use machine::state::FaultKind;
pub use program::Program;
pub use target::SKELETON;
