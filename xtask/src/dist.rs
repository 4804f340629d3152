//! `cargo xtask dist [TRIPLE]`: the archive of a release, `npu-VERSION-TRIPLE.tgz` with its checksum beside it.
//!
//! It holds the command, its manual pages and completions, the licences and the README. `cargo binstall` finds the archive
//! by its name, which `crates/cli/Cargo.toml` states a second time; a test compares the two.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::files::{make_folder, remove, write};
use crate::{Error, root};

/// One line for the help.
pub const ABOUT: &str = "Builds the archive of a release, with manual pages, completions and a checksum";

/// The largest command that we release, in bytes.
const LARGEST: u64 = 16_000_000;

/// The profile that the archive's command is built by, and its folder.
const PROFILE: &str = "dist";

/// What lies beside the command as it is in the workspace.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Shells and what their completions are called.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "npu.bash"), ("zsh", "_npu"), ("fish", "npu.fish")];

/// Makes the archive for the machine at hand, or for the one that the only argument names.
///
/// # Errors
///
/// More than one argument; a program that fails or is missing (`cargo`, `rustc`, `tar`); a command above the size; files that
/// cannot be written.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let host = host()?;
    let triple = match arguments {
        [] => host.as_str(),
        [triple] => triple,
        [_, argument, ..] => {
            return Err(Error::Argument { chore: "dist TRIPLE", argument: argument.clone() });
        }
    };
    let command = build(triple)?;
    let folder = stage(&command, triple, triple == host)?;
    let archive = pack(&folder)?;
    println!("{}", archive.display());
    Ok(())
}

/// The machine at hand, as `rustc` calls it.
fn host() -> Result<String, Error> {
    let told = output(Command::new("rustc").arg("-vV"))?;
    let line = told.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| Error::NoPlace { path: "rustc -vV".to_owned(), line: "host: ".to_owned() })
}

/// Builds the command for a machine, and refuses one that is too large.
fn build(triple: &str) -> Result<PathBuf, Error> {
    output(cargo().args([
        "build",
        "--locked",
        "--profile",
        PROFILE,
        "-p",
        "npukit-cli",
        "--target",
        triple,
    ]))?;
    let command = target().join(triple).join(PROFILE).join(command_name(triple));
    let bytes = std::fs::metadata(&command)
        .map_err(|source| Error::Read { path: command.display().to_string(), source })?;
    match bytes.len() {
        bytes if bytes > LARGEST => {
            Err(Error::Size { path: command.display().to_string(), bytes, largest: LARGEST })
        }
        bytes => {
            println!("npu has {bytes} bytes, of at most {LARGEST}");
            Ok(command)
        }
    }
}

/// Lays the files of the archive out. What the command writes of itself is left out where it cannot run.
fn stage(command: &Path, triple: &str, runs: bool) -> Result<PathBuf, Error> {
    let folder = target().join("dist").join(stem(triple));
    remove(&folder)?;
    make_folder(&folder)?;
    copy(command, &folder.join(command_name(triple)))?;
    for name in TEXTS {
        copy(&root().join(name), &folder.join(name))?;
    }
    if runs {
        output(Command::new(command).arg("man").arg("-o").arg(folder.join("man")))?;
        make_folder(&folder.join("completions"))?;
        for (shell, name) in COMPLETIONS {
            let script = output(Command::new(command).args(["completions", shell]))?;
            write(&folder.join("completions").join(name), &script)?;
        }
    }
    Ok(folder)
}

/// Packs a folder beside itself, and writes the checksum in the form that `sha256sum -c` reads.
fn pack(folder: &Path) -> Result<PathBuf, Error> {
    let archive = with_ending(folder, ".tgz");
    let places = folder.parent().zip(folder.file_name()).zip(archive.file_name());
    let Some(((parent, inner), name)) = places else {
        return Err(Error::NoPlace { path: folder.display().to_string(), line: "dist".to_owned() });
    };
    output(Command::new("tar").current_dir(parent).arg("-czf").arg(name).arg(inner))?;
    let content = std::fs::read(&archive);
    let content = content.map_err(|source| Error::Read { path: archive.display().to_string(), source })?;
    let sum: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    write(&with_ending(&archive, ".sha256"), &format!("{sum}  {}\n", name.display()))?;
    Ok(archive)
}

/// A path with more at its end. Versions have dots, so an ending is not what follows the last one.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// What the archive and the folder in it are called, without an ending.
fn stem(triple: &str) -> String {
    format!("npu-{}-{triple}", env!("CARGO_PKG_VERSION"))
}

/// What the command is called on a machine.
fn command_name(triple: &str) -> &'static str {
    if triple.contains("windows") { "npu.exe" } else { "npu" }
}

fn cargo() -> Command {
    // Default: what is found on the path, when a shell and not cargo has started this.
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let copied = std::fs::copy(from, to);
    copied.map(|_| ()).map_err(|source| Error::Write { path: to.display().to_string(), source })
}

/// Runs a program in the workspace unless it has a folder; gives what it prints.
fn output(command: &mut Command) -> Result<String, Error> {
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let told = format!("{command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|source| Error::Start { command: told.clone(), source })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::Command { command: told, status: output.status, stderr: "as above".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::files::read;

    /// `cargo binstall` asks for the archive that is made here, and looks for the command where it is.
    #[test]
    fn the_archive_is_where_binstall_looks() {
        let manifest = read(&root().join("crates/cli/Cargo.toml")).unwrap();
        let (_, metadata) = manifest.split_once("[package.metadata.binstall]\n").unwrap();
        let value = |key: &str| {
            let line = metadata.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let text = line.unwrap().trim_matches('"').replace("{ version }", env!("CARGO_PKG_VERSION"));
            text.replace("{ target }", "x86_64-unknown-linux-gnu").replace("{ bin }{ binary-ext }", "npu")
        };
        let stem = stem("x86_64-unknown-linux-gnu");
        let folder = format!("{{ repo }}/releases/download/v{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(value("pkg-url"), format!("{folder}/{stem}.tgz"));
        assert_eq!(value("bin-dir"), format!("{stem}/npu"));
        assert_eq!(value("pkg-fmt"), "tgz");
    }

    /// The workflow and the container build by this chore, for machines whose archives have distinct names.
    #[test]
    fn releases_are_built_by_this_chore() {
        let workflow = read(&root().join(".github/workflows/release.yml")).unwrap();
        let triples = workflow.lines().filter_map(|line| line.trim().strip_prefix("- triple: "));
        let triples: std::collections::BTreeSet<&str> = triples.collect();
        assert!(triples.contains("x86_64-unknown-linux-gnu") && triples.len() >= 4, "{triples:?}");
        assert!(workflow.contains("cargo xtask dist ${{ matrix.triple }}"));
        assert!(read(&root().join("Containerfile")).unwrap().contains("cargo build --locked --release"));
    }
}
