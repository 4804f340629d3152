//! The verb `npu man`: manual pages for the command, and for each verb.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;

use crate::answer::Answer;
use crate::args::OUTPUT;
use crate::disk::write_all;
use crate::examples;
use crate::failure::Failure;

/// Arguments of `npu man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, default_value = "man1")]
    pub output: PathBuf,
    /// Date on the pages; by default none
    #[arg(long, value_name = "YYYY-MM-DD", help_heading = OUTPUT, default_value = "", hide_default_value = true)]
    pub date: String,
}

pub fn run(args: &ManArgs, command: Command) -> Result<Answer, Failure> {
    let pages = pages(command, &args.date)?;
    let paths: Vec<PathBuf> = pages.iter().map(|(name, _)| args.output.join(name)).collect();
    let files: Vec<(PathBuf, &[u8])> =
        paths.iter().cloned().zip(pages.iter().map(|(_, page)| page.as_slice())).collect();
    write_all(&files)?;
    let artifacts: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let text = artifacts.iter().map(|path| format!("wrote {path}\n")).collect();
    Ok(Answer::new(text, &json!({ "artifacts": artifacts })))
}

/// Returns file names and pages, the command's own first.
fn pages(command: Command, date: &str) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| {
        let name = format!("npu-{}", verb.get_name());
        verb.clone().display_name(name)
    });
    std::iter::once(command.clone()).chain(verbs).map(|command| page(command, date)).collect()
}

fn page(command: Command, date: &str) -> Result<(String, Vec<u8>), Failure> {
    let examples = examples(command.get_name());
    // A manual page describes every option.
    let man = Man::new(command.mut_args(|arg| arg.hide_short_help(false))).date(date);
    let mut page = Vec::new();
    man.render(&mut page).map_err(Failure::Print)?;
    page.extend(examples.into_bytes());
    Ok((man.get_filename(), page))
}

/// Returns the last section of a verb's page.
fn examples(verb: &str) -> String {
    let examples = examples::of(verb);
    let mut roff = Roff::default();
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for (line, does) in examples {
        roff.control("TP", []);
        roff.text([bold(*line)]).text([roman(*does)]);
    }
    roff.to_roff()
}
