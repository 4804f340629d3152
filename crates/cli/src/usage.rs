//! What is wrong with a command line that is none, as `--json` tells it.

use std::ffi::OsString;

use clap::error::ErrorKind;
use npukit::{Code, Diagnostic};
use serde_json::{Value, json};

/// What such an error is.
pub const USAGE: Code = Code { name: "usage", meaning: "the command line is not one of this command" };

/// Whether `--json` is among the arguments, as far as can be told of a command line that is none.
pub fn wants_json(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.by_ref().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// The report of an error: what is wrong, without how the command is used.
pub fn json(error: &clap::Error) -> Value {
    let (message, help) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            ("no command is given".to_owned(), Some("`npu --help` lists them".to_owned()))
        }
        _ => told(&error.render().to_string()),
    };
    let diagnostic = Diagnostic::error(USAGE.name, &message).with_help(help);
    json!({ "error": message, "causes": [], "diagnostics": [diagnostic] })
}

/// The message and the tips of what is printed: the first paragraph, and lines that begin with `tip:`.
fn told(text: &str) -> (String, Option<String>) {
    let text = text.strip_prefix("error: ").unwrap_or(text); // Default: what does not begin so is the message.
    let lines = text.lines().map(str::trim);
    let message: Vec<&str> = lines.clone().take_while(|line| !line.is_empty()).collect();
    let tips: Vec<&str> = lines.filter_map(|line| line.strip_prefix("tip: ")).collect();
    (message.join(" "), (!tips.is_empty()).then(|| tips.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_without_the_usage() {
        let text = "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\nUsage: npu\n";
        let tip = Some("a similar argument exists: '--json'".to_owned());
        assert_eq!(told(text), ("unexpected argument '--jsn' found".to_owned(), tip));
        let text = "error: these are required:\n  --target <TARGET>\n\nUsage: npu\n";
        assert_eq!(told(text), ("these are required: --target <TARGET>".to_owned(), None));
    }

    #[test]
    fn json_may_stand_anywhere_before_the_end_of_options() {
        let wants = |line: &str| wants_json(line.split(' ').map(OsString::from));
        assert!(wants("npu time --json") && wants("npu --json time"));
        assert!(!wants("npu time -- --json") && !wants("npu time --jsn"));
    }
}
