//! `npu host`: the registers, commands and status words that host software uses besides a program's
//! instructions.

use npukit_target::{HostAccess, HostCompletion, HostPlace, TargetError};
use npukit_target::{
    HostAnswer, HostBits, HostMap, HostRegister, HostRun, HostSide, HostStream, HostWord, Instance,
};
use serde::Serialize;

use super::generate;
use crate::Context;
use crate::error::Error;
use crate::targets::resolve;

/// Question about the host's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Lists the registers, and the bits of words.
    Map,
    /// Decodes or encodes a stream of commands, in text or words.
    Commands {
        /// Path of the file.
        path: String,
    },
    /// Decodes a stream of status words.
    Statuses {
        /// Path of the file.
        path: String,
    },
    /// Lists the accesses of a driver that runs an assembly program.
    Accesses {
        /// Path of the program.
        path: String,
        /// Bus address of the driver's memory.
        base: u64,
    },
    /// Computes the device's answers to a stream of commands, in text or words.
    Answers {
        /// Path of the file.
        path: String,
        /// Path of the description of the language model on the device; `None` for the embedded
        /// one.
        model: Option<String>,
    },
}

/// Answer about the host's interface; only the requested parts are filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// Base address of the accelerator's registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    /// Registers, by address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registers: Vec<HostRegister>,
    /// Fields of the words that are transferred through the registers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<HostBits>,
    /// Words of a stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<HostWord>,
    /// Invalid words, each with its location.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Host memory that a driver allocates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<HostPlace>,
    /// Accesses of a driver, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<HostAccess>,
    /// Time when each instruction is complete, and how the host detects it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<HostCompletion>,
    /// Clock cycles of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Answers of the device, command by command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<HostAnswer>,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Answers a question about a target's host interface. Also returns the contents to write: the
/// words of a text, the text of words, or the words of answers.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns [`Error::Target`] for a target without a host interface and
/// for invalid files, and [`Error::Read`] for unreadable ones. Fails as [`generate::generate`] does
/// for a model.
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
                u64::from_str_radix(answer.status.trim_start_matches("0x"), 16).ok() // Default: unreachable, a status is a word.
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
