//! Color: whether a stream supports it, and [`paint`], the only place where it is added to reports.
//!
//! Marked lines begin with a control character. Control characters in names are escaped, so a name
//! cannot control the terminal.

use std::ffi::OsString;

use anstream::AutoStream;
use anstream::stream::RawStream;
use clap::builder::styling::{AnsiColor, Style};
use clap::{ColorChoice, ValueEnum};

use crate::printable::printable;

/// Reason why a line of a report is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It limits the whole.
    Bottleneck,
    /// It is an error.
    Fault,
    /// It is as wanted.
    Success,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Bottleneck, Self::Fault, Self::Success];

    /// Returns the control character at the start of marked lines.
    pub const fn sign(self) -> char {
        match self {
            Self::Bottleneck => '\u{1}',
            Self::Fault => '\u{2}',
            Self::Success => '\u{3}',
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Bottleneck => AnsiColor::Yellow.on_default().bold(),
            Self::Fault => AnsiColor::Red.on_default(),
            Self::Success => AnsiColor::Green.on_default(),
        }
    }

    /// Returns the mark of a verdict.
    pub const fn of_verdict(is_good: bool) -> Self {
        if is_good { Self::Success } else { Self::Fault }
    }

    /// Marks the first line of a text.
    pub fn first_line(self, text: &str) -> String {
        format!("{}{text}", self.sign())
    }
}

/// Sets the color choice of the whole process, including the parser's output.
pub fn set(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Returns the value of `--color` among arguments that are not parsed yet, for the parser's own
/// errors.
pub fn of(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let arguments = arguments.take_while(|argument| argument != "--");
    let mut arguments = arguments.filter_map(|argument| argument.into_string().ok());
    let is_flag = |argument: &String| matches!(argument.split('=').next(), Some("--color" | "--colour"));
    let found = arguments.find(is_flag).and_then(|flag| match flag.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => arguments.next(),
    });
    // Default: the parser reports other values as errors.
    found.and_then(|value| ColorChoice::from_str(&value, false).ok()).unwrap_or(ColorChoice::Auto)
}

/// Whether `stream` supports color: as `--color` specifies, otherwise according to `NO_COLOR`,
/// `CLICOLOR_FORCE`, `CLICOLOR`, `TERM` and the stream itself.
pub fn is_on(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != anstream::ColorChoice::Never
}

/// Start of the lines that warn.
const WARNING: &str = "warning:";

/// Prepares a report for a terminal: escapes control sequences, and colors marked lines and
/// warnings if `is_on`.
pub fn paint(report: &str, is_on: bool) -> String {
    report.split_inclusive('\n').map(|line| painted(line, is_on)).collect()
}

fn painted(line: &str, is_on: bool) -> String {
    let found = Mark::ALL.into_iter().find_map(|mark| Some((mark, line.strip_prefix(mark.sign())?)));
    match found {
        None if is_on && line.starts_with(WARNING) => {
            let style = Mark::Bottleneck.style();
            format!("{style}{WARNING}{style:#}{}", printable(&line[WARNING.len()..]))
        }
        None => printable(line).into_owned(),
        Some((_, rest)) if !is_on => printable(rest).into_owned(),
        Some((mark, rest)) => {
            let style = mark.style();
            let text = rest.strip_suffix('\n').unwrap_or(rest);
            format!("{style}{}{style:#}{}", printable(text), &rest[text.len()..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_lines_have_colors() {
        let report = "a\n\u{1}b\n\u{2}c\n";
        assert_eq!(paint(report, true), "a\n\u{1b}[1m\u{1b}[33mb\u{1b}[0m\n\u{1b}[31mc\u{1b}[0m\n");
        assert_eq!(paint(report, false), "a\nb\nc\n");
    }

    #[test]
    fn verdicts_and_warnings_have_colors() {
        let text = Mark::of_verdict(true).first_line("verdict  fits\nwarning: slow\n");
        let colored = "\u{1b}[32mverdict  fits\u{1b}[0m\n\u{1b}[1m\u{1b}[33mwarning:\u{1b}[0m slow\n";
        assert_eq!(paint(&text, true), colored);
        assert_eq!(paint(&text, false), "verdict  fits\nwarning: slow\n");
        assert_eq!(paint("\u{2}verdict  no\n", true), "\u{1b}[31mverdict  no\u{1b}[0m\n");
    }

    #[test]
    fn nothing_else_gives_orders() {
        let report = "a\u{1b}[2J\u{1}\r\n\u{2}b\u{1b}[0m\u{2}\n";
        assert_eq!(paint(report, false), "a\\u{1b}[2J\\u{1}\r\nb\\u{1b}[0m\\u{2}\n");
        assert_eq!(paint(report, true), "a\\u{1b}[2J\\u{1}\r\n\u{1b}[31mb\\u{1b}[0m\\u{2}\u{1b}[0m\n");
    }

    #[test]
    fn the_choice_is_found_before_parsing() {
        let found = |line: &str| of(line.split(' ').map(OsString::from));
        assert_eq!(found("npu time --color always"), ColorChoice::Always);
        assert_eq!(found("npu --color=never time"), ColorChoice::Never);
        for line in
            ["npu time", "npu --color", "npu --color blue", "npu --colors always", "npu -- --color=always"]
        {
            assert_eq!(found(line), ColorChoice::Auto, "{line}");
        }
    }
}
