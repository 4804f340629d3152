//! [`HostSide`]: what software on the host writes and reads beside a program's instructions: registers, commands, words of
//! status. [`crate::Instance::host`] gives it, where an accelerator has one.

use serde::Serialize;

use crate::contract::instance::generator::Generator;
use crate::error::TargetError;
use crate::files::read::Reader;

/// Reads a stream of commands, text or words, by the name of its file; texts may include others.
type ReadCommands = fn(&str, &[u8], &dyn Reader) -> Result<HostStream, TargetError>;
/// Reads a stream of words, by the name of its file.
type ReadWords = fn(&str, &[u8]) -> Result<HostStream, TargetError>;
/// Turns a program, by the name of its file, into accesses with host memory from an address on.
type ReadAccesses<'i> = dyn Fn(&str, &[u8], u64, &dyn Reader) -> Result<HostRun, TargetError> + 'i;
/// Answers a stream of commands with a model, which a description describes.
type Answer = fn(&[u8], &[u8], &mut Generator) -> Result<Vec<HostAnswer>, TargetError>;

/// The host's side of an instance. Where it reads files, it fails for their faults: [`TargetError::Text`] with every fault
/// of a text; bytes that are not whole words. Words without meaning are problems of a stream.
pub struct HostSide<'i> {
    /// Where the host finds what, and what the bits of its words mean.
    pub map: HostMap,
    /// Reads a stream of commands, text or words, whichever its bytes are.
    pub commands: ReadCommands,
    /// Reads a stream of words of status.
    pub statuses: ReadWords,
    /// What a driver writes and reads to run a program that a person wrote, with its host memory from an address on. Fails as
    /// [`crate::Instance::hand_program`] does, and for a program that breaks an order, or does not fit host memory.
    pub accesses: Box<ReadAccesses<'i>>,
    /// What the device answers to the words of a stream, one after the other, with a language model. What a command gets
    /// wrong is in its answer.
    pub answers: Answer,
    /// Tokens that a stream gives and asks for: room that a model needs.
    pub tokens: fn(&[u8]) -> usize,
}

/// Registers, and the bits of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostMap {
    /// First address of the accelerator's registers.
    pub base: u64,
    /// Registers, by address.
    pub registers: Vec<HostRegister>,
    /// Parts of the words that go through them.
    pub words: Vec<HostBits>,
}

/// A register.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRegister {
    /// Its page, a part of the accelerator.
    pub page: String,
    /// Its address, from [`HostMap::base`] on.
    pub offset: u64,
    /// Its name.
    pub name: String,
    /// `R`, `W`, `RW` or `RW1C`.
    pub access: String,
    /// What it is.
    pub meaning: String,
}

/// Bits of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostBits {
    /// The word.
    pub word: String,
    /// The bits, as `63:56`.
    pub bits: String,
    /// What they are.
    pub meaning: String,
}

/// A stream of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostStream {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// The same as text that gives them again; empty for words that have no text.
    pub text: String,
    /// Each word.
    pub words: Vec<HostWord>,
    /// Words without meaning, each with its place.
    pub problems: Vec<String>,
}

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostWord {
    /// In hexadecimal.
    pub word: String,
    /// What it says.
    pub text: String,
}

/// What a driver does to run a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostRun {
    /// Host memory that it allocates.
    pub places: Vec<HostPlace>,
    /// What it writes and reads, in order.
    pub accesses: Vec<HostAccess>,
    /// When each instruction is complete, and how the host knows.
    pub completions: Vec<HostCompletion>,
    /// Clock cycles of the whole, where the target counts them.
    pub cycles: Option<u64>,
}

/// A part of host memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostPlace {
    /// What is there.
    pub name: String,
    /// First byte, as the bus has it.
    pub address: u64,
    /// Size.
    pub bytes: u64,
}

/// A write to a register, or a read of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostAccess {
    /// The instruction it is for, from 0.
    pub instruction: Option<usize>,
    /// Whether it is a write. A read is repeated until the bits of `mask` are those of `value`.
    pub is_write: bool,
    /// Its address, as the bus has it.
    pub address: u64,
    /// Bits of the access.
    pub bits: u32,
    /// What is written or waited for, in hexadecimal.
    pub value: String,
    /// The bits that are waited for, in hexadecimal; none of a write.
    pub mask: Option<String>,
    /// What it does.
    pub meaning: String,
}

/// When an instruction is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostCompletion {
    /// Its number, from 0.
    pub instruction: usize,
    /// Its name.
    pub name: String,
    /// Whether the next one need not wait for it.
    pub is_async: bool,
    /// First cycle.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// The access by which the host knows that it is complete, by its place in [`HostRun::accesses`]; none for one that
    /// nothing tells of.
    pub access: Option<usize>,
    /// What tells of it.
    pub signal: String,
}

/// What the device answers to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostAnswer {
    /// The command.
    pub command: String,
    /// The word of status, in hexadecimal.
    pub status: String,
    /// What it says.
    pub text: String,
    /// A token, where there is one.
    pub token: Option<u32>,
    /// What the command gets wrong.
    pub error: Option<String>,
    /// Cycles that it took, where the machine counts them.
    pub cycles: Option<u64>,
}
