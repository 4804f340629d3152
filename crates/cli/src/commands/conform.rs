//! `npu conform`

use npukit::verbs::conform::{Report, conform};

use super::context;
use crate::answer::Answer;
use crate::args::ConformArgs;
use crate::failure::Failure;
use crate::table::{Column, table};

pub fn run(args: &ConformArgs) -> Result<Answer, Failure> {
    let report = conform(&args.target, &args.paths, context())?;
    Ok(Answer::new(text(&report), &report).with_success(report.is_success()))
}

fn text(report: &Report) -> String {
    let rows = report.files.iter().map(|file| {
        let numbers = [file.passed, file.failed, file.skipped];
        let exact =
            if file.measured == 0 { String::new() } else { format!("{} of {}", file.exact, file.measured) };
        std::iter::once(file.file.clone()).chain(numbers.map(|n| n.to_string())).chain([exact]).collect()
    });
    let columns = [
        Column::Left("file"),
        Column::Right("passed"),
        Column::Right("failed"),
        Column::Right("skipped"),
        Column::Right("measured exactly"),
    ];
    let mut text = table(&columns, rows);
    text.push('\n');
    text += &skips(report);
    text.extend(report.unrecognised.iter().map(|file| format!("not recognised: {file}\n")));
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

/// Names of skipped vectors are many: a line a file and reason, with the first name; `--json` has all.
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
