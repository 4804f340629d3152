//! Runs `tests/filetests/**/*.txt`: input, commands and expected output in one file.
//!
//! A file begins with its commands, continues with the files they read, and ends with their output:
//!
//! ```text
//! ; RUN: npu asm p.s --target tcu:pynqz1 -o p.tprog
//! ; RUN: npu disasm p.tprog --target tcu:pynqz1
//! ; FILE: p.s
//! NoOp
//! ; OUT:
//! NoOp
//! ```
//!
//! Commands run in an empty folder with these files; `%root` is the repository's root. Standard
//! output, standard error and an exit status other than 0 are compared; seconds that a command took
//! are replaced by `*`. `NPUKIT_BLESS=1` writes the actual output into the file instead.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "a test reports differences")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::npu::command;
use crate::schemas;

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const RUN: &str = "; RUN: ";
const FILE: &str = "; FILE: ";
const OUT: &str = "; OUT:\n";

/// Parsed filetest.
#[derive(Debug, PartialEq)]
struct Case<'a> {
    /// Text before the expected output.
    head: &'a str,
    /// Commands without `npu`.
    runs: Vec<&'a str>,
    /// Names and contents of the files.
    files: Vec<(&'a str, String)>,
    expected: &'a str,
}

/// Parses the text of a filetest; the error names the missing part.
fn parse(text: &str) -> Result<Case<'_>, String> {
    let (head, expected) = text.split_once(OUT).ok_or("no line `; OUT:`")?;
    let mut case = Case { head, runs: Vec::new(), files: Vec::new(), expected };
    for line in head.lines() {
        if let Some(run) = line.strip_prefix(RUN) {
            let arguments = run.strip_prefix("npu").filter(|rest| rest.is_empty() || rest.starts_with(' '));
            case.runs.push(arguments.ok_or(format!("`{run}` does not begin with npu"))?.trim_start());
        } else if let Some(name) = line.strip_prefix(FILE) {
            case.files.push((name, String::new()));
        } else {
            let (_, content) = case.files.last_mut().ok_or(format!("`{line}` belongs to no `; FILE:`"))?;
            *content += &format!("{line}\n");
        }
    }
    if case.runs.is_empty() { Err("no line `; RUN: npu ...`".to_owned()) } else { Ok(case) }
}

/// Runs the commands of `case` in `folder` and returns their output; the error is a violation of a
/// JSON Schema.
fn run(case: &Case<'_>, folder: &Path) -> Result<String, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    for (name, content) in &case.files {
        fs::write(folder.join(name), content).unwrap();
    }
    case.runs.iter().map(|arguments| run_one(arguments, folder)).collect()
}

/// Runs a command without its `npu` and returns its output.
pub fn run_one(arguments: &str, folder: &Path) -> Result<String, String> {
    let words = arguments.split_whitespace().map(|argument| argument.replace("%root", ROOT));
    let output = command(folder).args(words).output().unwrap();
    let status = match output.status.code() {
        Some(0) => String::new(),
        code => format!("; exit status {}\n", code.map_or("none: killed".to_owned(), |c| c.to_string())),
    };
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    schemas::check_all(&printed[0]).map_err(|error| format!("{arguments}: {error}"))?;
    let text = without_seconds(&(printed.concat() + &status).replace(ROOT, "%root").replace("\r\n", "\n"));
    match text.lines().find(|line| has_column_after_root(line)) {
        Some(line) => {
            Err(format!("{arguments}: the width of a column is that of the checkout's path:\n{line}"))
        }
        None => Ok(text),
    }
}

/// Whether `%root` is in a column with others after it, whose place then follows from the
/// checkout's path.
fn has_column_after_root(line: &str) -> bool {
    line.split_once("%root").is_some_and(|(_, rest)| rest.trim_end().contains("  "))
}

/// Returns the text with the seconds that the command took, in a report, in JSON or in a log,
/// replaced by `*`.
fn without_seconds(text: &str) -> String {
    let line = |line: &str| {
        let is_timed = ["seconds ", "compile time ", "\"seconds\": "]
            .iter()
            .any(|label| line.trim_start().starts_with(label));
        // Default: a number without a unit, at the line's end.
        let end = [" s", ","].into_iter().find(|end| line.ends_with(end)).unwrap_or_default();
        let number = line[..line.len() - end.len()].rfind(' ').filter(|_| is_timed);
        match (number, line.split_once(" seconds=")) {
            (Some(space), _) => {
                format!("{} *{end}\n", &line[..space])
            }
            (None, Some((before, after))) => {
                let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
                format!("{before} seconds=*{rest}\n")
            }
            (None, None) => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Returns the lines that differ, without equal lines at both ends.
pub fn diff(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = |a: &mut dyn Iterator<Item = (&&str, &&str)>| a.take_while(|(x, y)| x == y).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let removed = old[head..old.len() - tail].iter().map(|line| format!("- {line}\n"));
    let added = new[head..new.len() - tail].iter().map(|line| format!("+ {line}\n"));
    format!(
        "from line {} of the output:\n{}{}",
        head + 1,
        removed.collect::<String>(),
        added.collect::<String>()
    )
}

/// Returns every filetest below `folder`, sorted.
fn find(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(find(&path));
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// Runs the filetest at `path`, or blesses it; the error is the difference.
fn check(path: &Path, scratch: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let case = parse(&text)?;
    let actual = run(&case, scratch)?;
    if actual == case.expected {
        return Ok(());
    }
    if std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1") {
        fs::write(path, format!("{}{OUT}{actual}", case.head)).unwrap();
        return Ok(());
    }
    Err(diff(case.expected, &actual))
}

#[test]
fn filetests() {
    let folder = Path::new(ROOT).join("tests/filetests");
    let paths = find(&folder);
    assert!(!paths.is_empty(), "no filetests in {}", folder.display());
    let mut failed = 0;
    for (i, path) in paths.iter().enumerate() {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filetests").join(i.to_string());
        if let Err(difference) = check(path, &scratch) {
            eprintln!("{}: {difference}", path.strip_prefix(&folder).unwrap().display());
            failed += 1;
        }
    }
    assert_eq!(failed, 0, "of {} filetests; NPUKIT_BLESS=1 accepts the actual output", paths.len());
}

#[test]
fn seconds_are_not_compared() {
    let text = "layers   1\nseconds  0.002\ncompile time  0.1 s\n  \"seconds\": 0.0013,\n12 seconds of audio\nINFO clock seconds=0.003 n=1\n";
    let expected = "layers   1\nseconds  *\ncompile time  * s\n  \"seconds\": *,\n12 seconds of audio\nINFO clock seconds=* n=1\n";
    assert_eq!(without_seconds(text), expected);
}

#[test]
fn a_filetest_has_commands_files_and_output() {
    let case = parse("; RUN: npu asm a.s\n; FILE: a.s\nNoOp\n; FILE: b\n; OUT:\nx\n").unwrap();
    assert_eq!(case.runs, ["asm a.s"]);
    assert_eq!(case.files, [("a.s", "NoOp\n".to_owned()), ("b", String::new())]);
    assert_eq!(case.expected, "x\n");
}

#[test]
fn a_malformed_filetest_says_why() {
    for (text, why) in [
        ("; RUN: npu isa\n", "no line `; OUT:`"),
        ("; OUT:\n", "no line `; RUN: npu ...`"),
        ("; RUN: rm x\n; OUT:\n", "`rm x` does not begin with npu"),
        ("; RUN: npu isa\nstray\n; OUT:\n", "`stray` belongs to no `; FILE:`"),
    ] {
        assert_eq!(parse(text), Err(why.to_owned()));
    }
}

#[test]
fn a_difference_shows_only_what_differs() {
    assert_eq!(diff("a\nb\nc\n", "a\nx\ny\nc\n"), "from line 2 of the output:\n- b\n+ x\n+ y\n");
    assert_eq!(diff("a\n", "a\nb\n"), "from line 2 of the output:\n+ b\n");
}
