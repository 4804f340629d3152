//! Tests that every target passes.

use npukit_drra::DRRA;
use npukit_testing::{Suite, Text, suite};

const SUITE: Suite = Suite {
    target: &DRRA,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[
        ("agu_patterns.json", 113, 0),
        ("encoding.json", 53, 0),
        ("released_kernels.json", 14, 0),
        ("act_mode1.json", 1, 0),
        ("dot_32.json", 1, 0),
        ("dpu_config_switch.json", 1, 0),
        ("matmul_4x4.json", 1, 0),
        ("reverse_step_neg.json", 1, 0),
        ("route_local_copy.json", 1, 0),
        ("single_cell_mult_16.json", 1, 0),
        ("trans_outer.json", 1, 0),
        ("two_column_mult_32_skew0.json", 1, 0),
        ("vec_add_16.json", 1, 0),
        ("vec_mult_32.json", 1, 0),
        ("vec_mult_32_interleaved.json", 1, 0),
        ("vec_mult_sat_16.json", 1, 0),
    ],
    inexact: 0,
    presets: &[("3x1", &["softmax", "transposed convolution"]), ("3x1+ext", &["transposed convolution"])],
    text: Text::Files(".pasm"),
    // The machine adds 16-bit integers without fraction bits.
    tolerance: 0.05,
    // Constants have 16 bits.
    floats: 0.05,
    counters: &[],
    operands_with_effect: 0.3,
};

suite!(SUITE);
