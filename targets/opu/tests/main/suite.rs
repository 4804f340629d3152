//! The suite that every target must pass.

use npukit_opu::OPU;
use npukit_testing::{Suite, Text, suite};

const REFUSED: &[&str] = &["transposed convolution"];

const SUITE: Suite = Suite {
    target: &OPU,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[
        ("encoding.json", 99, 0),
        ("faults.json", 49, 0),
        ("index.json", 1, 0),
        ("upstream-divergent.json", 12, 0),
        ("cases/", 171, 0),
    ],
    inexact: 0,
    presets: &[("reference", REFUSED), ("int16", REFUSED), ("fp16", REFUSED)],
    text: Text::Stage("asm"),
    // Units of 8 bits.
    tolerance: 0.05,
    // The graph is computed in single precision.
    floats: 1e-5,
    counters: &[],
    operands_with_effect: 0.5,
};

suite!(SUITE);
