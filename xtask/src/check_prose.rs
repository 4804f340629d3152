//! `cargo xtask check-prose`: words and patterns that `WRITING.md` replaces, counted in comments,
//! messages and pages.
//!
//! - [`patterns`]: table of patterns, each with its rule and its exceptions;
//! - [`text`]: prose of a file: comments and strings of Rust, paragraphs of Markdown.
//!
//! `xtask/prose.toml` has a budget for each pattern and part of the repository; one that is absent
//! is 0. A count above its budget is a problem, and its lines are printed. `check-prose KEY` prints
//! all lines that a pattern matches, and `--lower` writes down the counts that fell.

mod patterns;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use patterns::{PATTERNS, Pattern};
use text::Passage;

use crate::budgets::lowered;
use crate::source::{SourceFile, source_files};
use crate::{Count, Error, files, root};

/// One line for the help.
pub const ABOUT: &str = "Counts words and patterns that WRITING.md replaces; a pattern's key lists its lines";

/// Counts by part of the repository, then by key of a pattern.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// Line that a pattern matches.
struct Match {
    part: String,
    key: &'static str,
    /// `path:line: text`.
    line: String,
}

/// Compares the repository with its budgets, lowers them, or lists the lines of a pattern.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let matches = matches(&source_files(&root())?)?;
    match arguments {
        [] => compare(&budgets()?, &matches),
        [flag] if flag == "--lower" => {
            let counts = counts(&matches);
            files::write(&path(), &lowered(&files::read(&path())?, |part, key| number(&counts, part, key)))
        }
        [key] if PATTERNS.iter().any(|pattern| pattern.key == key) => {
            let lines = matches.iter().filter(|found| found.key == key);
            lines.for_each(|found| println!("{}", found.line));
            Ok(())
        }
        [argument, ..] => Err(Error::Argument { chore: "check-prose", argument: argument.clone() }),
    }
}

fn path() -> PathBuf {
    root().join("xtask/prose.toml")
}

fn budgets() -> Result<Counts, Error> {
    toml::from_str(&files::read(&path())?).map_err(Error::Budgets)
}

/// All lines of `files` that match a pattern.
fn matches(files: &[SourceFile]) -> Result<Vec<Match>, Error> {
    let mut matches = Vec::new();
    for file in files {
        let Some(part) = part(&file.path) else { continue };
        for passage in text::passages(file)? {
            for pattern in PATTERNS.iter().filter(|pattern| pattern.matches(&passage)) {
                matches.push(found(file, part, pattern, &passage));
            }
        }
    }
    Ok(matches)
}

fn found(file: &SourceFile, part: &str, pattern: &Pattern, passage: &Passage) -> Match {
    let line = format!("{}:{}: {} ({})", file.path, passage.line, passage.text, pattern.rule);
    Match { part: part.to_owned(), key: pattern.key, line }
}

/// Part of the repository that a file belongs to: a package, a folder, or the root. `None` if its
/// prose is not checked.
///
/// Tables of facts (`SOURCES.md`, `tests/seeds`) quote other documents, and this chore's own table
/// quotes its matches.
fn part(path: &str) -> Option<&str> {
    let unchecked =
        ["/SOURCES.md", "tests/seeds/", "WRITING.md", "xtask/src/check_prose", "/proptest-regressions/"];
    if unchecked.iter().any(|name| path.contains(name)) {
        return None;
    }
    let depth = if path.starts_with("crates/") || path.starts_with("targets/") { 2 } else { 1 };
    let end = path.match_indices('/').nth(depth - 1);
    Some(end.map_or("root", |(end, _)| &path[..end]))
}

fn counts(matches: &[Match]) -> Counts {
    let mut counts = Counts::new();
    for Match { part, key, .. } in matches {
        *counts.entry(part.clone()).or_default().entry((*key).to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the number of a part and a pattern; 0 if absent.
fn number(counts: &Counts, part: &str, key: &str) -> usize {
    counts.get(part).and_then(|keys| keys.get(key)).map_or(0, |&count| count)
}

/// Prints what exceeds its budget, and the total.
fn compare(budgets: &Counts, matches: &[Match]) -> Result<(), Error> {
    let mut problems = 0;
    for (part, keys) in counts(matches) {
        for (key, count) in keys {
            let most = number(budgets, &part, &key);
            if count > most {
                problems += 1;
                let lines = matches.iter().filter(|found| found.part == part && found.key == key);
                lines.for_each(|found| println!("{}", found.line));
                println!("{part}: {count} matches of `{key}`, budget {most}");
            }
        }
    }
    if problems == 0 {
        println!("{} matches, all within their budgets", matches.len());
        return Ok(());
    }
    Err(Error::Found(Count(problems)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        matches(&[file])
            .expect("Rust")
            .into_iter()
            .map(|found| format!("{} {}", found.part, found.key))
            .collect()
    }

    #[test]
    fn packages_folders_and_the_root_are_parts() {
        let text = "It stands here.\n";
        assert_eq!(lines("README.md", text), ["root stand"]);
        assert_eq!(lines("docs/debug/a.md", text), ["docs stand"]);
        assert_eq!(lines("targets/tcu/README.md", text), ["targets/tcu stand"]);
        assert_eq!(lines("targets/tcu/SOURCES.md", text), [""; 0]);
    }

    #[test]
    fn comments_and_messages_of_rust_are_searched_and_names_are_not() {
        let text = "/// What it gives.\nfn stands() { f(\"x is no number\", \"beside\"); } // nobody knows\n";
        let expected = ["crates/a noun-first", "crates/a who", "crates/a is-no"];
        assert_eq!(lines("crates/a/src/lib.rs", text), expected);
    }

    #[test]
    fn right_uses_are_exceptions() {
        assert_eq!(lines("README.md", "`N` stands for a number; an else branch.\n"), [""; 0]);
    }
}
