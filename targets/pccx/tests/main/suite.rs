//! Tests that each target must pass.

use npukit_pccx::PCCX;
use npukit_testing::{Suite, Text, suite};

/// The host computes all operators that the machine does not support.
const REFUSED: &[&str] = &[];

const SUITE: Suite = Suite {
    target: &PCCX,
    folder: env!("CARGO_MANIFEST_DIR"),
    vectors: &[
        ("decode_uops.json", 359, 0),
        ("dual_mac.json", 247, 0),
        ("encoding.json", 71, 0),
        ("host_cmd.json", 55, 0),
        ("lab_estimates.json", 133, 0),
        ("load_words.json", 120, 0),
        ("normalize-2.json", 1, 0),
        ("normalize.json", 898, 0),
        ("numpy_layer.json", 15, 0),
        ("numpy_layer_9.json", 5, 0),
        ("numpy_ops.json", 40, 0),
        ("preprocess.json", 200, 0),
        ("program_memcpy.json", 2, 0),
        ("ref_cvo_cos.u16le", 3046, 0),
        ("ref_cvo_exp.u16le", 3070, 0),
        ("ref_cvo_gelu.u16le", 3006, 0),
        ("ref_cvo_recip.u16le", 2981, 0),
        ("ref_cvo_sin.u16le", 3047, 0),
        ("ref_cvo_sqrt.u16le", 3022, 0),
        ("ref_gemm.json", 53, 0),
        ("ref_reduce_sum.json", 42, 0),
        ("ref_scale.json", 41, 0),
        ("ref_softmax.json", 42, 0),
        ("rtl_cordic.u16le", 3581, 0),
        ("rtl_reduce_sum.json", 66, 0),
        ("rtl_scale.json", 84, 0),
        ("rtl_sfu_exp.u16le", 3527, 0),
        ("rtl_sfu_recip.u16le", 3622, 0),
        ("rtl_sfu_sqrt.u16le", 3669, 0),
        ("trace_1_1.pccx", 3, 0),
        ("trace_3_4.pccx", 3, 0),
        ("weight_beats.json", 2, 0),
    ],
    // These are floats of `numpy_ops.json` and `numpy_layer*.json`. `conform/numpy.rs` lists which
    // fraction of the tolerance each group uses.
    inexact: 40,
    presets: &[("reference", REFUSED), ("extended", REFUSED)],
    text: Text::Stage("asm"),
    // With blocks of 8 bits and weights of 4 bits, the measured error is 0.0540 for a convolution
    // and 0.0346 for the other graphs.
    tolerance: 1.2 * 0.054,
    // The graph is evaluated in single precision.
    floats: 1e-5,
    counters: &[],
    operands_with_effect: 0.9,
};

suite!(SUITE);
