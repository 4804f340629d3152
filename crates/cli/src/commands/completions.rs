//! The verb `npu completions`: prints a script with which a shell asks the command for completions.
//!
//! The script calls `npu` with [`VARIABLE`] set, so the completions always match this
//! version: its flags, the targets and the reference networks.

use clap::{Args, Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Fish, Zsh};

use crate::answer::Answer;
use crate::failure::Failure;

/// Arguments of `npu completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell; its start file evaluates the script, as `source <(npu completions bash)`
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Supported shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// fish
    Fish,
}

/// Environment variable that the script sets.
const VARIABLE: &str = "NPU_COMPLETE";
/// Name of the command.
const NAME: &str = "npu";
/// Script for bash: the one of the crate splits words at `:` and `@`, which occur in targets, and
/// offers no files.
const BASH: &str = include_str!("completions.bash");

pub fn run(args: &CompletionsArgs) -> Result<Answer, Failure> {
    let (shell, script) = match args.shell {
        Shell::Bash => ("bash", BASH.to_owned()),
        Shell::Zsh => ("zsh", registration(&Zsh)?),
        Shell::Fish => ("fish", registration(&Fish)?),
    };
    let json = serde_json::json!({ "shell": shell, "script": script });
    Ok(Answer::new(script, &json).with_data(true))
}

fn registration(shell: &dyn EnvCompleter) -> Result<String, Failure> {
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script).map_err(Failure::Print)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Answers a request of a shell, and then ends the process.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}
