//! [`ProgramText`]: source positions of the instructions of a program.

use std::error::Error;

use npukit_asm::{Assembly, Experiment, SourceFault, SourceLocation, Sources};
use npukit_base::is_utf16;

use crate::contract::machine::{Remark, Stopped};
use crate::diagnosis::failure;
use crate::error::TargetError;
use crate::lint::Finding;

/// Source positions of the instructions of a program; empty for words without a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramText {
    /// The main text and the texts it includes.
    pub sources: Sources,
    /// Position of each instruction, by its index.
    pub places: Vec<SourceLocation>,
    /// Declarations of the text about memories before and after a run.
    pub experiment: Experiment,
    /// Warnings about deviations of the hardware from the text, each with its place.
    pub warnings: Vec<String>,
}

impl From<Assembly> for ProgramText {
    fn from(assembly: Assembly) -> Self {
        let Assembly { lines, experiment, sources, .. } = assembly;
        let places = lines.iter().map(|line| line.place).collect();
        Self { sources, places, experiment, warnings: Vec::new() }
    }
}

impl ProgramText {
    /// Formats a remark with its source line, if known.
    pub fn remark(&self, Remark { instruction, message }: &Remark) -> String {
        match instruction.map(|index| (index, self.places.get(index))) {
            Some((index, Some(&place))) => {
                self.sources.excerpt(place, &format!("instruction {index}: {message}"))
            }
            Some((index, None)) => format!("instruction {index}: {message}"),
            None => message.clone(),
        }
    }

    /// Returns the error of a machine that stopped, with the source line if known.
    pub fn stopped(&self, stopped: Stopped) -> TargetError {
        let Stopped { instruction, error } = stopped;
        let Some((index, &place)) = instruction.and_then(|index| Some((index, self.places.get(index)?)))
        else {
            return match instruction {
                Some(index) => TargetError::failed(format!("instruction {index}: {}", chain(&error))),
                None => error,
            };
        };
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        let fault = self.fault(place, failure::RUN.name, format!("instruction {index}: {}", chain(&error)));
        TargetError::text(fault.with_label("the machine stops here").with_help(help))
    }

    /// Returns the source position of the instruction of a finding, if known.
    pub fn place(&self, finding: &Finding) -> Option<SourceLocation> {
        self.places.get(finding.instruction?).copied()
    }

    /// Creates a fault at a place of the text.
    pub fn fault(&self, place: SourceLocation, code: &'static str, message: String) -> SourceFault {
        self.sources.fault_at(place, code, message)
    }
}

/// Joins an error and its causes to one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |error| (*error).source()).map(ToString::to_string);
    let mut reported: Vec<String> = Vec::new();
    for message in all {
        // A transparent error has the same message as its cause.
        if reported.last() != Some(&message) {
            reported.push(message);
        }
    }
    reported.join(": ")
}

/// Returns `bytes` as text if they can be an assembly text. Binary words contain zeros and other
/// control characters.
pub fn program_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|_| !is_utf16(bytes))?; // Default: binary words are not text.
    (!text.contains(|c: char| c.is_control() && !c.is_whitespace())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_text() {
        assert_eq!(program_text(b"noop\r\n"), Some("noop\r\n"));
        assert_eq!(program_text(&[b'a', 0, 1]), None);
        assert_eq!(program_text(&[0xff, 0xfe, b'a', 0]), None);
    }

    #[test]
    fn words_have_no_lines() {
        let remark = Remark { instruction: Some(3), message: "m".to_owned() };
        assert_eq!(ProgramText::default().remark(&remark), "instruction 3: m");
    }
}
