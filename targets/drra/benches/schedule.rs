//! The scheduler: the guide's problem from text to words, and problems of 100 operations with 200
//! constraints.

use divan::Bencher;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::kernel::compile;
use npukit_drra::internals::schedule::{DEFAULT_NODES, schedule};

#[path = "../tests/main/generator.rs"]
mod generator;

use generator::random_problem;

const GUIDE: &str = include_str!("../kernels/guide.pasm");

fn main() {
    divan::main();
}

#[divan::bench]
fn guide(bencher: Bencher<'_, '_>) {
    if let Some(fabric) = preset("3x1") {
        bencher.bench(|| compile(&fabric, "guide.pasm", GUIDE, 0));
    }
}

#[divan::bench(args = [0, 1, 2, 3, 4, 5])]
fn operations_100_constraints_200(bencher: Bencher<'_, '_>, seed: u64) {
    let problem = random_problem(seed, 100, 200);
    bencher.bench(|| schedule(&problem, DEFAULT_NODES));
}
