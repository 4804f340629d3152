//! pccx: a 4-bit accelerator for language models.
//!
//! [`Config`] is an instance; [`Op`] an instruction; [`Machine`] executes them; [`WeightImage`] is what
//! its engines multiply by.

mod area;
mod arithmetic;
mod artifact;
mod benchmarks;
mod bf16;
mod by_hand;
mod check;
mod clock;
mod codec;
mod config;
mod conform;
mod diagnose;
mod exec;
mod fault;
mod generate;
mod host;
mod host_cmd;
mod isa;
mod lab;
mod lints;
mod listing;
mod lower;
mod machine;
mod modular;
mod op;
mod program;
mod reals;
mod record;
mod report;
mod runtime;
mod state;
mod target;
mod terms;
mod timing;
mod trace;
mod uop;
mod upstream;
mod usage;
mod weight_bits;
mod weights;

pub use codec::{Codec, decode_program, encode_program};
pub use config::{Config, Profile, Reading};
pub use exec::{Quantised, evaluate, quantise};
pub use fault::{Direction, FaultKind};
pub use isa::isa;
pub use machine::{AccessError, Machine};
pub use op::Op;
pub use program::Program;
pub use state::{MachineError, upstream_words};
pub use target::PCCX;
pub use weights::{WeightError, WeightImage};

npukit_base::internals!(
    artifact,
    bf16,
    check,
    clock,
    codec,
    config,
    conform,
    fault,
    generate,
    host,
    lab,
    lower,
    op,
    program,
    report,
    runtime,
    trace,
    usage,
    weight_bits
);
