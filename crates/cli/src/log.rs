//! Logging: [`levels`] selects the events, and [`write`] formats them.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level};

use crate::printable::printable;
use crate::watch::Watch;

/// Environment variable that selects events if the command line does not.
pub const VARIABLE: &str = "RUST_LOG";
/// Prefix of the names of all npukit modules.
const OURS: &str = "npu";

/// Levels of modules, by prefix of their names: the longest prefix applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels(Vec<(String, LevelFilter)>);

impl Levels {
    /// Whether an event is logged.
    pub fn has(&self, target: &str, level: Level) -> bool {
        let known = self.0.iter().filter(|(module, _)| target.starts_with(module.as_str()));
        // Of two equal prefixes, the last applies.
        known.max_by_key(|(module, _)| module.len()).is_some_and(|(_, filter)| level <= *filter)
    }

    /// Parses levels, or returns a description of the error.
    fn parsed(text: &str) -> Result<Self, String> {
        text.split(',').map(directive).collect::<Result<_, _>>().map(Self)
    }
}

/// Parses a module with its level. A level alone applies to all modules; a module alone is logged
/// completely.
fn directive(text: &str) -> Result<(String, LevelFilter), String> {
    let wrong = |level: &str| format!("`{level}` is not a level");
    match text.split_once('=') {
        Some((_, level)) if level.contains('=') => Err(format!("`{text}` has more than one `=`")),
        Some((module, level)) => Ok((module.to_owned(), level.parse().map_err(|_| wrong(level))?)),
        None => Ok(match text.parse() {
            Ok(level) => (String::new(), level),
            Err(_) => (text.to_owned(), LevelFilter::TRACE),
        }),
    }
}

/// Returns the levels from the number of `-v` options, otherwise from the variable; `None` if
/// nothing is logged.
///
/// Errors: the error in the variable, with the legal values.
pub fn levels(verbose: u8, variable: Option<&OsStr>) -> Result<Option<Levels>, String> {
    let level = match (verbose, variable) {
        (0, None) => return Ok(None),
        (0, Some(text)) => return of_variable(text).map(Some),
        (1, _) => LevelFilter::INFO,
        (2, _) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    Ok(Some(Levels(vec![(OURS.to_owned(), level)])))
}

fn of_variable(text: &OsStr) -> Result<Levels, String> {
    let shown = text.to_string_lossy();
    let reason = match text.to_str().map(Levels::parsed) {
        Some(Ok(levels)) => return Ok(levels),
        Some(Err(error)) => error,
        None => "it is not UTF-8 text".to_owned(),
    };
    Err(format!(
        "{VARIABLE} is `{shown}`: {reason}; legal are off, error, warn, info, debug and trace, alone or as \
         MODULE=LEVEL, with commas between them, as in `info,npukit_graph=debug`; nothing is logged"
    ))
}

/// Writes an event as a line on standard error, above the progress bar.
pub fn write(watch: &Watch, event: &Event<'_>) -> io::Result<()> {
    let metadata = event.metadata();
    let mut fields = Fields(String::new());
    event.record(&mut fields);
    let text = format!("{:>5} {}:{}\n", metadata.level().as_str(), metadata.target(), fields.0);
    // Names of inputs may contain control characters.
    watch.beside(|| io::stderr().lock().write_all(printable(&text).as_bytes()))
}

/// Message and values of an event, each after a space.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(verbose: u8, variable: Option<&str>, target: &str, level: Level) -> bool {
        let found = levels(verbose, variable.map(OsStr::new));
        found.ok().flatten().is_some_and(|levels| levels.has(target, level))
    }

    #[test]
    fn each_v_is_a_level_more() {
        let levels = [Level::INFO, Level::DEBUG, Level::TRACE];
        for verbose in 0..5 {
            let found = levels.map(|level| logs(verbose, None, "npukit_import::onnx", level));
            assert_eq!(found, [verbose > 0, verbose > 1, verbose > 2], "{verbose}");
        }
        assert!(!logs(3, None, "other", Level::ERROR));
    }

    #[test]
    fn the_variable_counts_where_the_command_line_does_not_say() {
        let variable = Some("npukit_graph=debug");
        assert!(logs(0, variable, "npukit_graph::pass", Level::DEBUG));
        assert!(
            !logs(0, variable, "npukit_import", Level::INFO)
                && logs(1, variable, "npukit_import", Level::INFO)
        );
        assert!(!logs(1, variable, "npukit_graph::pass", Level::DEBUG));
    }

    #[test]
    fn the_longest_module_counts_and_of_equal_ones_the_last() {
        let variable = Some("npukit_graph::pass=trace,warn,npukit_graph=off,npukit_asm,other=1,other=2");
        for (target, level) in [
            ("npukit_graph::pass::x", Some(Level::TRACE)),
            ("npukit_graph::op", None),
            ("npukit_import", Some(Level::WARN)),
            ("npukit_asm::text", Some(Level::TRACE)),
            ("other", Some(Level::WARN)),
        ] {
            let all = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
            let last = all.into_iter().rfind(|&level| logs(0, variable, target, level));
            assert_eq!(last, level, "{target}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_variable_is_told_with_what_is_legal() {
        for text in ["npukit=loud", "info,a=b=c"] {
            let message = levels(0, Some(OsStr::new(text))).err();
            assert!(
                message.is_some_and(|message| message.contains(text) && message.contains("debug")),
                "{text}"
            );
        }
    }
}
