//! The tests that every target passes.

use npukit_tcu::TCU;
use npukit_testing::{Suite, Text, suite};

const SUITE: Suite = Suite {
    target: &TCU,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[
        ("cycles.json", 280, 0),
        ("cycles_n32_b4.json", 287, 0),
        ("encoding.json", 171, 0),
        ("numerics.json", 900, 0),
        ("rtl_hazards.json", 762, 0),
        ("rtl_hazards_n32_b4.json", 508, 0),
        ("rtl_sequences.json", 200, 0),
        ("rtl_sequences_n32_b4.json", 100, 0),
    ],
    inexact: 0,
    presets: &[("pynqz1", &[]), ("ultra96v2", &[])],
    text: Text::Stage("asm"),
    // The number format has 8 fraction bits.
    tolerance: 0.02,
    // The graph is computed in single precision.
    floats: 1e-5,
    counters: &["program_counter"],
    operands_with_effect: 0.7,
};

suite!(SUITE);
