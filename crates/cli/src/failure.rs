//! [`Failure`]: the reasons why a command fails.

use std::path::PathBuf;
use std::{fmt, io};

use npukit::report::ErrorLocation;
use npukit::verbs::check::Report;
use npukit::{Diagnostic, codes, described, suggestion};
use serde_json::Value;

/// Reason why a command fails.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    /// The verb failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Verb(#[from] npukit::Error),
    /// A file could not be written.
    #[error("cannot write `{path}`: {aftermath}")]
    Write {
        /// Path of the file or folder.
        path: String,
        /// Files that were written nevertheless.
        aftermath: Aftermath,
        /// Error of the system.
        source: io::Error,
    },
    /// An output is a file that the command reads.
    #[error("`{path}` is an input of this command, read as `{input}`, and would be overwritten")]
    #[diagnostic(help("name another file for the output; nothing was written"))]
    SameFile {
        /// Path of the output.
        path: String,
        /// Path of the input.
        input: String,
    },
    /// Two outputs are the same file.
    #[error("`{path}` and `{other}` are the same file, but both would be written")]
    #[diagnostic(help("name another file for one of them; nothing was written"))]
    SameOutput {
        /// Path of an output.
        path: String,
        /// Path of the other output.
        other: String,
    },
    /// A file that the command would replace was changed after npukit wrote it.
    #[error("`{path}` was changed after npukit wrote it")]
    #[diagnostic(help(
        "`-o DIR` writes to another folder, `--force` replaces the file; nothing was written"
    ))]
    Changed {
        /// Path of the file.
        path: String,
    },
    /// A file with the name that the command chose would be lost.
    #[error("`{path}` exists with other contents")]
    #[diagnostic(help("name another file for the output with `-o`; nothing was written"))]
    Foreign {
        /// Path of the file.
        path: String,
    },
    /// A table does not have a column.
    #[error("there is no column `{name}`{meant}; columns are {legal}")]
    Column {
        /// Name as given.
        name: String,
        /// Suggestion for a similar name.
        meant: String,
        /// Names of the table's columns.
        legal: String,
    },
    /// The program has no such data to dump.
    #[error("`--dump {text}` names neither a file nor a memory range")]
    #[diagnostic(help(
        "for a model give one `FILE.npz`; for an assembly or binary program `NAME[A:B]`, as `acc[0:4]`, or `NAME[A:B]=FILE`"
    ))]
    Dump {
        /// Value as given.
        text: String,
    },
    /// `npu bench accuracy` has no networks.
    #[error("`npu bench accuracy` needs the folder of the networks")]
    #[diagnostic(help(
        "give it with --models DIR: the `.tflite` files of MLPerf Tiny, as `ic_resnet8_int8.tflite`"
    ))]
    NoModels,
    /// A setting is not known to any verb.
    #[error("{place}: {reason}")]
    Setting {
        /// Location of the setting.
        place: String,
        /// Description of the error.
        reason: String,
    },
    /// The target in the settings does not exist.
    #[error("the target of {place} cannot be used")]
    #[diagnostic(forward(source))]
    TargetSetting {
        /// Location of the setting.
        place: String,
        /// Error of the target.
        source: Box<npukit::Error>,
    },
    /// Lines of a debugger script are not commands.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Script(#[from] npukit_debug::ScriptError),
    /// The debugger lacks something that it needs.
    #[error("{reason}")]
    Debugger {
        /// Description of the missing or failed part.
        reason: String,
    },
    /// A language model cannot be served.
    #[error("{reason}")]
    Serve {
        /// Description of the missing or failed part.
        reason: String,
    },
    /// The answer cannot be written to standard output.
    #[error("cannot print")]
    Print(#[source] io::Error),
    /// The editor disconnected, or violates the protocol.
    #[error("the session with the editor failed")]
    Editor(#[source] Box<dyn std::error::Error + Send + Sync>),
}

codes!(Failure {
    Write = "not-written": "a file cannot be written; no other file was written either, unless the message lists it";
    SameFile = "same-file": "an output is a file that the command reads";
    SameOutput = "same-output": "two outputs are the same file";
    Changed = "changed-file": "a file of a circuit was changed after npukit wrote it, and `--force` is not given";
    Foreign = "foreign-file": "a file with the name that a command chose has other contents, which would be lost";
    NoModels = "no-models": "an accuracy table is asked for without its networks";
    Dump = "invalid-dump": "the value of `--dump` names neither a file nor a memory range";
    Column = "unknown-column": "a column of `--columns` or `--sort` is not in the table";
    Setting = "invalid-setting": "a setting of npu.toml is not known to any verb";
    TargetSetting = "invalid-target-setting": "the target of npu.toml or `NPU_TARGET` cannot be used";
    Script = "invalid-script": "a line of a debugger script is not a command";
    Debugger = "no-debugger": "a debugger cannot work as requested, or lost its connection";
    Serve = "not-served": "a language model cannot be served: its address cannot be used, or a program is missing";
    Print = "not-printed": "the answer cannot be written to standard output";
    Editor = "editor-failed": "an editor disconnected without notice, or violates the language server protocol";
} carries { Verb.0 });

impl Failure {
    /// Creates the error of an invalid setting at `place`.
    pub fn setting(place: &str, reason: impl Into<String>) -> Self {
        Self::Setting { place: place.to_owned(), reason: reason.into() }
    }

    /// Creates the error that a table has no column `name`; `legal` are its columns.
    pub fn column(name: &str, legal: &[String]) -> Self {
        let meant = suggestion(name, legal.iter().map(String::as_str));
        Self::Column { name: name.to_owned(), meant, legal: legal.join(", ") }
    }

    /// Whether the command line caused the failure.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Verb(error) => error.is_usage(),
            Self::SameFile { .. }
            | Self::SameOutput { .. }
            | Self::Changed { .. }
            | Self::Foreign { .. }
            | Self::Column { .. }
            | Self::Dump { .. }
            | Self::NoModels
            | Self::Setting { .. } => true,
            Self::TargetSetting { source, .. } => source.is_usage(),
            Self::Write { .. }
            | Self::Print(_)
            | Self::Script(_)
            | Self::Debugger { .. }
            | Self::Serve { .. }
            | Self::Editor(_) => false,
        }
    }

    /// Returns all diagnostics, one for each fault.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let one =
            |path: &str| vec![Diagnostic::of(npukit::Coded::code(self), self).at(ErrorLocation::file(path))];
        match self {
            Self::Verb(error) => error.diagnostics(),
            Self::Write { path, .. }
            | Self::SameFile { path, .. }
            | Self::SameOutput { path, .. }
            | Self::Changed { path }
            | Self::Foreign { path } => one(path),
            Self::Column { .. }
            | Self::Dump { .. }
            | Self::NoModels
            | Self::Setting { .. }
            | Self::TargetSetting { .. }
            | Self::Script(_)
            | Self::Debugger { .. }
            | Self::Serve { .. }
            | Self::Print(_)
            | Self::Editor(_) => {
                vec![Diagnostic::of(npukit::Coded::code(self), self)]
            }
        }
    }

    /// Returns the JSON report: the message and its causes, all diagnostics, and for an unsupported
    /// model the report of `npu check`.
    pub fn json(&self) -> Value {
        match self {
            Self::Verb(error) => error.json(),
            other => described(other, &other.diagnostics()),
        }
    }

    /// Returns the problems of an unsupported model.
    pub fn refusal(&self) -> Option<&Report> {
        match self {
            Self::Verb(npukit::Error::Refused { report }) => Some(report),
            _ => None,
        }
    }

    /// Returns the report of a program that could not be proved.
    pub fn proof(&self) -> Option<&npukit::verbs::verify::Report> {
        match self {
            Self::Verb(npukit::Error::NotProved { report }) => Some(report),
            _ => None,
        }
    }
}

/// Returns the codes of all errors, in alphabetical order.
pub fn codes() -> Vec<npukit::Code> {
    let mut codes = npukit::error_codes();
    codes.extend(<Failure as npukit::Coded>::CODES);
    codes.push(crate::usage::USAGE);
    codes.sort();
    codes
}

/// Files that were written although writing failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Devices and pipes that received all of their contents.
    through: Vec<String>,
    /// Places that could not be restored.
    new: Vec<String>,
}

impl Aftermath {
    /// Creates the list of devices that were written, and of places that could not be restored.
    pub fn new(through: &[PathBuf], new: &[PathBuf]) -> Self {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        Self { through: texts(through), new: texts(new) }
    }
}

impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { through, new } = self;
        let list =
            |paths: &[String]| paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        match (through.is_empty(), new.is_empty()) {
            (true, true) => f.write_str("nothing was written"),
            (false, true) => {
                write!(f, "nothing was written except {}, which cannot be undone", list(through))
            }
            (_, false) => {
                write!(
                    f,
                    "the previous file at {} could not be restored yet; the next `npu` that writes there tries again",
                    list(new)
                )?;
                if through.is_empty() { Ok(()) } else { write!(f, "; {} was written", list(through)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// `docs/errors.md` lists every code, as the errors define them. `NPUKIT_BLESS=1` writes it.
    #[test]
    fn every_code_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        let codes = codes();
        assert!(codes.windows(2).all(|pair| pair[0].name != pair[1].name), "a code has two meanings");
        let row = |code: &npukit::Code| format!("| `{}` | {} |\n", code.name, code.meaning);
        let page = format!("{HEAD}{}", codes.iter().map(row).collect::<String>());
        if std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1") {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).unwrap();
            std::fs::write(path, &page).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        assert_eq!(found, page, "NPUKIT_BLESS=1 writes docs/errors.md");
    }

    const HEAD: &str = "\
# Errors

When a command fails, `npu` with `--json` prints an object with `error`, `causes` and `diagnostics`. `diagnostics` has one
entry per problem:

| key | value |
|---|---|
| `code` | kind of the problem: a word of the table below, whose meaning never changes; findings of `npu lint` have their own words |
| `severity` | `error` or `warning` |
| `message` | description of the problem, with the numbers |
| `help` | remedy, or null |
| `file` | file as named on the command line, or null |
| `line`, `column` | position in a text file, both starting at 1, columns in characters, or null |
| `offset` | position in a binary file, in bytes starting at 0; only if known |
| `node` | node, input or tensor of a model; only if known |
| `instruction`, `layer` | instruction of a program, starting at 0, and its layer; only if known |

The exit status is 1 for an invalid input or a failed check, and 2 for an invalid command line. Standard error has the same
information as text.

| code | meaning |
|---|---|
";

    #[test]
    fn what_was_written_is_told() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let text = |through: &[&str], new: &[&str]| Aftermath::new(&paths(through), &paths(new)).to_string();
        assert_eq!(text(&[], &[]), "nothing was written");
        assert_eq!(text(&["d"], &[]), "nothing was written except `d`, which cannot be undone");
        assert!(
            text(&[], &["a", "b"]).starts_with("the previous file at `a`, `b` could not be restored yet")
        );
        assert!(text(&["d"], &["a"]).ends_with("; `d` was written"));
    }
}
