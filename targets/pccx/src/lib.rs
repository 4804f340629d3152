//! pccx: a 4-bit accelerator for language models.

pub mod target;

pub use target::Pccx;
