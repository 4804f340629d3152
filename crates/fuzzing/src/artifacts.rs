//! [`artifacts`]: the files of compiled programs.

use std::sync::OnceLock;

use npukit::targets;
use npukit_numeric::Tensor;
use npukit_target::{
    ArtifactFile, Compiled, HazardMode, Output, ReadError, RunOptions, TargetError, TimeOptions,
    UninitMemory, resealed,
};

use crate::{absent, message};

/// An artifact: the letter of its target, and its files, the manifest first.
struct Set {
    letter: u8,
    files: &'static [(&'static str, &'static [u8])],
}

/// A file of the corpus, by its name; its first two bytes select the set and the file in it.
macro_rules! set {
    ($letter:literal: $($file:literal)+) => {
        Set {
            letter: $letter,
            files: &[$(($file, include_bytes!(concat!("../../../fuzz/corpus/artifacts/", $file)))),+],
        }
    };
}

/// Artifacts. If they contain hashes of their files, these are recomputed: otherwise every change
/// would be detected before the file is read.
const SETS: [Set; 5] = [
    set!(b't': "m.tmodel" "m.tprog" "m.tdata" "m.npukit.json"),
    set!(b'o': "m.opu.toml" "m.words" "m.image"),
    set!(b'p': "m.pcp"),
    set!(b'd': "k.drra" "k.asm" "k.image.bin" "k.arch.json"),
    set!(b'm': "m.plan.json" "m.arch.json" "m.constants.bin" "m_0.bin" "m_0.pasm"),
];

/// Readers: `t`, `o`, `p`: files that `npu compile` writes for the targets; `d`: drra's programs;
/// `m`: its models. The second byte is the digit of the file in the set; the other files are valid.
///
/// An artifact that loads is linted, timed and run, on arbitrary memory. It is written to files
/// that load, and that are written unchanged again.
pub fn artifacts(input: &[u8]) {
    let [letter, digit, bytes @ ..] = input else { return };
    let Some(set) = SETS.iter().find(|set| set.letter == *letter) else { return };
    let Some((changed, _)) = set.files.get(usize::from(digit.wrapping_sub(b'0'))) else { return };
    let loaded = set.load(&|path| set.changed(path, changed, bytes));
    match loaded {
        Err(error) => drop(message(&error)),
        Ok(compiled) => used(&*compiled),
    }
}

/// Returns the unchanged artifact of a target.
pub(crate) fn good(letter: u8) -> &'static dyn Compiled {
    static GOOD: OnceLock<Vec<(u8, Box<dyn Compiled>)>> = OnceLock::new();
    let good = GOOD.get_or_init(|| {
        let load = |set: &Set| set.load(&|path| set.read(path)).unwrap_or_else(|error| panic!("{error}"));
        SETS.iter().map(|set| (set.letter, load(set))).collect()
    });
    good.iter().find(|(known, _)| *known == letter).map(|(_, compiled)| &**compiled).unwrap_or_else(|| {
        panic!("unknown artifact {}", letter.escape_ascii());
    })
}

type Read<'a> = dyn Fn(&str) -> Result<Vec<u8>, ReadError> + Sync + 'a;

impl Set {
    /// Returns an unchanged file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let known = self.files.iter().find(|(name, _)| *name == path);
        known.map_or_else(|| absent(path), |(_, bytes)| Ok(bytes[2..].to_vec()))
    }

    /// Returns a file if the one called `changed` has these bytes, with updated hashes.
    fn changed(&self, path: &str, changed: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
        let given = if path == changed { bytes.to_vec() } else { self.read(path)? };
        match std::str::from_utf8(&given) {
            Ok(text) => Ok(resealed(text, &[(&self.read(changed)?, bytes)]).into_bytes()),
            Err(_) => Ok(given),
        }
    }

    fn load(&self, files: &Read<'_>) -> Result<Box<dyn Compiled>, TargetError> {
        load(self.files[0].0, files)
    }
}

fn load(manifest: &str, files: &Read<'_>) -> Result<Box<dyn Compiled>, TargetError> {
    let is_its = |ending: &&str| manifest.ends_with(&format!(".{ending}"));
    let target = targets().iter().find(|target| target.artifact_extensions.iter().any(is_its));
    let target = target.unwrap_or_else(|| panic!("{manifest} is not a manifest"));
    target.load(manifest, &|path: &str| files(path))
}

fn used(compiled: &dyn Compiled) {
    let report = compiled.report();
    assert!(!report.target.is_empty());
    match compiled.lint() {
        Err(error) => drop(message(&error)),
        Ok(findings) => findings.iter().for_each(|finding| assert!(!finding.message.is_empty())),
    }
    let options = TimeOptions { meaning: HazardMode::Hardware, ..TimeOptions::default() };
    if let Err(error) = compiled.time(&options) {
        message(&error);
    }
    if let Err(error) = ran(compiled) {
        message(&error);
    }
    written(compiled);
}

/// Maximum number of elements of an input that is run.
const MAX: usize = 1 << 16;

fn ran(compiled: &dyn Compiled) -> Result<(), TargetError> {
    let input = |shape: &[usize]| {
        let count = shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size))?;
        let values = (0..count.min(MAX)).map(|place| (place % 7) as f32 - 3.0).collect();
        Tensor::from_f32(shape.to_vec(), values).ok()
    };
    let ports = compiled.inputs();
    let inputs = ports.into_iter().map(|port| Some((port.name, input(&port.shape)?)));
    let Some(inputs) = inputs.collect::<Option<Vec<_>>>() else { return Ok(()) };
    let options = RunOptions {
        meaning: HazardMode::Hardware,
        unset: UninitMemory::Garbage(1),
        ..RunOptions::default()
    };
    for Output { values, raw, .. } in compiled.run_with(&inputs, &options)?.outputs {
        assert_eq!(values.data().len(), raw.len(), "values and integers");
    }
    Ok(())
}

fn written(compiled: &dyn Compiled) {
    let files = match compiled.files() {
        Ok(files) => files,
        Err(error) => return drop(message(&error)),
    };
    let read = |path: &str| {
        let file = files.iter().find(|file| file.name == path);
        file.map_or_else(|| absent(path), |file| Ok(file.bytes.clone()))
    };
    let Some(ArtifactFile { name, .. }) = files.first() else { return };
    let again = load(name, &read).unwrap_or_else(|error| panic!("cannot be loaded again: {error}"));
    let again = again.files().unwrap_or_else(|error| panic!("cannot be written again: {error}"));
    let names = |files: &[ArtifactFile]| files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&files), names(&again), "files written again");
    for (first, second) in files.iter().zip(&again) {
        assert_eq!(first.bytes.escape_ascii().to_string(), second.bytes.escape_ascii().to_string(), "{name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_artifacts_run() {
        for Set { letter, .. } in SETS {
            ran(good(letter)).unwrap_or_else(|error| panic!("{}: {error}", letter.escape_ascii()));
        }
    }
}
