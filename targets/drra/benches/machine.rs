//! Simulated cell-cycles per second: all ports of all cells with an address in every cycle, and
//! published programs.

use divan::Bencher;
use divan::counter::ItemsCount;
use npukit_drra::internals::asm::assemble;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::lower::lower;
use npukit_drra::{Component, Fabric, Machine, Program};
use npukit_graph::op::MatMul;
use npukit_graph::{Graph, ValueInfo};
use npukit_numeric::ElementType;

fn main() {
    divan::main();
}

/// Number of cycles in which all ports have addresses.
const CYCLES: u64 = 60_000;

/// Program that keeps every port of a fabric busy for [`CYCLES`].
fn busy(fabric: &Fabric) -> Program {
    let mut text = String::new();
    for (place, cell) in fabric.places().zip(&fabric.cells) {
        text += &format!("cell (row={}, col={})\n", place.row, place.col);
        for option in 0..4 {
            if place.row == 1 {
                text += &format!("route(slot=0, option={option}, sr=receive, source=1, target=6)\n");
                text += &format!("route(slot=0, option={option}, sr=send, source=3, target=128)\n");
                text += &format!("swb(slot=0, option={option}, channel=4, source=1, target=4)\n");
                text += &format!("swb(slot=0, option={option}, channel=5, source=2, target=5)\n");
                text += &format!("swb(slot=0, option={option}, channel=3, source=4, target=3)\n");
                text += &format!("dpu(slot=4, config={option}, mode=mac)\n");
            } else {
                let (direction, sr) = if place.row == 0 { (128, "send") } else { (4, "receive") };
                let source = if place.row == 0 { 2 } else { 1 };
                text += &format!(
                    "route(slot=0, option={option}, sr={sr}, source={source}, target={direction})\n"
                );
            }
        }
        for part in &cell.resources {
            let open = if matches!(part.component, Component::Dpu | Component::Swb) { "evt" } else { "dsu" };
            for (slot, port, size) in part.ports() {
                let of = format!("slot={slot}, port={port}");
                let (once, times) = (u64::from(size.min(64)), CYCLES / u64::from(size.min(64)));
                text += &format!("{open}({of})\nrep({of}, iter={once})\n");
                text += &format!("rep({of}, iter={}, step=0)\n", times % 256);
                text += &format!("repx({of}, iter={}, step=0)\n", times / 256);
            }
        }
        text += "act(ports=65535, param=0)\nact(ports=65535, param=4)\n";
        text += &format!("wait(cycle={})\nhalt()\n", CYCLES - 4);
    }
    assemble(fabric, "busy", &text).map(|source| source.program).unwrap_or_default()
}

#[divan::bench(args = ["3x1", "3x4"])]
fn all_ports_active(bencher: Bencher<'_, '_>, name: &str) {
    let Some(fabric) = preset(name) else { return };
    let program = busy(&fabric);
    let machine = || Machine::new(&fabric, &program).ok();
    let mut count = 0;
    if let Some(mut machine) = machine() {
        count = machine.run(u64::MAX, &mut ()).map_or(0, |run| run.cycles) * fabric.cells.len() as u64;
    }
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(machine)
        .bench_refs(|machine| machine.as_mut().map(|machine| machine.run(u64::MAX, &mut ())));
}

/// Product of 64x64 matrices on 3x4, with independent calls, by number of threads.
#[divan::bench(args = [1, 2, 4])]
fn calls_in_parallel(bencher: Bencher<'_, '_>, threads: usize) {
    let Some(fabric) = preset("3x4") else { return };
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![64, 64], element: ElementType::F32 };
    let operands = vec![graph.add_input("a", info.clone()), graph.add_input("b", info)];
    let Ok(outputs) = graph.add_node("product", MatMul.into(), operands, &["y"]) else { return };
    graph.outputs = outputs;
    let plan = lower(&fabric, &graph, None).unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (Ok(executable), Ok(pool)) = (Executable::new(&fabric, plan), pool) else { return };
    let words: Vec<i16> = (0..64 * 64).map(|index: i16| index % 7 - 3).collect();
    let inputs = [words.clone(), words];
    let cell_cycles = executable.cycles().iter().sum::<u64>() * fabric.cells.len() as u64;
    bencher.counter(ItemsCount::new(cell_cycles)).bench(|| pool.install(|| executable.run(&inputs)));
}

/// Waiting cells cost no time.
#[divan::bench]
fn waiting(bencher: Bencher<'_, '_>) {
    let Some(fabric) = preset("3x4") else { return };
    let mut text = String::new();
    for place in fabric.places() {
        text += &format!("cell (row={}, col={})\nwait(cycle=100000000)\nhalt()\n", place.row, place.col);
    }
    let program = assemble(&fabric, "waiting", &text).map(|source| source.program).unwrap_or_default();
    let machine = || Machine::new(&fabric, &program).ok();
    let cell_cycles = 100_000_002 * fabric.cells.len() as u64;
    bencher
        .counter(ItemsCount::new(cell_cycles))
        .with_inputs(machine)
        .bench_refs(|machine| machine.as_mut().map(|machine| machine.run(u64::MAX, &mut ())));
}
