//! Front page: the output of `npu` alone, with verbs grouped by purpose; `npu help --all` prints
//! all verbs.

use std::fmt::Write;

use clap::builder::styling::Style;
use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use crate::args::GLOBAL;
use crate::cli;
use crate::examples::FIRST;

/// Verbs by purpose. All other verbs, for programs and for developers of npukit, are listed by `npu
/// help --all`.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["demo", "zoo", "targets", "explain"]),
    (
        "Your network",
        &[
            "check", "run", "time", "compile", "report", "explore", "verify", "generate", "serve", "embed",
            "diff",
        ],
    ),
    ("Programs", &["asm", "disasm", "debug", "lint", "format", "isa"]),
    ("Hardware", &["rtl", "build", "cosim"]),
];

/// Name of the group of all other verbs in `npu help --all`.
const REST: &str = "The rest";

/// Returns the command line with the front page as its help, and the verb `help`.
pub fn command() -> Command {
    let command = cli::command();
    let page = page(&command, false);
    let verb = Arg::new("command").value_name("COMMAND").help("Command to explain");
    let help = Command::new("help")
        .about("Print this page, or the help of a command")
        .arg(Arg::new("all").long("all").action(ArgAction::SetTrue).help("List every command"))
        .arg(verb.add(ArgValueCandidates::new(verbs)));
    command.disable_help_subcommand(true).help_template(page).subcommand(help)
}

/// Returns all verbs except older names, for shells.
fn verbs() -> Vec<CompletionCandidate> {
    let command = cli::command();
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| CompletionCandidate::new(verb.get_name())).collect()
}

/// Returns the arguments that print the requested help; with `--all` an overview of every verb.
pub fn asked(command: &mut Command, help: &ArgMatches) -> Vec<String> {
    if help.get_flag("all") {
        let all = page(command, true);
        *command = std::mem::take(command).help_template(all);
    }
    match help.get_one::<String>("command") {
        Some(verb) => vec!["npu".to_owned(), verb.clone(), "--help".to_owned()],
        None => vec!["npu".to_owned(), "-h".to_owned()],
    }
}

/// Formats the verbs by group, examples, and a first step.
fn page(command: &Command, has_rest: bool) -> String {
    let header = *command.get_styles().get_header();
    let mut page = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    for (heading, verbs) in GROUPS {
        let verbs = verbs.iter().filter_map(|name| command.find_subcommand(name));
        add(&mut page, header, heading, verbs);
    }
    let is_shown = |name: &str| name == "help" || GROUPS.iter().any(|(_, verbs)| verbs.contains(&name));
    if has_rest {
        let rest = command.get_subcommands().filter(|verb| !verb.is_hide_set() && !is_shown(verb.get_name()));
        add(&mut page, header, REST, rest);
    }
    let width = FIRST.iter().fold(0, |width, (line, _)| line.len().max(width));
    let _ = write!(page, "\n{header}Examples:{header:#}\n");
    for (line, asks) in FIRST {
        let _ = writeln!(page, "  {line:width$}  {asks}");
    }
    let _ = write!(page, "\n{header}{GLOBAL}:{header:#}\n{{options}}\n\n");
    page + "New here? `npu demo`. All commands: `npu help --all`; one of them: `npu help run`.\n"
}

/// Adds a group, with one verb per line.
fn add<'a>(page: &mut String, header: Style, heading: &str, verbs: impl Iterator<Item = &'a Command>) {
    let _ = write!(page, "\n{header}{heading}:{header:#}\n");
    for verb in verbs {
        // Default: every verb has a description.
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "  {:<12}{about}", verb.get_name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each verb is in one group, or in the rest.
    #[test]
    fn groups_name_verbs() {
        let command = cli::command();
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        assert!(named.iter().all(|name| command.find_subcommand(name).is_some()), "{named:?}");
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), count);
    }
}
