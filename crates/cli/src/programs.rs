//! [`found`]: a program of another project on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, absolute};
use std::process::{Command, ExitStatus, Output, Stdio};

/// Returns the first of the programs `names` that ends successfully with `arguments`, and its
/// output. An environment variable that is set names the only one instead.
///
/// # Errors
///
/// Returns what was tried, for a message.
pub fn found(variable: &str, names: &[&str], arguments: &[&str]) -> Result<(OsString, Output), String> {
    let named = env::var_os(variable).filter(|name| !name.is_empty()).map(in_any_folder);
    let names = named.map_or_else(|| names.iter().map(OsString::from).collect(), |name| vec![name]);
    let mut tried = Vec::new();
    for name in names {
        match Command::new(&name).args(arguments).stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok((name, output)),
            Ok(output) => {
                tried.push(format!("`{}` {}", name.display(), complaint(&output.stderr, output.status)));
            }
            Err(error) => tried.push(format!("`{}`: {error}", name.display())),
        }
    }
    Err(tried.join("; "))
}

/// Returns the program so that it can be started in any folder: a path is made absolute, a name is
/// looked up in the PATH.
fn in_any_folder(name: OsString) -> OsString {
    let is_path = Path::new(&name).components().count() > 1;
    if is_path { absolute(&name).map_or(name, OsString::from) } else { name }
}

/// Returns the last line of a program's complaint, or its exit status.
fn complaint(text: &[u8], status: ExitStatus) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map_or_else(|| format!("ends with {status}"), |line| format!("ends with {line}"))
}
