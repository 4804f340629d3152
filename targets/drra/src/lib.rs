//! KTH's DRRA: a coarse-grained reconfigurable fabric.
//!
//! A [`Fabric`] is rows and columns of cells; a cell is a sequencer and components in slots. A [`Program`] is words by
//! cell; [`isa`] says what a word means to the component it goes to, [`op`] has the typed form. Here time is part of
//! the meaning: the machine that computes is the machine that counts cycles.

mod activity;
pub mod agu;
pub mod artifact;
pub mod asm;
pub mod binary;
pub mod check;
pub mod component;
pub mod config;
mod conform;
pub mod epoch;
mod exec;
pub mod fabric;
pub mod fault;
pub mod isa;
pub mod kernel;
mod layout;
pub mod lower;
pub mod machine;
pub mod op;
pub mod pasm;
pub mod program;
pub mod revision;
pub mod schedule;
pub mod state;
pub mod target;
mod token;

pub use component::Component;
pub use fabric::Fabric;
pub use machine::Machine;
pub use op::Op;
pub use program::Program;
pub use revision::Revision;
pub use target::Drra;
