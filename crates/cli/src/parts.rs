//! [`Parts`]: services for editors, terminals and clients of a language model. `npu` is built
//! without them, and starts [`PROGRAM`] when they are needed.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

use npukit::verbs::generate::Session;
use npukit_debug::{Debugger, Open};

use crate::answer::Answer;
use crate::editor::Editor;
use crate::failure::Failure;

/// Program that contains the parts, in the folder of `npu`.
const PROGRAM: &str = "npu-interactive";

/// Parts of the command with dependencies that nothing else needs.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Serves an editor on standard input and output until it disconnects.
    pub lsp: fn(&Editor) -> Result<(), Box<dyn Error + Send + Sync>>,
    /// Debugs for an editor, with the Debug Adapter Protocol on standard input and output, until it
    /// disconnects.
    pub dap: fn(&Open<'_>) -> io::Result<()>,
    /// Debugs on the terminal until the user quits. The texts are the assumptions that were made.
    pub screen: fn(Debugger, &[String], Terminal) -> io::Result<()>,
    /// Serves a language model over HTTP until the process ends.
    pub serve: Serve,
}

/// Serves a language model with its settings, and calls a function when requests can come.
pub type Serve = fn(Session, &ServeSettings, &dyn Fn(SocketAddr)) -> io::Result<()>;

/// Settings of a served model: its address, and the permitted clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSettings {
    /// Address to listen on.
    pub address: IpAddr,
    /// Port to listen on; 0 for a free one.
    pub port: u16,
    /// Names of this computer that requests may have, in addition to `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the model.
    pub origins: Vec<String>,
    /// Maximum number of requests that wait.
    pub queue: usize,
}

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Whether it supports color, and the user wants it.
    pub has_colors: bool,
    /// Whether it supports characters beyond ASCII.
    pub has_unicode: bool,
}

/// Returns the path of [`PROGRAM`], if it exists.
pub fn program() -> Option<PathBuf> {
    let path = env::current_exe().ok()?.with_file_name(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Returns the reason why a part is missing, and how to get it.
pub fn missing() -> String {
    format!(
        "`{PROGRAM}` is not next to this command: `cargo build --release -p npukit-interactive` or \
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

/// Replaces this process; only returns if that fails.
#[cfg(unix)]
fn instead(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// Ends this process when the other one ends; only returns if that cannot start.
#[cfg(not(unix))]
fn instead(command: &mut Command) -> io::Error {
    match command.status() {
        // Default: a process that was killed has no status.
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
