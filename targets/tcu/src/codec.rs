//! [`Codec`]: [`Op`](crate::Op)s to words and back, for one instance; [`encode_program`] and
//! [`decode_program`] for whole programs.
//!
//! The table people read is in [`crate::isa()`]; a property test keeps the two in agreement.

mod decode;
mod encode;
pub(crate) mod fields;
mod program;

use npukit_base::{WORD_BYTES, Word};

use crate::config::Config;
use fields::Fields;

pub use decode::{DecodeError, Decoded};
pub use encode::EncodeError;
pub use program::{DecodeErrors, EncodeErrors, decode_program, decode_program_lenient, encode_program};

/// Encodes and decodes the instructions of one instance.
///
/// Source: specification 3.1 to 3.3 and 3.6.
#[derive(Clone, Debug)]
pub struct Codec {
    config: Config,
    fields: Fields,
    /// By opcode, the bits that carry meaning; the others are reserved and 0.
    used: [Word; 16],
    instruction_bytes: usize,
}

/// Opcodes of the header's high bits.
pub(crate) mod opcode {
    /// NoOp, and Wait with two threads.
    pub const NO_OP: u8 = 0x0;
    pub const MAT_MUL: u8 = 0x1;
    pub const DATA_MOVE: u8 = 0x2;
    pub const LOAD_WEIGHTS: u8 = 0x3;
    pub const SIMD: u8 = 0x4;
    /// With lookup tables only.
    pub const LOAD_LUT: u8 = 0x5;
    /// With one thread only: two leave 3 bits for the opcode.
    pub const CONFIGURE: u8 = 0xF;
}

impl Codec {
    /// Prepares the layout of `config`, which passes [`Config::check`].
    pub fn new(config: &Config) -> Self {
        let layout = config.layout();
        let fields = Fields::new(&layout);
        let used = fields.used(config);
        Self {
            config: config.clone(),
            fields,
            used,
            instruction_bytes: layout.instruction_bytes().min(WORD_BYTES),
        }
    }

    /// The instance.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Size of every instruction.
    pub const fn instruction_bytes(&self) -> usize {
        self.instruction_bytes
    }

    const fn has_threads(&self) -> bool {
        self.config.number_of_threads > 1
    }
}
