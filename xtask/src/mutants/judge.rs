//! Runs tests with a mutant switched on: only the tests that reach it, fastest first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Error;

/// A test of a binary, its duration, and the mutants that it reaches.
pub struct Test {
    binary: PathBuf,
    name: String,
    time: Duration,
    reached: Vec<usize>,
}

/// Outcome of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Caught,
    Timeout,
    /// All tests that reach it pass.
    Missed,
    /// No test reaches it.
    Unreached,
    /// It does not compile.
    Unviable,
    /// It cannot be switched.
    Unjudged,
}

impl Outcome {
    /// Whether no test detected it.
    pub fn is_survivor(self) -> bool {
        matches!(self, Self::Missed | Self::Unreached)
    }
}

/// Finds the tests of `binaries`. Each is run once from `folder` to find the mutants that it
/// reaches.
///
/// Tests that fail without a mutant are reported on standard error and ignored.
pub fn tests(binaries: &[PathBuf], folder: &Path, scratch: &Path) -> Result<Vec<Test>, Error> {
    let mut names = Vec::new();
    for binary in binaries {
        names.extend(listed(binary, folder)?.into_iter().map(|name| (binary.clone(), name)));
    }
    let run = |number: usize| {
        let (binary, name) = &names[number];
        let record = scratch.join(format!("reached-{number}"));
        let _ = std::fs::remove_file(&record);
        let start = Instant::now();
        let mut command = test_command(binary, folder, &[name]);
        command.env("NPUKIT_MUTANTS_REACHED", &record);
        let passed = ended(&mut command, Duration::from_secs(600))? == Some(true);
        let time = start.elapsed();
        let reached = std::fs::read_to_string(&record).unwrap_or_default();
        let _ = std::fs::remove_file(&record);
        if !passed {
            eprintln!("ignored, since it fails without a mutant: {name}");
            return Ok(None);
        }
        let reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Some(Test { binary: binary.clone(), name: name.clone(), time, reached }))
    };
    let tests: Result<Vec<Option<Test>>, Error> =
        at_once((0..names.len()).collect(), run).into_iter().collect();
    let mut tests: Vec<Test> = tests?.into_iter().flatten().collect();
    tests.sort_by_key(|test| test.time);
    Ok(tests)
}

fn listed(binary: &Path, folder: &Path) -> Result<Vec<String>, Error> {
    let command = binary.display().to_string();
    let output = Command::new(binary)
        .current_dir(folder)
        .args(["--list", "--format", "terse"])
        .output()
        .map_err(|source| Error::Start { command, source })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Runs the mutants with `numbers`, each with tests that take about `limit` together; `tell`
/// receives each outcome.
pub fn judge(
    numbers: &[usize],
    tests: &[Test],
    limit: Duration,
    folder: &Path,
    tell: impl Fn(usize, Outcome) + Sync,
) -> Result<Vec<(usize, Outcome)>, Error> {
    let mut reaching: BTreeMap<usize, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        for &number in &test.reached {
            reaching.entry(number).or_default().push(test);
        }
    }
    at_once(numbers.to_vec(), |number| {
        let outcome = outcome(number, reaching.get(&number).map_or(&[], Vec::as_slice), limit, folder)?;
        tell(number, outcome);
        Ok((number, outcome))
    })
    .into_iter()
    .collect()
}

fn outcome(number: usize, tests: &[&Test], limit: Duration, folder: &Path) -> Result<Outcome, Error> {
    if tests.is_empty() {
        return Ok(Outcome::Unreached);
    }
    let mut rest = tests;
    let mut budget = Duration::from_millis(200);
    let mut spent = Duration::ZERO;
    while !rest.is_empty() {
        let (batch, time) = batch(rest, budget);
        if spent > Duration::ZERO && spent + time > limit {
            break;
        }
        let names: Vec<&String> = batch.iter().map(|test| &test.name).collect();
        let mut command = test_command(&batch[0].binary, folder, &names);
        command.env("NPUKIT_MUTANT", number.to_string());
        match ended(&mut command, time * 5 + Duration::from_secs(10))? {
            Some(true) => {}
            Some(false) => return Ok(Outcome::Caught),
            None => return Ok(Outcome::Timeout),
        }
        spent += time;
        rest = &rest[batch.len()..];
        budget *= 2;
    }
    Ok(Outcome::Missed)
}

/// First tests of one binary that take about `budget` together (at least one test), and their time.
fn batch<'a, 'b>(tests: &'a [&'b Test], budget: Duration) -> (&'a [&'b Test], Duration) {
    let mut time = Duration::ZERO;
    let mut count = 0;
    for test in tests {
        if count > 0 && (time + test.time > budget || test.binary != tests[0].binary || count == 200) {
            break;
        }
        time += test.time;
        count += 1;
    }
    (&tests[..count], time)
}

fn test_command(binary: &Path, folder: &Path, names: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 12000000; exec \"$0\" \"$@\""]).arg(binary).arg("--exact");
    command.args(names.iter().map(AsRef::as_ref)).args(["--test-threads", "1"]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns whether a command succeeds, or `None` if it is stopped after `limit`. Fails if it cannot
/// be started.
pub(super) fn ended(command: &mut Command, limit: Duration) -> Result<Option<bool>, Error> {
    let mut child =
        command.spawn().map_err(|source| Error::Start { command: format!("{command:?}"), source })?;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Ok(Some(status.success()));
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Runs `work` for each number, on all processors; the results are in any order.
pub(super) fn at_once<T: Send>(numbers: Vec<usize>, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        let take = || numbers.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(take).map(|&number| work(number)).collect::<Vec<T>>()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(one_after_the_other)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
