//! `cargo xtask check-deps`: rules of the code base that the compiler does not check.
//!
//! - [`ladder`]: a crate only depends on crates of lower lines (table in `ARCHITECTURE.md`);
//! - [`manifests`]: dependencies are declared once, in the root manifest, with a comment that
//!   justifies them;
//! - [`names`]: shared crates name neither accelerators nor their options, and targets do not name
//!   each other;
//! - [`unused`]: declared crates are used;
//! - [`sources`]: `unsafe` is only in `crates/numeric/src/simd`, and paths of a developer's
//!   computer do not occur;
//! - `docs/images/architecture.svg` is current ([`architecture`]);
//! - [`writers`]: code that writes files for other programs escapes names with a function of the
//!   format.

pub mod architecture;
mod ladder;
mod manifests;
mod metadata;
mod names;
mod sources;
mod unused;
mod writers;

use std::fmt;

use crate::source::{SourceFile, source_files};
use crate::{Count, Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Checks the dependency ladder, the manifests, names, `unsafe`, stray absolute paths and names in written files";

/// A violation of a rule, with its place.
#[derive(Debug, PartialEq)]
struct Problem {
    /// A file and line, or a crate.
    place: String,
    /// Description of the violation and the rule.
    message: String,
}

impl Problem {
    fn at_line(path: &str, line_index: usize, message: String) -> Self {
        Self { place: format!("{path}:{}", line_index + 1), message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Checks every rule and prints all violations.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "check-deps", argument: argument.clone() });
    }
    let edges = metadata::edges()?;
    let files = source_files(&root())?;
    for note in ladder::notes(&edges) {
        println!("note: {note}");
    }
    let mut problems = ladder::check(&edges);
    problems.extend(manifests::check(&files));
    problems.extend(unused::check(&files));
    problems.extend(names::check(&files));
    problems.extend(sources::check(&files));
    problems.extend(writers::check(&files));
    if !architecture::is_current(&edges)? {
        let message = "it does not show these dependencies; run `cargo xtask architecture`".to_owned();
        problems.push(Problem { place: architecture::PATH.to_owned(), message });
    }
    summarize(&problems, edges.len(), files.len())
}

fn summarize(problems: &[Problem], edges: usize, files: usize) -> Result<(), Error> {
    for problem in problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("{edges} dependency edges and {files} text files are in order");
        return Ok(());
    }
    Err(Error::Found(Count(problems.len())))
}
