//! Skeleton: a machine of three instructions, from which a new target begins.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Program`] what the compiler makes and drivers load;
//! [`Machine`] runs it; [`clock`] says how long it takes.

mod artifact;
pub mod clock;
mod codec;
mod config;
mod conform;
mod exec;
mod isa;
mod lower;
mod machine;
mod op;
mod program;
mod state;
mod target;
mod timing;

pub use config::Config;
pub use machine::Machine;
pub use op::Op;
pub use program::Program;
pub use state::FaultKind;
pub use target::SKELETON;
