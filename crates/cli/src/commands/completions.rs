//! `npu completions`: the script by which a shell asks the command what may follow.
//!
//! The script calls `npu` with [`VARIABLE`] set, so what it offers is what this command knows: its flags, the targets
//! and the reference networks.

use clap::{Args, Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Fish, Zsh};

use crate::answer::Answer;
use crate::failure::Failure;

/// `npu completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell; its start file evaluates the script, as `source <(npu completions bash)`
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// The Z shell
    Zsh,
    /// fish
    Fish,
}

/// What the script sets when it asks.
const VARIABLE: &str = "NPU_COMPLETE";
/// The command's name.
const NAME: &str = "npu";
/// The script for bash: that of the crate splits words at `:` and `@`, as targets have them, and offers no files.
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

/// Answers a shell that asks, and ends the process then.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}
