//! KTH's DRRA: a coarse-grained reconfigurable fabric.
//!
//! A [`Fabric`] is rows and columns of cells; a cell is a sequencer and components in slots. A [`Program`] is words by
//! cell; `isa.rs` says what a word means to the component it goes to, `op.rs` has the typed form. Here time is part of
//! the meaning: the machine that computes is the machine that counts cycles.

mod activity;
mod agu;
mod artifact;
mod asm;
mod binary;
mod check;
mod component;
mod config;
mod conform;
mod diagnose;
mod epoch;
mod exec;
mod fabric;
mod fault;
mod isa;
mod kernel;
mod language;
mod layout;
mod lints;
mod lower;
mod machine;
mod op;
mod pasm;
mod program;
mod revision;
mod schedule;
mod seed;
mod state;
mod target;
mod terms;
mod token;

pub use component::Component;
pub use fabric::Fabric;
pub use machine::Machine;
pub use op::Op;
pub use program::Program;
pub use revision::Revision;
pub use target::DRRA;

npukit_base::internals!(
    artifact, asm, binary, check, component, config, fabric, fault, isa, kernel, lower, machine, op, pasm,
    schedule, seed
);
