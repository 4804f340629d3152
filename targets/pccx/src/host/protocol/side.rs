//! [`host_side`]: the host's side of an instance.

use npukit_asm::{Assembly, Words, assemble_with, disassemble_as};
use npukit_target::{
    Generator, HostAnswer, HostSide, HostStream, HostWord, ProgramText, Reader, TargetError, bytes_of,
    program_text,
};
use thiserror::Error;

use super::accesses::accesses;
use super::map::map;
use super::session::Session;
use super::{Command, Status, WORD_BYTES};
use crate::config::Config;
use crate::isa::op::Op;

/// The stream does not consist of whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stream ends after {rest} of the {WORD_BYTES} bytes of a word")]
pub struct CutShort {
    rest: usize,
}

/// Instructions of a program and their positions in the text.
type Program = Result<(Vec<Op>, ProgramText), TargetError>;

/// Returns the host's side of an instance; `program` reads programs for it.
pub fn host_side<'i>(
    config: &'i Config,
    program: impl Fn(&str, &[u8], &dyn Reader) -> Program + 'i,
) -> HostSide<'i> {
    let accesses = move |name: &str, bytes: &[u8], base: u64, files: &dyn Reader| {
        let (ops, text) = program(name, bytes, files)?;
        accesses(config, &ops, &text.experiment, base).map_err(|stopped| text.stopped(stopped))
    };
    HostSide { map: map(), commands, statuses, accesses: Box::new(accesses), answers, tokens }
}

/// Splits a stream into words.
fn words(bytes: &[u8]) -> Result<Vec<u64>, CutShort> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        return Err(CutShort { rest: rest.len() });
    }
    Ok(words.iter().map(|&word| u64::from_le_bytes(word)).collect())
}

fn word_text(word: u64) -> String {
    format!("{word:#018x}")
}

/// Reads a stream of commands, as text or words.
fn commands(name: &str, bytes: &[u8], files: &dyn Reader) -> Result<HostStream, TargetError> {
    let bytes = match program_text(bytes) {
        Some(text) => {
            let read = assemble_with(&Command::spec(), name, text, &bytes_of(files));
            let Assembly { bytes, .. } = read.map_err(TargetError::text)?;
            bytes
        }
        None => bytes.to_vec(),
    };
    let listed = stream_words(&bytes).map_err(|error| TargetError::in_file(name, error))?;
    let listing = disassemble_as(&Command::spec(), &bytes, None, Words::Value);
    let problems = listing.problems.iter().map(ToString::to_string).collect();
    Ok(HostStream { text: listing.to_string(), words: listed, bytes, problems })
}

/// Reads a stream of status words.
fn statuses(name: &str, bytes: &[u8]) -> Result<HostStream, TargetError> {
    let all = words(bytes).map_err(|error| TargetError::in_file(name, error))?;
    let word = |&word: &u64| HostWord { word: word_text(word), text: Status::decode(word).text() };
    Ok(HostStream { bytes: bytes.to_vec(), words: all.iter().map(word).collect(), ..HostStream::default() })
}

/// Returns the answers of the device to the words of a stream.
fn answers(
    stream: &[u8],
    description: &[u8],
    generator: &mut Generator,
) -> Result<Vec<HostAnswer>, TargetError> {
    let mut session = Session::new(generator, description);
    let all = words(stream).map_err(TargetError::failed)?;
    let listed = stream_words(stream).map_err(TargetError::failed)?;
    Ok(all.into_iter().zip(listed).map(|(word, listed)| session.answer(word, listed.text)).collect())
}

/// Returns the number of tokens that a stream sends and requests.
fn tokens(stream: &[u8]) -> usize {
    let is_token = |word: &[u8; WORD_BYTES]| {
        let command = Command::decode(u64::from_le_bytes(*word));
        matches!(command, Some(Command::LoadPrompt { .. } | Command::NextToken { .. }))
    };
    stream.as_chunks().0.iter().filter(|word| is_token(word)).count()
}

/// Returns each word of a command stream with its text.
fn stream_words(bytes: &[u8]) -> Result<Vec<HostWord>, CutShort> {
    let listing = disassemble_as(&Command::spec(), bytes, None, Words::Value);
    let texts = listing.lines.iter().map(|line| line.text.clone());
    Ok(words(bytes)?
        .into_iter()
        .zip(texts)
        .map(|(word, text)| HostWord { word: word_text(word), text })
        .collect())
}
