//! Runs golden vectors against any target; the library of `npu conform`.
//!
//! [`run`] searches paths for vector files and keeps the files that the target knows. It checks
//! every vector on all cores of the computer and sums up in a [`Report`]. The target defines the
//! meaning of its vectors ([`Target::vectors`]).

mod report;

use rayon::prelude::*;

use crate::contract::target::Target;
use crate::contract::vectors::{Case, Outcome};
use crate::files::read::{ReadError, Reader};
use crate::phase::Phase;

pub use report::{Failure, FileReport, Report, Skip};

/// One case and the file that contains it.
struct Task {
    file: usize,
    case: Case,
}

/// Checks every golden vector found below `paths`.
///
/// Files without one of the extensions in [`Target::vector_extensions`] are ignored. Files with
/// such an extension that the target does not recognize are listed in [`Report::unrecognized`].
///
/// # Errors
///
/// [`ReadError`] if one of `paths`, or a file below it, cannot be read. A failing case is not an
/// error; it is listed in the report.
pub fn run(target: &Target, paths: &[String], reader: &dyn Reader) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut tasks = Vec::new();
    for path in find(paths, target.vector_extensions, reader)? {
        let bytes = reader.read(&path)?;
        match target.vectors(&path, &bytes, reader) {
            None => report.unrecognized.push(path),
            Some(cases) => {
                let file = report.add_file(path);
                tasks.extend(cases.into_iter().map(|case| Task { file, case }));
            }
        }
    }
    for (file, name, outcome) in check(tasks) {
        report.add(file, name, outcome);
    }
    Ok(report)
}

/// Lists all files below `paths` with one of the extensions, without duplicates. Files named
/// explicitly are always included.
fn find(paths: &[String], extensions: &[&str], reader: &dyn Reader) -> Result<Vec<String>, ReadError> {
    let is_vector = |file: &str| {
        extensions.iter().any(|extension| file.rsplit_once('.').is_some_and(|(_, end)| end == *extension))
    };
    let mut found = Vec::new();
    for path in paths {
        let files = reader.list(path)?;
        found.extend(files.into_iter().filter(|file| file == path || is_vector(file)));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Checks all tasks in parallel; returns the outcomes in the order of the tasks.
fn check(tasks: Vec<Task>) -> Vec<(usize, String, Outcome)> {
    let phase = Phase::counting("check vectors", tasks.len());
    tasks
        .into_par_iter()
        .map(|Task { file, case }| {
            let name = case.name.clone();
            let outcome = case.check();
            phase.advance();
            (file, name, outcome)
        })
        .collect()
}
