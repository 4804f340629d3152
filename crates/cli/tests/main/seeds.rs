//! `tests/seeds/README.md`: every statement of the seed documents, and the command that shows it.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use npukit_shared::{needs, shared};

use super::npu::text;

#[path = "seeds/mutations.rs"]
mod mutations;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Folders that commands refer to.
const FOLDERS: [&str; 5] = ["crates", "docs", "examples", "targets", "tests"];
/// Minimum number of rows of all seeds together.
const LEAST: usize = 285;
/// Number of commands that run in parallel.
const THREADS: usize = 4;
/// Marker for omitted text between words of a line.
const GAP: char = '…';

/// Section of the document: a seed document.
#[derive(Debug)]
struct Seed {
    /// Start of the seed's file name, such as `000`.
    number: String,
    /// Prefix of the names of its rows, such as `tcu`.
    prefix: String,
    /// Lines of the seed without a statement, or with statements of other lines.
    silent: Vec<RangeInclusive<usize>>,
    rows: Vec<Row>,
}

/// Row with a statement.
#[derive(Debug)]
struct Row {
    id: String,
    lines: Vec<RangeInclusive<usize>>,
    command: Option<String>,
    /// Expected output; a line has all words between gaps, in order.
    prints: Vec<String>,
    status: i32,
    /// Whether the statement holds, and comments.
    holds: String,
}

/// Command, with files of the folder in which it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    command: String,
    files: Vec<(String, Vec<u8>)>,
}

/// Exit status and output of a command, with normalized white space.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    printed: String,
}

impl Row {
    /// Returns the command as written.
    fn run(&self) -> Option<Run> {
        Some(Run { command: self.command.clone()?, files: Vec::new() })
    }

    /// Returns why an outcome does not show the statement; `None` if it does.
    fn lacks(&self, outcome: &Outcome) -> Option<String> {
        if outcome.status != Some(self.status) {
            return Some(format!("ends with {:?}: {}", outcome.status, outcome.printed));
        }
        let wanted = self.prints.iter().find(|wanted| !outcome.has(wanted))?;
        Some(format!("does not print `{wanted}`"))
    }
}

impl Outcome {
    /// Whether a line has all words of `wanted`.
    fn has(&self, wanted: &str) -> bool {
        self.printed.lines().any(|line| is_in(line, wanted))
    }
}

/// Parses line numbers, such as `3, 7-9`.
fn ranges(text: &str) -> Vec<RangeInclusive<usize>> {
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is not a line number"));
    let range = |text: &str| match text.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(text)..=number(text),
    };
    text.split(',').map(range).collect()
}

/// Returns the texts between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the cells of a line of a table.
fn cells(line: &str) -> Vec<String> {
    const BAR: &str = "\u{1}";
    let line = line.replace("\\|", BAR);
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

fn row(line: &str) -> Row {
    let cells = cells(line);
    let [id, lines, _statement, command, prints, holds] = &cells[..] else {
        panic!("a row has six cells: {line}");
    };
    let status = prints.rsplit_once("exits ").map_or(0, |(_, status)| status.trim().parse().unwrap());
    let prints = quoted(prints);
    let command = quoted(command).into_iter().next();
    assert_eq!(command.is_none(), prints.is_empty(), "{id}: a command prints something");
    assert!(prints.iter().all(|wanted| !wanted.is_empty()), "{id}: `` has no meaning");
    Row { id: id.clone(), lines: ranges(lines), command, prints, status, holds: holds.clone() }
}

/// Returns the sections of the document, in order.
fn seeds() -> Vec<Seed> {
    let document = fs::read_to_string(Path::new(ROOT).join("tests/seeds/README.md")).unwrap();
    let mut seeds: Vec<Seed> = Vec::new();
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("## ").filter(|title| title.contains("(seed ")) {
            let number = title.split("(seed ").nth(1).unwrap().trim_end_matches(')').to_owned();
            seeds.push(Seed { number, prefix: String::new(), silent: Vec::new(), rows: Vec::new() });
        }
        let Some(seed) = seeds.last_mut() else { continue };
        if let Some(silent) = line.strip_prefix("Lines that state nothing: ") {
            seed.silent = ranges(silent.trim_end_matches('.'));
        }
        if line.starts_with("| ") && !line.starts_with("| id ") {
            let row = row(line);
            seed.prefix = row.id.rsplit_once('-').unwrap().0.to_owned();
            seed.rows.push(row);
        }
    }
    seeds
}

/// Creates a folder that looks like the repository, into which a command may write.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in FOLDERS {
        let source = Path::new(ROOT).join(name).canonicalize();
        if let Ok(source) = source {
            symlink(source, folder.path().join(name)).unwrap();
        }
    }
    folder
}

fn shell(run: &Run) -> Outcome {
    let folder = folder();
    for (name, bytes) in &run.files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let npu = PathBuf::from(env!("CARGO_BIN_EXE_npu"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", npu.parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &run.command]).current_dir(folder.path()).env("PATH", path);
    shell.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env_remove("NPU_TARGET").env_remove("RUST_LOG");
    let output = shell.output().unwrap();
    let printed = text(&output.stdout) + &text(&output.stderr);
    let printed = printed.lines().map(|line| spaced(line) + "\n").collect();
    Outcome { status: output.status.code(), printed }
}

fn spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line has all words of `wanted`, in order; the first must begin at the start of a word
/// or number.
fn is_in(line: &str, wanted: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        let is_inside = before.is_some_and(char::is_alphanumeric);
        !(is_inside && wanted.starts_with(char::is_alphanumeric))
    };
    let mut parts = wanted.split(GAP).map(spaced);
    let first = parts.next().unwrap_or_default();
    let rest: Vec<String> = parts.collect();
    line.match_indices(&first).filter(|(at, _)| begins(*at)).any(|(at, _)| {
        let mut behind = &line[at + first.len()..];
        rest.iter().all(|part| {
            let found = behind.find(part.as_str());
            behind = found.map_or("", |at| &behind[at + part.len()..]);
            found.is_some()
        })
    })
}

/// Runs commands, a few in parallel; returns their outcomes.
fn outcomes(runs: impl IntoIterator<Item = Run>) -> BTreeMap<Run, Outcome> {
    let runs: BTreeSet<Run> = runs.into_iter().collect();
    let (waiting, done) = (Mutex::new(runs.into_iter()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some(run) = waiting.lock().unwrap().next() else { break };
                    let outcome = shell(&run);
                    done.lock().unwrap().insert(run, outcome);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn every_statement_of_the_seeds_is_shown_by_its_command() {
    let seeds = seeds();
    let rows = || seeds.iter().flat_map(|seed| &seed.rows);
    let outcomes = outcomes(rows().filter_map(Row::run));
    let failure = |row: &Row| {
        let run = row.run()?;
        let lack = row.lacks(&outcomes[&run])?;
        Some(format!("{}: {}: {lack}", row.id, run.command))
    };
    let failures: Vec<String> = rows().filter_map(failure).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Names are the seed's prefix with consecutive numbers; a row without a command gives the reason.
#[test]
fn rows_of_the_seeds_have_names_and_say_whether_they_hold() {
    let seeds = seeds();
    let numbers: Vec<&str> = seeds.iter().map(|seed| seed.number.as_str()).collect();
    assert_eq!(numbers, ["000", "001", "002", "003", "004"]);
    let prefixes: BTreeSet<&str> = seeds.iter().map(|seed| seed.prefix.as_str()).collect();
    assert_eq!(prefixes.len(), seeds.len());
    for seed in &seeds {
        for (index, row) in seed.rows.iter().enumerate() {
            assert_eq!(row.id, format!("{}-{}", seed.prefix, index + 1));
            let is_known = ["holds", "does not hold: ", "not yet: ", "not ours: "]
                .iter()
                .any(|beginning| row.holds.starts_with(beginning));
            assert!(is_known, "{}: `{}`", row.id, row.holds);
            assert!(row.command.is_some() || !row.holds.starts_with("holds"), "{} shows nothing", row.id);
        }
    }
    let rows: usize = seeds.iter().map(|seed| seed.rows.len()).sum();
    assert!(rows >= LEAST, "{rows} rows");
}

/// Every non-empty line of a seed belongs to a row, or is listed as having no statement; rows only
/// refer to existing lines.
#[needs(NPUKIT_SHARED)]
#[test]
fn rows_cover_every_line_of_the_seeds() {
    let files: Vec<PathBuf> =
        fs::read_dir(shared("seeds")).unwrap().map(|file| file.unwrap().path()).collect();
    for seed in seeds() {
        let is_it = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&seed.number);
        let document = fs::read_to_string(files.iter().find(is_it).unwrap()).unwrap();
        let lines: Vec<&str> = document.lines().collect();
        let of_rows = seed.rows.iter().flat_map(|row| &row.lines);
        let covered: BTreeSet<usize> = of_rows.chain(&seed.silent).cloned().flatten().collect();
        assert!(covered.iter().all(|&line| (1..=lines.len()).contains(&line)), "seed {}", seed.number);
        let states = |&line: &usize| !lines[line - 1].trim_matches(['|', ' ']).is_empty();
        let bare: Vec<usize> =
            (1..=lines.len()).filter(states).filter(|line| !covered.contains(line)).collect();
        assert!(bare.is_empty(), "seed {}: no row is of lines {bare:?}", seed.number);
    }
}
