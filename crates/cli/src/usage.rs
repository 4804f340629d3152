//! Errors of the command line: for a terminal, and for `--json`.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::Command;
use clap::builder::styling::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use npukit::{Code, Diagnostic, on_a_line, printable};
use serde_json::{Value, json};

/// Error code of an invalid command line.
pub const USAGE: Code = Code { name: "usage", meaning: "the command line is not valid" };

/// Turns color off in errors if an argument contains control characters. Colors are control
/// characters, too, and could not be distinguished from those.
pub fn uncolored(command: Command, arguments: impl Iterator<Item = OsString>) -> Command {
    if orders(arguments) { command.styles(Styles::plain()) } else { command }
}

/// Whether an argument contains control characters.
fn orders(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.any(|argument| matches!(on_a_line(&argument.to_string_lossy()), Cow::Owned(_)))
}

/// Prints an error of a command that is [`uncolored`] if necessary; help is printed to standard
/// output.
pub fn print(error: &clap::Error) -> io::Result<()> {
    if !orders(env::args_os()) {
        return error.print();
    }
    let text = escaped(error);
    if error.use_stderr() {
        io::stderr().lock().write_all(text.as_bytes())
    } else {
        io::stdout().lock().write_all(text.as_bytes())
    }
}

/// Formats an error of an [`uncolored`] command for a terminal. Removing color codes from a
/// colored text would also remove the control characters in arguments.
fn escaped(error: &clap::Error) -> String {
    printable(&error.render().ansi().to_string()).into_owned()
}

/// Adds a tip to the error for an argument that is the value of the option before it, if the option
/// takes its value only after `=`.
pub fn with_tip(
    mut error: clap::Error,
    command: &Command,
    arguments: impl Iterator<Item = OsString>,
) -> clap::Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidArg) else { return error };
    let takes_equals = |option: &str| {
        let mut all = command.get_subcommands().flat_map(Command::get_arguments);
        option
            .strip_prefix("--")
            .is_some_and(|name| all.any(|arg| arg.get_long() == Some(name) && arg.is_require_equals_set()))
    };
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let option = arguments.windows(2).find(|pair| pair[1] == *value && takes_equals(&pair[0]));
    if let Some([option, value]) = option {
        let tip = format!("write `{option}={value}` if it is the value of `{option}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Whether `--json` is among the arguments, as far as this is known for an invalid command line.
pub fn wants_json(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.by_ref().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Whether the arguments request help, as far as this is known before they are parsed.
pub fn wants_help(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.any(|argument| argument == "--help" || argument == "help")
}

/// Returns the value of `--target`, as far as it is known before the arguments are parsed.
pub fn target(mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    loop {
        let argument = arguments.next()?.into_string().ok()?;
        if argument == "--target" {
            return arguments.next()?.into_string().ok();
        }
        if let Some(value) = argument.strip_prefix("--target=") {
            return Some(value.to_owned());
        }
    }
}

/// Returns the JSON report of an error: the message, without the usage.
pub fn json(error: &clap::Error) -> Value {
    let (message, help) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            ("no command is given".to_owned(), Some("`npu --help` lists them".to_owned()))
        }
        _ => message_and_tips(&error.render().to_string()),
    };
    let diagnostic = Diagnostic::error(USAGE.name, &message).with_help(help);
    json!({ "error": message, "causes": [], "diagnostics": [diagnostic] })
}

/// Splits a printed error into message and tips: the first paragraph, and the lines that begin with
/// `tip:`.
fn message_and_tips(text: &str) -> (String, Option<String>) {
    let text = text.strip_prefix("error: ").unwrap_or(text); // Default: without the prefix, all of it is the message.
    let lines = text.lines().map(str::trim);
    let message: Vec<&str> = lines.clone().take_while(|line| !line.is_empty()).collect();
    let tips: Vec<&str> = lines.filter_map(|line| line.strip_prefix("tip: ")).collect();
    (message.join(" "), (!tips.is_empty()).then(|| tips.join("; ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn arguments_order_no_terminal_about() {
        for line in [
            &["npu", "fo\u{202e}o"][..],
            &["npu", "run", "--targ\u{202e}x"],
            &["npu", "run", "m.onnx", "--rescale", "\u{1b}[5mx"],
            &["npu", "bench", "\u{9b}31mx"],
            &["npu", "time", "m.onnx", "--dim", "\u{1b}]0;x\u{7}"],
            &["npu", "eval", "m.onnx", "-o", "\u{1b}[1m.csv"],
        ] {
            let arguments = || line.iter().map(OsString::from);
            let command = uncolored(crate::cli::command(), arguments());
            let text = escaped(&command.try_get_matches_from(arguments()).unwrap_err());
            assert!(matches!(printable(&text), Cow::Borrowed(_)), "{text:?}");
            assert!(text.contains("\\u{"), "{text}");
        }
        assert!(!orders(["npu", "h\u{e9}"].map(OsString::from).into_iter()));
    }

    #[test]
    fn a_value_without_equals_has_a_tip() {
        let tip = |line: &str| {
            let arguments = || line.split(' ').map(OsString::from);
            let mut command = crate::cli::command();
            let error = command.try_get_matches_from_mut(arguments()).unwrap_err();
            json(&with_tip(error, &command, arguments()))["diagnostics"][0]["help"].clone()
        };
        let message_and_tips = tip("npu run m.onnx --compare r.npz");
        assert_eq!(message_and_tips, "write `--compare=r.npz` if it is the value of `--compare`");
        assert_eq!(tip("npu run m.onnx --check r.npz"), Value::Null);
    }

    #[test]
    fn the_message_is_without_the_usage() {
        let text = "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\nUsage: npu\n";
        let tip = Some("a similar argument exists: '--json'".to_owned());
        assert_eq!(message_and_tips(text), ("unexpected argument '--jsn' found".to_owned(), tip));
        let text = "error: these are required:\n  --target <TARGET>\n\nUsage: npu\n";
        assert_eq!(message_and_tips(text), ("these are required: --target <TARGET>".to_owned(), None));
    }

    #[test]
    fn a_target_is_known_before_parsing() {
        let found = |line: &str| target(line.split(' ').map(OsString::from));
        assert_eq!(found("npu run --help --target one:board").as_deref(), Some("one:board"));
        assert_eq!(found("npu --target=one run --help").as_deref(), Some("one"));
        assert_eq!(found("npu run --target"), None);
    }

    #[test]
    fn json_may_stand_anywhere_before_the_end_of_options() {
        let wants = |line: &str| wants_json(line.split(' ').map(OsString::from));
        assert!(wants("npu time --json") && wants("npu --json time"));
        assert!(!wants("npu time -- --json") && !wants("npu time --jsn"));
    }
}
