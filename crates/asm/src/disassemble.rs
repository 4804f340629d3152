//! [`disassemble`]: bytes to text that assembles to the same bytes.

use std::fmt;

use npukit_base::{BitRange, Word};
use npukit_isa::{ByteOrder, DecodeError, Decoded, IsaSpec, Mode, Problem};

use crate::grammar::Grammar;
use crate::listing::hex;

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembly {
    /// The context the program was read in.
    pub context: Option<String>,
    /// One for each instruction.
    pub lines: Vec<DisassemblyLine>,
    /// Words without meaning or with faults, and a partial instruction at the end. All but the last
    /// kind stand in `lines`, as `.word` or with the operand for reserved bits.
    pub problems: Vec<DecodeError>,
}

/// An instruction as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisassemblyLine {
    /// First byte of the word.
    pub offset: usize,
    /// Bytes of the word.
    pub size_bytes: usize,
    /// The word in hexadecimal, as `.word` would have it.
    pub bits: String,
    /// The instruction, or `.word` and its bytes.
    pub text: String,
    /// Why it is a `.word`.
    pub note: Option<String>,
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingLine {
    /// What assembles again.
    pub text: String,
    /// The instruction that it is; none for a line that is of none.
    pub word: Option<ListedWord>,
}

/// The word of an instruction in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWord {
    /// Where it lies in the program: its first byte in hexadecimal, unless the target counts otherwise.
    pub address: String,
    /// What it is, in hexadecimal.
    pub bits: String,
}

impl Disassembly {
    /// The lines of the source text, each with its word.
    pub fn listing(&self) -> Vec<ListingLine> {
        let context = self.context.iter().map(|context| format!(".context {context}"));
        let mut all: Vec<ListingLine> = context.map(|text| ListingLine { text, word: None }).collect();
        all.extend(self.lines.iter().map(|line| {
            let DisassemblyLine { offset, bits, text, note, .. } = line;
            let word = Some(ListedWord { address: format!("{offset:08x}"), bits: bits.clone() });
            let note = note.as_ref().map(|note| format!(" ; {note}"));
            // Default: what can be said needs no note.
            ListingLine { text: format!("{text}{}", note.unwrap_or_default()), word }
        }));
        if let Some(error @ DecodeError::Truncated { .. }) = self.problems.last() {
            all.push(ListingLine { text: format!("; {error}"), word: None });
        }
        all
    }
}

/// The source text; its last line names a partial instruction in a comment.
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

/// How what has no form is written after `.word`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Words {
    /// Bytes in file order.
    #[default]
    Bytes,
    /// A number, `0x` before it.
    Value,
}

/// Reads a program in no context.
pub fn disassemble(spec: &IsaSpec, bytes: &[u8]) -> Disassembly {
    disassemble_in(spec, bytes, None)
}

/// Reads a program whose words mean what they mean in `context`.
pub fn disassemble_in(spec: &IsaSpec, bytes: &[u8], context: Option<&str>) -> Disassembly {
    disassemble_as(spec, bytes, context, Words::Bytes)
}

/// As [`disassemble_in`], with a choice of how words are written.
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

/// The instruction at `offset`, and what is wrong with it; no line when it is cut short.
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

/// An instruction whose only fault is reserved bits that its text can say.
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

/// A word in hexadecimal.
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

/// The error without its offset, which the line has already.
fn note(error: &DecodeError) -> String {
    match error {
        DecodeError::Invalid { instruction, problems, .. } => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("{instruction}: {}", problems.join("; "))
        }
        other => other.to_string(),
    }
}
