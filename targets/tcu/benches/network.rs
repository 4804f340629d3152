//! The user's waiting time: compiling ResNet-20, and running one image. Needs the shared folder.
//!
//! `cargo bench -p npukit-tcu`

use divan::Bencher;
use divan::counter::ItemsCount;
use npukit_graph::{Graph, pass};
use npukit_import::onnx;
use npukit_tcu::internals::lower::{self, Options};
use npukit_tcu::{Config, Machine};

fn main() {
    divan::main();
}

const BOARDS: [&str; 4] = ["pynqz1", "ultra96v2", "zcu104", "zcu104_uram"];

fn bytes() -> Option<Vec<u8>> {
    let root = std::env::var("NPUKIT_SHARED")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    std::fs::read(format!("{root}/models/resnet20v2_cifar.onnx")).ok()
}

fn import(bytes: &[u8]) -> Option<Graph> {
    let mut graph = onnx::read(bytes, "resnet20", &onnx::Options::default()).ok()?.graph;
    pass::simplify(&mut graph).ok()?;
    Some(graph)
}

/// From the file's bytes to a simplified graph.
#[divan::bench]
fn resnet20_import(bencher: Bencher) {
    let Some(bytes) = bytes() else { return };
    bencher.bench_local(|| import(&bytes));
}

/// From the graph to a program, with all strategies.
#[divan::bench(args = BOARDS, max_time = 5)]
fn resnet20_compile(bencher: Bencher, board: &str) {
    let (Some(graph), Some(config)) = (bytes().and_then(|bytes| import(&bytes)), Config::preset(board))
    else {
        return;
    };
    bencher.bench_local(|| lower::compile(&graph, &config, &Options::default()));
}

/// One image on the machine; items are multiply-accumulates without padding.
#[divan::bench(args = BOARDS, max_time = 5)]
fn resnet20_image(bencher: Bencher, board: &str) {
    let (Some(graph), Some(config)) = (bytes().and_then(|bytes| import(&bytes)), Config::preset(board))
    else {
        return;
    };
    let Ok(program) = lower::compile(&graph, &config, &Options::default()).map(|compiled| compiled.program)
    else {
        return;
    };
    let Ok(mut machine) = Machine::new(&config) else { return };
    let macs: u64 = program.layers.iter().map(|layer| layer.macs).sum();
    bencher.counter(ItemsCount::new(macs)).bench_local(|| machine.run(&program.instructions, &mut |_| {}));
}
