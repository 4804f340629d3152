//! [`disassemble`]: bytes to text that assembles to the same bytes.

use std::fmt;

use npukit_isa::{DecodeError, IsaSpec, Mode, Problem};

use crate::grammar::Grammar;

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembly {
    /// The context the program was read in.
    pub context: Option<String>,
    /// One for each instruction.
    pub lines: Vec<DisassemblyLine>,
    /// Words without meaning or with faults, and a partial instruction at the end. All but the
    /// last kind stand in `lines` as `.word`.
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

/// Reads a program in no context.
pub fn disassemble(spec: &IsaSpec, bytes: &[u8]) -> Disassembly {
    disassemble_in(spec, bytes, None)
}

/// Reads a program whose words mean what they mean in `context`.
pub fn disassemble_in(spec: &IsaSpec, bytes: &[u8], context: Option<&str>) -> Disassembly {
    let grammar = Grammar::new(spec);
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let mut offset = 0;
    while offset < bytes.len() {
        let (line, problem) = line(&grammar, bytes, offset, context);
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
) -> (Option<DisassemblyLine>, Option<DecodeError>) {
    match grammar.spec.decode(bytes, offset, context, Mode::Lenient) {
        Ok(decoded) if decoded.problems.is_empty() => {
            let size_bytes = decoded.size_bytes;
            let line = match grammar.print(decoded.instruction, &decoded.values) {
                Some(text) => DisassemblyLine { offset, size_bytes, text, note: None },
                None => word(bytes, offset, size_bytes, "has no form".to_owned()),
            };
            (Some(line), None)
        }
        Ok(decoded) => {
            let error = invalid(grammar.spec, decoded.instruction, decoded.problems, offset);
            (Some(word(bytes, offset, decoded.size_bytes, note(&error))), Some(error))
        }
        Err(error @ DecodeError::Truncated { .. }) => (None, Some(error)),
        Err(error) => {
            let size_bytes = grammar.spec.shortest_bytes();
            (Some(word(bytes, offset, size_bytes, "no instruction".to_owned())), Some(error))
        }
    }
}

fn word(bytes: &[u8], offset: usize, size_bytes: usize, note: String) -> DisassemblyLine {
    let word = bytes.get(offset..offset + size_bytes).unwrap_or_default();
    let digits: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
    DisassemblyLine { offset, size_bytes, text: format!(".word {digits}"), note: Some(note) }
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
