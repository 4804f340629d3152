//! Check that only one argument uses standard input: [`check`].

use std::any::TypeId;

use clap::{Arg, ArgMatches, Command, error::ErrorKind};

/// Rejects a command line that uses standard input twice. Inputs are the `String`s among the
/// arguments.
///
/// Errors: the arguments that use it.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((verb, given)) = matches.subcommand() else { return Ok(()) };
    let Some(spec) = command.find_subcommand(verb) else { return Ok(()) };
    let is_input = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<String>();
    let named: Vec<String> = spec
        .get_arguments()
        .filter(is_input)
        .flat_map(|arg| vec![arg.to_string(); times(given, arg)])
        .collect();
    if named.len() < 2 {
        return Ok(());
    }
    let message = format!("standard input can only be read once, but {} name it", named.join(" and "));
    Err(command.error(ErrorKind::ArgumentConflict, message))
}

/// Returns how often `arg` uses standard input.
fn times(given: &ArgMatches, arg: &Arg) -> usize {
    let values = given.get_raw(arg.get_id().as_str()).into_iter().flatten();
    let file = |value: &str| value.rsplit_once('=').map_or(value, |(_, file)| file).to_owned();
    values.filter(|value| value.to_str().is_some_and(|value| names_it(&file(value)))).count()
}

fn names_it(path: &str) -> bool {
    crate::disk::is_standard(path.as_ref())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn message(line: &str) -> Option<String> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(line.split(' ')).unwrap();
        check(&mut command, &matches).err().map(|error| error.to_string())
    }

    #[test]
    fn two_arguments_cannot_share_it() {
        assert_eq!(message("npu diff - b.json"), None);
        assert_eq!(message("npu eval - -o -"), None);
        let error = message("npu diff - -").unwrap();
        assert!(error.contains("standard input can only be read once, but <A> and <B> name it"), "{error}");
        assert!(message("npu eval - --input x=-.npy").is_some());
        assert!(message("npu eval m.onnx --input=- --input=-.npy").is_some());
    }
}
