//! [`Verilator`]: builds and runs simulators of circuits, each in a separate folder.
//!
//! Simulators are kept in the cache folder under the hash of sources, arguments and version; the
//! oldest are removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Instant, SystemTime};
use std::{env, io};

use npukit::verbs::cosim::{Simulated, Simulator, SimulatorError};
use npukit::{Build, Phase, Run, Seen, sha256};
use tempfile::TempDir;

use crate::{cache, programs};

/// Environment variable with the path of the program, if it is not on the PATH.
const VARIABLE: &str = "NPU_VERILATOR";
/// Names of the program: its own, and that of its Python package.
const NAMES: [&str; 2] = ["verilator", "verilator-cli"];
/// Maximum number of kept simulators.
const MAX_CACHED: usize = 16;
/// Oldest release that builds all circuits: version and release. Tested with Debian 12.
const OLDEST: (u32, u32) = (5, 6);
/// Name of a kept simulator in its folder.
const PROGRAM: &str = "simulator";
/// Maximum characters of a program's output that an error shows.
const MAX_PRINTED: usize = 4000;

/// Verilator on this machine.
pub struct Verilator;

impl Simulator for Verilator {
    fn name(&self) -> Result<String, SimulatorError> {
        Ok(found()?.1)
    }

    fn simulate(&self, build: &Build, run: &Run) -> Result<Simulated, SimulatorError> {
        let (verilator, version) = found()?;
        let kept = kept(build, &verilator, &version)?;
        let start = Instant::now();
        let seen = simulated(&kept.program(), run)?;
        Ok(Simulated { seen, seconds: start.elapsed().as_secs_f64() })
    }
}

/// Returns the program, and its version text.
fn found() -> Result<(OsString, String), SimulatorError> {
    let found = programs::found(VARIABLE, &NAMES, &["--version"]);
    let (name, output) = found.map_err(|tried| SimulatorError::Absent { tried })?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = if version.starts_with("Verilator") { version } else { format!("Verilator {version}") };
    if is_old(&version) { Err(old(&name, version)) } else { Ok((name, version)) }
}

/// Whether a version is too old. A version without a number, as in packages of arbitrary commits,
/// is not.
fn is_old(version: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().ok();
    let stated = version.split_whitespace().nth(1).and_then(|word| word.split_once('.'));
    let stated = stated.and_then(|(version, release)| Some((number(version)?, number(release)?)));
    stated.is_some_and(|stated| stated < OLDEST)
}

fn old(name: &OsString, found: String) -> SimulatorError {
    let (version, release) = OLDEST;
    SimulatorError::Old { name: name.display().to_string(), found, needed: format!("{version}.{release:03}") }
}

/// Folder with a simulator; removed when it is dropped, unless it is kept.
enum BuildFolder {
    Folder(PathBuf),
    Once(TempDir),
}

impl BuildFolder {
    fn program(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(PROGRAM),
            Self::Once(folder) => folder.path().join(PROGRAM),
        }
    }
}

/// Returns the simulator: found, or built and kept.
fn kept(build: &Build, verilator: &OsString, version: &str) -> Result<BuildFolder, SimulatorError> {
    let Some(all) = cache::simulators() else {
        return Ok(BuildFolder::Once(built(build, verilator, &env::temp_dir())?));
    };
    let folder = all.join(sha256(&build.identity(version)));
    if folder.join(PROGRAM).is_file() {
        // If the time cannot be set, the simulator is removed earlier.
        let _ = File::open(folder.join(USED)).and_then(|file| file.set_modified(SystemTime::now()));
        return Ok(BuildFolder::Folder(folder));
    }
    fs::create_dir_all(&all).map_err(|error| unmade(&all, &error))?;
    let new = built(build, verilator, &all)?;
    match fs::rename(new.path(), &folder) {
        Ok(()) => drop(new.keep()),
        // Another process was faster.
        Err(_) if folder.join(PROGRAM).is_file() => {}
        Err(_) => return Ok(BuildFolder::Once(new)),
    }
    let_go(&all);
    Ok(BuildFolder::Folder(folder))
}

/// File of a kept simulator whose time is that of its last use.
const USED: &str = "used";

/// Removes the simulators with the oldest last use.
fn let_go(all: &Path) {
    let used = |folder: PathBuf| {
        // Default: a simulator that was never used is being built, or its build failed.
        let of = |path: &Path| path.metadata().and_then(|facts| facts.modified());
        let time = of(&folder.join(USED)).or_else(|_| of(&folder)).ok()?;
        Some((time, folder))
    };
    let Ok(entries) = fs::read_dir(all) else { return };
    let mut folders: Vec<_> = entries.flatten().filter_map(|entry| used(entry.path())).collect();
    folders.sort();
    let many = folders.len().saturating_sub(MAX_CACHED);
    folders.into_iter().take(many).for_each(|(_, folder)| drop(fs::remove_dir_all(folder)));
}

/// Builds a simulator in a new folder of `parent`, which contains nothing else at the end.
fn built(build: &Build, verilator: &OsString, parent: &Path) -> Result<TempDir, SimulatorError> {
    let _phase = Phase::begin("build simulator");
    let folder = TempDir::new_in(parent).map_err(|error| unmade(parent, &error))?;
    let work = TempDir::new_in(folder.path()).map_err(|error| unmade(folder.path(), &error))?;
    for file in &build.files {
        write(work.path(), &file.name, file.text.as_bytes())?;
    }
    let output = Command::new(verilator).args(&build.arguments).current_dir(work.path()).output();
    let output = output.map_err(|error| SimulatorError::Absent { tried: error.to_string() })?;
    let program = work.path().join(build.program());
    if !output.status.success() || !program.is_file() {
        return Err(SimulatorError::Build { status: output.status.to_string(), output: printed(&output) });
    }
    let place = folder.path().join(PROGRAM);
    fs::rename(&program, &place).map_err(|error| unmade(&place, &error))?;
    write(folder.path(), USED, b"")?;
    Ok(folder)
}

/// Runs a simulator in a temporary folder; returns the files it has written.
fn simulated(program: &Path, run: &Run) -> Result<Seen, SimulatorError> {
    let _phase = Phase::begin("simulate circuit");
    let parent = env::temp_dir();
    let folder = TempDir::new().map_err(|error| unmade(&parent, &error))?;
    for (name, bytes) in &run.files {
        write(folder.path(), name, bytes)?;
    }
    let output = Command::new(program).args(&run.arguments).current_dir(folder.path()).output();
    let output = output.map_err(|error| SimulatorError::Run {
        status: "it does not start".to_owned(),
        output: error.to_string(),
    })?;
    // Status 1 means that not all instructions were accepted, which the comparison reports.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(SimulatorError::Run { status: output.status.to_string(), output: printed(&output) });
    }
    let read = |name: &&'static str| {
        let bytes = fs::read(folder.path().join(name));
        let failed =
            |error: io::Error| SimulatorError::Output { file: (*name).to_owned(), reason: error.to_string() };
        Ok((*name, bytes.map_err(failed)?))
    };
    run.outputs.iter().map(read).collect()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), SimulatorError> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| unmade(&path, &error))
}

fn unmade(path: &Path, error: &io::Error) -> SimulatorError {
    SimulatorError::Folder { path: path.display().to_string(), reason: error.to_string() }
}

/// Returns the end of a program's output.
fn printed(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&both);
    let skipped = text.chars().count().saturating_sub(MAX_PRINTED);
    text.chars().skip(skipped).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let old = ["Verilator 4.038 2020-07-11 rev v4.036", "Verilator 5.004 2022-12-14 rev v5.004"];
        let new = [
            "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)",
            "Verilator 5.048 2026-04-01",
            "Verilator 6.000",
        ];
        // A package of a commit has no number.
        let unknown = ["Verilator rev vUNKNOWN-built20260516-4e853d8", "Verilator"];
        assert!(old.iter().all(|version| is_old(version)));
        assert!(new.iter().chain(&unknown).all(|version| !is_old(version)));
    }

    #[test]
    fn the_simulators_that_were_not_used_longest_go() {
        let all = TempDir::new().unwrap();
        for index in 0..MAX_CACHED + 3 {
            let folder = all.path().join(format!("{index:02}"));
            fs::create_dir(&folder).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 - index as u64);
            File::create(folder.join(USED)).unwrap().set_modified(time).unwrap();
        }
        let_go(all.path());
        let mut left: Vec<String> = fs::read_dir(all.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left.len(), MAX_CACHED);
        assert_eq!(left[0], "00", "the newest stay: {left:?}");
    }
}
