//! [`Judge`]: runs the judge with and without a mutant, and determines the outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::ByTarget;
use super::table::{Outcome, TargetOutcome};
use crate::Error;
use crate::mutants::judge::{at_once, ended};

/// The judge, and its programs of the subjects without a mutant.
pub struct Judge {
    command: PathBuf,
    folder: PathBuf,
    subjects: Vec<Subject>,
}

/// A subject, the mutants that it reaches, and the time to compile and prove its original program.
struct Subject {
    name: String,
    reached: BTreeSet<usize>,
    time: Duration,
}

/// Time limit in addition to five times the time of the original program.
const SPARE: Duration = Duration::from_secs(20);

impl Judge {
    /// Compiles and proves all subjects without a mutant.
    ///
    /// # Errors
    ///
    /// A subject is refused, or not proved.
    pub fn new(command: PathBuf, folder: PathBuf) -> Result<Self, Error> {
        removed(&folder)?;
        let mut judge = Self { command, folder, subjects: Vec::new() };
        let names = judge.names()?;
        let found = at_once((0..names.len()).collect(), |number| judge.subject(&names[number]));
        judge.subjects = found.into_iter().collect::<Result<_, _>>()?;
        judge.subjects.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<String> =
            judge.subjects.iter().map(|subject| format!("{} {:.1?}", subject.name, subject.time)).collect();
        eprintln!("subjects: {}", names.join(", "));
        Ok(judge)
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        let command = self.command.display().to_string();
        let output = Command::new(&self.command)
            .arg("list")
            .output()
            .map_err(|source| Error::Start { command, source })?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }

    fn truth(&self) -> PathBuf {
        self.folder.join("true")
    }

    /// Compiles and proves a subject without a mutant.
    fn subject(&self, name: &str) -> Result<Subject, Error> {
        let (truth, record) = (self.truth(), self.folder.join(format!("{name}.reached")));
        let start = Instant::now();
        let limit = Duration::from_secs(600);
        let mut compile = self.run(&["compile", path(&truth)], &[name]);
        ended(compile.env("NPUKIT_MUTANTS_REACHED", &record), limit)?;
        let refused = std::fs::read_to_string(truth.join(name).join("refused"));
        let unfit = |message: &str| Error::Subject { name: name.to_owned(), message: message.to_owned() };
        if let Ok(message) = refused {
            return Err(unfit(&message));
        }
        let answers = self.answers(&truth, &[name], limit)?;
        match answers.get(name) {
            Some(answer) if answer == "same" => {}
            answer => return Err(unfit(answer.map_or("the judge fails", String::as_str))),
        }
        let reached = std::fs::read_to_string(&record).map_err(|source| read(&record, source))?;
        let reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Subject { name: name.to_owned(), reached, time: start.elapsed() })
    }

    /// Runs mutants on all processors.
    pub fn judge(&self, numbers: &[usize]) -> Result<Vec<(usize, ByTarget)>, Error> {
        at_once(numbers.to_vec(), |number| Ok((number, self.outcomes(number)?))).into_iter().collect()
    }

    /// Outcomes of a mutant, by target.
    fn outcomes(&self, number: usize) -> Result<ByTarget, Error> {
        let is_reached = |subject: &&Subject| subject.reached.contains(&number);
        let subjects: Vec<&Subject> = self.subjects.iter().filter(is_reached).collect();
        let folder = self.folder.join(number.to_string());
        removed(&folder)?;
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        let limit = subjects.iter().map(|subject| subject.time).sum::<Duration>() * 5 + SPARE;
        let mut found = self.compiled(number, &folder, &names, limit)?;
        let changed: Vec<&str> = names.into_iter().filter(|name| !found.contains_key(*name)).collect();
        if !changed.is_empty() {
            let mut answers = self.answers(&folder, &changed, limit)?;
            for name in changed {
                let answer = answers.remove(name);
                // Default: a proof that does not end, or panics, gives no answer.
                let answer = answer.unwrap_or_else(|| "caught the proof does not end".to_owned());
                found.insert(name.to_owned(), outcome(&answer));
            }
        }
        removed(&folder)?;
        Ok(self.by_target(found))
    }

    /// Compiles subjects with a mutant. Returns the outcomes that need no proof: refused subjects
    /// and unchanged programs.
    fn compiled(
        &self,
        number: usize,
        folder: &Path,
        names: &[&str],
        limit: Duration,
    ) -> Result<BTreeMap<String, TargetOutcome>, Error> {
        let mut found = BTreeMap::new();
        if names.is_empty() {
            return Ok(found);
        }
        let mut compile = self.run(&["compile", path(folder)], names);
        let has_ended = ended(compile.env("NPUKIT_MUTANT", number.to_string()), limit)?;
        for name in names {
            let (made, truth) = (folder.join(name), self.truth().join(name));
            let refused = std::fs::read_to_string(made.join("refused")).ok();
            let stopped = if has_ended.is_none() { "it does not end" } else { "its process ends" };
            let message = refused.or_else(|| (!made.is_dir()).then(|| stopped.to_owned()));
            if let Some(message) = message {
                found.insert((*name).to_owned(), TargetOutcome { outcome: Outcome::Refused, message });
            } else if contents(&made)? == contents(&truth)? {
                found.insert(
                    (*name).to_owned(),
                    TargetOutcome { outcome: Outcome::NotReached, message: String::new() },
                );
            }
        }
        Ok(found)
    }

    /// Answers of the judge about programs in a folder, by subject. Subjects after the end of its
    /// process are missing.
    fn answers(
        &self,
        folder: &Path,
        names: &[&str],
        limit: Duration,
    ) -> Result<BTreeMap<String, String>, Error> {
        let place = self.folder.join(format!("{}.answers", message_of(folder, names)));
        let file = std::fs::File::create(&place).map_err(|source| written(&place, source))?;
        let truth = self.truth();
        let mut prove = self.run(&["prove", path(folder), path(&truth)], names);
        ended(prove.stdout(file), limit)?;
        let text = std::fs::read_to_string(&place).map_err(|source| read(&place, source))?;
        let _ = std::fs::remove_file(&place);
        let answer =
            |line: &str| line.split_once(' ').map(|(name, message)| (name.to_owned(), message.to_owned()));
        let mut answers: BTreeMap<String, String> = text.lines().filter_map(answer).collect();
        match answers.remove("error:") {
            Some(message) => Err(Error::Subject { name: names.join(", "), message }),
            None => Ok(answers),
        }
    }

    fn run(&self, arguments: &[&str], names: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 6000000; exec \"$0\" \"$@\""]).arg(&self.command);
        command.args(arguments).args(names).env("RAYON_NUM_THREADS", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Worst outcome for each target with subjects.
    fn by_target(&self, mut found: BTreeMap<String, TargetOutcome>) -> ByTarget {
        let mut outcomes = ByTarget::new();
        for Subject { name, .. } in &self.subjects {
            let target = name.split('-').next().unwrap_or_default(); // Default: never used, a split has a first part.
            // Default: a subject that does not reach the mutant is unchanged.
            let own = found
                .remove(name)
                .unwrap_or(TargetOutcome { outcome: Outcome::NotReached, message: String::new() });
            let message =
                if own.message.is_empty() { String::new() } else { format!("{name}: {}", own.message) };
            let own = TargetOutcome { message, ..own };
            let worst = match outcomes.remove(target) {
                Some(before) => own.worse(before),
                None => own,
            };
            outcomes.insert(target.to_owned(), worst);
        }
        outcomes
    }
}

/// Parses a line of the judge.
fn outcome(answer: &str) -> TargetOutcome {
    let (word, message) = answer.split_once(' ').unwrap_or((answer, "")); // Default: a word without a message.
    let outcome = match word {
        "same" => Outcome::Harmless,
        "rounds" => Outcome::Rounds,
        "caught" => Outcome::Caught,
        _ => Outcome::Missed,
    };
    TargetOutcome { outcome, message: message.to_owned() }
}

/// File name for the answers about programs in a folder.
fn message_of(folder: &Path, names: &[&str]) -> String {
    let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = names.first().copied();
    [folder, first.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// Reads the files of a folder.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Error> {
    let failed = |source| read(folder, source);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.map_err(failed)?;
        Ok((entry.file_name().into(), std::fs::read(entry.path()).map_err(failed)?))
    };
    entries.map(file).collect()
}

fn removed(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(written(folder, error)),
        _ => std::fs::create_dir_all(folder).map_err(|source| written(folder, source)),
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap_or_default() // Default: a folder whose name is not UTF-8 is not found, which is reported.
}

fn read(path: &Path, source: std::io::Error) -> Error {
    Error::Read { path: path.display().to_string(), source }
}

fn written(path: &Path, source: std::io::Error) -> Error {
    Error::Write { path: path.display().to_string(), source }
}
