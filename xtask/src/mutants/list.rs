//! List of mutants: the output of `cargo mutants --list`, as configured in `.cargo/mutants.toml`.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Error;

/// A change of the code that a test should detect.
#[derive(Debug, Clone, Deserialize)]
pub struct Mutant {
    /// Place and description, for users.
    pub name: String,
    pub package: String,
    pub file: String,
    pub genre: Genre,
    pub replacement: String,
    function: Option<Function>,
    span: Span,
}

/// Function that the mutant changes.
#[derive(Debug, Clone, Deserialize)]
struct Function {
    return_type: String,
}

/// Kind of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
    /// An expression replaced by another one. [`super::defects`] lists these; tools do not.
    Expression,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Line and column, from 1, in characters.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Mutant {
    /// Creates a mutant that replaces an expression at a byte range of `source`.
    pub fn expression(
        (name, package, file): (String, String, String),
        (source, at): (&str, std::ops::Range<usize>),
        replacement: String,
    ) -> Self {
        let place = |at: usize| {
            let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
            let column = source[line..at].chars().count() + 1;
            Place { line: source[..at].matches('\n').count() + 1, column }
        };
        let span = Span { start: place(at.start), end: place(at.end) };
        Self { name, package, file, genre: Genre::Expression, replacement, function: None, span }
    }

    /// Whether it cannot be switched: a function that returns `impl Trait` returns one type only.
    pub fn is_alone(&self) -> bool {
        let opaque = |function: &Function| function.return_type.contains("impl ");
        self.genre == Genre::FnValue && self.function.as_ref().is_some_and(opaque)
    }

    /// Byte range in `source` that it replaces. `lines` are the offsets of the lines.
    pub fn bytes(&self, source: &str, lines: &[usize]) -> std::ops::Range<usize> {
        let byte = |place: Place| {
            let line = &source[lines[place.line - 1]..];
            let column = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
            lines[place.line - 1] + column
        };
        byte(self.span.start)..byte(self.span.end)
    }
}

#[cfg(test)]
impl Mutant {
    /// Creates a mutant in the first line of a file, at `columns` from 1.
    pub fn at(genre: Genre, columns: std::ops::Range<usize>, replacement: &str) -> Self {
        let place = |column| Place { line: 1, column };
        Self {
            name: String::new(),
            package: String::new(),
            file: String::new(),
            genre,
            replacement: replacement.to_owned(),
            function: None,
            span: Span { start: place(columns.start), end: place(columns.end) },
        }
    }
}

/// Returns the mutants that `arguments` of `cargo mutants` select.
///
/// # Errors
///
/// `cargo mutants` is not installed, rejects the arguments, or its output cannot be parsed.
pub fn list(root: &Path, arguments: &[String]) -> Result<Vec<Mutant>, Error> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["mutants", "--list", "--json"]).args(arguments);
    let name = "cargo mutants --list (`cargo install cargo-mutants --locked`)".to_owned();
    let output = command.output().map_err(|source| Error::Start { command: name.clone(), source })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Command { command: name, status: output.status, stderr });
    }
    if output.stdout.is_empty() {
        return Ok(Vec::new());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
