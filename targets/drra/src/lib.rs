//! KTH's DRRA: a coarse-grained reconfigurable fabric.
//!
//! A [`Fabric`] consists of rows and columns of cells; a cell is a sequencer and components in
//! slots. A [`Program`] holds words by cell. `isa.rs` decodes a word for the component that
//! executes it; `op.rs` has the typed form. Timing is part of the semantics, so [`Machine`] both
//! computes results and counts cycles.
//!
//! Documents: *specification* is npukit's description of the target. The *ISA document* is KTH's
//! published description of the instruction set, which fabrics with the suffix `+seed` follow to
//! the letter.

mod check;
mod clock;
mod config;
mod isa;
mod lower;
mod machine;
mod program;
mod target;
mod vectors;

pub use config::component::Component;
pub use config::fabric::Fabric;
pub use config::revision::Revision;
pub use isa::op::Op;
pub use isa::program::Program;
pub use machine::Machine;
pub use target::DRRA;

npukit_base::internals!(
    artifact = program::artifact,
    asm = isa::asm,
    binary = program::binary,
    check = check,
    component = config::component,
    config = config,
    driver = program::driver,
    encoding = config::encoding,
    executable = program::executable,
    fabric = config::fabric,
    fault = machine::fault,
    gather = program::gather,
    isa = isa,
    kernel = isa::pasm::kernel,
    kernels = program::kernels,
    lower = lower,
    machine = machine,
    op = isa::op,
    pasm = isa::pasm,
    plan = program::plan,
    schedule = isa::pasm::schedule,
    seed = config::seed,
    word = machine::exec::word
);
