//! [`Failure`]: why a command did not get to its answer.

use std::path::PathBuf;
use std::{fmt, io};

use npukit::report::Place;
use npukit::verbs::check::Report;
use npukit::{Diagnostic, codes, described, suggestion};
use serde_json::Value;

/// Why a command did not get to its answer.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    /// The verb failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Verb(#[from] npukit::Error),
    /// A file could not be written.
    #[error("cannot write `{path}`: {aftermath}")]
    Write {
        /// The file or folder.
        path: String,
        /// What was written all the same.
        aftermath: Aftermath,
        /// What the system says.
        source: io::Error,
    },
    /// An output leads to a file that the command reads.
    #[error("`{path}` is an input of this command, read as `{input}`: it would be lost")]
    #[diagnostic(help("name another file for the output; nothing was written"))]
    SameFile {
        /// The output.
        path: String,
        /// The input.
        input: String,
    },
    /// Two outputs lead to one file.
    #[error("`{path}` and `{other}` are the same file, and each is to be written")]
    #[diagnostic(help("name another file for one of them; nothing was written"))]
    SameOutput {
        /// An output.
        path: String,
        /// Another.
        other: String,
    },
    /// A column that a table does not have.
    #[error("there is no column `{name}`{meant}; there are {legal}")]
    Column {
        /// What was asked for.
        name: String,
        /// What is meant, perhaps.
        meant: String,
        /// The columns there are.
        legal: String,
    },
    /// A dump that the program does not have.
    #[error("`--dump {text}` is not what can be dumped")]
    #[diagnostic(help(
        "of a model: one `FILE.npz`; of a program in text or words: `NAME[A:B]`, as `acc[0:4]`, or `NAME[A:B]=FILE`"
    ))]
    Dump {
        /// As it was written.
        text: String,
    },
    /// `npu bench accuracy` has no networks.
    #[error("`npu bench accuracy` needs the folder of the networks")]
    #[diagnostic(help(
        "give it with --models DIR: the `.tflite` files of MLPerf Tiny, as `ic_resnet8_int8.tflite`"
    ))]
    NoModels,
    /// A setting that no verb takes.
    #[error("{place}: {reason}")]
    Setting {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A target of the settings that does not exist.
    #[error("the target of {place} cannot be taken")]
    #[diagnostic(forward(source))]
    TargetSetting {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        source: Box<npukit::Error>,
    },
    /// Lines of a debugger's script are no commands.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Script(#[from] npukit_debug::ScriptError),
    /// What a debugger needs is not there.
    #[error("{reason}")]
    Debugger {
        /// What is missing, or went wrong.
        reason: String,
    },
    /// Standard output does not take the answer.
    #[error("cannot print")]
    Print(#[source] io::Error),
    /// An editor went, or does not speak the protocol.
    #[error("the session with the editor failed")]
    Editor(#[source] Box<dyn std::error::Error + Send + Sync>),
}

codes!(Failure {
    Write = "not-written": "a file cannot be written; nothing else of the command was, unless the message says so";
    SameFile = "same-file": "an output leads to a file that the command reads";
    SameOutput = "same-output": "two outputs lead to one file";
    NoModels = "no-models": "an accuracy table is asked for without its networks";
    Dump = "invalid-dump": "what is to be dumped is neither a file of a model's tensors nor a range of a memory";
    Column = "unknown-column": "a column of `--columns` or `--sort` is none of the table's";
    Setting = "invalid-setting": "a setting of npu.toml is one that no verb takes";
    TargetSetting = "invalid-target-setting": "the target of npu.toml or `NPU_TARGET` cannot be taken";
    Script = "invalid-script": "a line of a debugger's script is no command";
    Debugger = "no-debugger": "a debugger cannot answer as asked, or has lost who it speaks with";
    Print = "not-printed": "standard output does not take the answer";
    Editor = "editor-failed": "an editor goes without saying so, or says what is not of the language server protocol";
} carries { Verb.0 });

impl Failure {
    /// That the setting at `place` is wrong, and why.
    pub fn setting(place: &str, reason: impl Into<String>) -> Self {
        Self::Setting { place: place.to_owned(), reason: reason.into() }
    }

    /// That a table has no column `name`, but those that are `legal`.
    pub fn column(name: &str, legal: &[String]) -> Self {
        let meant = suggestion(name, legal.iter().map(String::as_str));
        Self::Column { name: name.to_owned(), meant, legal: legal.join(", ") }
    }

    /// Whether the command line is at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Verb(error) => error.is_usage(),
            Self::SameFile { .. }
            | Self::SameOutput { .. }
            | Self::Column { .. }
            | Self::Dump { .. }
            | Self::NoModels
            | Self::Setting { .. } => true,
            Self::TargetSetting { source, .. } => source.is_usage(),
            Self::Write { .. }
            | Self::Print(_)
            | Self::Script(_)
            | Self::Debugger { .. }
            | Self::Editor(_) => false,
        }
    }

    /// Everything that is wrong, an entry for each fault.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let one = |path: &str| vec![Diagnostic::of(npukit::Coded::code(self), self).at(Place::file(path))];
        match self {
            Self::Verb(error) => error.diagnostics(),
            Self::Write { path, .. } | Self::SameFile { path, .. } | Self::SameOutput { path, .. } => {
                one(path)
            }
            Self::Column { .. }
            | Self::Dump { .. }
            | Self::NoModels
            | Self::Setting { .. }
            | Self::TargetSetting { .. }
            | Self::Script(_)
            | Self::Debugger { .. }
            | Self::Print(_)
            | Self::Editor(_) => {
                vec![Diagnostic::of(npukit::Coded::code(self), self)]
            }
        }
    }

    /// For `--json`: the message and its causes, everything that is wrong, and for a model that is not supported what
    /// `npu check` says.
    pub fn json(&self) -> Value {
        match self {
            Self::Verb(error) => error.json(),
            other => described(other, &other.diagnostics()),
        }
    }

    /// What stands in the way of a model that is not supported.
    pub fn refusal(&self) -> Option<&Report> {
        match self {
            Self::Verb(npukit::Error::Refused { report }) => Some(report),
            _ => None,
        }
    }

    /// What is known of a program that was to be proved and is not.
    pub fn proof(&self) -> Option<&npukit::verbs::verify::Report> {
        match self {
            Self::Verb(npukit::Error::NotProved { report }) => Some(report),
            _ => None,
        }
    }
}

/// What is written after writing has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Devices and pipes that have taken all of their content.
    through: Vec<String>,
    /// Places that could not be put back.
    new: Vec<String>,
}

impl Aftermath {
    /// Of these devices and places.
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
                write!(f, "nothing was written but {}, which cannot be taken back", list(through))
            }
            (_, false) => {
                write!(
                    f,
                    "what was at {} could not be put back yet, the next `npu` that writes there tries again",
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

    /// `docs/errors.md`: every code, as the errors themselves say. `NPUKIT_BLESS=1` writes it.
    #[test]
    fn every_code_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        let mut codes = npukit::error_codes();
        codes.extend(<Failure as npukit::Coded>::CODES);
        codes.push(crate::usage::USAGE);
        codes.sort();
        assert!(codes.windows(2).all(|pair| pair[0].name != pair[1].name), "a code means two things");
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

What `npu` says with `--json` when it fails: an object with `error`, `causes` and `diagnostics`, an entry for each thing
that is wrong:

| key | is |
|---|---|
| `code` | what it is: a word of the table below, which never changes its meaning; `npu lint` has its own for findings in programs |
| `severity` | `error` or `warning` |
| `message` | what is wrong, with the numbers |
| `help` | what to do about it, or null |
| `file` | the file, as it was named, or null |
| `line`, `column` | where in a text, both from 1, columns in characters, or null |
| `offset` | where in a file that is no text, in bytes from 0; only where it is known |
| `node` | node, input or tensor of a model; only where it is known |
| `instruction`, `layer` | instruction of a program, from 0, and its layer; only where they are known |

The exit status is 1 where an input or the result is at fault, 2 where the command line is. Standard error says the same
for people.

| code | means |
|---|---|
";

    #[test]
    fn what_was_written_is_told() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let text = |through: &[&str], new: &[&str]| Aftermath::new(&paths(through), &paths(new)).to_string();
        assert_eq!(text(&[], &[]), "nothing was written");
        assert_eq!(text(&["d"], &[]), "nothing was written but `d`, which cannot be taken back");
        assert!(text(&[], &["a", "b"]).starts_with("what was at `a`, `b` could not be put back yet"));
        assert!(text(&["d"], &["a"]).ends_with("; `d` was written"));
    }
}
