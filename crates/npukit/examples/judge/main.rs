//! Helper of `cargo xtask mutants --proof`: compiles small networks, and proves the resulting
//! programs.
//!
//! | command | does |
//! |---|---|
//! | `judge list` | lists the [`subjects`], one per line |
//! | `judge compile FOLDER SUBJECT...` | writes each program below `FOLDER`, or a file `refused` |
//! | `judge prove FOLDER TRUE-FOLDER SUBJECT...` | proves and runs these programs |
//!
//! A mutant must only be active in `compile`: proofs, machines and networks must be the original
//! ones.

#![allow(clippy::print_stdout, reason = "its answers are lines")]

mod network;
mod networks;
mod prove;
mod subjects;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use npukit::Context;
use subjects::Subject;

/// Reason why the judge failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("judge list | judge compile FOLDER SUBJECT... | judge prove FOLDER TRUE-FOLDER SUBJECT...")]
    Usage,
    #[error("unknown subject `{0}`")]
    Unknown(String),
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{subject}: {message}")]
    True { subject: String, message: String },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match judge(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn judge(arguments: &[String]) -> Result<(), Error> {
    match arguments {
        [command] if command == "list" => {
            subjects::subjects().iter().for_each(|subject| println!("{}", subject.name));
            Ok(())
        }
        [command, folder, names @ ..] if command == "compile" => {
            let at = |subject: &Subject| Path::new(folder).join(subject.name);
            named(names)?.iter().try_for_each(|subject| compile(subject, &at(subject)))
        }
        [command, folder, truth, names @ ..] if command == "prove" => {
            for subject in named(names)? {
                let [made, truth] = [folder, truth].map(|folder| Path::new(folder).join(subject.name));
                println!("{} {}", subject.name, prove::prove(&subject, &made, &truth)?);
            }
            Ok(())
        }
        _ => Err(Error::Usage),
    }
}

fn named(names: &[String]) -> Result<Vec<Subject>, Error> {
    let all = subjects::subjects();
    let find = |name: &String| all.iter().find(|subject| subject.name == name).cloned();
    names.iter().map(|name| find(name).ok_or_else(|| Error::Unknown(name.clone()))).collect()
}

/// Writes the program of a subject to `folder`, which only appears when it is complete. A refused
/// subject leaves a file that reports it.
fn compile(subject: &Subject, folder: &Path) -> Result<(), Error> {
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let files = subject.files();
        subject.source().program(Context::new(&files))?.files()
    }));
    let files: Vec<(String, Vec<u8>)> = match compiled {
        Ok(Ok(files)) => files.into_iter().map(|file| (file.name, file.bytes)).collect(),
        Ok(Err(error)) => vec![("refused".to_owned(), error.to_string().into_bytes())],
        Err(_) => vec![("refused".to_owned(), b"it panics".to_vec())],
    };
    let part = folder.with_extension("part");
    files.iter().try_for_each(|(name, bytes)| write(&part.join(name), bytes))?;
    std::fs::rename(&part, folder).map_err(|source| Error::File { path: folder.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(path, bytes).map_err(failed)
}
