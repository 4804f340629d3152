//! What every target passes.

use npukit_tcu::Tcu;
use npukit_testing::{Suite, Text, suite};

const SUITE: Suite = Suite {
    target: &Tcu,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[
        ("encoding.json", 171, 0),
        ("numerics.json", 900, 0),
        ("rtl_hazards.json", 762, 0),
        ("rtl_hazards_n32_b4.json", 508, 0),
        ("rtl_occupancy.json", 110, 0),
        ("rtl_sequences.json", 200, 0),
        ("rtl_sequences_n32_b4.json", 100, 0),
        ("rtl_timing.json", 225, 18),
        ("rtl_timing_n32_b4.json", 232, 7),
    ],
    inexact: 0,
    presets: &[("pynqz1", &[]), ("ultra96v2", &[])],
    text: Text::Stage("asm"),
    // Fractions of 8 bits.
    tolerance: 0.02,
};

suite!(SUITE);
