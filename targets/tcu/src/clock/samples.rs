//! Performance samples: [`Sample`], the 64-bit word the hardware streams while its sample interval is
//! not 0, and [`read`], which turns a driver's buffer of them into cycles by instruction.
//!
//! Source: the TCU specification, 9.7; the published hardware description for what is sampled (the
//! decoder's handshakes with each unit, vector by vector), and the C driver for what a buffer means.

/// Bytes of a word.
pub const WORD_BYTES: usize = 8;

/// A handshake that is sampled; the discriminant is its place from bit 32 on.
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
    /// Addresses for local memory's port B, the side of DRAM.
    LocalB,
    /// Addresses for local memory's port A, the side of the array.
    LocalA,
    /// Instructions at the decoder.
    Instruction,
}

impl Port {
    /// Every handshake, in the order of their bits.
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

    /// What it hands to.
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

    /// The place of its valid flag; that of ready is one above.
    const fn bit(self) -> u32 {
        32 + 2 * self as u32
    }
}

/// The unit in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample(u64);

impl Sample {
    /// Bits that no field has.
    const UNUSED: u64 = 0xFFFF << 48;

    /// A sample that is none: the program counter is all ones, all flags are low.
    pub const INVALID: Self = Self(u32::MAX as u64);

    /// Whether it is none.
    pub const fn is_invalid(self) -> bool {
        self.0 == Self::INVALID.0
    }

    /// A sample with all flags low.
    pub const fn new(program_counter: u32) -> Self {
        Self(program_counter as u64)
    }

    /// The same with the flags of a handshake.
    #[must_use]
    pub fn with(self, port: Port, valid: bool, ready: bool) -> Self {
        let flags = u64::from(valid) | u64::from(ready) << 1;
        Self(self.0 & !(3 << port.bit()) | flags << port.bit())
    }

    /// The word of a sample, if bits 48 to 63 are zero.
    pub const fn from_word(word: u64) -> Option<Self> {
        if word & Self::UNUSED == 0 { Some(Self(word)) } else { None }
    }

    /// The word.
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Instructions the decoder is done with.
    pub const fn program_counter(self) -> u32 {
        self.0 as u32
    }

    /// Something is offered.
    pub const fn valid(self, port: Port) -> bool {
        self.0 >> port.bit() & 1 == 1
    }

    /// It would be taken.
    pub const fn ready(self, port: Port) -> bool {
        self.0 >> port.bit() & 2 == 2
    }
}

/// What a buffer of samples has wrong with it. Offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesError {
    /// The buffer ends inside a word.
    #[error("byte {offset:#x}: {bytes} bytes are left, and a sample has {WORD_BYTES}: the file is cut off")]
    Partial {
        /// Of the word.
        offset: usize,
        /// Bytes there.
        bytes: usize,
    },
    /// Bits 48 to 63 of a word are not zero.
    #[error(
        "byte {offset:#x}: {word:#018x} is not a sample, bits 48 to 63 are zero in one; \
         is the file a driver's buffer of little-endian words?"
    )]
    NoSample {
        /// Of the word.
        offset: usize,
        /// The word.
        word: u64,
    },
    /// There are no samples.
    #[error("byte 0x0: there are no samples; is the sample interval above 0?")]
    Empty,
    /// All samples are invalid.
    #[error("byte 0x0: all {samples} samples are invalid: the sample interval was 0")]
    Invalid {
        /// How many there are.
        samples: usize,
    },
    /// No sample is of the program.
    #[error(
        "none of the {samples} samples from byte {offset:#x} on is of the program's {instructions} \
         instructions; are they of another program?"
    )]
    Elsewhere {
        /// Of the first sample counted.
        offset: usize,
        /// How many there are.
        samples: usize,
        /// Of the program.
        instructions: usize,
    },
}

/// Samples of a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSamples {
    /// Something was offered and taken.
    pub taken: u64,
    /// Something was offered and had to wait.
    pub waiting: u64,
}

/// What a buffer of samples says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// By instruction, the samples taken while the decoder held it.
    pub instructions: Vec<u64>,
    /// By [`Port::ALL`], over those samples.
    pub ports: [PortSamples; Port::ALL.len()],
    /// Samples before the program, after it, and of what the driver adds to it.
    pub outside: u64,
    /// Words that say that they are no samples.
    pub invalid: u64,
}

/// Instructions the driver puts before the program: it sets the program counter to their number.
pub const DRIVER_SHIFT: u32 = 1;

/// Reads a driver's buffer of samples of a program of `instructions` instructions.
///
/// As the C driver does: the program begins at the first sample whose counter is lower than that before it,
/// else with the buffer; a counter beyond the program is not counted. Invalid samples are counted and left out.
///
/// # Errors
///
/// [`SamplesError`], with the place in the buffer: a buffer that is empty, ends inside a sample or holds what
/// is not one, or whose samples are all outside the program.
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

/// All words of a buffer.
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

    /// Samples of the program.
    pub fn inside(&self) -> u64 {
        self.instructions.iter().sum()
    }
}
