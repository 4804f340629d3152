//! Runs golden vectors against any target; the library of `npu conform`.
//!
//! [`run`] searches paths for files, asks the target which it knows, checks every vector in them
//! over the machine's cores and sums up in a [`Report`]. What the vectors mean is the target's
//! business ([`Target::vectors`]).

mod report;

use rayon::prelude::*;

use crate::contract::target::Target;
use crate::contract::vectors::{Case, Outcome};
use crate::files::read::{ReadError, Reader};
use crate::phase::Phase;

pub use report::{Failure, FileReport, Report, Skip};

/// A case and the file it comes from.
struct Task {
    file: usize,
    case: Case,
}

/// Checks every golden vector found below `paths`.
///
/// Files whose names do not end as [`Target::vector_extensions`] are not vectors; those that do and that the
/// target does not know are listed in [`Report::unrecognised`].
///
/// # Errors
///
/// [`ReadError`] when one of `paths`, or a file below it, cannot be read. A case that fails is not an error
/// but a line of the report.
pub fn run(target: &Target, paths: &[String], reader: &dyn Reader) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut tasks = Vec::new();
    for path in find(paths, target.vector_extensions, reader)? {
        let bytes = reader.read(&path)?;
        match target.vectors(&path, &bytes, reader) {
            None => report.unrecognised.push(path),
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

/// All files below `paths` with one of the extensions, each once; files named outright, whatever they are.
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

/// The outcomes, in the order of the tasks.
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
