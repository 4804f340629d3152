//! `cargo xtask dist [TRIPLE]`: the archive of a release, `npu-VERSION-TRIPLE.tgz`, with a checksum
//! file next to it.
//!
//! The archive holds the command, the program that it starts for editors and terminals, its manual
//! pages and completions, the licenses and the README. `cargo binstall` finds the archive by its
//! name, which `crates/cli/Cargo.toml` also states; a test compares the two.

use std::path::{Path, PathBuf};
use std::process::Command;

use hmac_sha256::Hash;

use crate::files::{make_folder, remove, write};
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Builds the archive of a release, with manual pages, completions and a checksum";

/// Packages with programs in the archive, and the programs.
pub const PROGRAMS: [(&str, &str); 2] = [("npukit-cli", "npu"), ("npukit-interactive", "npu-interactive")];

/// Maximum size of a released program, in bytes.
const LARGEST: u64 = 16_000_000;

/// Cargo profile of the released programs, and name of its folder.
pub const PROFILE: &str = "dist";

/// Files of the workspace that are copied into the archive.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Shells and the file names of their completions.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "npu.bash"), ("zsh", "_npu"), ("fish", "npu.fish")];

/// Makes the archive for the current machine, or for the target triple in the only argument.
///
/// # Errors
///
/// More than one argument; a program (`cargo`, `rustc`, `tar`) that fails or is missing; a released
/// program above the size limit; or files that cannot be written.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let triple = triple("dist TRIPLE", arguments)?;
    let built = build(&triple)?;
    let folder = stage(&built, &triple, triple == host()?)?;
    let archive = pack(&folder)?;
    println!("{}", archive.display());
    Ok(())
}

/// Returns the target triple in the only argument, or the current machine's. `chore` is the usage
/// in the message.
pub fn triple(chore: &'static str, arguments: &[String]) -> Result<String, Error> {
    match arguments {
        [] => host(),
        [triple] => Ok(triple.clone()),
        [_, argument, ..] => Err(Error::Argument { chore, argument: argument.clone() }),
    }
}

/// Target triple of the current machine, as `rustc` reports it.
fn host() -> Result<String, Error> {
    let message = output(Command::new("rustc").arg("-vV"))?;
    let line = message.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| Error::NoPlace { path: "rustc -vV".to_owned(), line: "host: ".to_owned() })
}

/// Builds the programs for a target triple, and returns their folder. Fails if a program is too
/// large.
pub fn build(triple: &str) -> Result<PathBuf, Error> {
    let packages = PROGRAMS.iter().flat_map(|(package, _)| ["-p", package]);
    output(cargo().args(["build", "--locked", "--profile", PROFILE, "--target", triple]).args(packages))?;
    let folder = target().join(triple).join(PROFILE);
    for (_, program) in PROGRAMS {
        let path = folder.join(file_name(program, triple));
        let bytes = std::fs::metadata(&path)
            .map_err(|source| Error::Read { path: path.display().to_string(), source })?
            .len();
        if bytes > LARGEST {
            return Err(Error::Size { path: path.display().to_string(), bytes, largest: LARGEST });
        }
        println!("{program} has {bytes} bytes; the limit is {LARGEST}");
    }
    Ok(folder)
}

/// Collects the files of the archive. Manual pages and completions are omitted if the command
/// cannot run here.
fn stage(built: &Path, triple: &str, runs: bool) -> Result<PathBuf, Error> {
    let folder = target().join("dist").join(stem(triple));
    remove(&folder)?;
    make_folder(&folder)?;
    for (_, program) in PROGRAMS {
        let name = file_name(program, triple);
        copy(&built.join(&name), &folder.join(&name))?;
    }
    for name in TEXTS {
        copy(&root().join(name), &folder.join(name))?;
    }
    if runs {
        let command = &built.join(file_name("npu", triple));
        output(Command::new(command).arg("man").arg("-o").arg(folder.join("man")))?;
        make_folder(&folder.join("completions"))?;
        for (shell, name) in COMPLETIONS {
            let script = output(Command::new(command).args(["completions", shell]))?;
            write(&folder.join("completions").join(name), &script)?;
        }
    }
    Ok(folder)
}

/// Packs a folder into an archive next to it, and writes the checksum in the format of `sha256sum
/// -c`.
fn pack(folder: &Path) -> Result<PathBuf, Error> {
    let archive = with_ending(folder, ".tgz");
    let places = folder.parent().zip(folder.file_name()).zip(archive.file_name());
    let Some(((parent, inner), name)) = places else {
        return Err(Error::NoPlace { path: folder.display().to_string(), line: "dist".to_owned() });
    };
    output(Command::new("tar").current_dir(parent).arg("-czf").arg(name).arg(inner))?;
    let content = std::fs::read(&archive);
    let content = content.map_err(|source| Error::Read { path: archive.display().to_string(), source })?;
    let sum: String = Hash::hash(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    write(&with_ending(&archive, ".sha256"), &format!("{sum}  {}\n", name.display()))?;
    Ok(archive)
}

/// Appends an extension to a path. Versions contain dots, so `Path::with_extension` does not work.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Name of the archive without its extension, and of the folder in it.
fn stem(triple: &str) -> String {
    format!("npu-{}-{triple}", env!("CARGO_PKG_VERSION"))
}

/// File name of a program on a target triple.
pub fn file_name(program: &str, triple: &str) -> String {
    format!("{program}{}", if triple.contains("windows") { ".exe" } else { "" })
}

fn cargo() -> Command {
    // Default: cargo on the search path, if a shell started this program and not cargo.
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Folder of build results.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let copied = std::fs::copy(from, to);
    copied.map(|_| ()).map_err(|source| Error::Write { path: to.display().to_string(), source })
}

/// Runs a program, in the workspace unless it has a folder, and returns its standard output.
pub fn output(command: &mut Command) -> Result<String, Error> {
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    let message = format!("{command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|source| Error::Start { command: message.clone(), source })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            Err(Error::Command { command: message, status: output.status, stderr: "as above".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::files::read;

    /// `cargo binstall` expects the archive and the command in it at the names used here.
    #[test]
    fn the_archive_is_where_binstall_looks() {
        for (package, program) in PROGRAMS {
            let folder = package.strip_prefix("npukit-").unwrap();
            let manifest = read(&root().join(format!("crates/{folder}/Cargo.toml"))).unwrap();
            let (_, metadata) = manifest.split_once("[package.metadata.binstall]\n").unwrap();
            let value = |key: &str| {
                let line = metadata.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
                let text = line.unwrap().trim_matches('"').replace("{ version }", env!("CARGO_PKG_VERSION"));
                text.replace("{ target }", "x86_64-unknown-linux-gnu")
                    .replace("{ bin }{ binary-ext }", program)
            };
            let stem = stem("x86_64-unknown-linux-gnu");
            let folder = format!("{{ repo }}/releases/download/v{}", env!("CARGO_PKG_VERSION"));
            assert_eq!(value("pkg-url"), format!("{folder}/{stem}.tgz"));
            assert_eq!(value("bin-dir"), format!("{stem}/{program}"));
            assert_eq!(value("pkg-fmt"), "tgz");
        }
    }

    /// The release workflow and the container use this chore, with distinct archive names per
    /// machine.
    #[test]
    fn releases_are_built_by_this_chore() {
        let workflow = read(&root().join(".github/workflows/release.yml")).unwrap();
        let triples = workflow.lines().filter_map(|line| line.trim().strip_prefix("- triple: "));
        let triples: std::collections::BTreeSet<&str> = triples.collect();
        assert!(triples.contains("x86_64-unknown-linux-gnu") && triples.len() >= 4, "{triples:?}");
        assert!(workflow.contains("cargo xtask dist ${{ matrix.triple }}"));
        assert!(workflow.contains("cargo xtask wheel ${{ matrix.triple }}"));
        assert!(
            read(&root().join("Containerfile")).unwrap().contains("cargo build --locked --profile hosted")
        );
    }
}
