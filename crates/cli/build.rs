//! What the command says of itself with `--version --verbose`: commit, compiler, machines.
#![allow(clippy::print_stdout, reason = "how a build script speaks")]

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
    // A folder of another repository may hold what was unpacked of ours: then the commit is not ours.
    let is_ours = output("git", &["ls-files", "--error-unmatch", "build.rs"]).is_some();
    say("COMMIT", git(&["log", "-1", "--format=%h"]).filter(|_| is_ours));
    say("COMMIT_DATE", git(&["log", "-1", "--format=%cs"]).filter(|_| is_ours));
    if is_ours {
        watch();
    }
}

/// Builds again when another commit is checked out. Git knows where its files are, in a worktree too.
fn watch() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let names = ["HEAD".to_owned(), "packed-refs".to_owned()].into_iter().chain(branch);
    let paths = names.filter_map(|name| git(&["rev-parse", "--git-path", &name]));
    // A file that does not exist would build again every time.
    for path in paths.filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// Sets a variable for the compiler; what is not known is left out.
fn say(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=NPU_BUILD_{name}={value}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    output("git", arguments)
}

/// The first line that a command prints, if it succeeds.
fn output(command: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
