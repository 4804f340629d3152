//! [`disassemble`]: bytes to text that assembles to the same bytes.

use std::fmt;

use npukit_base::{BitRange, Word};
use npukit_isa::{ByteOrder, DecodeError, Decoded, IsaSpec, Mode, Problem};

use crate::grammar::Grammar;

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
    /// The instruction, or `.word` and its bytes.
    pub text: String,
    /// Why it is a `.word`.
    pub note: Option<String>,
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
    let word = |size_bytes, note| word(grammar.spec, words, bytes, offset, size_bytes, note);
    match grammar.spec.decode(bytes, offset, context, Mode::Lenient) {
        Ok(decoded) if decoded.problems.is_empty() => {
            let size_bytes = decoded.size_bytes;
            let line = match grammar.print(decoded.instruction, &decoded.values) {
                Some(text) => DisassemblyLine { offset, size_bytes, text, note: None },
                None => word(size_bytes, "has no form".to_owned()),
            };
            (Some(line), None)
        }
        Ok(decoded) => {
            let size_bytes = decoded.size_bytes;
            let text = with_reserved(grammar, &decoded, bytes, offset);
            let error = invalid(grammar.spec, decoded.instruction, decoded.problems, offset);
            let line = match text {
                Some(text) => DisassemblyLine { offset, size_bytes, text, note: Some(note(&error)) },
                None => word(size_bytes, note(&error)),
            };
            (Some(line), Some(error))
        }
        Err(error @ DecodeError::Truncated { .. }) => (None, Some(error)),
        Err(error) => {
            let size_bytes = grammar.spec.shortest_bytes();
            (Some(word(size_bytes, "no instruction".to_owned())), Some(error))
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

fn word(
    spec: &IsaSpec,
    words: Words,
    bytes: &[u8],
    offset: usize,
    size_bytes: usize,
    note: String,
) -> DisassemblyLine {
    let mut word = bytes.get(offset..offset + size_bytes).unwrap_or_default().to_vec();
    if words == Words::Value && spec.byte_order == ByteOrder::Little {
        word.reverse();
    }
    let prefix = if words == Words::Value { "0x" } else { "" };
    let digits: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
    DisassemblyLine { offset, size_bytes, text: format!(".word {prefix}{digits}"), note: Some(note) }
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
