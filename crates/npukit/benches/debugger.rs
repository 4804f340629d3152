//! Benchmark of the debugger on the public ResNet-20 program for the zcu104: opening it, stepping
//! back from the end, and searching the whole program for watchpoints.

use divan::Bencher;
use npukit::verbs::debug::{Opened, Request, open};
use npukit::{Context, ReadError, Source};
use npukit_debug::{Condition, Debugger, On, Order, PointKind, Range, Watch};

fn main() {
    divan::main();
}

/// Number of consecutive steps back.
const BACK: usize = 40;

/// Opens the program before its first step; returns `None` without the shared files.
fn debugger() -> Option<Debugger> {
    let root = std::env::var("NPUKIT_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned());
    let path = format!("{root}/golden/tcu/programs/resnet20v2_zcu104/resnet20v2_cifar_onnx_zcu104.tmodel");
    let reader = |path: &str| std::fs::read(path).map_err(|error| ReadError::of(path, &error));
    let source = Source { path, ..Source::default() };
    let Opened { machine, text, .. } =
        open(&Request { source, ..Request::default() }, Context::new(&reader)).ok()?;
    Some(Debugger::new(machine, text))
}

/// Opens the program after its last step.
fn at_end() -> Option<Debugger> {
    let mut debugger = debugger()?;
    let end = debugger.steps();
    debugger.goto(end);
    Some(debugger)
}

/// Opens the program with a watchpoint on the first accumulators.
fn watching(condition: Option<Condition>) -> Option<Debugger> {
    let mut debugger = debugger()?;
    let memory = debugger.machine().memories().iter().position(|memory| memory.name == "acc")?;
    let range = Range { text: "acc[0:64]".to_owned(), memory, start: 0, end: 64, lane: None };
    debugger.add_point(PointKind::Watch(Watch { range, on: On::Write, condition }));
    Some(debugger)
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn open_resnet20(bencher: Bencher<'_, '_>) {
    bencher.bench_local(debugger);
}

/// The first step back replays from the nearest snapshot.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn steps_back_from_the_end(bencher: Bencher<'_, '_>) {
    let Some(mut debugger) = at_end() else { return };
    let end = debugger.steps();
    bencher.bench_local(|| {
        (0..BACK).for_each(|_| {
            debugger.back(1);
        });
        debugger.goto(end);
    });
}

/// Finds writes by decoding instructions.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn scan_for_writes(bencher: Bencher<'_, '_>) {
    let Some(debugger) = watching(None) else { return };
    bencher.bench_local(|| debugger.scan().map(|hits| hits.len()));
}

/// Finds values by executing the program.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn scan_for_values(bencher: Bencher<'_, '_>) {
    let condition = Condition { is_raw: false, order: Order::Greater, value: 1.0 };
    let Some(debugger) = watching(Some(condition)) else { return };
    bencher.bench_local(|| debugger.scan().map(|hits| hits.len()));
}
