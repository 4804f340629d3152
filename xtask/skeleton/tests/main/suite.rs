//! Test suite of all targets.

use npukit_skeleton::SKELETON;
use npukit_testing::{Suite, Text, suite};

/// The accelerator only adds, clips and multiplies by matrices.
const REFUSED: &[&str] = &["convolution", "pools", "softmax", "transposed convolution"];

const SUITE: Suite = Suite {
    target: &SKELETON,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[("program.json", 5, 0)],
    inexact: 0,
    presets: &[("reference", REFUSED)],
    text: Text::Stage("asm"),
    // Half a unit of the last place of each operand: 2^-9 twice, of results near 1.
    tolerance: 0.005,
    // The graph computes in single precision.
    floats: 1e-5,
    counters: &[],
    operands_with_effect: 0.1,
};

suite!(SUITE);
