//! pccx: a 4-bit accelerator for language models.
//!
//! [`Config`] is an instance; [`Op`] an instruction.

pub mod check;
pub mod codec;
pub mod config;
pub mod isa;
pub mod listing;
pub mod op;
pub mod target;
pub mod uop;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, Profile};
pub use isa::isa;
pub use op::Op;
pub use target::Pccx;
