//! What holds where the command line does not say: [`Settings`] of `NPU_TARGET` and of the nearest `npu.toml`.
//!
//! An option counts more than the environment, and that more than the file. What is for models is not given to an
//! artifact, and an option of a target only to that target.

mod file;

use std::collections::BTreeMap;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use npukit::Target;
use npukit::options::{Stage, declared};

use crate::disk::Disk;
use crate::failure::Failure;
use crate::options::ANY;
use file::File;

/// The target of commands that are given none.
const VARIABLE: &str = "NPU_TARGET";
/// Verbs that do without a target in a way of their own: in float.
const IN_FLOAT: &[&str] = &["generate", "trace"];
/// Options that a file may set beside those of targets, and whether they are for models alone.
#[rustfmt::skip] // A table.
const SETTABLE: &[(&str, bool)] = &[
    ("batch", true),
    ("resize", true),
    ("rescale", true),
    ("quantise", true),
    ("max-error", true),
    ("min-accuracy", false),
    ("top", false),
    ("worst", false),
    ("threshold", false),
    ("tokens", false),
    ("runs", false),
    ("seed", false),
    ("format", false),
];

/// What the environment and a file say.
#[derive(Debug)]
pub struct Settings {
    /// What `NPU_TARGET` is.
    pub variable: Option<String>,
    /// The nearest `npu.toml`.
    pub file: Option<File>,
}

/// A target that the command line does not name.
struct Fallback {
    spec: String,
    /// Who names it.
    place: String,
}

impl Settings {
    /// Those of this process, for the verbs of `command`.
    ///
    /// # Errors
    ///
    /// A variable that is not text; a file that cannot be read, or that says what no verb knows.
    pub fn read(command: &Command) -> Result<Self, Failure> {
        let variable = match std::env::var(VARIABLE) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(Failure::setting(VARIABLE, "is not UTF-8 text"));
            }
        };
        Ok(Self { variable, file: File::nearest(command)? })
    }

    /// What `command` was given, and where it was given nothing what the settings say.
    ///
    /// # Errors
    ///
    /// A target that does not exist, a value that the verb does not take.
    pub fn complete(&self, command: Command, matches: ArgMatches) -> Result<ArgMatches, Failure> {
        let Some((verb, given)) = matches.subcommand() else { return Ok(matches) };
        let Some(of_verb) = command.find_subcommand(verb) else { return Ok(matches) };
        // Default: a verb without a source has no artifact.
        let artifact = given.try_get_one::<String>("path").ok().flatten();
        let is_artifact = artifact.is_some_and(|path| npukit::is_artifact(path));
        let artifact = artifact.and_then(|path| npukit::artifact_target(path));
        let takes_target = !is_artifact && argument(of_verb, "target").is_some() && !IN_FLOAT.contains(&verb);
        let named = if takes_target { text_of(given, "target") } else { None };
        let default = if takes_target && named.is_none() { self.target()? } else { None };
        let spec = named.or_else(|| default.as_ref().map(|default| default.spec.clone()));
        let target = artifact.or_else(|| accelerator(spec.as_deref()?));

        let mut values = BTreeMap::new();
        for entry in self.file.iter().flat_map(|file| file.of_verb(verb)) {
            let Some(arg) = argument(of_verb, &entry.key) else { continue };
            if !is_given(arg, given) && applies(arg, target, is_artifact, given) {
                values.insert(arg.get_id().to_string(), entry.value.clone());
            }
        }
        values.extend(default.map(|default| ("target".to_owned(), default.spec)));
        if values.is_empty() {
            return Ok(matches);
        }
        let verb = verb.to_owned();
        with_defaults(command, &verb, values).try_get_matches().map_err(|error| self.illegal(&verb, &error))
    }

    /// The target to take when the command line names none.
    fn target(&self) -> Result<Option<Fallback>, Failure> {
        let variable = self.variable.clone().map(|spec| Fallback { spec, place: VARIABLE.to_owned() });
        let of_file = || {
            self.file.as_ref().and_then(|file| {
                let (spec, place) = file.target()?;
                Some(Fallback { spec, place })
            })
        };
        let Some(default) = variable.or_else(of_file) else { return Ok(None) };
        let place = || default.place.clone();
        npukit::resolve(&default.spec, &Disk)
            .map_err(|source| Failure::TargetSetting { place: place(), source: Box::new(source) })?;
        Ok(Some(default))
    }

    /// A value that the verb does not take.
    fn illegal(&self, verb: &str, error: &clap::Error) -> Failure {
        let argument = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(text)) => text.trim_start_matches('-'),
            _ => "",
        };
        let key = argument.split([' ', '=']).next().unwrap_or(argument);
        let entry = self.file.iter().flat_map(|file| file.of_verb(verb)).find(|entry| entry.key == key);
        let place = match (&self.file, entry) {
            (Some(file), Some(entry)) => file.place(entry),
            _ => format!("`{verb}`"),
        };
        let legal = match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(values)) => format!("legal are {}", values.join(", ")),
            _ => std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string),
        };
        Failure::setting(&place, format!("`{key}` is not legal: {legal}"))
    }
}

/// The target that the `npu.toml` of a folder names, or that of the nearest above it which has one.
///
/// # Errors
///
/// A file that cannot be read, or that says what no verb of `command` knows.
pub fn target_of_folder(folder: &Path, command: &Command) -> Result<Option<String>, Failure> {
    let file = File::of_folder(folder, command)?;
    Ok(file.and_then(|file| file.target()).map(|(spec, _)| spec))
}

/// The option of a verb that is called `--key`.
fn argument<'a>(verb: &'a Command, key: &str) -> Option<&'a Arg> {
    verb.get_arguments().find(|arg| is_called(arg, key))
}

/// Whether the command line says what an option is, by its flag or by `--option`.
fn is_given(arg: &Arg, given: &ArgMatches) -> bool {
    // Default: a verb without options of targets is given none.
    let options = given.try_get_many::<(String, String)>(ANY).ok().flatten();
    given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
        || options.into_iter().flatten().any(|(key, _)| is_called(arg, key))
}

fn is_called(arg: &Arg, key: &str) -> bool {
    // Default: an option without other spellings.
    arg.get_long() == Some(key) || arg.get_all_aliases().unwrap_or_default().contains(&key)
}

/// Whether a file may set an option.
fn is_settable(arg: &Arg) -> bool {
    let is_long = |name: &str| arg.get_long() == Some(name);
    SETTABLE.iter().any(|(name, _)| is_long(name)) || declared().any(|(_, spec)| is_long(spec.key))
}

/// Whether an option is of use to this target and source.
fn applies(arg: &Arg, target: Option<&Target>, is_artifact: bool, given: &ArgMatches) -> bool {
    let key = arg.get_long();
    if let Some((_, of_models)) = SETTABLE.iter().find(|(name, _)| key == Some(*name)) {
        return !(*of_models && is_artifact);
    }
    let spec = target.and_then(|target| target.options.iter().find(|spec| key == Some(spec.key)));
    spec.is_some_and(|spec| match spec.stage {
        Stage::Compile => !is_artifact,
        Stage::Time => true,
        Stage::Samples => given.value_source("samples").is_some(),
    })
}

/// The accelerator that `spec` names.
fn accelerator(spec: &str) -> Option<&'static Target> {
    let name = spec.split(':').next()?;
    npukit::targets().iter().copied().find(|target| target.name == name)
}

fn text_of(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

/// The command with `values`, by identifier, where the options of `verb` are not given.
fn with_defaults(command: Command, verb: &str, values: BTreeMap<String, String>) -> Command {
    command.mut_subcommand(verb, |verb| {
        values.into_iter().fold(verb, |verb, (id, value)| {
            // The parser keeps its texts until the process ends.
            let value: &'static str = value.leak();
            verb.mut_arg(id, |arg| arg.default_value(value))
        })
    })
}
