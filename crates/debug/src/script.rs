//! [`Script`]: a file of commands with their expected output.
//!
//! Each line is a command. Following lines that begin with `> ` are its exact expected output. `#`
//! and `;` begin a comment.

use npukit_asm::{Faults, SourceFault, Sources};
use npukit_base::{Code, Span};

use crate::Debugger;
use crate::command::{Command, parse};

/// All errors of a script.
pub type ScriptError = Faults<SourceFault>;

/// Error code of invalid scripts.
pub const SCRIPT: Code =
    Code { name: "invalid-script", meaning: "a line of a debugger's script is not a command" };

/// Prefix of lines with expected output.
const PRINTED: &str = ">";

/// File of commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Line number, starting at 1.
    line: usize,
    command: Command,
    /// Expected output, if the script gives it.
    printed: Option<String>,
}

/// Result of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Printed output of all commands.
    pub text: String,
    /// Number of expectations that hold.
    pub passed: usize,
    /// Failed expectations, with the line of the script.
    pub failures: Vec<String>,
}

impl Script {
    /// Parses a script for a program.
    ///
    /// # Errors
    /// All lines that are not commands, each with its place and the legal alternatives.
    pub fn read(name: &str, text: &str, of: &Debugger) -> Result<Self, ScriptError> {
        let sources = Sources::of_texts([(name.to_owned(), text.to_owned())]);
        let (mut entries, mut faults) = (Vec::<Entry>::new(), Vec::new());
        let mut fault = |span: Span, message: String, help: Option<String>| {
            let place = sources.place(0, span, None);
            faults.extend(place.map(|place| sources.fault_at(place, SCRIPT.name, message).with_help(help)));
        };
        let mut next = 0;
        for (number, line) in text.split('\n').enumerate() {
            let begins = next;
            next += line.len() + 1;
            let line = line.strip_suffix('\r').unwrap_or(line); // Default: the line has no carriage return.
            if let Some(printed) = line.strip_prefix(PRINTED) {
                let printed = printed.strip_prefix(' ').unwrap_or(printed); // Default: an empty line needs no space.
                match entries.last_mut() {
                    Some(entry) => *entry.printed.get_or_insert_default() += &format!("{printed}\n"),
                    None => {
                        let help = Some("lines that begin with `>` must follow a command".to_owned());
                        let span = Span { start: begins, end: begins + line.len() };
                        fault(span, "no command prints this".to_owned(), help);
                    }
                }
                continue;
            }
            match parse(line, of) {
                Ok(None) => {}
                Ok(Some(command)) => entries.push(Entry { line: number + 1, command, printed: None }),
                Err(error) => {
                    let Span { start, end } = error.span;
                    fault(Span { start: begins + start, end: begins + end }, error.message, error.help);
                    // Expected output after this entry must not be added to an earlier command.
                    entries.push(Entry { line: number + 1, command: Command::Where, printed: None });
                }
            }
        }
        if faults.is_empty() { Ok(Self { entries }) } else { Err(Faults::new(name, text, faults)) }
    }

    /// Runs all commands. A failed expectation does not stop the script; a command that cannot be
    /// done does.
    pub fn run(&self, debugger: &mut Debugger) -> Outcome {
        let mut outcome = Outcome::default();
        for Entry { line, command, printed } in &self.entries {
            let answer = debugger.execute(command);
            let mut wrong = answer.failure;
            if let Some(expected) = printed.as_ref().filter(|expected| **expected != answer.text) {
                let message = format!("expected to be printed:\n{expected}found:\n{}", answer.text);
                wrong = Some(wrong.map_or(message.clone(), |wrong| format!("{wrong}\n{message}")));
            } else if printed.is_none() {
                outcome.text += &answer.text;
            }
            let is_expectation = printed.is_some() || matches!(command, Command::Expect(_));
            match wrong {
                Some(message) => outcome.failures.push(format!("line {line}: {}", message.trim_end())),
                None => outcome.passed += usize::from(is_expectation),
            }
        }
        outcome
    }
}
