//! [`HostSide`]: the interface of host software apart from instructions: registers, commands and
//! status words. [`crate::Instance::host`] returns it if an accelerator has one.

use serde::Serialize;

use crate::contract::instance::generator::Generator;
use crate::error::TargetError;
use crate::files::read::Reader;

/// Reads a stream of commands, text or words; the arguments are file name, content and a reader of
/// included files.
type ReadCommands = fn(&str, &[u8], &dyn Reader) -> Result<HostStream, TargetError>;
/// Reads a stream of words; the arguments are file name and content.
type ReadWords = fn(&str, &[u8]) -> Result<HostStream, TargetError>;
/// Converts a program to register accesses; the arguments are file name, content, the first address
/// of host memory, and a reader of included files.
type ReadAccesses<'i> = dyn Fn(&str, &[u8], u64, &dyn Reader) -> Result<HostRun, TargetError> + 'i;
/// Answers a stream of commands with a language model; the first two arguments are the stream and a
/// description of the model.
type Answer = fn(&[u8], &[u8], &mut Generator) -> Result<Vec<HostAnswer>, TargetError>;

/// The host's side of an instance. Reading a file fails with [`TargetError::Text`] and every fault
/// of a text, or for bytes that are not whole words. Invalid words are problems of the stream, not
/// errors.
pub struct HostSide<'i> {
    /// Registers, and the meaning of the bits of host words.
    pub map: HostMap,
    /// Reads a stream of commands, as text or words.
    pub commands: ReadCommands,
    /// Reads a stream of status words.
    pub statuses: ReadWords,
    /// Returns what a driver writes and reads to run an assembly program, with host memory starting
    /// at an address. Fails like [`crate::Instance::asm_program`], and for a program that violates
    /// an order or exceeds host memory.
    pub accesses: Box<ReadAccesses<'i>>,
    /// Returns the device's answers to the words of a stream, in order, computed with a language
    /// model. An invalid command is reported in its answer.
    pub answers: Answer,
    /// Returns the number of tokens that a stream sends and requests, which is the capacity that a
    /// model needs.
    pub tokens: fn(&[u8]) -> usize,
}

/// Register map, and the bits of host words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostMap {
    /// First address of the accelerator's registers.
    pub base: u64,
    /// Registers, ordered by address.
    pub registers: Vec<HostRegister>,
    /// Bit fields of the words that pass through the registers.
    pub words: Vec<HostBits>,
}

/// A register of the accelerator, as the host sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRegister {
    /// Page of the register; each page belongs to one part of the accelerator.
    pub page: String,
    /// Offset from [`HostMap::base`], in bytes.
    pub offset: u64,
    /// Name of the register.
    pub name: String,
    /// Access: `R`, `W`, `RW` or `RW1C`.
    pub access: String,
    /// Description of the register.
    pub meaning: String,
}

/// A bit field of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostBits {
    /// Name of the word.
    pub word: String,
    /// Bit range, for example `63:56`.
    pub bits: String,
    /// Meaning of the bits.
    pub meaning: String,
}

/// A stream of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostStream {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// Text that assembles to the words; empty for words without a text form.
    pub text: String,
    /// The decoded words, in file order.
    pub words: Vec<HostWord>,
    /// Invalid words, each with its position.
    pub problems: Vec<String>,
}

/// A word of a stream, with its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostWord {
    /// The word in hexadecimal.
    pub word: String,
    /// Meaning of the word.
    pub text: String,
}

/// Actions of a driver that runs a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRun {
    /// Host memory that the driver allocates.
    pub places: Vec<HostPlace>,
    /// Register accesses, in order.
    pub accesses: Vec<HostAccess>,
    /// Completion of each instruction, and the signal of it.
    pub completions: Vec<HostCompletion>,
    /// Total clock cycles, if the target counts them.
    pub cycles: Option<u64>,
}

/// An allocated range of host memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostPlace {
    /// Content of the range.
    pub name: String,
    /// First byte address, as on the bus.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// A write to or a read from a register.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostAccess {
    /// Index of the instruction that it belongs to, starting at 0.
    pub instruction: Option<usize>,
    /// Whether it is a write. A read is repeated until the bits in `mask` have the value `value`.
    pub is_write: bool,
    /// Address, as on the bus.
    pub address: u64,
    /// Width of the access in bits.
    pub bits: u32,
    /// Written or expected value, in hexadecimal.
    pub value: String,
    /// Mask of the compared bits, in hexadecimal; `None` for a write.
    pub mask: Option<String>,
    /// Effect of the access.
    pub meaning: String,
}

/// Completion of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostCompletion {
    /// Index of the instruction, starting at 0.
    pub instruction: usize,
    /// Name of the instruction.
    pub name: String,
    /// Whether the next instruction can start before it completes.
    pub is_async: bool,
    /// First cycle of the instruction.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// Index in [`HostRun::accesses`] of the access that shows completion to the host; `None` if no
    /// access shows it.
    pub access: Option<usize>,
    /// Signal of the completion.
    pub signal: String,
}

/// The device's answer to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostAnswer {
    /// Text of the command.
    pub command: String,
    /// Status word, in hexadecimal.
    pub status: String,
    /// Meaning of the status word.
    pub text: String,
    /// Generated token, if any.
    pub token: Option<u32>,
    /// Fault of the command, if any.
    pub error: Option<String>,
    /// Cycles that it took, if the machine counts them.
    pub cycles: Option<u64>,
}
