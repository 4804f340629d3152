//! The verb `npu conform`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::conform::{Report, conform};

use crate::answer::Answer;
use crate::candidates::target_names;
use crate::color::Mark;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{Cell, Column, Row, TableArgs, View, viewed};

/// Arguments of `npu conform`.
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// Target from `npu targets`
    #[arg(add = ArgValueCandidates::new(target_names))]
    pub target: String,
    /// Files, and folders that are searched
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
}

pub fn run(args: &ConformArgs) -> Result<Answer, Failure> {
    let view = args.view.view(&FILES)?;
    let report = conform(&args.target, &args.paths, context())?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.is_success()))
}

/// Columns of the table of files.
const FILES: [Column<'_>; 5] = [
    Column::left("file"),
    Column::right("passed").adds(),
    Column::right("failed").adds(),
    Column::right("skipped").adds(),
    Column::right("measured exactly").minor(1),
];

fn text(report: &Report, view: &View) -> String {
    let rows = report.files.iter().map(|file| {
        let exact = match file.measured {
            0 => Cell::default(),
            measured => Cell::figure(format!("{} of {measured}", file.exact), file.exact as f64),
        };
        let number = |number: usize| Cell::figure(number.to_string(), number as f64);
        let numbers = [file.passed, file.failed, file.skipped].map(number);
        let cells = std::iter::once(file.file.as_str().into()).chain(numbers).chain([exact]);
        Row::new(cells.collect(), (file.failed > 0).then_some(Mark::Fault))
    });
    let mut text = viewed(&FILES, rows, view);
    text.push('\n');
    text += &skips(report);
    text.extend(report.unrecognized.iter().map(|file| format!("not recognized: {file}\n")));
    for failure in &report.failures {
        let (expected, got) = (&failure.expected, &failure.got);
        text +=
            &format!("FAILED {}: {}\n  expected {expected}\n  got      {got}\n", failure.file, failure.case);
    }
    if report.files.is_empty() {
        text += "no file of a known format was found\n";
    }
    text.extend(report.exactness().map(|line| line + "\n"));
    text + &report.closing_line() + "\n"
}

/// Formats skipped vectors, which are many: one line per file and reason, with the first name;
/// `--json` has all.
fn skips(report: &Report) -> String {
    let mut groups: Vec<(&str, &str, &str, usize)> = Vec::new();
    for skip in &report.skips {
        match groups.last_mut() {
            Some((file, reason, _, count)) if *file == skip.file && *reason == skip.reason => *count += 1,
            _ => groups.push((&skip.file, &skip.reason, &skip.case, 1)),
        }
    }
    let line = |(file, reason, first, count): &(&str, &str, &str, usize)| match count {
        1 => format!("skipped {file}: {first}: {reason}\n"),
        _ => format!("skipped {file}: {first} and {} more: {reason}\n", count - 1),
    };
    groups.iter().map(line).collect()
}
