//! `cargo xtask new-target NAME`: creates a folder in `targets` with an accelerator of three
//! instructions that passes the suite of all targets, and adds the two lines by which the command
//! knows it.
//!
//! The folder is a copy of `xtask/skeleton`, a crate that is built and tested like any other.

use std::path::Path;
use std::process::Command;

use crate::files::{entries, make_folder, read, write};
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Writes a working target of four instructions, and the two lines that list it";

/// Folder that is copied.
const SKELETON: &str = "xtask/skeleton";

/// Line of the manifest before which the new target is inserted, and line of the list after which
/// it is.
const LINES: [(&str, &str); 2] = [
    ("crates/npukit/Cargo.toml", "rayon.workspace = true\n"),
    ("crates/npukit/src/targets/list.rs", "\n];\n"),
];

/// Creates the target named by the only argument.
///
/// # Errors
///
/// A name that is not a word of lowercase letters and digits, or is already used; files that cannot
/// be read or written.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let [name] = arguments else { return Err(Error::TargetName(arguments.join(" "))) };
    for path in make(&root(), name)? {
        println!("{path}");
    }
    println!("`cargo test -p npukit-{name}` tests it, `npu isa {name}` shows its instructions");
    Ok(())
}

/// Creates the target in a workspace. Returns the written paths: the folder, and the files with a
/// new line.
fn make(root: &Path, name: &str) -> Result<Vec<String>, Error> {
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let folder = root.join("targets").join(name);
    let is_taken = folder.exists() || root.join("crates").join(name).exists();
    if !is_word || is_taken {
        return Err(Error::TargetName(name.to_owned()));
    }
    copy(&root.join(SKELETON), &folder, &|text| renamed(text, name))?;
    format(&folder)?;
    let lines = [
        format!("npukit-{name} = {{ path = \"../../targets/{name}\" }}\n"),
        format!("\n    &npukit_{name}::{},", name.to_uppercase()),
    ];
    let mut written = vec![format!("targets/{name}")];
    for ((path, before), line) in LINES.into_iter().zip(lines) {
        let text = read(&root.join(path))?;
        let Some(at) = text.find(before) else {
            return Err(Error::NoPlace { path: path.to_owned(), line: before.trim().to_owned() });
        };
        write(&root.join(path), &format!("{}{line}{}", &text[..at], &text[at..]))?;
        written.push(path.to_owned());
    }
    Ok(written)
}

/// Replaces the skeleton's name in a text by the target's.
fn renamed(text: &str, name: &str) -> String {
    let text = text.replace("skeleton", name).replace("Skeleton", &type_name(name));
    text.replace("SKELETON", &name.to_uppercase())
}

/// Name of the target's type.
fn type_name(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// Copies the text files of a folder, changed by `change`.
fn copy(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) -> Result<(), Error> {
    make_folder(to)?;
    for path in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name), change)?;
        } else {
            write(&to.join(name), &change(&read(&path)?))?;
        }
    }
    Ok(())
}

/// Formats the Rust files of a target, since another name may change the order of imports.
fn format(folder: &Path) -> Result<(), Error> {
    let command = "rustfmt --edition 2024 src/lib.rs tests/main.rs".to_owned();
    let output = Command::new("rustfmt")
        .args(command.split(' ').skip(1))
        .current_dir(folder)
        .output()
        .map_err(|source| Error::Start { command: command.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::Command { command, status: output.status, stderr })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::files::Copy;

    /// A new target passes the suite of all targets, and the facade lists it with two lines.
    #[test]
    #[ignore = "rebuilds the crates below a target: `cargo test -p xtask -- --ignored`"]
    fn a_new_target_passes_the_suite() {
        let copy = Copy::new("new-target").unwrap();
        let written = make(&copy.root, "fifth").unwrap();
        assert_eq!(
            written,
            ["targets/fifth", "crates/npukit/Cargo.toml", "crates/npukit/src/targets/list.rs"]
        );
        for (path, _) in LINES {
            let [before, after] = [&root(), &copy.root].map(|root| read(&root.join(path)).unwrap());
            let new: Vec<&str> = after.lines().filter(|line| line.contains("fifth")).collect();
            assert_eq!(
                (new.len(), after.lines().count()),
                (1, before.lines().count() + 1),
                "{path}: {new:?}"
            );
        }
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "-p", "npukit-fifth"])
            .current_dir(&copy.root)
            .env("CARGO_TARGET_DIR", &copy.target)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("test suite::small_graphs_compute_what_they_say ... ok"), "{text}");
        assert!(make(&copy.root, "fifth").is_err(), "its name is already used");
    }

    #[test]
    fn names_are_words() {
        for name in ["", "Fifth", "5th", "a-b", "../x", "tcu", "asm"] {
            assert!(matches!(make(&root(), name), Err(Error::TargetName(_))), "{name}");
        }
    }
}
