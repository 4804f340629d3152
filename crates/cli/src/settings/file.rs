//! [`File`]: an `npu.toml` in which every key is known.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Command;
use npukit::options::declared;
use npukit::{Reader, suggestion};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{argument, is_settable};
use crate::disk::Disk;
use crate::failure::Failure;

/// Name of the file.
const NAME: &str = "npu.toml";
/// Key of the target.
const TARGET: &str = "target";
/// Table of options for all verbs.
const OPTIONS: &str = "options";

/// Settings file.
#[derive(Debug)]
pub struct File {
    /// Path of the file.
    pub path: PathBuf,
    target: Option<Entry>,
    options: Vec<Entry>,
    verbs: BTreeMap<String, Vec<Entry>>,
}

/// Key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the option.
    pub key: String,
    /// Value, as on the command line.
    pub value: String,
    /// Line in the file, starting at 1.
    line: usize,
}

impl File {
    /// Reads the nearest file in or above the current folder.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is not TOML, or contains settings that `command` does not have.
    pub fn nearest(command: &Command) -> Result<Option<Self>, Failure> {
        // Default: a removed folder has no file.
        let folder = std::env::current_dir().unwrap_or_default();
        let Some((above, found)) = holder(&folder) else { return Ok(None) };
        let path = if above == 0 { PathBuf::from(NAME) } else { found.join(NAME) };
        Self::read(&path, command).map(Some)
    }

    /// Reads the nearest file in or above `folder`.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::nearest`].
    pub fn of_folder(folder: &Path, command: &Command) -> Result<Option<Self>, Failure> {
        holder(folder).map(|(_, found)| Self::read(&found.join(NAME), command)).transpose()
    }

    fn read(path: &Path, command: &Command) -> Result<Self, Failure> {
        let name = path.to_string_lossy();
        let bytes = Disk.read(&name).map_err(npukit::Error::from)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Failure::setting(
                &format!("`{name}`"),
                format!("byte {} is not UTF-8 text", error.utf8_error().valid_up_to()),
            )
        })?;
        Self::parse(path, &text, command)
    }

    /// Parses the text of a file.
    fn parse(path: &Path, text: &str, command: &Command) -> Result<Self, Failure> {
        let file = Text { path, text };
        let table = DeTable::parse(text).map_err(|error| {
            // Default: an error without a place is reported at the start.
            file.fault(error.span().unwrap_or_default(), error.message().to_owned())
        })?;
        let mut read =
            Self { path: path.to_owned(), target: None, options: Vec::new(), verbs: BTreeMap::new() };
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            match command.find_subcommand(name) {
                _ if name == TARGET => read.target = Some(file.entry(name, key.span(), value)?),
                _ if name == OPTIONS => read.options = file.entries(value, &option_names())?,
                Some(verb) if verb.get_name() == name => {
                    read.verbs.insert(name.to_owned(), file.entries(value, &names(verb))?);
                }
                _ => return Err(file.unknown("setting", name, key.span(), &settings(command))),
            }
        }
        Ok(read)
    }

    /// Returns the target and its location. A file in it is relative to this file.
    pub fn target(&self) -> Option<(String, String)> {
        let entry = self.target.as_ref()?;
        // Default: a file at the root has no folder.
        let folder = self.path.parent().unwrap_or(Path::new("")).to_string_lossy();
        Some((npukit::target_in(&folder, &entry.value), self.place(entry)))
    }

    /// Returns the settings of a verb: those for all verbs first, those for this one last.
    pub fn of_verb<'a>(&'a self, verb: &str) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.options.iter().chain(self.verbs.get(verb).into_iter().flatten())
    }

    /// Returns the location of an entry.
    pub fn place(&self, entry: &Entry) -> String {
        place(&self.path, entry.line)
    }
}

/// Returns the nearest folder with a file, in or above a folder, and the number of levels up.
fn holder(folder: &Path) -> Option<(usize, &Path)> {
    folder.ancestors().enumerate().find(|(_, folder)| folder.join(NAME).is_file())
}

/// Text of a file, for error messages.
#[derive(Clone, Copy)]
struct Text<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Text<'_> {
    /// Returns the options of a table. Each must be in `known`.
    fn entries(self, value: &Spanned<DeValue<'_>>, known: &[String]) -> Result<Vec<Entry>, Failure> {
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.fault(value.span(), "must be a table".to_owned()))?;
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            if !known.iter().any(|known| known == name.as_ref()) {
                return Err(self.unknown("option", name, key.span(), known));
            }
            self.entry(name, key.span(), value)
        };
        table.iter().map(entry).collect()
    }

    fn entry(self, key: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<Entry, Failure> {
        let text = text_of(value.get_ref());
        let text =
            text.ok_or_else(|| self.fault(value.span(), format!("`{key}` must be a text or a number")))?;
        self.check(key, &text, &at)?;
        Ok(Entry { key: key.to_owned(), value: text, line: self.line(&at) })
    }

    /// Rejects a value that no target accepts.
    fn check(self, key: &str, value: &str, at: &Range<usize>) -> Result<(), Failure> {
        let specs: Vec<_> = declared().map(|(_, spec)| spec).filter(|spec| spec.is_called(key)).collect();
        if specs.is_empty() || specs.iter().any(|spec| spec.values.admit(spec.value(value))) {
            return Ok(());
        }
        let legal: Vec<String> = specs.iter().map(|spec| spec.values.to_string()).collect();
        Err(self.fault(at.clone(), format!("`{key}` must be {}, not `{value}`", legal.join("; or "))))
    }

    fn unknown(self, what: &str, name: &str, at: Range<usize>, known: &[String]) -> Failure {
        let meant = suggestion(name, known.iter().map(String::as_str));
        self.fault(at, format!("there is no {what} `{name}`{meant}; {what}s are {}", known.join(", ")))
    }

    fn fault(self, at: Range<usize>, reason: String) -> Failure {
        Failure::setting(&place(self.path, self.line(&at)), reason)
    }

    /// Returns the line of a location, starting at 1.
    fn line(self, at: &Range<usize>) -> usize {
        self.text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1
    }
}

fn place(path: &Path, line: usize) -> String {
    format!("`{}`, line {line}", path.display())
}

/// Returns a value as on the command line; `None` for lists, tables and times.
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            Some(i128::from_str_radix(number.as_str(), number.radix()).ok()?.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// Returns all keys that a file may contain.
fn settings(command: &Command) -> Vec<String> {
    let verbs = command.get_subcommands().filter(|verb| !names(verb).is_empty());
    let own = [TARGET, OPTIONS].map(str::to_owned);
    own.into_iter().chain(verbs.map(|verb| verb.get_name().to_owned())).collect()
}

/// Returns the options of a verb that a file may set, in all spellings.
fn names(verb: &Command) -> Vec<String> {
    let settable = verb.get_arguments().filter(|arg| is_settable(arg));
    let names = settable.flat_map(|arg| {
        // Default: an option without aliases.
        arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default())
    });
    names.filter(|name| argument(verb, name).is_some()).map(str::to_owned).collect()
}

/// Returns the options of targets, in all spellings.
fn option_names() -> Vec<String> {
    let names =
        declared().flat_map(|(_, spec)| std::iter::once(spec.key).chain(spec.aliases.keys.iter().copied()));
    names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use clap::Arg;

    /// A verb with an option that a file may set, and one that it may not.
    fn command() -> Command {
        let verb =
            Command::new("run").args([Arg::new("batch").long("batch"), Arg::new("output").long("output")]);
        Command::new("npu").subcommand(verb)
    }

    fn parse(text: &str) -> Result<File, String> {
        File::parse(Path::new("a/npu.toml"), text, &command()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn settings_are_read() {
        let file = parse("target = \"x:y\"\n[run]\nbatch = 0x10\n").unwrap();
        assert_eq!(file.target(), Some(("x:y".to_owned(), "`a/npu.toml`, line 1".to_owned())));
        let entry = Entry { key: "batch".to_owned(), value: "16".to_owned(), line: 3 };
        assert_eq!(file.of_verb("run").collect::<Vec<_>>(), [&entry]);
        assert_eq!(file.of_verb("time").count(), 0);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, message) in [
            ("\ntarget", "`a/npu.toml`, line 2: "),
            (
                "targte = \"x\"",
                "`a/npu.toml`, line 1: there is no setting `targte` (did you mean `target`?); ",
            ),
            (
                "[run]\nbacth = 1",
                "`a/npu.toml`, line 2: there is no option `bacth` (did you mean `batch`?); ",
            ),
            ("[run]\noutput = \"x\"", "`a/npu.toml`, line 2: there is no option `output`; options are batch"),
            ("run = 1", "`a/npu.toml`, line 1: must be a table"),
            ("[run]\nbatch = [1]", "`a/npu.toml`, line 2: `batch` must be a text or a number"),
            ("target = {}", "`a/npu.toml`, line 1: `target` must be a text or a number"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
