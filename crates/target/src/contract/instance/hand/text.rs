//! [`ProgramText`]: where the instructions of a program stand in its text.

use std::error::Error;

use npukit_asm::{Assembly, Experiment, Place, SourceFault, Sources};
use npukit_base::is_utf16;

use crate::contract::machine::{Remark, Stopped};
use crate::diagnosis::failure;
use crate::error::TargetError;
use crate::lint::Finding;

/// Where the instructions of a program stand; empty for words, of which nobody knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramText {
    /// The text and those that it includes.
    pub sources: Sources,
    /// Of each instruction, by its index.
    pub places: Vec<Place>,
    /// What the text says of the memories around a run.
    pub experiment: Experiment,
    /// What hardware would not do as written, with the place of each.
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
    /// A remark with its line, where there is one.
    pub fn remark(&self, Remark { instruction, message }: &Remark) -> String {
        match instruction.map(|index| (index, self.places.get(index))) {
            Some((index, Some(&place))) => {
                self.sources.excerpt(place, &format!("instruction {index}: {message}"))
            }
            Some((index, None)) => format!("instruction {index}: {message}"),
            None => message.clone(),
        }
    }

    /// The error of a machine that stopped, with its line where there is one.
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

    /// Where the instruction of a finding stands, if it does.
    pub fn place(&self, finding: &Finding) -> Option<Place> {
        self.places.get(finding.instruction?).copied()
    }

    /// What is wrong at a place of the text.
    pub fn fault(&self, place: Place, code: &'static str, message: String) -> SourceFault {
        self.sources.fault_at(place, code, message)
    }
}

/// An error and what caused it, in a line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |error| (*error).source()).map(ToString::to_string);
    let mut told: Vec<String> = Vec::new();
    for message in all {
        // A transparent error says what its cause says.
        if told.last() != Some(&message) {
            told.push(message);
        }
    }
    told.join(": ")
}

/// The text that `bytes` are, when a person could have written it: words are full of zeroes and other control characters.
pub fn program_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|_| !is_utf16(bytes))?; // Default: words are no text.
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
