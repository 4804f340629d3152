//! Damaged files are refused or read; no reader panics.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use npukit_numeric::Tensor;
use npukit_target::{Compiled, InstanceSpec, Reader, RunOptions, TargetError, TimeOptions};

use crate::disk::{Disk, Files};
use crate::{Random, Suite};

/// Number of damaged versions per file.
const TIMES: usize = 40;
/// Largest file of vectors that is damaged, in bytes. Reading larger files that often takes too
/// long.
const LARGEST: usize = 1 << 14;
/// Maximum number of elements of an input that is passed to a damaged artifact.
const ELEMENTS: usize = 1 << 16;

impl Suite {
    /// Tests damaged files: the configurations in the target's folder, its small files of vectors,
    /// and the artifacts of small graphs.
    pub fn damage(&self) {
        self.damaged_configurations();
        self.damaged_vectors();
        self.damaged_artifacts();
    }

    fn damaged_configurations(&self) {
        let folder = Path::new(self.folder).join("configs");
        let files = Disk.list(&folder.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"));
        assert!(!files.is_empty(), "the target's folder has no configurations");
        for path in files {
            let name = path.rsplit('/').next().unwrap_or(&path);
            each_damaged(&path, &read(&path), |bytes| {
                match self.target.instance(InstanceSpec::File { name, bytes }) {
                    Err(error) => explains(&error),
                    Ok(instance) => match instance.isa() {
                        Err(error) => explains(&error),
                        Ok(isa) => assert!(!isa.reference().text().is_empty(), "an empty page"),
                    },
                }
            });
        }
    }

    fn damaged_vectors(&self) {
        let folder = self.golden();
        let files = Disk.list(&folder.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"));
        let is_vector = |path: &String| {
            let endings = self.target.vector_extensions;
            endings.iter().any(|ending| path.rsplit_once('.').is_some_and(|(_, end)| end == *ending))
        };
        for path in files.into_iter().filter(is_vector) {
            let bytes = read(&path);
            if bytes.len() > LARGEST {
                continue;
            }
            each_damaged(&path, &bytes, |bytes| {
                for case in self.target.vectors(&path, bytes, &Disk).unwrap_or_default() {
                    case.check();
                }
            });
        }
    }

    fn damaged_artifacts(&self) {
        self.each_compiled(|_, subject, compiled| {
            let files = compiled.files().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            for index in 0..files.len() {
                let what = format!("{} of {}", files[index].name, subject.name);
                each_damaged(&what, &files[index].bytes, |bytes| {
                    let mut files = files.clone();
                    files[index].bytes = bytes.to_vec();
                    match self.target.load(&files[0].name, &Files(&files)) {
                        Err(error) => explains(&error),
                        Ok(loaded) => used(&*loaded),
                    }
                });
            }
        });
    }
}

/// Calls all functions of a program that may have been read from damaged files.
fn used(compiled: &dyn Compiled) {
    assert!(!compiled.report().target.is_empty(), "a program without a target");
    let answers = [
        compiled.lint().err(),
        compiled.time(&TimeOptions::default()).err(),
        compiled.files().err(),
        ran(compiled).err(),
    ];
    answers.iter().flatten().for_each(explains);
}

fn ran(compiled: &dyn Compiled) -> Result<(), TargetError> {
    let input = |shape: &[usize]| {
        let count = shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size))?;
        Tensor::from_f32(shape.to_vec(), vec![0.5; count.min(ELEMENTS)]).ok()
    };
    let inputs = compiled.inputs().into_iter().map(|port| Some((port.name, input(&port.shape)?)));
    let Some(inputs) = inputs.collect::<Option<Vec<_>>>() else { return Ok(()) };
    compiled.run_with(&inputs, &RunOptions::default()).map(drop)
}

/// Checks that an error has a message.
fn explains(error: &TargetError) {
    let error: &dyn Error = error;
    assert!(!error.to_string().is_empty(), "an error has an empty message");
}

fn read(path: &str) -> Vec<u8> {
    Disk.read(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls `each` with `bytes` damaged in many ways. If it panics, reports the damage.
fn each_damaged(what: &str, bytes: &[u8], each: impl Fn(&[u8])) {
    let mut random = Random::new(bytes.len() as u64);
    for _ in 0..TIMES {
        let mut damaged = bytes.to_vec();
        (0..=random.below(3)).for_each(|_| damage(&mut damaged, &mut random));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| each(&damaged))) {
            let message = panic.downcast_ref::<String>().cloned();
            let text = damaged.escape_ascii();
            resume_unwind(Box::new(format!("{what}: {}: {text}", message.unwrap_or_default())));
        }
    }
}

/// Changes, removes, repeats or inserts some bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return *bytes = random.bytes(8);
    }
    let at = random.below(bytes.len());
    let end = at + random.below((bytes.len() - at).min(16) + 1);
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.bits() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        5 => {
            let more = random.bytes(4);
            bytes.splice(at..at, more);
        }
        // In text with numbers, a changed digit has the largest effect.
        _ => {
            let digits = bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
            let digits: Vec<usize> = digits.map(|(at, _)| at).collect();
            if !digits.is_empty() {
                bytes[digits[random.below(digits.len())]] = b'0' + random.below(10) as u8;
            }
        }
    }
}
