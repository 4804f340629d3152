//! Speed of the simulator on this host.

use std::hint::black_box;
use std::time::Instant;

use npukit_numeric::{ArrayWeights, Fixed, Rows, Saturations, fp16bp8_product};
use npukit_target::Compiled;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::{Row, Table};
use crate::error::Error;
use crate::inputs::Sample;

/// Name of the rows that need no network.
pub(super) const ARRAY_KERNEL: &str = "array_kernel";

/// Measures the array product alone, in FP16BP8, for several array sizes.
pub(super) fn array_kernels(runs: usize) -> Vec<Row> {
    let row = |lanes| {
        let found = giga_macs(lanes, runs);
        Row {
            table: Table::Speed,
            network: ARRAY_KERNEL.to_owned(),
            instance: String::new(),
            what: format!("array of {lanes} by {lanes}, one core"),
            unit: "GMAC/s",
            published: None,
            source: None,
            bar: None,
            more_is_better: false,
            found,
            met: None,
            seconds: None,
            peak_bytes: None,
            latency_ms: None,
            host_ms: None,
            frames_per_second: None,
            above_bound: None,
            compile_seconds: None,
            layers: Vec::new(),
        }
    };
    [8, 16, 32].map(row).into()
}

/// Number of rows of a product: several times the accumulators of small instances.
const ROWS: usize = 256;
/// Number of products between two readings of the clock, because a single one is too short to
/// measure.
const REPEATS: usize = 512;

/// Returns the speed in 10^9 multiply-accumulates per second.
fn giga_macs(lanes: usize, runs: usize) -> f64 {
    let mut weights = ArrayWeights::<Fixed<i16, 16, 8>>::new(lanes, lanes);
    for k in 0..=lanes {
        let row: Vec<i16> = (0..lanes).map(|j| ((k * 31 + j * 17) % 101) as i16 - 50).collect();
        weights.set_row(k, &row);
    }
    let x: Vec<i16> = (0..ROWS * lanes).map(|i| (i * 37 % 511) as i16 - 255).collect();
    let (mut y, mut saturations) = (vec![0; ROWS * lanes], Saturations::default());
    let seconds = median(runs, || {
        for _ in 0..REPEATS {
            let rows = Rows { values: black_box(&x[..]), pitch: lanes, count: ROWS };
            fp16bp8_product(&weights, rows, black_box(&mut y), &mut saturations);
        }
        Ok::<(), Error>(())
    });
    (REPEATS * ROWS * lanes * lanes) as f64 / seconds.unwrap_or(f64::INFINITY) / 1e9
}

/// Returns the time of the first sample on one core in milliseconds.
pub(super) fn host_milliseconds(
    compiled: &dyn Compiled,
    samples: &[Sample],
    runs: usize,
) -> Result<f64, Error> {
    Ok(1e3 * batch(compiled, samples, 1, runs)?)
}

/// Number of samples of a batch, large enough that the uneven end on the cores does not matter.
const BATCH: usize = 40;

/// Returns the speedup of a batch on `cores` cores over one core.
pub(super) fn speedup(
    compiled: &dyn Compiled,
    samples: &dyn Fn(usize) -> Vec<Sample>,
    cores: usize,
    runs: usize,
) -> Result<f64, Error> {
    let samples = samples(BATCH);
    Ok(batch(compiled, &samples, 1, runs)? / batch(compiled, &samples, cores, runs)?)
}

/// Returns the time of all samples on `cores` cores in seconds.
fn batch(compiled: &dyn Compiled, samples: &[Sample], cores: usize, runs: usize) -> Result<f64, Error> {
    let pool = ThreadPoolBuilder::new().num_threads(cores).build();
    let pool = pool.map_err(|error| Error::Cores { cores, reason: error.to_string() })?;
    let one = |sample: &Sample| Ok(compiled.run(sample).map(drop)?);
    pool.install(|| median(runs, || samples.par_iter().try_for_each(one)))
}

/// Returns the median time of `work` in seconds, after a warm-up run.
pub(super) fn median<E>(runs: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    work()?;
    let mut time = || {
        let start = Instant::now();
        work().map(|()| start.elapsed().as_secs_f64())
    };
    let mut seconds = (0..runs.max(1)).map(|_| time()).collect::<Result<Vec<f64>, E>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_first_run_does_not_count() {
        let mut calls = 0;
        let seconds = median(3, || {
            calls += 1;
            std::thread::sleep(std::time::Duration::from_millis(if calls == 1 { 200 } else { 2 }));
            Ok::<(), Error>(())
        });
        assert_eq!(calls, 4);
        assert!((0.002..0.2).contains(&seconds.unwrap()));
    }

    #[test]
    fn kernels_of_all_widths_are_measured() {
        let rows = array_kernels(1);
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.found > 0.0 && row.bar.is_none() && row.met.is_none()));
    }
}
