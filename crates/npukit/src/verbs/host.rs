//! `npu host`: what software on the host writes and reads beside a program's instructions.

use npukit_target::{HostAccess, HostCompletion, HostPlace, TargetError};
use npukit_target::{
    HostAnswer, HostBits, HostMap, HostRegister, HostRun, HostSide, HostStream, HostWord, Instance,
};
use serde::Serialize;

use super::generate;
use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// What is asked of the host's side.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Registers, and the bits of words.
    Map,
    /// A stream of commands, in text or words.
    Commands {
        /// Its file.
        path: String,
    },
    /// A stream of words of status.
    Statuses {
        /// Its file.
        path: String,
    },
    /// What a driver writes and reads to run a program that a person wrote.
    Accesses {
        /// Its file.
        path: String,
        /// First byte of the driver's memory, as the bus has it.
        base: u64,
    },
    /// What the device answers to a stream of commands, in text or words.
    Answers {
        /// Its file.
        path: String,
        /// The description of the language model that the device keeps; the embedded one when none.
        model: Option<String>,
    },
}

/// What the host's side says: what was asked for, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// First address of the accelerator's registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    /// Registers, by address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<HostRegister>,
    /// Parts of the words that go through them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<HostBits>,
    /// Words of a stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<HostWord>,
    /// Words without meaning, each with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Host memory that a driver allocates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<HostPlace>,
    /// What a driver writes and reads, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<HostAccess>,
    /// When each instruction is complete, and how the host knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<HostCompletion>,
    /// Clock cycles of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// What the device answers, command by command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<HostAnswer>,
    /// What the author of the instance should know of.
    pub warnings: Vec<String>,
}

/// Asks the host's side of a target; also gives what there is to write: the words of a text, the text of words, or the
/// words of answers.
///
/// # Errors
///
/// Those of [`resolve`]; [`Error::Target`] for a target without a host's side, and for files that are wrong;
/// [`Error::Read`] for files that cannot be read; those of [`generate::generate`] for a model.
pub fn host(target: &str, question: &Question, context: Context<'_>) -> Result<(Report, Vec<u8>), Error> {
    let instance = resolve(target, context.reader)?;
    let side = instance.host().ok_or_else(|| none(&*instance))?;
    let report = Report {
        target: instance.info().name.clone(),
        warnings: instance.info().warnings.clone(),
        ..Report::default()
    };
    match question {
        Question::Map => Ok((mapped(report, side.map), Vec::new())),
        Question::Commands { path } => {
            let bytes = context.reader.read(path)?;
            let stream = (side.commands)(path, &bytes, context.reader)?;
            // Words become text, text becomes words.
            let other =
                if stream.bytes == bytes { stream.text.clone().into_bytes() } else { stream.bytes.clone() };
            Ok((listed(report, stream), other))
        }
        Question::Statuses { path } => {
            let stream = (side.statuses)(path, &context.reader.read(path)?)?;
            let text =
                stream.words.iter().map(|word| format!("{} {}\n", word.word, word.text)).collect::<String>();
            Ok((listed(report, stream), text.into_bytes()))
        }
        Question::Accesses { path, base } => {
            let bytes = context.reader.read(path)?;
            let HostRun { places, accesses, completions, cycles } =
                (side.accesses)(path, &bytes, *base, context.reader)?;
            Ok((Report { places, accesses, completions, cycles, ..report }, Vec::new()))
        }
        Question::Answers { path, model } => {
            let stream = (side.commands)(path, &context.reader.read(path)?, context.reader)?;
            let answers = answers(&side, target, &stream, model.as_ref(), context)?;
            let words = answers.iter().filter_map(|answer| {
                u64::from_str_radix(answer.status.trim_start_matches("0x"), 16).ok() // Default: a status is a word.
            });
            let words = words.flat_map(u64::to_le_bytes).collect();
            Ok((Report { answers, ..report }, words))
        }
    }
}

fn answers(
    side: &HostSide<'_>,
    target: &str,
    stream: &HostStream,
    model: Option<&String>,
    context: Context<'_>,
) -> Result<Vec<HostAnswer>, Error> {
    let (model, target) = (model.cloned(), Some(target.to_owned()));
    let request = generate::Request { model, target, ..generate::Request::default() };
    let (mut generator, description) = generate::machine(&request, (side.tokens)(&stream.bytes), context)?;
    Ok((side.answers)(&stream.bytes, &description, &mut generator)?)
}

fn none(instance: &dyn Instance) -> TargetError {
    TargetError::Unsupported { target: instance.info().name.clone(), verb: "host" }
}

fn mapped(report: Report, HostMap { base, registers, words }: HostMap) -> Report {
    Report { base: Some(base), registers, bits: words, ..report }
}

fn listed(report: Report, HostStream { words, problems, .. }: HostStream) -> Report {
    Report { words, problems, ..report }
}
