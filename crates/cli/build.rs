//! Collects the build information for `--version --verbose`: commit, compiler, targets.
#![allow(clippy::print_stdout, reason = "a build script communicates by printing")]

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HOST", "TARGET", "PROFILE"] {
        say(name, env::var(name).ok());
    }
    let rustc = env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    say("RUSTC", rustc);
    // Unpacked sources may be in the folder of another repository, whose commit is not ours.
    let is_ours = output("git", &["ls-files", "--error-unmatch", "build.rs"]).is_some();
    say("COMMIT", git(&["log", "-1", "--format=%h"]).filter(|_| is_ours));
    say("COMMIT_DATE", git(&["log", "-1", "--format=%cs"]).filter(|_| is_ours));
    if is_ours {
        watch();
    }
}

/// Rebuilds when another commit is checked out. Git is asked for its paths, which differ in a
/// worktree.
fn watch() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let names = ["HEAD".to_owned(), "packed-refs".to_owned()].into_iter().chain(branch);
    let paths = names.filter_map(|name| git(&["rev-parse", "--git-path", &name]));
    // A file that does not exist would cause a rebuild every time.
    for path in paths.filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// Sets a variable for the compiler, unless the value is unknown.
fn say(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=NPU_BUILD_{name}={value}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    output("git", arguments)
}

/// Returns the first line that a command prints, if it succeeds.
fn output(command: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
