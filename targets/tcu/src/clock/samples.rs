//! Performance samples: [`Sample`], the 64-bit word that the hardware streams while its sample
//! interval is not 0. [`read`] turns a driver's buffer of them into cycles per instruction.
//!
//! Source: the TCU specification, 9.7; the published hardware description for what is sampled (the
//! decoder's handshakes with each unit, vector by vector); and the C driver for the meaning of a
//! buffer.

/// Size of a sample in bytes.
pub const WORD_BYTES: usize = 8;

/// A handshake that is sampled. The discriminant is its position in the word, in pairs of bits
/// starting at bit 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Port {
    /// Rows for the array.
    Array,
    /// Commands for the accumulators and their ALUs.
    Accumulator,
    /// Instructions for the router between local memory, array and accumulators.
    Dataflow,
    /// Requests for DRAM1.
    Dram1,
    /// Requests for DRAM0.
    Dram0,
    /// Addresses for local memory's port B, on the DRAM side.
    LocalB,
    /// Addresses for local memory's port A, on the array side.
    LocalA,
    /// Instructions at the decoder.
    Instruction,
}

impl Port {
    /// All handshakes, in the order of their bits.
    pub const ALL: [Self; 8] = [
        Self::Array,
        Self::Accumulator,
        Self::Dataflow,
        Self::Dram1,
        Self::Dram0,
        Self::LocalB,
        Self::LocalA,
        Self::Instruction,
    ];

    /// Returns the name of the receiving unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Accumulator => "accumulators",
            Self::Dataflow => "router",
            Self::Dram1 => "DRAM1",
            Self::Dram0 => "DRAM0",
            Self::LocalB => "local memory port B",
            Self::LocalA => "local memory port A",
            Self::Instruction => "decoder",
        }
    }

    /// Returns the bit number of the valid flag; the ready flag is the next bit.
    const fn bit(self) -> u32 {
        32 + 2 * self as u32
    }
}

/// Sample of the unit's state in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample(u64);

impl Sample {
    /// Bits that no field uses.
    const UNUSED: u64 = 0xFFFF << 48;

    /// An invalid sample: the program counter is all ones and all flags are low.
    pub const INVALID: Self = Self(u32::MAX as u64);

    /// Whether the sample is invalid.
    pub const fn is_invalid(self) -> bool {
        self.0 == Self::INVALID.0
    }

    /// Creates a sample with all flags low.
    pub const fn new(program_counter: u32) -> Self {
        Self(program_counter as u64)
    }

    /// Returns the sample with the flags of a handshake set.
    #[must_use]
    pub fn with(self, port: Port, valid: bool, ready: bool) -> Self {
        let flags = u64::from(valid) | u64::from(ready) << 1;
        Self(self.0 & !(3 << port.bit()) | flags << port.bit())
    }

    /// Decodes a word; `None` unless bits 48 to 63 are zero.
    pub const fn from_word(word: u64) -> Option<Self> {
        if word & Self::UNUSED == 0 { Some(Self(word)) } else { None }
    }

    /// Returns the encoded word.
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Returns the number of instructions that the decoder has accepted.
    pub const fn program_counter(self) -> u32 {
        self.0 as u32
    }

    /// Whether something is offered at `port`.
    pub const fn valid(self, port: Port) -> bool {
        self.0 >> port.bit() & 1 == 1
    }

    /// Whether something offered at `port` would be accepted.
    pub const fn ready(self, port: Port) -> bool {
        self.0 >> port.bit() & 2 == 2
    }
}

/// Error in a buffer of samples. Offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesError {
    /// The buffer ends inside a word.
    #[error("byte {offset:#x}: {bytes} bytes are left, but a sample has {WORD_BYTES}: the file is truncated")]
    Partial {
        /// Offset of the word.
        offset: usize,
        /// Number of bytes left.
        bytes: usize,
    },
    /// Bits 48 to 63 of a word are not zero.
    #[error(
        "byte {offset:#x}: {word:#018x} is not a sample, as bits 48 to 63 must be zero; \
         is the file a driver's buffer of little-endian words?"
    )]
    NoSample {
        /// Offset of the word.
        offset: usize,
        /// Value of the word.
        word: u64,
    },
    /// The buffer is empty.
    #[error("byte 0x0: the buffer has no samples; is the sample interval above 0?")]
    Empty,
    /// All samples are invalid.
    #[error("byte 0x0: all {samples} samples are invalid: the sample interval was 0")]
    Invalid {
        /// Number of samples.
        samples: usize,
    },
    /// All samples are outside the program.
    #[error(
        "all {samples} samples starting at byte {offset:#x} are outside the program's {instructions} \
         instructions; do they belong to another program?"
    )]
    Elsewhere {
        /// Offset of the first sample counted.
        offset: usize,
        /// Number of samples.
        samples: usize,
        /// Number of instructions in the program.
        instructions: usize,
    },
}

/// Sample counts of a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSamples {
    /// Samples in which something was offered and taken.
    pub taken: u64,
    /// Samples in which something was offered and had to wait.
    pub waiting: u64,
}

/// Statistics of a buffer of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// For each instruction, the number of samples taken while the decoder held it.
    pub instructions: Vec<u64>,
    /// For each handshake of [`Port::ALL`], its samples inside the program.
    pub ports: [PortSamples; Port::ALL.len()],
    /// Number of samples before and after the program, and of instructions that the driver adds.
    pub outside: u64,
    /// Number of words marked as invalid.
    pub invalid: u64,
}

/// Number of instructions that the driver puts before the program; it sets the program counter to
/// this value.
pub const DRIVER_SHIFT: u32 = 1;

/// Reads a driver's buffer of samples for a program of `instructions` instructions.
///
/// As in the C driver, the program begins at the first sample whose counter is lower than the
/// previous one, or at the start of the buffer. Samples whose counter is after the program are not
/// counted as the program's. Invalid samples are counted and skipped.
///
/// # Errors
///
/// Returns a [`SamplesError`] with the offset in the buffer: the buffer is empty, ends inside a
/// sample, contains an invalid word, or has only samples outside the program.
pub fn read(instructions: usize, bytes: &[u8]) -> Result<Samples, SamplesError> {
    let all = words(bytes)?;
    let samples: Vec<Sample> = all.iter().copied().filter(|sample| !sample.is_invalid()).collect();
    if samples.is_empty() {
        return Err(SamplesError::Invalid { samples: all.len() });
    }
    let counter = |sample: &Sample| sample.program_counter();
    let falls = samples.windows(2).position(|pair| counter(&pair[1]) < counter(&pair[0]));
    let first = falls.map_or(0, |at| at + 1);
    let mut found = Samples { instructions: vec![0; instructions], ..Samples::default() };
    found.outside = first as u64;
    found.invalid = (all.len() - samples.len()) as u64;
    for sample in &samples[first..] {
        found.count(*sample);
    }
    if found.instructions.iter().all(|count| *count == 0) {
        let offset = first * WORD_BYTES;
        return Err(SamplesError::Elsewhere { offset, samples: samples.len() - first, instructions });
    }
    Ok(found)
}

/// Returns all words of a buffer.
fn words(bytes: &[u8]) -> Result<Vec<Sample>, SamplesError> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        return Err(SamplesError::Partial { offset: bytes.len() - rest.len(), bytes: rest.len() });
    }
    if words.is_empty() {
        return Err(SamplesError::Empty);
    }
    let sample = |(i, word): (usize, &[u8; WORD_BYTES])| {
        let word = u64::from_le_bytes(*word);
        Sample::from_word(word).ok_or(SamplesError::NoSample { offset: i * WORD_BYTES, word })
    };
    words.iter().enumerate().map(sample).collect()
}

impl Samples {
    /// Counts a sample.
    fn count(&mut self, sample: Sample) {
        let index = sample.program_counter().checked_sub(DRIVER_SHIFT);
        let Some(count) = index.and_then(|index| self.instructions.get_mut(index as usize)) else {
            self.outside += 1;
            return;
        };
        *count += 1;
        for (port, counts) in Port::ALL.into_iter().zip(&mut self.ports) {
            match (sample.valid(port), sample.ready(port)) {
                (true, true) => counts.taken += 1,
                (true, false) => counts.waiting += 1,
                (false, _) => {}
            }
        }
    }

    /// Returns the number of samples inside the program.
    pub fn inside(&self) -> u64 {
        self.instructions.iter().sum()
    }
}
