//! The `npu` command: arguments, files, printing, exit status. Its functions are in the `npukit`
//! crate.
//!
//! Status 0 is success; 1 means that an input or the result has errors; 2 means that the command
//! line has errors, or the settings that complete it.

mod answer;
mod args;
mod cache;
mod candidates;
mod chosen;
mod cli;
mod color;
mod commands;
mod disk;
mod editor;
mod endings;
mod examples;
mod failure;
mod front;
mod log;
mod observe;
mod options;
mod parts;
mod printable;
mod programs;
mod progress;
mod requests;
mod settings;
mod standard_input;
mod table;
mod text;
mod timings;
mod usage;
mod verbosity;
mod verilator;
mod watch;
mod workshop;

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use answer::Answer;
use clap::{ArgMatches, Command, FromArgMatches};
use cli::Cli;
use color::paint;
use failure::Failure;
use front::command;
use printable::{json, printable};
use serde_json::Value;
use settings::Settings;
use table::Screen;

/// Exit status for errors in an input or the result.
const AT_FAULT: u8 = 1;
/// Exit status for errors in the command line.
const USAGE: u8 = 2;

pub use editor::Editor;
pub use parts::{Parts, Serve, ServeSettings, Terminal};

/// Executes the arguments of this process. If `parts` are absent, the program that contains them is
/// started when needed.
pub fn main(parts: Option<&Parts>) -> ExitCode {
    commands::complete(command);
    color::set(color::of(env::args_os()));
    let mut command = usage::uncolored(with_options_in_help(command()), env::args_os());
    let matches = match parse(&mut command) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    if let Err(error) = standard_input::check(&mut command, &matches) {
        return usage(&error);
    }
    let json = matches.get_flag("json");
    let matches = match completed(matches) {
        Ok(matches) => matches,
        Err(failure) => return fail(json, failure),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(error) = cli.verbosity.settle(&mut command) {
        return usage(&error);
    }
    Screen::set(cli.width);
    cache::set(cli.no_cache);
    color::set(cli.color);
    let watch = observe::watch(&cli);
    let result = commands::run(&cli, parts, &watch);
    watch.end();
    match result {
        Ok(answer) => finish(&cli, verb(&cli, &matches), observe::timed(&cli, answer, &watch)),
        Err(failure) => fail(json, failure),
    }
}

/// Restricts the help to the options of the target that the command line or the settings name.
fn with_options_in_help(command: Command) -> Command {
    if !usage::wants_help(env::args_os()) {
        return command;
    }
    let target = match usage::target(env::args_os()) {
        Some(spec) => settings::accelerator(&spec),
        // Invalid settings are reported by the verbs, and not by their help.
        None => Settings::read(&command).ok().and_then(|settings| settings.accelerator()),
    };
    options::in_help_of(command, target)
}

/// Parses the command line. A verb is required, unless the version is requested. Without any
/// argument, the front page is printed.
fn parse(command: &mut Command) -> Result<ArgMatches, clap::Error> {
    if env::args_os().len() <= 1 {
        return command.try_get_matches_from_mut(["npu", "-h"]);
    }
    let matches = command.try_get_matches_from_mut(env::args_os());
    let matches = matches.map_err(|error| usage::with_tip(error, command, env::args_os()))?;
    if let Some(("help", help)) = matches.subcommand() {
        let asked = front::asked(command, help);
        return command.try_get_matches_from_mut(asked);
    }
    if matches.subcommand().is_some() || matches.get_flag("version") {
        return Ok(matches);
    }
    command.clone().subcommand_required(true).try_get_matches_from(env::args_os())
}

/// Completes the command line from the settings. The version needs none.
fn completed(matches: ArgMatches) -> Result<ArgMatches, Failure> {
    if matches.get_flag("version") {
        return Ok(matches);
    }
    Settings::read(&command())?.complete(command(), matches)
}

/// Returns the verb that was called.
fn verb<'a>(cli: &Cli, matches: &'a ArgMatches) -> Option<&'a str> {
    if cli.version { Some("version") } else { matches.subcommand_name() }
}

/// Handles an error of the parser. Help is not an error.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && usage::wants_json(env::args_os()) {
        // The error is printed to standard error in any case.
        let _ = print(&json(&with_schema(usage::json(error), Some("error"))));
    }
    // If the terminal is gone, the error cannot be reported.
    let _ = usage::print(error);
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

fn finish(cli: &Cli, verb: Option<&str>, answer: Answer) -> ExitCode {
    // If a file was written to standard output, no report can follow.
    let has_room = !disk::is_taken();
    let has_colors = if has_room { color::is_on(&io::stdout()) } else { color::is_on(&io::stderr()) };
    let text = match (cli.json, answer.is_data) {
        (true, _) => json(&with_schema(answer.json, verb)),
        // Data in a pipe is read by another program.
        (false, true) if !io::stdout().is_terminal() => answer.text,
        (false, true) => printable(&answer.text).into_owned(),
        (false, false) => paint(&answer.text, has_colors),
    };
    if !(cli.verbosity.quiet && answer.success) {
        // Notes are lost if standard error is closed; the status still reports the result.
        let notes = paint(&answer.notes, color::is_on(&io::stderr()));
        let _ = io::stderr().lock().write_all(notes.as_bytes());
    }
    let printed = if has_room { print(&text) } else { io::stderr().lock().write_all(text.as_bytes()) };
    match (printed, answer.success) {
        (Err(error), _) => complain(&Failure::Print(error)),
        (Ok(()), true) => ExitCode::SUCCESS,
        (Ok(()), false) => ExitCode::from(AT_FAULT),
    }
}

fn fail(in_json: bool, failure: Failure) -> ExitCode {
    if in_json && !disk::is_taken() {
        // The error is printed to standard error in any case.
        let _ = print(&json(&with_schema(failure.json(), Some("error"))));
    }
    complain(&failure)
}

/// Adds the keys `schema`, the verb and the version of its report. The version increases when a key
/// changes its meaning or is removed.
fn with_schema(mut report: Value, verb: Option<&str>) -> Value {
    debug_assert!(report.is_object() && verb.is_some(), "a report is an object and belongs to a verb");
    if let (Some(fields), Some(verb)) = (report.as_object_mut(), verb) {
        fields.insert("schema".to_owned(), format!("npukit.{verb}/1").into());
    }
    report
}

/// Writes to standard output; a closed pipe is not an error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn complain(failure: &Failure) -> ExitCode {
    // Colors are control characters: if there are others, the message is printed without color.
    let plain = rendered(failure, miette::GraphicalTheme::none(), false);
    let text = match printable(&plain) {
        Cow::Borrowed(_) => rendered(failure, theme(), color::is_on(&io::stderr())),
        Cow::Owned(escaped) => escaped,
    };
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::from(if failure.is_usage() { USAGE } else { AT_FAULT })
}

fn rendered(failure: &Failure, theme: miette::GraphicalTheme, has_colors: bool) -> String {
    if let Some(report) = failure.refusal() {
        return paint(&commands::refusal(report), has_colors);
    }
    // The message is below the report that it refers to.
    let proof = failure.proof().map(|report| paint(&commands::proof(report), has_colors) + "\n");
    let mut text = proof.unwrap_or_default(); // Default: no proof.
    // A command for copying must stay on its line.
    let wraps = !matches!(failure, Failure::Verb(npukit::Error::ForeignModel { .. }));
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_wrap_lines(wraps);
    let handler = match Screen::current().width {
        Some(width) => handler.with_width(width),
        None => handler,
    };
    if handler.render_report(&mut text, failure).is_err() {
        text = format!("{failure}\n");
    }
    text
}

/// Returns the theme: lines on a terminal, color if requested, plain text elsewhere.
fn theme() -> miette::GraphicalTheme {
    let out = io::stderr();
    match (color::is_on(&out), out.is_terminal()) {
        (true, _) => miette::GraphicalTheme::unicode(),
        (false, true) => miette::GraphicalTheme::unicode_nocolor(),
        (false, false) => miette::GraphicalTheme::none(),
    }
}
