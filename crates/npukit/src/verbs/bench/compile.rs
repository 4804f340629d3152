//! How long this host takes to compile, to check and to evaluate, and how much memory: [`Task`].
//!
//! Tasks do what the commands of that name do, files left out. The most memory that was resident is known of a process as
//! a whole, and never falls: whoever wants it of a task gives that a process of its own, as the command does.

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

/// A network, and what is done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    network: &'static str,
    kind: Kind,
    bar: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// For an instance.
    Instance { target: &'static str, benchmark: &'static Benchmark, figure: &'static Figure },
    /// In float, by nobody's machine.
    Evaluate,
}

/// What a task took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// The median of all runs.
    pub seconds: f64,
    /// Most bytes that were resident at a time; none where nobody knows.
    pub peak_bytes: Option<u64>,
}

/// The network that is evaluated in float, and the seconds it may take: three times what ONNX Runtime takes for it on two
/// cores.
const EVALUATED: (&str, f64) = ("resnet50", 3.0 * 0.046);

/// The tasks asked for, those of the targets first.
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
    /// By which it is found again.
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

    /// Does it in this process, `runs` times after one that does not count.
    ///
    /// # Errors
    ///
    /// Those of the command whose work it is.
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
                // Default: a file that is not there is a model without bytes, which is refused below.
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

    /// Its row.
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
            frames_per_second: None,
            above_bound: None,
            compile_seconds: None,
            layers: Vec::new(),
        }
    }
}

/// The name of a benchmark's instance; one that differs from its preset becomes a file.
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
    // A path with folders is a file's, whatever files of the target are called.
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
