//! A task of `npu bench compile` in a separate process, whose memory the system measures.

use std::process::Command;
use std::{env, fs};

use npukit::Error;
use npukit::verbs::bench::{Request, Taken, Task, task};

use crate::answer::Answer;
use crate::failure::Failure;

/// Runs the task `name` in this process; prints its seconds, and the peak of resident bytes or `-`.
pub fn run(request: &Request, name: &str) -> Result<Answer, Failure> {
    let found = task(&Request { table: None, ..request.clone() }, name)
        .ok_or_else(|| Error::UnknownName { what: "task", name: name.to_owned(), known: Vec::new() })?;
    let Taken { seconds, .. } = found.run(request.runs, request.seed)?;
    let peak = peak_bytes().map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let json = serde_json::json!({ "seconds": seconds, "peak_bytes": peak_bytes() });
    Ok(Answer::new(format!("{seconds} {peak}\n"), &json))
}

/// Runs `task` in another process of this command.
///
/// # Errors
///
/// The reason why it cannot be started, or its error message.
pub fn start(request: &Request, task: &Task) -> Result<Taken, String> {
    let command =
        env::current_exe().map_err(|error| format!("cannot find the path of this command: {error}"))?;
    let (runs, seed) = (request.runs.to_string(), request.seed.to_string());
    let output = Command::new(command)
        .args(["bench", "compile", "--runs", &runs, "--seed", &seed, "--quiet", "--alone", &task.name()])
        .output()
        .map_err(|error| format!("cannot start another process of this command: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    match words.next().map(str::parse) {
        Some(Ok(seconds)) if output.status.success() => {
            Ok(Taken { seconds, peak_bytes: words.next().and_then(|bytes| bytes.parse().ok()) })
        }
        _ => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Returns the peak of resident bytes of this process, if the system reports it, as Linux does.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
