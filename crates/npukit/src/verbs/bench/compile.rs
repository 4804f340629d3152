//! Host time and memory for compiling, checking and evaluating: [`Task`].
//!
//! A task does the work of the verb of the same name, without files. Peak resident memory is a
//! figure of a whole process and never falls. To measure a single task, run it in a process of its
//! own, as the command does.

use std::collections::BTreeMap;

use npukit_graph::evaluate;
use npukit_target::{Benchmark, Figure, Measure, TargetError};

use super::programs::instance;
use super::speed::median;
use super::{Request, Row, Table, benchmarks, is_asked, is_more_better, is_of_table};
use crate::Context;
use crate::error::Error;
use crate::model::source::Source;
use crate::model::{self, ModelOptions};
use crate::verbs::check::check;
use crate::verbs::compile::compile;
use crate::verbs::zoo::network;

/// Network, and the work to do with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    network: &'static str,
    kind: Kind,
    bar: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Compiles or checks it for an instance.
    Instance { target: &'static str, benchmark: &'static Benchmark, figure: &'static Figure },
    /// Evaluates it in float, without a machine.
    Evaluate,
}

/// Cost of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Median time of all runs in seconds.
    pub seconds: f64,
    /// Peak resident memory in bytes; `None` if unknown.
    pub peak_bytes: Option<u64>,
}

/// Network that is evaluated in float, and its time limit in seconds: three times the time of ONNX
/// Runtime on two cores.
const EVALUATED: (&str, f64) = ("resnet50", 3.0 * 0.046);

/// Returns the requested tasks, the targets' tasks first.
pub(super) fn tasks(request: &Request) -> Vec<Task> {
    if request.table.is_some_and(|table| table != Table::Compile) {
        return Vec::new();
    }
    let request = &Request { table: Some(Table::Compile), ..request.clone() };
    let mut tasks = Vec::new();
    for (target, benchmark) in benchmarks().filter(|(_, benchmark)| is_asked(request, benchmark)) {
        for figure in benchmark.figures.iter().filter(|figure| is_of_table(request, figure)) {
            let kind = Kind::Instance { target, benchmark, figure };
            tasks.push(Task { network: benchmark.network, kind, bar: figure.bar.value() });
        }
    }
    let (network, seconds) = EVALUATED;
    if request.only.is_empty() || request.only.iter().any(|name| name == network) {
        tasks.push(Task { network, kind: Kind::Evaluate, bar: Some(seconds) });
    }
    tasks
}

impl Task {
    /// Returns the unique name of the task.
    pub fn name(&self) -> String {
        let instance = match &self.kind {
            Kind::Instance { target, benchmark, .. } => format!("{target}:{}", benchmark.preset),
            Kind::Evaluate => "float".to_owned(),
        };
        format!("{} {instance} {}", self.network, self.what())
    }

    fn what(&self) -> &'static str {
        match &self.kind {
            Kind::Instance { figure, .. } => figure.what,
            Kind::Evaluate => "evaluate in float",
        }
    }

    /// Does the task in this process, `runs` times after a warm-up run.
    ///
    /// # Errors
    ///
    /// Fails as the corresponding verb does.
    pub fn run(&self, runs: usize, seed: u64) -> Result<Taken, Error> {
        let network = network(self.network)?;
        let file = format!("{}.onnx", network.name);
        let mut files = BTreeMap::from([(file.clone(), network.onnx(seed))]);
        let seconds = match &self.kind {
            Kind::Instance { target, benchmark, figure } => {
                let target = named(target, benchmark, &mut files)?;
                let (source, context) = (Source::model(file, target), Context::new(&files));
                match figure.measure {
                    Measure::CheckSeconds => median(runs, || check(&source, context).map(drop)),
                    _ => median(runs, || compile(&source, context).map(drop)),
                }?
            }
            Kind::Evaluate => {
                // Default: a missing file is treated as an empty model, which is refused below.
                let bytes = files.get(&file).map(Vec::as_slice).unwrap_or_default();
                let model = model::parse(&file, bytes, &ModelOptions::default(), &files)?;
                let sample =
                    network.sample(seed).ok_or_else(|| TargetError::failed("a network without samples"))?;
                median(runs, || {
                    evaluate(&model.graph, std::slice::from_ref(&sample))
                        .map(drop)
                        .map_err(TargetError::failed)
                })?
            }
        };
        Ok(Taken { seconds, peak_bytes: None })
    }

    /// Returns the row of the task.
    pub(super) fn row(&self, Taken { seconds, peak_bytes }: Taken) -> Row {
        let instance = match &self.kind {
            Kind::Instance { target, benchmark, .. } => {
                let changes = benchmark.changes.iter().map(|(key, value)| format!("_{key}_{value}"));
                format!("{target}:{}{}", benchmark.preset, changes.collect::<String>())
            }
            Kind::Evaluate => String::new(),
        };
        let bar = self.bar;
        let more_is_better =
            matches!(&self.kind, Kind::Instance { figure, .. } if is_more_better(figure.bar));
        Row {
            table: Table::Compile,
            network: self.network.to_owned(),
            instance,
            what: self.what().to_owned(),
            unit: "s",
            published: None,
            source: None,
            bar,
            more_is_better,
            found: seconds,
            met: bar.map(|bar| seconds <= bar),
            seconds: Some(seconds),
            peak_bytes,
            latency_ms: None,
            host_ms: None,
            frames_per_second: None,
            above_bound: None,
            compile_seconds: None,
            layers: Vec::new(),
        }
    }
}

/// Returns the name of a benchmark's instance. An instance that differs from its preset becomes a
/// file.
fn named(
    target: &str,
    benchmark: &Benchmark,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<String, Error> {
    if benchmark.changes.is_empty() {
        return Ok(format!("{target}:{}", benchmark.preset));
    }
    let instance = instance(target, benchmark)?;
    let mut config = instance.info().config.clone();
    if let (Some(parameters), Some(system)) = (config.as_object_mut(), instance.info().system.clone()) {
        parameters.insert("system".to_owned(), system);
    }
    // A path with a folder is always recognized as a file.
    let file = format!("./{}", benchmark.network);
    files.insert(file.clone(), config.to_string().into_bytes());
    Ok(format!("{target}:{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_names_of_their_own() {
        let all = tasks(&Request::default());
        let mut names: Vec<String> = all.iter().map(Task::name).collect();
        assert!(names.len() >= 8, "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert_eq!(tasks(&Request { table: Some(Table::Speed), ..Request::default() }), []);
        let only = vec!["resnet50".to_owned()];
        let float = tasks(&Request { only, ..Request::default() });
        assert!(float.iter().any(|task| task.kind == Kind::Evaluate) && float.len() < all.len());
    }

    #[test]
    fn a_row_says_what_a_task_took() {
        let task = Task { network: "mlp", kind: Kind::Evaluate, bar: Some(2.0) };
        let taken = task.run(1, 0).expect("it is evaluated");
        assert!(taken.seconds > 0.0 && taken.peak_bytes.is_none());
        let row = task.row(Taken { seconds: 3.0, peak_bytes: Some(7) });
        assert_eq!((row.met, row.seconds, row.peak_bytes), (Some(false), Some(3.0), Some(7)));
    }
}
