//! Skeleton: an accelerator with four instructions, the starting point of a new target.
//!
//! [`Config`] is an instance, [`Op`] an instruction, and [`Program`] the compiler's result, which
//! drivers load. [`Machine`] runs programs bit-exactly; [`clock`] computes their cycles.

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
