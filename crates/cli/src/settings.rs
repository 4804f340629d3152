//! Defaults for the command line: [`Settings`] from `NPU_TARGET` and from the nearest `npu.toml`.
//!
//! An option takes precedence over the environment, and the environment over the file. Options of
//! models do not apply to an artifact, and options of a target only apply to that target.

mod file;

use std::collections::BTreeMap;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use file::File;
use npukit::Target;
use npukit::options::{Stage, declared};

use crate::disk::Disk;
use crate::failure::Failure;
use crate::options::ANY;

/// Target of commands without `--target`.
const VARIABLE: &str = "NPU_TARGET";
/// Verbs that work without a target: in float, or for all targets.
const WITHOUT_TARGET: &[&str] = &["explain", "explore", "generate", "serve", "trace"];
/// Options that a file may set in addition to target options, and whether they only apply to
/// models.
#[rustfmt::skip] // A table.
const SETTABLE: &[(&str, bool)] = &[
    ("batch", true),
    ("resize-mode", true),
    ("rescale", true),
    ("quantize", true),
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

/// Settings of the environment and of a file.
#[derive(Debug)]
pub struct Settings {
    /// Value of `NPU_TARGET`.
    pub variable: Option<String>,
    /// Nearest `npu.toml`.
    pub file: Option<File>,
}

/// Target that is not given on the command line.
struct Fallback {
    spec: String,
    /// Location of the setting.
    place: String,
}

impl Settings {
    /// Reads the settings of this process, for the verbs of `command`.
    ///
    /// # Errors
    ///
    /// The variable is not text; a file cannot be read, or contains settings that no verb has.
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

    /// Returns the accelerator that the settings name, without checking its instance.
    pub fn accelerator(&self) -> Option<&'static Target> {
        let of_file = || Some(self.file.as_ref()?.target()?.0);
        accelerator(&self.variable.clone().or_else(of_file)?)
    }

    /// Completes the arguments of `command` from the settings.
    ///
    /// # Errors
    ///
    /// A target does not exist, or the verb does not accept a value.
    pub fn complete(&self, command: Command, matches: ArgMatches) -> Result<ArgMatches, Failure> {
        let Some((verb, given)) = matches.subcommand() else { return Ok(matches) };
        let Some(of_verb) = command.find_subcommand(verb) else { return Ok(matches) };
        let has_target = argument(of_verb, "target").is_some();
        let before = text_of(&matches, "target");
        if before.is_some() && !has_target {
            return Err(Failure::setting("`--target`", format!("`npu {verb}` does not take this option")));
        }
        // Default: a verb without a source has no artifact.
        let artifact = given.try_get_one::<String>("path").ok().flatten();
        let is_artifact = artifact.is_some_and(|path| npukit::is_artifact(path));
        let artifact = artifact.and_then(|path| npukit::artifact_target(path));
        let takes_target = !is_artifact && has_target && !WITHOUT_TARGET.contains(&verb);
        let after = if has_target { text_of(given, "target") } else { None };
        let before = before.filter(|_| after.is_none());
        let named = after.or_else(|| before.clone()).filter(|_| takes_target);
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
        let spec = before.or(default.map(|default| default.spec));
        values.extend(spec.map(|spec| ("target".to_owned(), spec)));
        if values.is_empty() {
            return Ok(matches);
        }
        let verb = verb.to_owned();
        with_defaults(command, &verb, values).try_get_matches().map_err(|error| self.illegal(&verb, &error))
    }

    /// Returns the target to use if the command line gives none.
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

    /// Returns the error for a value that the verb does not accept.
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
            Some(ContextValue::Strings(values)) => format!("legal values are {}", values.join(", ")),
            _ => std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string),
        };
        Failure::setting(&place, format!("`{key}` is not legal: {legal}"))
    }
}

/// Returns the target of the nearest `npu.toml` in or above a folder.
///
/// # Errors
///
/// A file cannot be read, or contains settings that no verb of `command` has.
pub fn target_of_folder(folder: &Path, command: &Command) -> Result<Option<String>, Failure> {
    let file = File::of_folder(folder, command)?;
    Ok(file.and_then(|file| file.target()).map(|(spec, _)| spec))
}

/// Returns the argument of a verb with the name `--key`.
fn argument<'a>(verb: &'a Command, key: &str) -> Option<&'a Arg> {
    verb.get_arguments().find(|arg| is_called(arg, key))
}

/// Whether the command line gives an option, by its flag or by `--option`.
fn is_given(arg: &Arg, given: &ArgMatches) -> bool {
    // Default: a verb without options of targets is given none.
    let options = given.try_get_many::<(String, String)>(ANY).ok().flatten();
    given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
        || options.into_iter().flatten().any(|(key, _)| is_called(arg, key))
}

fn is_called(arg: &Arg, key: &str) -> bool {
    // Default: an option without aliases.
    arg.get_long() == Some(key) || arg.get_all_aliases().unwrap_or_default().contains(&key)
}

/// Whether a file may set an option.
fn is_settable(arg: &Arg) -> bool {
    let is_long = |name: &str| arg.get_long() == Some(name);
    SETTABLE.iter().any(|(name, _)| is_long(name)) || declared().any(|(_, spec)| is_long(spec.key))
}

/// Whether an option applies to this target and source.
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

/// Returns the accelerator that `spec` names.
pub fn accelerator(spec: &str) -> Option<&'static Target> {
    let name = spec.split(':').next()?;
    npukit::targets().iter().copied().find(|target| target.name == name)
}

fn text_of(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

/// Returns the command with `values`, by identifier, as defaults of the options of `verb`.
fn with_defaults(command: Command, verb: &str, values: BTreeMap<String, String>) -> Command {
    command.mut_subcommand(verb, |verb| {
        values.into_iter().fold(verb, |verb, (id, value)| {
            // The parser keeps its texts until the process ends.
            let value: &'static str = value.leak();
            verb.mut_arg(id, |arg| arg.default_value(value))
        })
    })
}
