//! Builds a crate with its mutants, and removes mutants that do not compile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::tree::Added;
use crate::Error;

/// A line of cargo's output with `--message-format json`.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    message: Option<Diagnostic>,
    #[serde(default)]
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    spans: Vec<DiagnosticSpan>,
    #[serde(default)]
    children: Vec<Diagnostic>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    #[serde(default)]
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: DiagnosticSpan,
}

/// Build target of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Only a check of the library.
    Check,
    /// Test binaries.
    Tests,
    /// An example of this name.
    Example(&'static str),
}

impl Wanted {
    fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::Check => vec!["check", "--quiet"],
            Self::Tests => vec!["test", "--no-run", "--quiet"],
            Self::Example(name) => vec!["build", "--quiet", "--keep-going", "--example", name],
        }
    }
}

/// Result of a build.
pub enum Build {
    /// Paths of the binaries.
    Binaries(Vec<PathBuf>),
    /// Numbers of mutants that do not compile.
    Unviable(BTreeSet<usize>),
}

/// Builds the wanted target of `package`.
pub fn build(
    tree: &Path,
    target: &Path,
    package: &str,
    added: &Added,
    wanted: Wanted,
) -> Result<Build, Error> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(tree).env("CARGO_TARGET_DIR", target).env("RUSTC_BOOTSTRAP", "1");
    command.args(wanted.arguments()).args(["--profile", "mutants", "--message-format", "json"]);
    command.args(["--package", package]);
    let name = format!("cargo {} --package {package}", wanted.arguments()[0]);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|source| Error::Start { command: name.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if output.status.success() {
        return Ok(Build::Binaries(lines.into_iter().filter_map(|line| line.executable).collect()));
    }
    let errors: Vec<Diagnostic> = lines
        .into_iter()
        .filter_map(|line| line.message)
        .filter(|message| message.level == "error")
        .collect();
    let unviable: BTreeSet<usize> = errors.iter().flat_map(|error| guilty(error, added)).collect();
    if unviable.is_empty() {
        let stderr = errors.into_iter().filter_map(|error| error.rendered).collect();
        return Err(Error::Command { command: name, status: output.status, stderr });
    }
    Ok(Build::Unviable(unviable))
}

/// Mutants that contain an error: in its primary spans, otherwise in any of its spans, otherwise
/// between them. For a `match` without an arm, rustc reports its beginning and the position of the
/// missing arm.
fn guilty(error: &Diagnostic, added: &Added) -> BTreeSet<usize> {
    let primary: BTreeSet<usize> =
        error.spans.iter().filter(|span| span.is_primary).filter_map(|span| owner(span, added)).collect();
    if !primary.is_empty() {
        return primary;
    }
    let mut all: BTreeSet<usize> = error.spans.iter().filter_map(|span| owner(span, added)).collect();
    for child in &error.children {
        all.extend(child.spans.iter().filter_map(|span| owner(span, added)));
    }
    if all.is_empty() { between(error, added) } else { all }
}

/// Mutants between the first and the last span of an error, in the file of the first one.
fn between(error: &Diagnostic, added: &Added) -> BTreeSet<usize> {
    let Some(first) = error.spans.first() else { return BTreeSet::new() };
    let places = error.spans.iter().chain(error.children.iter().flat_map(|child| &child.spans));
    let places: Vec<_> = places.filter(|span| span.file_name == first.file_name).collect();
    let start = places.iter().map(|span| span.byte_start).min().unwrap_or(first.byte_start);
    let end = places.iter().map(|span| span.byte_end).max().unwrap_or(first.byte_end);
    let here = added.get(&first.file_name).into_iter().flatten();
    here.filter(|(range, _)| range.start < end && start < range.end).map(|(_, number)| *number).collect()
}

/// Mutant whose text contains a span, or the span from which it was expanded.
fn owner(span: &DiagnosticSpan, added: &Added) -> Option<usize> {
    let here = added.get(&span.file_name).and_then(|added| {
        added
            .iter()
            .filter(|(range, _)| range.start <= span.byte_start && span.byte_end <= range.end)
            .min_by_key(|(range, _)| range.len())
    });
    here.map(|(_, number)| *number).or_else(|| owner(&span.expansion.as_ref()?.span, added))
}
