//! The verb `npu host`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::report::{HostAccess, HostAnswer, HostBits, HostCompletion, HostPlace, HostRegister, HostWord};
use npukit::verbs::host::{Question, Report, host};

use crate::answer::Answer;
use crate::args::{MODEL, OUTPUT, TARGET};
use crate::candidates::targets;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{Column, counted, facts, table, thousands};
use crate::text::remarks;

/// Arguments of `npu host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Question about the host's side
    #[arg(value_enum)]
    pub what: HostQuestion,
    /// Commands in text or words, status words, or a program
    #[arg(required_if_eq_any([("what", "commands"), ("what", "status"), ("what", "accesses"), ("what", "answers")]))]
    pub file: Option<String>,
    /// Description of the language model that answers; by default the embedded adder
    #[arg(long, value_name = "MODEL.toml", help_heading = MODEL)]
    pub model: Option<String>,
    /// First address of the driver's memory
    #[arg(long, value_name = "ADDRESS", help_heading = TARGET, value_parser = address, default_value = "0x10000000")]
    pub base: u64,
    /// File for the converted form: words of a text, text of words, status of answers
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

/// Questions about the host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostQuestion {
    /// Registers, and the bits of words
    Map,
    /// Convert a stream of commands: text to words, or words to text
    Commands,
    /// Decode status words
    Status,
    /// Accesses of a driver that runs an assembly or binary program, and how it detects completion
    Accesses,
    /// Answers of the device to commands
    Answers,
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| "must be an address, as 0x10000000".to_owned())
}

pub fn run(args: &HostArgs) -> Result<Answer, Failure> {
    // Default: the parser requires a file where one is needed.
    let path = args.file.clone().unwrap_or_default();
    let question = match args.what {
        HostQuestion::Map => Question::Map,
        HostQuestion::Commands => Question::Commands { path },
        HostQuestion::Status => Question::Statuses { path },
        HostQuestion::Accesses => Question::Accesses { path, base: args.base },
        HostQuestion::Answers => Question::Answers { path, model: args.model.clone() },
    };
    let (report, bytes) = host(&args.target, &question, context())?;
    let mut text = text(&report);
    if let Some(path) = &args.output {
        write_all(&[(path.clone(), &bytes[..])])?;
        text = format!("{}, wrote {}\n", counted(bytes.len() as u64, "byte"), path.display());
    }
    let is_good = report.problems.is_empty() && report.answers.iter().all(|answer| answer.error.is_none());
    let problems: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    Ok(Answer::new(text, &report)
        .with_notes(remarks(&[], &report.warnings) + &problems)
        .with_success(is_good))
}

fn text(report: &Report) -> String {
    let mut parts = vec![
        registers(report.base.unwrap_or(0), &report.registers), // Default: not shown without registers.
        bits(&report.bits),
        words(&report.words),
        places(&report.places),
        accesses(&report.accesses),
        completions(&report.completions),
        answers(&report.answers),
    ];
    parts.extend(report.cycles.map(|cycles| facts([("cycles", thousands(cycles))])));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Formats a table, or nothing if there are no rows.
fn of_rows<T>(columns: &[Column<'_>], all: &[T], row: impl Fn(&T) -> Vec<String>) -> String {
    if all.is_empty() { String::new() } else { table(columns, all.iter().map(row)) }
}

fn registers(base: u64, all: &[HostRegister]) -> String {
    let columns = [
        Column::left("address"),
        Column::left("page"),
        Column::left("register"),
        Column::left("access"),
        Column::text("meaning"),
    ];
    of_rows(&columns, all, |register| {
        let HostRegister { page, offset, name, access, meaning, .. } = register;
        let address = format!("{:#x}", base + offset);
        vec![address, page.clone(), name.clone(), access.clone(), meaning.clone()]
    })
}

fn bits(all: &[HostBits]) -> String {
    let columns = [Column::left("word"), Column::left("bits"), Column::text("meaning")];
    of_rows(&columns, all, |part| vec![part.word.clone(), part.bits.clone(), part.meaning.clone()])
}

fn words(all: &[HostWord]) -> String {
    of_rows(&[Column::left("word"), Column::text("is")], all, |word| {
        vec![word.word.clone(), word.text.clone()]
    })
}

fn places(all: &[HostPlace]) -> String {
    let columns = [Column::left("address"), Column::right("bytes"), Column::text("host memory")];
    of_rows(&columns, all, |place| {
        vec![format!("{:#x}", place.address), thousands(place.bytes), place.name.clone()]
    })
}

fn accesses(all: &[HostAccess]) -> String {
    let columns = [
        Column::right("instruction"),
        Column::left("access"),
        Column::left("address"),
        Column::left("value"),
        Column::text("meaning"),
    ];
    of_rows(&columns, all, |access| {
        let instruction = access.instruction.map_or_else(String::new, |index| index.to_string());
        let what = format!("{}{}", if access.is_write { "write" } else { "read" }, access.bits);
        let value = match &access.mask {
            Some(mask) => format!("{} of {mask}", access.value),
            None => access.value.clone(),
        };
        vec![instruction, what, format!("{:#x}", access.address), value, access.meaning.clone()]
    })
}

fn completions(all: &[HostCompletion]) -> String {
    let columns = [
        Column::right("instruction"),
        Column::left("name"),
        Column::left("async"),
        Column::right("start"),
        Column::right("end"),
        Column::right("access"),
        Column::text("shown by"),
    ];
    of_rows(&columns, all, |one| {
        vec![
            one.instruction.to_string(),
            one.name.clone(),
            if one.is_async { "async".to_owned() } else { String::new() },
            thousands(one.start),
            thousands(one.end),
            one.access.map_or_else(String::new, |access| access.to_string()),
            one.signal.clone(),
        ]
    })
}

fn answers(all: &[HostAnswer]) -> String {
    let columns =
        [Column::text("command"), Column::left("status"), Column::right("cycles"), Column::text("says")];
    of_rows(&columns, all, |answer| {
        let cycles = answer.cycles.map_or_else(String::new, thousands);
        let says = match &answer.error {
            Some(error) => format!("{}: {error}", answer.text),
            None => answer.text.clone(),
        };
        vec![answer.command.clone(), answer.status.clone(), cycles, says]
    })
}
