//! Flags for the options that targets declare: [`CompileOptions`] and [`TimeOptions`].
//!
//! An option of several targets is one flag, with a line of help for each target. `--help` lists
//! the options of the target that is given, and without a target none; manual pages list all.

use std::collections::{BTreeMap, BTreeSet};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use clap_complete::ArgValueCandidates;
use clap_complete::engine::CompletionCandidate;
use npukit::Target;
use npukit::options::{OptionSpec, Stage, declared};

use crate::args::TARGET;
use crate::candidates::choices;

/// Flag that accepts any option.
pub const ANY: &str = "option";

/// Options of compiling a model, by name: from their flags, and from `--option KEY=VALUE`.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions(pub BTreeMap<String, String>);

/// Options of timing a program, by name.
#[derive(Clone, Debug, Default)]
pub struct TimeOptions(pub BTreeMap<String, String>);

impl FromArgMatches for CompileOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let any = matches.get_many::<(String, String)>(ANY).into_iter().flatten().cloned();
        Ok(Self(agreed(given(matches, &[Stage::Compile]).chain(any))?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for CompileOptions {
    fn augment_args(command: Command) -> Command {
        flags(command, &[Stage::Compile]).arg(any())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TimeOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(matches, &TIMING).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for TimeOptions {
    fn augment_args(command: Command) -> Command {
        // Commands that write no samples do not have the options of samples.
        let has_samples = command.get_arguments().any(|argument| argument.get_id() == SAMPLES);
        flags(command, if has_samples { &TIMING } else { &TIMING[..1] })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Argument for writing samples.
const SAMPLES: &str = "samples";

/// Stages of `npu time`.
const TIMING: [Stage; 2] = [Stage::Time, Stage::Samples];

/// Returns the options of `stages` by key, each with the targets that have it.
fn by_key(stages: &[Stage]) -> BTreeMap<&'static str, Vec<(&'static str, &'static OptionSpec)>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (target, spec) in declared().filter(|(_, spec)| stages.contains(&spec.stage)) {
        all.entry(spec.key).or_default().push((target, spec));
    }
    all
}

fn flags(command: Command, stages: &[Stage]) -> Command {
    let mut flags: Vec<_> = by_key(stages).into_iter().collect();
    // Options are sorted by target, like the sections of the help.
    flags.sort_by_key(|(_, specs)| position(specs));
    flags.into_iter().fold(command, |command, (key, specs)| command.arg(flag(key, &specs)))
}

/// Returns the flag of an option. An option for samples requires the argument that writes them.
fn flag(key: &'static str, specs: &[(&'static str, &'static OptionSpec)]) -> Arg {
    let aliases: BTreeSet<&str> = specs.iter().flat_map(|(_, spec)| spec.aliases.keys).copied().collect();
    let arg = Arg::new(key)
        .long(key)
        .aliases(aliases)
        .value_name("VALUE")
        .help(help(specs))
        .help_heading(heading(specs))
        .hide_short_help(true);
    let words = choices(specs);
    let arg = arg.add(ArgValueCandidates::new(move || words.iter().map(CompletionCandidate::new).collect()));
    let needs_samples = specs.iter().all(|(_, spec)| spec.stage == Stage::Samples);
    if needs_samples { arg.requires(SAMPLES) } else { arg }
}

/// Beginning of the headings of targets' options.
const HEADING: &str = "Options of ";

/// Returns the help heading of an option, which lists the targets that have it.
fn heading(specs: &[(&'static str, &'static OptionSpec)]) -> &'static str {
    let targets: Vec<&str> = specs.iter().map(|(target, _)| *target).collect();
    // The parser keeps its texts until the process ends.
    format!("{HEADING}{}", targets.join(", ")).leak()
}

/// Hides the options of all targets in the help of every verb, except the options of `target`.
pub fn in_help_of(command: Command, target: Option<&Target>) -> Command {
    let all = by_key(&[Stage::Compile, Stage::Time, Stage::Samples]);
    let shown = |arg: Arg| {
        let is_of_targets = arg.get_help_heading().is_some_and(|heading| heading.starts_with(HEADING));
        let Some(specs) = all.get(arg.get_id().as_str()).filter(|_| is_of_targets) else { return arg };
        let is_own = |(name, _): &&(&str, _)| target.is_some_and(|target| target.name == *name);
        match specs.iter().filter(is_own).copied().collect::<Vec<_>>()[..] {
            [] => arg.hide(true),
            ref own => arg.help(help(own)).help_heading(heading(own)),
        }
    };
    command.mut_subcommands(|verb| verb.mut_args(shown))
}

/// Returns the index of the first target that has an option.
fn position(specs: &[(&'static str, &'static OptionSpec)]) -> Option<usize> {
    let (first, _) = specs.first()?;
    npukit::targets().iter().position(|target| target.name == *first)
}

/// Returns the description of an option; with several targets, one line per target.
fn help(specs: &[(&'static str, &'static OptionSpec)]) -> String {
    let one = |spec: &OptionSpec| format!("{} [{}] [default: {}]", spec.doc, spec.values, spec.default);
    match specs {
        [(_, spec)] => capitalized(&one(spec)),
        _ => specs
            .iter()
            .map(|(target, spec)| format!("{target}: {}", one(spec)))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// Returns the text with an initial capital.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Returns the flag that accepts any option.
pub fn any() -> Arg {
    Arg::new(ANY)
        .long(ANY)
        .value_name("KEY=VALUE")
        .value_parser(key_and_value)
        .action(ArgAction::Append)
        .help("Option of the target, as listed by --help")
        .long_help(
            "Option of the target\n\n`--help` with `--target TARGET` lists the options of TARGET, as `npu targets TARGET \
             --options` does. Each is also a flag: `--option key=word` is `--key word`. May be given several times.",
        )
        .help_heading(TARGET)
}

/// Returns the given values of the options of `stages`.
fn given(matches: &ArgMatches, stages: &[Stage]) -> impl Iterator<Item = (String, String)> {
    // Some commands do not have all of them.
    let value = |key: &'static str| {
        let given = matches.try_get_one::<String>(key).ok().flatten()?;
        Some((key.to_owned(), given.clone()))
    };
    by_key(stages).into_keys().filter_map(value)
}

/// Collects options by name. An option may be given several times, but only with one value.
fn agreed(given: impl Iterator<Item = (String, String)>) -> Result<BTreeMap<String, String>, clap::Error> {
    let mut all = BTreeMap::new();
    for (key, value) in given {
        match all.get(&key) {
            Some(other) if *other != value => {
                let text =
                    format!("option `{key}` is given as `{other}` and as `{value}`: give one of them\n");
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
            }
            _ => all.insert(key, value),
        };
    }
    Ok(all)
}

/// Parses `KEY=VALUE`.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::cli::command;

    /// Returns the `--help` of a verb with a target.
    fn text(verb: &str, target: Option<&Target>) -> String {
        let mut command = in_help_of(command(), target);
        command.build();
        command.find_subcommand_mut(verb).unwrap().render_long_help().to_string()
    }

    #[test]
    fn help_lists_the_options_of_one_target() {
        for target in npukit::targets() {
            let (compile, time) = (text("compile", Some(target)), text("time", Some(target)));
            let headings = compile.lines().filter(|line| line.starts_with(HEADING));
            assert!(headings.eq([format!("{HEADING}{}:", target.name)]), "{compile}");
            for (name, spec) in declared() {
                let flag = format!("      --{} <VALUE>\n", spec.key);
                let is_own = target.options.iter().any(|own| own.key == spec.key);
                assert!(is_own || !(compile.contains(&flag) || time.contains(&flag)), "{name} {flag}");
                let is_shown = if spec.stage == Stage::Compile { &compile } else { &time }.contains(&flag);
                assert!(is_shown || name != target.name, "{name} {flag}");
            }
        }
    }

    #[test]
    fn help_without_a_target_lists_no_options_of_targets() {
        for verb in ["check", "compile", "run", "time", "report", "debug"] {
            assert!(!text(verb, None).contains(HEADING), "{verb}");
        }
        // The parser still accepts them.
        for (_, spec) in declared().filter(|(_, spec)| spec.stage == Stage::Compile) {
            let flag = format!("--{}=word", spec.key);
            assert!(in_help_of(command(), None).try_get_matches_from(["npu", "compile", "m", &flag]).is_ok());
        }
    }
}
