//! A network compiled for an instance, and its figures.

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_target::{
    Benchmark, CompileOptions, Compiled, Config, Figure, Instance, Measure, TargetError, TimeOptions,
};

use super::speed::{host_milliseconds, speedup};
use super::{Request, Row, is_more_better, is_of_table, table_of};
use crate::Context;
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::{self, ModelOptions};
use crate::targets;
use crate::verbs::zoo::network;

/// The rows of a benchmark that are asked for.
pub(super) fn figures(
    target: &str,
    benchmark: &Benchmark,
    request: &Request,
    context: Context<'_>,
) -> Result<Vec<Row>, Error> {
    let instance = instance(target, benchmark)?;
    let network = network(benchmark.network)?;
    let file = format!("{}.onnx", network.name);
    let bytes = network.onnx(request.seed);
    let model = model::parse(&file, &bytes, &ModelOptions::default(), context.reader)?;
    let start = Instant::now();
    let options = CompileOptions { model_name: file, ..CompileOptions::default() };
    let compiled = instance.compile(&model.simplified, &options)?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let program = Program { compiled: &*compiled, samples: &|count| samples(network, request.seed, count) };
    let wanted = benchmark.figures.iter().filter(|figure| is_of_table(request, figure));
    let row = |figure: &Figure| -> Result<Row, Error> {
        let (found, above_bound) = program.measure(figure.measure, request.runs)?;
        let found = Found { found, above_bound, compile_seconds };
        Ok(found.row(benchmark, instance.name(), figure))
    };
    wanted.map(row).collect()
}

/// The benchmark's instance: the preset, or one that differs from it.
fn instance(target: &str, benchmark: &Benchmark) -> Result<Box<dyn Instance>, Error> {
    let target = targets::target(target)?;
    let preset = target.instance(Config::Preset(benchmark.preset))?;
    if benchmark.changes.is_empty() {
        return Ok(preset);
    }
    let (mut config, mut name) = (preset.config(), benchmark.preset.to_owned());
    for &(key, value) in benchmark.changes {
        name += &format!("_{key}_{value}");
        if let Some(parameters) = config.as_object_mut() {
            parameters.insert(key.to_owned(), value.into());
        }
    }
    let bytes = config.to_string();
    Ok(target.instance(Config::File { name: &name, bytes: bytes.as_bytes() })?)
}

/// Noise, each sample another.
fn samples(network: &npukit_zoo::Network, seed: u64, count: usize) -> Vec<Sample> {
    let sample =
        |index| Some(vec![(npukit_zoo::INPUT.to_owned(), network.sample(seed.wrapping_add(index))?)]);
    (1..=count as u64).filter_map(sample).collect()
}

/// A program and samples for it.
struct Program<'a> {
    compiled: &'a dyn Compiled,
    samples: &'a dyn Fn(usize) -> Vec<Sample>,
}

/// The roofline: how far above it, and which side of it.
type AboveBound = Option<(f64, &'static str)>;

impl Program<'_> {
    fn measure(&self, measure: Measure, runs: usize) -> Result<(f64, AboveBound), Error> {
        match measure {
            Measure::Cycles(options) | Measure::Milliseconds(options) => Ok(self.time(measure, options)?),
            Measure::HostMilliseconds => {
                Ok((host_milliseconds(self.compiled, &(self.samples)(1), runs)?, None))
            }
            Measure::Speedup(cores) => Ok((speedup(self.compiled, self.samples, cores, runs)?, None)),
        }
    }

    fn time(&self, measure: Measure, options: &[(&str, &str)]) -> Result<(f64, AboveBound), TargetError> {
        let options: BTreeMap<_, _> =
            options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let time = self.compiled.time(&TimeOptions { options })?;
        let cycles = time.cycles.get(&time.model).copied().unwrap_or_default() as f64;
        let found = match measure {
            Measure::Milliseconds(_) => time.milliseconds.ok_or_else(|| no_clock(self.compiled))?,
            _ => cycles,
        };
        Ok((found, time.roofline.distance.map(|distance| (distance, time.roofline.bound.name()))))
    }
}

fn no_clock(compiled: &dyn Compiled) -> TargetError {
    TargetError::failed(format!("no clock is known of {}, so cycles are no time", compiled.report().target))
}

/// What a figure was found to be.
struct Found {
    found: f64,
    above_bound: AboveBound,
    compile_seconds: f64,
}

impl Found {
    fn row(self, benchmark: &Benchmark, instance: String, figure: &Figure) -> Row {
        Row {
            table: table_of(figure),
            network: benchmark.network.to_owned(),
            instance,
            what: figure.what.to_owned(),
            unit: figure.measure.unit(),
            published: figure.published.map(|(value, _)| value),
            source: figure.published.map(|(_, source)| source.to_owned()),
            bar: figure.bar.value(),
            more_is_better: is_more_better(figure.bar),
            found: self.found,
            met: figure.bar.is_met(self.found),
            above_bound: self.above_bound,
            compile_seconds: Some(self.compile_seconds),
        }
    }
}
