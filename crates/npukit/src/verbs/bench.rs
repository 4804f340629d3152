//! `npu bench`: programs and the simulator beside published figures and the bars we set ourselves.
//!
//! A target says what was published of it ([`npukit_target::Benchmark`]); networks come from the zoo, language models
//! from `decoders`.
//! `programs` asks compiled programs for their time, `speed` takes the host's time for running them and `compile` for
//! making them.

pub mod accuracy;
mod compile;
mod decoders;
mod programs;
mod speed;

use std::time::Instant;

use npukit_target::{Bar, Benchmark, Figure, Measure, Phase, split_system};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::targets::targets;
pub use compile::{Taken, Task};

/// A part of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Table {
    /// How good compiled programs are.
    Programs,
    /// How fast the simulator is.
    Speed,
    /// How fast the compiler is, and how much memory it takes.
    Compile,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// One table, or all.
    pub table: Option<Table>,
    /// Networks and instances wanted; empty for all.
    pub only: Vec<String>,
    /// How often the host's time is taken; the median counts.
    pub runs: usize,
    /// What weights and inputs follow from.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self { table: None, only: Vec::new(), runs: 5, seed: 0 }
    }
}

/// A figure, found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Row {
    /// Which table it is of.
    pub table: Table,
    /// The network, or the part of the simulator.
    pub network: String,
    /// Target and instance; empty for what has none.
    pub instance: String,
    /// What it is.
    pub what: String,
    /// Unit of the numbers below.
    pub unit: &'static str,
    /// What others reached.
    pub published: Option<f64>,
    /// Who says so.
    pub source: Option<String>,
    /// How good ours is to be; none for figures that depend on the host.
    pub bar: Option<f64>,
    /// Whether the bar asks for more, not for less.
    pub more_is_better: bool,
    /// Ours.
    pub found: f64,
    /// Whether it reaches the bar, if there is one.
    pub met: Option<bool>,
    /// Of what the host does: the median of its time, where that is in seconds.
    pub seconds: Option<f64>,
    /// Of what the host does: most bytes that the process had resident at a time; none where the system does not tell.
    pub peak_bytes: Option<u64>,
    /// For programs: time of a sample at the clock; none when the clock is not known.
    pub latency_ms: Option<f64>,
    /// For programs: samples a second at the clock, one after the other; none when the clock is not known.
    pub frames_per_second: Option<f64>,
    /// For programs: cycles as a multiple of the roofline, and which side of it that is.
    pub above_bound: Option<(f64, &'static str)>,
    /// For programs: of compiling, reading left out.
    pub compile_seconds: Option<f64>,
    /// Layer by layer; empty where nobody published that.
    pub layers: Vec<LayerRow>,
}

/// A layer's cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LayerRow {
    /// Names of the nodes.
    pub name: String,
    /// What others reached.
    pub published: f64,
    /// Ours.
    pub found: f64,
}

/// All figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The figures, programs first.
    pub rows: Vec<Row>,
    /// What went wrong, with the network and instance; their figures are missing.
    pub failures: Vec<String>,
    /// Bars reached.
    pub met: usize,
    /// How often the host's time was taken.
    pub runs: usize,
    /// Whether this is a build for debugging, whose simulator is slow.
    pub debug_build: bool,
    /// Of everything.
    pub seconds: f64,
}

/// Measures what is asked for; what the host's compiler takes, in this process, in which nobody knows the memory of a
/// single task.
///
/// # Errors
///
/// [`Error::UnknownName`] for a name in `only` that no table has. A network that cannot be compiled is a
/// failure in the report.
pub fn bench(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    bench_with(request, context, |task| {
        task.run(request.runs, request.seed).map_err(|error| with_causes(&error))
    })
}

/// The task of that name, if it is among those asked for.
pub fn task(request: &Request, name: &str) -> Option<Task> {
    compile::tasks(request).into_iter().find(|task| task.name() == name)
}

/// As [`bench()`]; `take` has each task of the compiler done, `runs` times, or says why it cannot be done.
///
/// # Errors
///
/// Those of [`bench()`].
pub fn bench_with(
    request: &Request,
    context: Context<'_>,
    take: impl Fn(&Task) -> Result<Taken, String>,
) -> Result<Report, Error> {
    let start = Instant::now();
    check_names(&request.only)?;
    let tasks = compile::tasks(request);
    let asked = benchmarks().filter(|(_, benchmark)| is_asked(request, benchmark));
    let is_compiled = |figure: &Figure| table_of(figure) == Table::Compile;
    // What the compiler takes are tasks.
    let asked: Vec<_> = asked.filter(|(_, benchmark)| !benchmark.figures.iter().all(is_compiled)).collect();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    let phase = Phase::counting("measure", asked.len() + tasks.len());
    for (target, benchmark) in &asked {
        match programs::figures(target, benchmark, request, context) {
            Ok(found) => rows.extend(found),
            Err(error) => failures.push(described(target, benchmark, &error)),
        }
        phase.advance();
    }
    if is_kernel_asked(request) {
        rows.extend(speed::array_kernels(request.runs));
    }
    rows.sort_by_key(|row| row.table == Table::Speed);
    for task in &tasks {
        match take(task) {
            Ok(taken) => rows.push(task.row(taken)),
            Err(reason) => failures.push(format!("{}: {reason}", task.name())),
        }
        phase.advance();
    }
    let met = rows.iter().filter(|row| row.met == Some(true)).count();
    let (runs, debug_build, seconds) = (request.runs, cfg!(debug_assertions), start.elapsed().as_secs_f64());
    Ok(Report { rows, failures, met, runs, debug_build, seconds })
}

/// Every target's benchmarks, with the target's name.
fn benchmarks() -> impl Iterator<Item = (&'static str, &'static Benchmark)> {
    targets().iter().flat_map(|target| target.benchmarks().iter().map(|benchmark| (target.name, benchmark)))
}

/// Names may be networks, presets, or the array kernel.
fn check_names(names: &[String]) -> Result<(), Error> {
    let mut known: Vec<&str> = Vec::new();
    for (_, benchmark) in benchmarks() {
        for name in names_of(benchmark) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    known.push(speed::ARRAY_KERNEL);
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let (name, known) = (name.clone(), known.into_iter().map(str::to_owned).collect());
            Err(Error::UnknownName { what: "network or instance", name, known })
        }
        None => Ok(()),
    }
}

fn is_asked(request: &Request, benchmark: &Benchmark) -> bool {
    let is_named = |name: &String| names_of(benchmark).contains(&name.as_str());
    (request.only.is_empty() || request.only.iter().any(is_named))
        && benchmark.figures.iter().any(|figure| is_of_table(request, figure))
}

/// What a benchmark is chosen by: its network, its instance, and the instance in whatever system.
fn names_of(benchmark: &Benchmark) -> [&'static str; 3] {
    let (instance, _) = split_system(benchmark.preset);
    [benchmark.network, benchmark.preset, instance]
}

fn is_kernel_asked(request: &Request) -> bool {
    let is_named = request.only.is_empty() || request.only.iter().any(|name| name == speed::ARRAY_KERNEL);
    is_named && request.table.is_none_or(|table| table == Table::Speed)
}

fn table_of(figure: &Figure) -> Table {
    match figure.measure {
        Measure::CompileSeconds | Measure::CheckSeconds => Table::Compile,
        measure if measure.is_of_program() => Table::Programs,
        _ => Table::Speed,
    }
}

fn is_of_table(request: &Request, figure: &Figure) -> bool {
    request.table.is_none_or(|table| table == table_of(figure))
}

fn described(target: &str, benchmark: &Benchmark, error: &Error) -> String {
    format!("{} on {target}:{}: {}", benchmark.network, benchmark.preset, with_causes(error))
}

fn with_causes(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether more is better.
fn is_more_better(bar: Bar) -> bool {
    matches!(bar, Bar::AtLeast(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn names(only: &[&str]) -> Result<(), Error> {
        check_names(&only.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn networks_and_instances_may_be_named() {
        names(&["resnet20v2", "ultra96v2", "array_kernel"]).unwrap();
        assert!(names(&["resnet20v2", "resnet21"]).unwrap_err().is_usage());
    }

    /// The figures of a target are of networks that there are.
    #[test]
    fn every_network_is_there() {
        for (_, benchmark) in benchmarks() {
            let name = benchmark.network;
            let is_decoder = name == npukit_decoders::gemma3n::Gemma3nConfig::e4b().name;
            assert!(npukit_zoo::network(name).is_some() || is_decoder, "{name}");
        }
    }

    #[test]
    fn a_table_and_a_name_choose() {
        let request = |table, only: &[&str]| Request {
            table,
            only: only.iter().map(|&name| name.to_owned()).collect(),
            ..Request::default()
        };
        let count = |request: &Request| benchmarks().filter(|(_, found)| is_asked(request, found)).count();
        assert_eq!(count(&request(None, &[])), benchmarks().count());
        assert_eq!(count(&request(None, &["pynqz1"])), 1);
        let speed = request(Some(Table::Speed), &["resnet50v2"]);
        assert_eq!(count(&speed), 1, "only one instance is simulated");
        let compiled = request(Some(Table::Compile), &["ultra96v2"]);
        assert!(count(&compiled) >= 2 && !is_kernel_asked(&compiled));
        assert!(!is_kernel_asked(&speed) && is_kernel_asked(&request(Some(Table::Speed), &[])));
    }
}
