//! Rules of names: shared crates name neither accelerators nor their options, and a target does not
//! name other targets.
//!
//! Comments are checked too: text about one accelerator belongs in its folder. The options are read
//! from the declarations in `targets/*/src/**/options.rs`, so new ones are checked automatically.

use std::collections::BTreeSet;

use super::{Problem, SourceFile};

/// Paths that may name accelerators, by prefix, with the reason.
const MAY_NAME: &[(&str, &str)] = &[
    ("crates/npukit/src/targets", "the list of the facade, and the names of its targets"),
    ("crates/cli/src/examples.rs", "examples of the help, which people copy as they are"),
    ("crates/fuzzing/src/", "the readers of all targets are fuzzed, with bytes made for each"),
];

/// Checks the sources of shared crates and of targets.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let targets: BTreeSet<&str> = files.iter().filter_map(|file| target_of(&file.path)).collect();
    let options: BTreeSet<&str> = files.iter().flat_map(declared).collect();
    let judged = files.iter().filter(|file| is_source(&file.path) && !may_name(&file.path));
    judged.flat_map(|file| check_file(file, &targets, &options)).collect()
}

/// Target that contains a path.
fn target_of(path: &str) -> Option<&str> {
    path.strip_prefix("targets/")?.split_once('/').map(|(name, _)| name)
}

fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    let place = [parts.next(), parts.nth(1)];
    path.ends_with(".rs") && matches!(place, [Some("crates" | "targets"), Some("src")])
}

fn may_name(path: &str) -> bool {
    MAY_NAME.iter().any(|(place, _)| path.starts_with(place))
}

/// Keys of the options that a file declares.
fn declared(file: &SourceFile) -> impl Iterator<Item = &str> {
    let declares = target_of(&file.path).is_some() && file.path.ends_with("/options.rs");
    let lines = declares.then(|| file.text.lines()).into_iter().flatten();
    lines.filter_map(|line| line.trim().strip_prefix("key: \"")?.split('"').next())
}

fn check_file(file: &SourceFile, targets: &BTreeSet<&str>, options: &BTreeSet<&str>) -> Vec<Problem> {
    let own = target_of(&file.path);
    let others: Vec<&str> = targets.iter().copied().filter(|name| Some(*name) != own).collect();
    let reported = file.text.lines().enumerate().flat_map(|(index, line)| {
        let accelerators = others
            .iter()
            .filter(|name| names(line, name))
            .map(|name| format!("`{name}` is an accelerator; only targets/{name} may name it"));
        // A target may mention its own options.
        let keys = options.iter().filter(|key| own.is_none() && is_option(line, key));
        let keys = keys.map(|key| format!("`{key}` is an option that targets declare"));
        let problem = |message| Problem::at_line(&file.path, index, message);
        accelerators.chain(keys).map(problem).collect::<Vec<_>>()
    });
    reported.collect()
}

/// Whether a line has `name` as a word or as the beginning of a type's name.
fn names(line: &str, name: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let ends = !after.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends && !before.ends_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// Whether a line has `key` as a user writes it: `--key`, or `key=value`.
fn is_option(line: &str, key: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    line.match_indices(key).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + key.len()..]);
        let is_flag = before.ends_with("--") && !after.starts_with(is_part);
        let has_value = after.strip_prefix('=').is_some_and(|value| value.starts_with(is_part));
        is_flag || (has_value && !before.ends_with(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARATIONS: &str = "    OptionSpec {\n        key: \"speed-up\",\n        default: \"none\",\n";

    /// Messages about a line in the file at `path`, with two targets `ab` and `cd`, the first of
    /// which has an option.
    fn messages(path: &str, line: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("targets/ab/src/target/options.rs", DECLARATIONS),
            file("targets/cd/src/lib.rs", "//! A machine."),
            file(path, line),
        ];
        check(&files).into_iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn shared_crates_name_no_accelerator() {
        let reported = "crates/x/src/a.rs:1: `ab` is an accelerator; only targets/ab may name it";
        for line in ["// as the AB does", "use npukit_ab::Ab;", "let x: AbProgram;", "`ab:preset`"] {
            assert_eq!(messages("crates/x/src/a.rs", line), [reported], "{line}");
        }
        for line in ["lab", "about", "cab_driver", "ab2", "Abandon"] {
            assert_eq!(messages("crates/x/src/a.rs", line), [""; 0], "{line}");
        }
    }

    #[test]
    fn targets_do_not_know_each_other() {
        assert_eq!(messages("targets/ab/src/a.rs", "// as cd has it").len(), 1);
        assert_eq!(messages("targets/ab/src/a.rs", "// as ab has it"), [""; 0]);
    }

    #[test]
    fn options_belong_to_targets() {
        let reported = "crates/x/src/a.rs:1: `speed-up` is an option that targets declare";
        for line in ["`--speed-up`", "--speed-up 3", "as `speed-up=3`"] {
            assert_eq!(messages("crates/x/src/a.rs", line), [reported], "{line}");
        }
        for line in ["a speed-up", "--speed-up-front", "no-speed-up=3", "speed-up = 3"] {
            assert_eq!(messages("crates/x/src/a.rs", line), [""; 0], "{line}");
        }
        assert_eq!(messages("targets/ab/src/a.rs", "as `speed-up=3`"), [""; 0]);
    }

    #[test]
    fn only_sources_are_judged_and_the_list_is_allowed() {
        for path in ["README.md", "crates/x/tests/a.rs", "crates/x/README.md", "xtask/src/a.rs"] {
            assert_eq!(messages(path, "// ab, --speed-up"), [""; 0], "{path}");
        }
        for (path, reason) in MAY_NAME {
            assert!(!reason.is_empty());
            assert_eq!(messages(&format!("{path}x.rs"), "// ab"), [""; 0], "{path}");
        }
    }
}
