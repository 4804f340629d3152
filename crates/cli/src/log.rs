//! What is logged, and to where: [`filter`] and [`Log`].

use std::ffi::OsStr;
use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use crate::printable::printable;
use crate::watch::Watch;

/// Says what is logged where the command line does not.
pub const VARIABLE: &str = "RUST_LOG";
/// What the names of all our modules begin with.
const OURS: &str = "npu";

/// What is logged: as often as `-v` says, else as the variable does; none for nothing.
///
/// Errors: what is wrong with the variable, and what is legal.
pub fn filter(verbose: u8, variable: Option<&OsStr>) -> Result<Option<Targets>, String> {
    let level = match (verbose, variable) {
        (0, None) => return Ok(None),
        (0, Some(text)) => return parsed(text).map(Some),
        (1, _) => LevelFilter::INFO,
        (2, _) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    Ok(Some(Targets::new().with_target(OURS, level)))
}

fn parsed(text: &OsStr) -> Result<Targets, String> {
    let shown = text.to_string_lossy();
    let reason = match text.to_str().map(str::parse) {
        Some(Ok(targets)) => return Ok(targets),
        Some(Err(error)) => format!("{error}"),
        None => "it is not UTF-8 text".to_owned(),
    };
    Err(format!(
        "{VARIABLE} is `{shown}`: {reason}; legal are off, error, warn, info, debug and trace, alone or as \
         MODULE=LEVEL, with commas between them, as in `info,npukit_graph=debug`; nothing is logged"
    ))
}

/// Standard error, beside the progress.
pub struct Log(pub Watch);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Names of inputs may hold what a terminal obeys.
        let text = String::from_utf8_lossy(bytes);
        self.0.beside(|| io::stderr().lock().write_all(printable(&text).as_bytes()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    fn logs(verbose: u8, variable: Option<&str>, target: &str, level: Level) -> bool {
        let found = filter(verbose, variable.map(OsStr::new));
        found.ok().flatten().is_some_and(|targets| targets.would_enable(target, &level))
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
    fn what_is_wrong_with_the_variable_is_told_with_what_is_legal() {
        for text in ["npukit=loud", "info,a=b=c"] {
            let message = filter(0, Some(OsStr::new(text))).err();
            assert!(
                message.is_some_and(|message| message.contains(text) && message.contains("debug")),
                "{text}"
            );
        }
    }
}
