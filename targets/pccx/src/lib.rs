//! pccx: a 4-bit accelerator for language models.
//!
//! [`Config`] is an instance, [`Op`] an instruction, [`Machine`] executes instructions, and
//! [`WeightImage`] holds a weight matrix.

mod check;
mod clock;
mod config;
mod host;
mod isa;
mod lower;
mod machine;
mod program;
mod target;
mod vectors;

pub use config::{Config, Profile, Reading};
pub use isa::codec::{Codec, decode_program, encode_program};
pub use isa::fault::{Direction, FaultKind};
pub use isa::isa;
pub use isa::op::Op;
pub use machine::exec::{Quantized, quantize};
pub use machine::functions::evaluate;
pub use machine::state::{MachineError, upstream_words};
pub use machine::weights::{WeightError, WeightImage};
pub use machine::{AccessError, Machine};
pub use program::Program;
pub use target::PCCX;

npukit_base::internals!(
    arith = machine::arith,
    artifact = program::artifact,
    bf16 = machine::bf16,
    check = check,
    clock = clock,
    codec = isa::codec,
    config = config,
    conform = vectors,
    fault = isa::fault,
    generate = target::generate,
    host = program::host,
    pccx_lab = clock::pccx_lab,
    language = target::language,
    language_cost = target::language_cost,
    lower = lower,
    op = isa::op,
    program = program,
    report = clock::report,
    runtime = program::runtime,
    trace = clock::trace,
    usage = isa::usage,
    weight_bits = lower::weight_bits
);
