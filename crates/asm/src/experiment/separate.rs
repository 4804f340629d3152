//! [`separate`]: extracts the experiment from a text in another language.

use npukit_base::{Span, without_bom};

use super::{DIRECTIVES, Experiment, Names, Rest, Statement, WAIT, no_more, statement};
use crate::comment::Comments;
use crate::error::{AsmErrors, Faults};
use crate::expand::Sources;
use crate::place::SourceLocation;
use crate::symbols::Symbols;

/// Text without the lines of its experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Separated {
    /// Text in which every byte keeps its place; the removed lines are replaced by spaces.
    pub text: String,
    /// Experiment of the removed lines.
    pub experiment: Experiment,
    /// The original text.
    pub sources: Sources,
}

/// Removes the lines of an experiment from `text`, whose language has no lines that begin with such
/// directives; `name` is the file's name.
///
/// # Errors
///
/// [`AsmErrors`] with all faults of these lines.
pub fn separate(name: &str, text: &str, comments: Comments) -> Result<Separated, AsmErrors> {
    let mut found = Separated::default();
    let (_, whole) = found.sources.add(name, without_bom(text));
    let names = Names { symbols: &Symbols::default(), file: name };
    let (mut errors, mut start) = (Vec::new(), 0);
    for line in whole.split_inclusive('\n') {
        let code = comments.split(line.trim_end_matches(['\n', '\r'])).0;
        match directive(code) {
            None => found.text += line,
            Some((directive, word)) => {
                let text = code.get(word.end..).unwrap_or_default();
                let rest = Rest { start: start + word.end, text };
                let span = Span::new(start + word.start - 1, start + code.trim_end().len());
                let word_span = Span::new(start + word.start, start + word.end);
                // Such a language has no asynchronous instructions.
                if directive == WAIT {
                    errors.extend(no_more(word_span, rest).err());
                    found.text += &blank(line);
                    start += line.len();
                    continue;
                }
                match statement(directive, word_span, rest, names) {
                    Ok(kind) => {
                        found.experiment.statements.push(Statement { place: SourceLocation::new(span), kind })
                    }
                    Err(error) => errors.push(error),
                }
                found.text += &blank(line);
            }
        }
        start += line.len();
    }
    if errors.is_empty() { Ok(found) } else { Err(Faults::new(name, text, errors)) }
}

/// Returns spaces with the same number of bytes.
fn blank(line: &str) -> String {
    line.chars().map(|c| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) }).collect()
}

/// Returns the directive of a line, and the location of its name.
fn directive(code: &str) -> Option<(&'static str, Span)> {
    let dot = code.len() - code.trim_start().len();
    let rest = code.get(dot..)?.strip_prefix('.')?;
    let size = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let word = rest.get(..size)?;
    let known = DIRECTIVES.into_iter().find(|known| word.eq_ignore_ascii_case(known))?;
    Some((known, Span::new(dot + 1, dot + 1 + size)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn bytes_stay_where_they_are() {
        let text = "a é\n  .data m[0], 1 // é\nb\n.output y, m\n";
        let found = separate("p", text, Comments(&["//"])).unwrap();
        assert_eq!(found.text.len(), text.len());
        assert_eq!(found.text.split_whitespace().collect::<Vec<_>>(), ["a", "é", "b"]);
        let place = |index: usize| found.experiment.statements[index].place.span;
        assert_eq!(&text[place(0).start..place(0).end], ".data m[0], 1");
        assert_eq!(&text[place(1).start..place(1).end], ".output y, m");
    }

    #[test]
    fn every_fault_is_told() {
        let errors = separate("p", ".data\nx\n.expect m[0]\n.word 1\n", Comments(&["#"])).unwrap_err();
        assert_eq!(errors.errors.len(), 2);
    }
}
