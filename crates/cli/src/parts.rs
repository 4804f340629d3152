//! [`Parts`]: what serves editors and terminals. `npu` is built without them, and starts [`PROGRAM`] where they are needed.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

use npukit_debug::{Debugger, Open};

use crate::answer::Answer;
use crate::editor::Editor;
use crate::failure::Failure;

/// The program with the parts, which lies beside `npu`.
const PROGRAM: &str = "npu-interactive";

/// Parts of the command whose dependencies nothing else needs.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Serves an editor on standard input and output, until it ends.
    pub lsp: fn(&Editor) -> Result<(), Box<dyn Error + Send + Sync>>,
    /// Debugs for an editor, by the Debug Adapter Protocol on standard input and output, until it ends.
    pub dap: fn(&Open<'_>) -> io::Result<()>,
    /// Debugs on the terminal until its user leaves. The texts are what was taken for granted.
    pub screen: fn(Debugger, &[String], Terminal) -> io::Result<()>,
}

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Whether it has colors, and its user wants them.
    pub has_colors: bool,
    /// Whether it has more characters than ASCII.
    pub has_unicode: bool,
}

/// Where [`PROGRAM`] lies, if it is there.
pub fn program() -> Option<PathBuf> {
    let path = env::current_exe().ok()?.with_file_name(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Why there is no part, and how to get it.
pub fn missing() -> String {
    format!(
        "`{PROGRAM}` is not beside this command: `cargo build --release -p npukit-interactive` or \
         `cargo install --path crates/interactive` makes it"
    )
}

/// Lets [`PROGRAM`] answer instead of this process.
pub fn hand_over(program: PathBuf) -> Result<Answer, Failure> {
    let mut command = Command::new(&program);
    command.args(env::args_os().skip(1));
    let error = instead(&mut command);
    Err(Failure::Debugger { reason: format!("cannot start `{}`: {error}", program.display()) })
}

/// Replaces this process; returns where that fails.
#[cfg(unix)]
fn instead(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// Ends this process as the other one ends; returns where that cannot start.
#[cfg(not(unix))]
fn instead(command: &mut Command) -> io::Error {
    match command.status() {
        // Default: a process that was killed has no status of its own.
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
