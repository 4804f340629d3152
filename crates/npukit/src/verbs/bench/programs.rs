//! Compiles a network for an instance, and measures its figures.

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_graph::Graph;
use npukit_graph::quantize::Method;
use npukit_models::zoo::Network;
use npukit_target::{
    Benchmark, CompileOptions, Compiled, Figure, Instance, InstanceSpec, Measure, TargetError, TimeOptions,
    TimeReport, split_system,
};

use super::decoders;
use super::speed::{host_milliseconds, speedup};
use super::{LayerRow, Request, Row, Table, is_more_better, is_of_table, table_of};
use crate::Context;
use crate::costs::{HostRates, HostTime};
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::model::{self, ModelOptions};
use crate::numbers::quantize::Typical;
use crate::run::latency::frames_per_second;
use crate::targets;
use crate::verbs::zoo::network;

/// Returns the requested rows of a benchmark.
pub(super) fn figures(
    target: &str,
    benchmark: &Benchmark,
    request: &Request,
    context: Context<'_>,
) -> Result<Vec<Row>, Error> {
    let instance = instance(target, benchmark)?;
    let name = instance.info().name.clone();
    let (compiled, compile_seconds) = match decoders::graph(benchmark.network, request.seed) {
        Some(graph) => decoder(&*instance, benchmark.network, &graph.map_err(TargetError::failed)?)?,
        None => of_the_zoo(instance, benchmark, request, context)?,
    };
    let network = npukit_models::zoo::network(benchmark.network);
    let Request { seed, host, .. } = *request;
    let program = Program { compiled: &*compiled, network, seed, host, compile_seconds };
    let is_task = |figure: &Figure| table_of(figure) == Table::Compile;
    let wanted = benchmark.figures.iter().filter(|figure| is_of_table(request, figure) && !is_task(figure));
    let row = |figure: &Figure| {
        let found = program.measure(figure, request.runs)?;
        Ok(program.row(benchmark, name.clone(), figure, found))
    };
    wanted.map(row).collect()
}

/// Compiles a network of the zoo; also returns the compilation time in seconds.
fn of_the_zoo(
    instance: Box<dyn Instance>,
    benchmark: &Benchmark,
    request: &Request,
    context: Context<'_>,
) -> Result<(Box<dyn Compiled>, f64), Error> {
    let network = network(benchmark.network)?;
    let file = format!("{}.onnx", network.name);
    let bytes = network.onnx(request.seed);
    let model = model::parse(&file, &bytes, &ModelOptions::default(), context.reader)?;
    let start = Instant::now();
    let mut origin = CompileJob::new(instance, model, BTreeMap::new())?;
    // Values do not affect these measurements, so only one method is tried.
    origin.quantize(Some(Method::LeastSquares), &Typical::default())?;
    let compiled = origin.compile()?;
    Ok((compiled, start.elapsed().as_secs_f64()))
}

/// Compiles one token of a language model; also returns the compilation time in seconds.
fn decoder(instance: &dyn Instance, name: &str, graph: &Graph) -> Result<(Box<dyn Compiled>, f64), Error> {
    let start = Instant::now();
    let options = CompileOptions { model_name: name.to_owned(), ..CompileOptions::default() };
    let compiled = instance.compile(graph, &options)?;
    Ok((compiled, start.elapsed().as_secs_f64()))
}

/// Returns the benchmark's instance: a built-in one, or one that differs from it.
pub(super) fn instance(target: &str, benchmark: &Benchmark) -> Result<Box<dyn Instance>, Error> {
    let target = targets::target(target)?;
    let preset = target.instance(InstanceSpec::Preset(benchmark.preset))?;
    if benchmark.changes.is_empty() {
        return Ok(preset);
    }
    let (instance, _) = split_system(benchmark.preset);
    let (mut config, mut name) = (preset.info().config.clone(), instance.to_owned());
    for &(key, value) in benchmark.changes {
        name += &format!("_{key}_{value}");
        if let Some(parameters) = config.as_object_mut() {
            parameters.insert(key.to_owned(), value.into());
        }
    }
    if let (Some(parameters), Some(system)) = (config.as_object_mut(), preset.info().system.clone()) {
        parameters.insert("system".to_owned(), system);
    }
    let bytes = config.to_string();
    Ok(target.instance(InstanceSpec::File { name: &name, bytes: bytes.as_bytes() })?)
}

/// Program, and its network.
struct Program<'a> {
    compiled: &'a dyn Compiled,
    /// Network; `None` for a language model.
    network: Option<&'a Network>,
    /// Random seed of the samples.
    seed: u64,
    /// Assumed speed of the host; `None` to leave out its time.
    host: Option<HostRates>,
    compile_seconds: f64,
}

/// Measured value of a figure.
#[derive(Default)]
struct Measurement {
    value: f64,
    /// Time in milliseconds at the board's clock, for a program.
    latency_ms: Option<f64>,
    /// Estimated milliseconds of the host, which `latency_ms` includes.
    host_ms: Option<f64>,
    /// Cycles as a multiple of the roofline, and the side of the roofline.
    above_bound: Option<(f64, &'static str)>,
    layers: Vec<LayerRow>,
}

impl Program<'_> {
    fn measure(&self, figure: &Figure, runs: usize) -> Result<Measurement, Error> {
        let of_host = |value| Measurement { value, ..Measurement::default() };
        match figure.measure {
            Measure::Cycles(options) => Ok(self.timed(figure, options, |_, cycles| Ok(cycles))?),
            Measure::Milliseconds(options) => Ok(self.timed(figure, options, |time, _| {
                time.milliseconds.ok_or_else(|| no_clock(self.compiled))
            })?),
            Measure::Efficiency(options) => Ok(self.timed(figure, options, |time, _| self.efficiency(time))?),
            Measure::HostMilliseconds => {
                Ok(of_host(host_milliseconds(self.compiled, &self.samples(1), runs)?))
            }
            // Other compilation figures are measured as tasks.
            Measure::CompileSeconds | Measure::CheckSeconds => Ok(of_host(self.compile_seconds)),
            Measure::Speedup(cores) => {
                Ok(of_host(speedup(self.compiled, &|count| self.samples(count), cores, runs)?))
            }
        }
    }

    /// Measures a figure of the program's time; `value` computes it from the report and its cycles.
    fn timed(
        &self,
        figure: &Figure,
        options: &[(&str, &str)],
        value: impl Fn(&TimeReport, f64) -> Result<f64, TargetError>,
    ) -> Result<Measurement, TargetError> {
        let options = options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let time = self.compiled.time(&TimeOptions { options, ..TimeOptions::default() })?;
        let none = || TargetError::failed(format!("the cost model `{}` gives no cycles", time.clock));
        let cycles = *time.cycles.get(&time.clock).ok_or_else(none)? as f64;
        let above_bound = time.roofline.distance.map(|distance| (distance, time.roofline.bound.name()));
        let (value, layers) = (value(&time, cycles)?, layers(&time, figure.layers)?);
        let (latency_ms, host_ms) = self.with_host(time.milliseconds);
        Ok(Measurement { value, latency_ms, host_ms, above_bound, layers })
    }

    /// Adds the host's time, if it counts, to that of the accelerator; also returns it alone.
    fn with_host(&self, chip_ms: Option<f64>) -> (Option<f64>, Option<f64>) {
        let Some(rates) = self.host else { return (chip_ms, None) };
        let latency_ms = HostTime::of(rates, self.compiled.info(), chip_ms, None).latency_ms;
        (latency_ms, latency_ms.zip(chip_ms).map(|(all, chip)| all - chip))
    }

    /// Returns the efficiency in percent. Padding is not counted as work of the layers.
    fn efficiency(&self, time: &TimeReport) -> Result<f64, TargetError> {
        let unknown =
            || TargetError::failed("the utilization of the multipliers is unknown for this program");
        let macs = self.compiled.report().macs.filter(|&macs| macs > 0).ok_or_else(unknown)?;
        let utilization = time.utilization.ok_or_else(unknown)?;
        let padded = self.network.map_or(macs, |network| network.counts().padded_macs);
        Ok(100.0 * utilization * padded as f64 / macs as f64)
    }

    /// Generates random samples, all different.
    fn samples(&self, count: usize) -> Vec<Sample> {
        let sample = |index| {
            let sample = self.network?.sample(self.seed.wrapping_add(index))?;
            Some(vec![(npukit_models::zoo::INPUT.to_owned(), sample)])
        };
        (1..=count as u64).filter_map(sample).collect()
    }

    fn row(&self, benchmark: &Benchmark, instance: String, figure: &Figure, found: Measurement) -> Row {
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
            found: found.value,
            met: figure.bar.is_met(found.value),
            seconds: None,
            peak_bytes: None,
            latency_ms: found.latency_ms,
            host_ms: found.host_ms,
            frames_per_second: frames_per_second(found.latency_ms),
            above_bound: found.above_bound,
            compile_seconds: Some(self.compile_seconds),
            layers: found.layers,
        }
    }
}

/// Pairs our layers with the published ones. Layers without MACs are added to the previous layer.
///
/// # Errors
///
/// Fails if the numbers of layers differ.
fn layers(time: &TimeReport, published: &[f64]) -> Result<Vec<LayerRow>, TargetError> {
    let mut rows: Vec<LayerRow> = Vec::new();
    let mut before = 0.0;
    for layer in time.layers.iter().filter(|_| !published.is_empty()) {
        let cycles = layer.cycles as f64;
        match rows.last_mut() {
            _ if layer.macs > 0 => {
                // Default: more rows than published are refused below.
                let published = published.get(rows.len()).copied().unwrap_or_default();
                rows.push(LayerRow { name: layer.name.clone(), published, found: before + cycles });
                before = 0.0;
            }
            Some(row) => row.found += cycles,
            None => before += cycles,
        }
    }
    if rows.len() == published.len() {
        return Ok(rows);
    }
    let (ours, theirs) = (rows.len(), published.len());
    Err(TargetError::failed(format!(
        "the program has {ours} layers with MACs, the published one has {theirs}"
    )))
}

fn no_clock(compiled: &dyn Compiled) -> TargetError {
    TargetError::failed(format!(
        "the clock of {} is unknown, so cycles cannot be converted to time",
        compiled.report().target
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::LayerTime;

    use super::*;

    fn report(layers: &[(u64, u64)]) -> TimeReport {
        let layer = |&(cycles, macs): &(u64, u64)| LayerTime { cycles, macs, ..LayerTime::default() };
        TimeReport { layers: layers.iter().map(layer).collect(), ..TimeReport::default() }
    }

    #[test]
    fn layers_that_do_not_multiply_belong_to_the_one_before() {
        let time = report(&[(1, 0), (10, 5), (100, 0), (1000, 5)]);
        let rows = layers(&time, &[20.0, 30.0]).unwrap();
        let numbers: Vec<_> = rows.iter().map(|row| (row.published, row.found)).collect();
        assert_eq!(numbers, [(20.0, 111.0), (30.0, 1000.0)]);
        assert!(layers(&time, &[20.0]).is_err() && layers(&time, &[1.0, 2.0, 3.0]).is_err());
        assert_eq!(layers(&time, &[]).unwrap(), []);
    }
}
