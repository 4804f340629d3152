//! Functional machine and clock: a whole published network, and single instructions on 16 lanes.

use divan::Bencher;
use divan::counter::ItemsCount;
use npukit_tcu::internals::artifact::raw_from_bytes;
use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::internals::op::{Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{Config, Machine, Memory, decode_program};

fn main() {
    divan::main();
}

const AT: Strided = Strided { address: 0, stride_log2: 0 };

/// Returns instructions and constants of the public ResNet-20 program; `None` without the shared
/// folder.
fn resnet20(config: &Config) -> Option<(Vec<Op>, Vec<i32>)> {
    let root = std::env::var("NPUKIT_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned());
    let read = |extension: &str| {
        let name = format!("resnet20v2_cifar_onnx_zcu104.{extension}");
        std::fs::read(format!("{root}/golden/tcu/programs/resnet20v2_zcu104/{name}")).ok()
    };
    let ops = decode_program(config, &read("tprog")?).ok()?;
    Some((ops, raw_from_bytes(config.data_type, &read("tdata")?).ok()?))
}

/// One image, including the creation of the machine. Items are multiply-accumulates of the array.
#[divan::bench]
fn resnet20_on_zcu104(bencher: Bencher<'_, '_>) {
    let Some(config) = Config::preset("zcu104") else { return };
    let Some((ops, constants)) = resnet20(&config) else { return };
    let vectors: usize =
        ops.iter().map(|op| if let Op::MatMul { size, .. } = op { *size as usize } else { 0 }).sum();
    let macs = vectors * config.array_size * config.array_size;
    bencher.counter(ItemsCount::new(macs)).bench_local(|| {
        let mut machine = Machine::new(&config).ok()?;
        machine.write(Memory::Dram1, 0, &constants).ok()?;
        machine.run(&ops, &mut |_| ()).ok()
    });
}

/// The clock alone, without values, at a given latency. Items are simulated cycles.
#[divan::bench(args = [1, 18])]
fn clock_of_resnet20_on_zcu104(bencher: Bencher<'_, '_>, latency: u64) {
    let Some(config) = Config::preset("zcu104") else { return };
    let Some((ops, _)) = resnet20(&config) else { return };
    let Ok(clock) = Clock::new(&config, ClockParams::with_latency(latency)) else { return };
    let cycles = clock.run(&ops).total;
    bencher.counter(ItemsCount::new(cycles)).bench_local(|| clock.run(&ops));
}

/// The observed clock, as for a trace, sampled every `interval` cycles. Items are simulated cycles.
#[divan::bench(args = [0, 1000, 1])]
fn observed_clock_of_resnet20_on_zcu104(bencher: Bencher<'_, '_>, interval: u16) {
    let Some(config) = Config::preset("zcu104") else { return };
    let Some((ops, _)) = resnet20(&config) else { return };
    let Ok(clock) = Clock::new(&config, ClockParams::with_latency(18)) else { return };
    let cycles = clock.run(&ops).total;
    bencher.counter(ItemsCount::new(cycles)).bench_local(|| match interval {
        0 => clock.run_observed(&ops, &mut |slice| {
            divan::black_box(slice);
        }),
        _ => clock.run_sampled(&ops, interval, 1, &mut |sample| {
            divan::black_box(sample);
        }),
    });
}

/// Values and cycles on a new machine. Items are simulated cycles.
#[divan::bench]
fn values_and_clock_of_resnet20_on_zcu104(bencher: Bencher<'_, '_>) {
    let Some(config) = Config::preset("zcu104") else { return };
    let Some((ops, constants)) = resnet20(&config) else { return };
    let Ok(clock) = Clock::new(&config, ClockParams::with_latency(18)) else { return };
    let cycles = clock.run(&ops).total;
    bencher.counter(ItemsCount::new(cycles)).bench_local(|| {
        let mut machine = Machine::new(&config).ok()?;
        machine.write(Memory::Dram1, 0, &constants).ok()?;
        machine.run(&ops, &mut |_| ()).ok()?;
        Some(clock.run(&ops))
    });
}

fn on_16_lanes(bencher: Bencher<'_, '_>, op: Op, items: usize) {
    let Some(config) = Config::preset("ultra96v2") else { return };
    let Ok(mut machine) = Machine::new(&config) else { return };
    bencher.counter(ItemsCount::new(items)).bench_local(|| machine.step(&op));
}

/// Items are multiply-accumulates.
#[divan::bench(args = [1, 16, 256, 4096])]
fn mat_mul_16_lanes(bencher: Bencher<'_, '_>, size: usize) {
    let op = Op::MatMul { accumulate: false, zeroes: false, local: AT, accumulator: AT, size: size as u64 };
    on_16_lanes(bencher, op, size * 256);
}

/// Items are lanes.
#[divan::bench]
fn simd_max_16_lanes(bencher: Bencher<'_, '_>) {
    let sub = SimdSub { op: SimdOp::Max, left: 0, right: 1, destination: 0 };
    let op = Op::Simd { read: true, write: true, accumulate: false, write_address: 1, read_address: 0, sub };
    on_16_lanes(bencher, op, 16);
}
