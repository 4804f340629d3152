//! `npu bench`: compares programs and the simulator with published figures and with our own goals.
//!
//! A target declares its published figures ([`npukit_target::Benchmark`]). Networks come from the
//! zoo, language models from `decoders`. The module `programs` measures compiled programs, `speed`
//! the host's time to run them, and `compile` the host's time to compile them.

pub mod accuracy;
mod compile;
mod decoders;
mod programs;
mod speed;

use std::time::Instant;

use npukit_target::{Bar, Benchmark, Figure, Measure, Phase, split_system};
use serde::Serialize;

use crate::Context;
use crate::costs::HostRates;
use crate::error::Error;
use crate::targets::targets;
pub use compile::{Taken, Task};

/// Table of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Table {
    /// Quality of compiled programs.
    Programs,
    /// Speed of the simulator.
    Speed,
    /// Speed and memory of the compiler.
    Compile,
}

/// Figures to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Table to measure; `None` for all.
    pub table: Option<Table>,
    /// Networks and instances to measure; empty for all.
    pub only: Vec<String>,
    /// Number of repetitions for the host's time; the median is reported.
    pub runs: usize,
    /// Random seed of weights and inputs.
    pub seed: u64,
    /// Assumed speed of the host, whose time is added to that of programs; `None` if it does not
    /// count.
    pub host: Option<HostRates>,
}

impl Default for Request {
    fn default() -> Self {
        Self { table: None, only: Vec::new(), runs: 5, seed: 0, host: None }
    }
}

/// Measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Row {
    /// Table that the figure belongs to.
    pub table: Table,
    /// Network, or part of the simulator.
    pub network: String,
    /// Target and instance; empty if it has none.
    pub instance: String,
    /// Description of the figure.
    pub what: String,
    /// Unit of the numbers below.
    pub unit: &'static str,
    /// Published figure of others.
    pub published: Option<f64>,
    /// Source of the published figure.
    pub source: Option<String>,
    /// Our goal; `None` for figures that depend on the host.
    pub bar: Option<f64>,
    /// Whether a larger figure is better.
    pub more_is_better: bool,
    /// Our figure.
    pub found: f64,
    /// Whether the goal is met; `None` without a goal.
    pub met: Option<bool>,
    /// Median time in seconds, for figures of the host's speed.
    pub seconds: Option<f64>,
    /// Peak resident memory of the process in bytes, for figures of the host; `None` if the system
    /// does not report it.
    pub peak_bytes: Option<u64>,
    /// Time of a sample in milliseconds, for programs; `None` if the clock is unknown. It includes
    /// the host's estimated time if a speed of the host is given.
    pub latency_ms: Option<f64>,
    /// Estimated time of the host in milliseconds, which `latency_ms` includes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_ms: Option<f64>,
    /// Samples per second, one after the other, for programs; `None` if the clock is unknown.
    pub frames_per_second: Option<f64>,
    /// Cycles as a multiple of the roofline, and the side of the roofline, for programs.
    pub above_bound: Option<(f64, &'static str)>,
    /// Time to compile in seconds without reading the model, for programs.
    pub compile_seconds: Option<f64>,
    /// Figures by layer; empty if none are published.
    pub layers: Vec<LayerRow>,
}

/// Cycles of a layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LayerRow {
    /// Names of the nodes.
    pub name: String,
    /// Published figure of others.
    pub published: f64,
    /// Our figure.
    pub found: f64,
}

/// All measured figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Figures, programs first.
    pub rows: Vec<Row>,
    /// Errors, with network and instance; their figures are missing.
    pub failures: Vec<String>,
    /// Number of goals met.
    pub met: usize,
    /// Number of repetitions for the host's time.
    pub runs: usize,
    /// Whether this is a debug build, whose simulator is slow.
    pub debug_build: bool,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Measures the requested figures. The compiler runs in this process, so the memory of a single
/// task is unknown.
///
/// # Errors
///
/// Returns [`Error::UnknownName`] for a name in `only` that is in no table. A network that cannot
/// be compiled is a failure in the report.
pub fn bench(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    bench_with(request, context, |task| {
        task.run(request.runs, request.seed).map_err(|error| with_causes(&error))
    })
}

/// Returns the task of that name, if it is among the requested ones.
pub fn task(request: &Request, name: &str) -> Option<Task> {
    compile::tasks(request).into_iter().find(|task| task.name() == name)
}

/// Like [`bench()`], but `take` runs each task of the compiler `runs` times, or returns an error.
///
/// # Errors
///
/// Fails as [`bench()`] does.
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
    // Figures of the compiler are measured as tasks.
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

/// Returns every target's benchmarks, with the target's name.
fn benchmarks() -> impl Iterator<Item = (&'static str, &'static Benchmark)> {
    targets().iter().flat_map(|target| target.benchmarks().iter().map(|benchmark| (target.name, benchmark)))
}

/// Checks names, which may be networks, built-in instances, or the array kernel.
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

/// Returns the names that select a benchmark: its network, its instance, and the instance without
/// the system.
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

/// Whether a larger figure is better.
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

    /// Figures of a target refer to networks that exist.
    #[test]
    fn every_network_is_there() {
        for (_, benchmark) in benchmarks() {
            let name = benchmark.network;
            let is_decoder = name == npukit_models::gemma3n::Gemma3nConfig::e4b().name;
            assert!(npukit_models::zoo::network(name).is_some() || is_decoder, "{name}");
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
