//! [`disassemble`]: conversion of bytes to text that assembles to the same bytes.

use std::fmt;

use npukit_base::{BitRange, Word};
use npukit_isa::{ByteOrder, DecodeError, Decoded, IsaSpec, Mode, Problem};

use crate::grammar::Grammar;
use crate::listing::hex;

/// Disassembled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembly {
    /// Context in which the program was read.
    pub context: Option<String>,
    /// Lines, one per instruction.
    pub lines: Vec<DisassemblyLine>,
    /// Words without meaning or with faults, and a partial instruction at the end. All except the
    /// partial instruction also appear in `lines`, as `.word` or with the operand for reserved
    /// bits.
    pub problems: Vec<DecodeError>,
}

/// Disassembled instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisassemblyLine {
    /// Offset of the instruction's first byte.
    pub offset: usize,
    /// Number of bytes of the instruction.
    pub size_bytes: usize,
    /// The word in hexadecimal, in the format of `.word`.
    pub bits: String,
    /// Text of the instruction, or `.word` with its bytes.
    pub text: String,
    /// Reason for the use of `.word`.
    pub note: Option<String>,
}

/// Line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingLine {
    /// Text that can be assembled again.
    pub text: String,
    /// Word of the instruction; `None` for a line without instruction.
    pub word: Option<ListedWord>,
}

/// Word of an instruction in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWord {
    /// Address in the program: by default, the offset of its first byte in hexadecimal.
    pub address: String,
    /// Value of the word in hexadecimal.
    pub bits: String,
}

impl Disassembly {
    /// Returns the lines of the source text, with their words.
    pub fn listing(&self) -> Vec<ListingLine> {
        let context = self.context.iter().map(|context| format!(".context {context}"));
        let mut all: Vec<ListingLine> = context.map(|text| ListingLine { text, word: None }).collect();
        all.extend(self.lines.iter().map(|line| {
            let DisassemblyLine { offset, bits, text, note, .. } = line;
            let word = Some(ListedWord { address: format!("{offset:08x}"), bits: bits.clone() });
            let note = note.as_ref().map(|note| format!(" ; {note}"));
            // Default: a line with a form needs no note.
            ListingLine { text: format!("{text}{}", note.unwrap_or_default()), word }
        }));
        if let Some(error @ DecodeError::Truncated { .. }) = self.problems.last() {
            all.push(ListingLine { text: format!("; {error}"), word: None });
        }
        all
    }
}

/// Formats the source text; a last comment line reports a partial instruction.
impl fmt::Display for Disassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(context) = &self.context {
            writeln!(f, ".context {context}")?;
        }
        for line in &self.lines {
            match &line.note {
                Some(note) => writeln!(f, "{} ; {note}", line.text)?,
                None => writeln!(f, "{}", line.text)?,
            }
        }
        match self.problems.last() {
            Some(error @ DecodeError::Truncated { .. }) => writeln!(f, "; {error}"),
            _ => Ok(()),
        }
    }
}

/// Format of the number after `.word`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Words {
    /// Bytes in file order.
    #[default]
    Bytes,
    /// Number with the prefix `0x`.
    Value,
}

/// Disassembles a program without context.
pub fn disassemble(spec: &IsaSpec, bytes: &[u8]) -> Disassembly {
    disassemble_in(spec, bytes, None)
}

/// Disassembles a program whose words are interpreted in `context`.
pub fn disassemble_in(spec: &IsaSpec, bytes: &[u8], context: Option<&str>) -> Disassembly {
    disassemble_as(spec, bytes, context, Words::Bytes)
}

/// Like [`disassemble_in`], with the given format of `.word`.
pub fn disassemble_as(spec: &IsaSpec, bytes: &[u8], context: Option<&str>, words: Words) -> Disassembly {
    let grammar = Grammar::new(spec);
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let mut offset = 0;
    while offset < bytes.len() {
        let (line, problem) = line(&grammar, bytes, offset, context, words);
        problems.extend(problem);
        let Some(line) = line else { break };
        offset += line.size_bytes;
        lines.push(line);
    }
    Disassembly { context: context.map(str::to_owned), lines, problems }
}

/// Returns the instruction at `offset`, and its fault if it has one; no line if it is cut short.
fn line(
    grammar: &Grammar<'_>,
    bytes: &[u8],
    offset: usize,
    context: Option<&str>,
    words: Words,
) -> (Option<DisassemblyLine>, Option<DecodeError>) {
    let made = |size_bytes: usize, text: Option<String>, note: Option<String>| {
        let bits = bits(grammar.spec, words, bytes.get(offset..offset + size_bytes).unwrap_or_default());
        let prefix = if words == Words::Value { "0x" } else { "" };
        let text = text.unwrap_or_else(|| format!(".word {prefix}{bits}"));
        DisassemblyLine { offset, size_bytes, bits, text, note }
    };
    match grammar.spec.decode(bytes, offset, context, Mode::Lenient) {
        Ok(decoded) if decoded.problems.is_empty() => {
            let text = grammar.print(decoded.instruction, &decoded.values);
            let note = text.is_none().then(|| "has no form".to_owned());
            (Some(made(decoded.size_bytes, text, note)), None)
        }
        Ok(decoded) => {
            let size_bytes = decoded.size_bytes;
            let text = with_reserved(grammar, &decoded, bytes, offset);
            let error = invalid(grammar.spec, decoded.instruction, decoded.problems, offset);
            (Some(made(size_bytes, text, Some(note(&error)))), Some(error))
        }
        Err(error @ DecodeError::Truncated { .. }) => (None, Some(error)),
        Err(error) => {
            let line = made(grammar.spec.shortest_bytes(), None, Some("no instruction".to_owned()));
            (Some(line), Some(error))
        }
    }
}

/// Returns the text of an instruction whose only fault is reserved bits that its text can express.
fn with_reserved(grammar: &Grammar<'_>, decoded: &Decoded, bytes: &[u8], offset: usize) -> Option<String> {
    let row = grammar.spec.instructions.get(decoded.instruction)?;
    let operand = row.reserved_operand.as_ref()?;
    if !decoded.problems.iter().all(|problem| matches!(problem, Problem::Reserved { .. })) {
        return None;
    }
    let word = grammar.spec.word(bytes.get(offset..offset + decoded.size_bytes)?) & row.reserved();
    // The operand is a number of 64 bits.
    let value = word.get(BitRange::new(0, u64::BITS));
    let whole = word == Word::from_le_bytes(&value.to_le_bytes());
    let text = grammar.print(decoded.instruction, &decoded.values)?;
    whole.then(|| format!("{text}, {operand}={value:#x}"))
}

/// Returns a word in hexadecimal.
fn bits(spec: &IsaSpec, words: Words, bytes: &[u8]) -> String {
    match (words, spec.byte_order) {
        (Words::Value, ByteOrder::Little) => hex(&bytes.iter().rev().copied().collect::<Vec<_>>()),
        _ => hex(bytes),
    }
}

fn invalid(spec: &IsaSpec, instruction: usize, problems: Vec<Problem>, offset: usize) -> DecodeError {
    let instruction = spec.instructions.get(instruction).map(|row| row.name.clone()).unwrap_or_default();
    DecodeError::Invalid { offset, instruction, problems }
}

/// Returns the error without its offset, which the line already shows.
fn note(error: &DecodeError) -> String {
    match error {
        DecodeError::Invalid { instruction, problems, .. } => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("{instruction}: {}", problems.join("; "))
        }
        other => other.to_string(),
    }
}
