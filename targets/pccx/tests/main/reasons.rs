//! Reasons for the host to compute a node: each reason, at the last size that the machine supports
//! and the first that it does not.

use std::collections::BTreeMap;

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, Cast, GeluForm, Gemm, LayerNormalization, MatMul, Pow, Reduce, ReduceKind, Relu, Reshape,
    RmsNormalization, RotaryEmbedding, Softmax, Transpose, UnaryKind,
};
use npukit_numeric::ElementType;
use npukit_pccx::internals::lower::{
    Activations, Gelu, Isa, Kv, Norms, Options, Rotations, Scales, WeightBits, WeightPath,
};
use npukit_pccx::{Config, Reading};
use npukit_target::OptionError;

use crate::net::{BY_ROWS, Net, compiled, instances, reasons};

/// A graph that runs on the machine except some steps.
type Build = fn(&mut Net) -> Vec<ValueId>;

const NO_MUL: &str = "needs element-wise multiply (isa=ext)";
const GAINS: &str = "needs element-wise multiply (isa=ext): gains fold into weights only if all readers \
                     are products with constants";
const NO_FORM: &str = "not supported by the machine";
const NO_ZERO: &str = "RECIP gives 0 for 0";
const NO_WORDS: &str = "it moves parts of L2 words";

/// Checks the reasons of each graph on the instances without and with extensions.
fn check(cases: &[(&str, Build, [&[&str]; 2])]) {
    for (what, build, expected) in cases {
        for (config, expected) in instances().iter().zip(expected) {
            let executable = compiled(config, &Options::of(config), build);
            let found: Vec<&str> = reasons(&executable).into_iter().map(|(_, reason)| reason).collect();
            assert_eq!(found, *expected, "{what}, extensions {}", config.extensions);
        }
    }
}

fn unary(net: &mut Net, kind: UnaryKind) -> Vec<ValueId> {
    let x = net.input(&[16]);
    vec![net.unary(kind, x)]
}

fn reduced(net: &mut Net, kind: ReduceKind) -> Vec<ValueId> {
    let x = net.input(&[2, 16]);
    vec![net.op(Reduce { kind, axes: vec![1], keep_dims: true }, &[x])]
}

fn power(net: &mut Net, power: f32) -> Vec<ValueId> {
    let (x, power) = (net.input(&[16]), net.constant(&[], vec![power]));
    vec![net.op(Pow, &[x, power])]
}

#[test]
fn functions_without_a_form() {
    check(&[
        ("exp", |net| unary(net, UnaryKind::Exp), [&[], &[]]),
        (
            "relu",
            |net| {
                let x = net.input(&[16]);
                vec![net.op(Relu, &[x])]
            },
            [&[NO_MUL], &[]],
        ),
        ("swish", |net| unary(net, UnaryKind::Swish { alpha: 1.5 }), [&[NO_MUL], &[]]),
        (
            "tanh",
            |net| unary(net, UnaryKind::Tanh),
            [&["isa=base can compute it only with EXP and RECIP, which loses small values"], &[]],
        ),
        ("1 / x", |net| unary(net, UnaryKind::Reciprocal), [&[NO_ZERO], &[NO_ZERO]]),
        ("erf", |net| unary(net, UnaryKind::Erf), [&[NO_FORM], &[NO_FORM]]),
        ("square", |net| power(net, 2.0), [&[NO_MUL], &[]]),
        ("cube", |net| power(net, 3.0), [&[NO_MUL], &[NO_FORM]]),
        (
            "softmax",
            |net| {
                let x = net.input(&[16]);
                vec![net.op(Softmax { axis: 0, axis_end: 1 }, &[x])]
            },
            [&["the softmax does not follow a product: the machine finds maxima only in results of products"];
                2],
        ),
        (
            "mean",
            |net| reduced(net, ReduceKind::Mean),
            [&["sums of rows are adjacent values in the result"]; 2],
        ),
        (
            "sum",
            |net| reduced(net, ReduceKind::Sum),
            [&["sums of rows are adjacent values in the result"]; 2],
        ),
        ("largest", |net| reduced(net, ReduceKind::Max), [&[NO_FORM]; 2]),
        (
            "of constants",
            |net| {
                let x = net.random(&[16]);
                vec![net.unary(UnaryKind::Exp, x)]
            },
            [&["it depends only on constants"]; 2],
        ),
        (
            "of nothing",
            |net| {
                let x = net.input(&[0, 16]);
                vec![net.unary(UnaryKind::Exp, x)]
            },
            [&["one of its tensors is empty"]; 2],
        ),
        (
            "of integers",
            |net| {
                let x = net.input(&[16]);
                let whole = net.op(Cast::new(ElementType::I64), &[x]);
                vec![net.op(Cast::new(ElementType::F32), &[whole])]
            },
            [&["its values are not floats"; 2]; 2],
        ),
    ]);
}

fn binary(net: &mut Net, kind: BinaryKind, shapes: [&[usize]; 2]) -> Vec<ValueId> {
    let [x, y] = shapes.map(|shape| net.input(shape));
    vec![net.binary(kind, x, y)]
}

#[test]
fn arithmetic_without_a_form() {
    const REPEATED: &str = "an operand is repeated";
    check(&[
        ("x + y", |net| binary(net, BinaryKind::Add, [&[8], &[8]]), [&[], &[]]),
        ("x y", |net| binary(net, BinaryKind::Mul, [&[8], &[8]]), [&[NO_MUL], &[]]),
        ("x / y", |net| binary(net, BinaryKind::Div, [&[8], &[8]]), [&[NO_ZERO]; 2]),
        ("larger", |net| binary(net, BinaryKind::Max, [&[8], &[8]]), [&[NO_FORM]; 2]),
        ("x + row", |net| binary(net, BinaryKind::Add, [&[2, 8], &[8]]), [&[REPEATED]; 2]),
        (
            "x / 2",
            |net| {
                let (x, c) = (net.input(&[8]), net.constant(&[], vec![2.0]));
                vec![net.binary(BinaryKind::Div, x, c)]
            },
            [&[], &[]],
        ),
        (
            "2 / x",
            |net| {
                let (x, c) = (net.input(&[8]), net.constant(&[], vec![2.0]));
                vec![net.binary(BinaryKind::Div, c, x)]
            },
            [&[NO_ZERO]; 2],
        ),
        (
            "a factor that repeats its operand",
            |net| {
                let (x, c) = (net.input(&[8]), net.constant(&[3, 8], vec![2.0; 24]));
                vec![net.binary(BinaryKind::Mul, x, c)]
            },
            [&[NO_MUL], &[REPEATED]],
        ),
        (
            "a divisor that repeats its operand",
            |net| {
                let (x, c) = (net.input(&[8]), net.constant(&[3, 8], vec![2.0; 24]));
                vec![net.binary(BinaryKind::Div, x, c)]
            },
            [&[NO_ZERO]; 2],
        ),
    ]);
}

/// Adds `m` rows of `k` values times a matrix of ones with `n` rows.
fn product(net: &mut Net, [m, k, n]: [usize; 3]) -> Vec<ValueId> {
    let (x, weights) = (net.input(&[m, k]), net.constant(&[n, k], vec![1.0; n * k]));
    vec![net.op(BY_ROWS, &[x, weights])]
}

fn with_values(net: &mut Net, weight: f32, bias: f32) -> Vec<ValueId> {
    let (x, weights, bias) =
        (net.input(&[1, 8]), net.constant(&[1, 8], vec![weight; 8]), net.constant(&[1], vec![bias]));
    vec![net.op(BY_ROWS, &[x, weights, bias])]
}

#[test]
fn products_that_are_no_weights() {
    const CHANGES: &str = "product of two activations outside attention";
    const NOT_FINITE: &str = "a weight is not finite";
    const ODD: &str = "inputs or results of a row are not whole words of L2";
    check(&[
        ("two rows", |net| product(net, [2, 8, 8]), [&[], &[]]),
        (
            "two operands",
            |net| {
                let (x, y) = (net.input(&[2, 8]), net.input(&[8, 3]));
                vec![net.op(MatMul, &[x, y])]
            },
            [&[CHANGES]; 2],
        ),
        (
            "a transposed operand",
            |net| {
                let (x, weights) = (net.input(&[8, 2]), net.weights(3, 8));
                vec![net.op(Gemm { trans_a: true, ..BY_ROWS }, &[x, weights])]
            },
            [&[NO_FORM]; 2],
        ),
        ("finite weights", |net| with_values(net, 1.0, 1.0), [&[], &[]]),
        ("an infinite weight", |net| with_values(net, f32::INFINITY, 1.0), [&[NOT_FINITE]; 2]),
        ("an infinite bias", |net| with_values(net, 1.0, f32::NEG_INFINITY), [&[NOT_FINITE]; 2]),
        ("long rows", |net| product(net, [1, 65_535, 1]), [&[], &[]]),
        (
            "longer rows",
            |net| product(net, [1, 65_536, 1]),
            [&["more than 65535 inputs per row, the maximum of a constant entry"]; 2],
        ),
        // An image has at most 65,528 rows. Products with several images are computed row by row.
        ("an image of odd rows", |net| product(net, [2, 4, 65_528]), [&[], &[]]),
        ("images of one odd row", |net| product(net, [1, 4, 65_529]), [&[], &[]]),
        ("images of odd rows", |net| product(net, [2, 4, 65_536]), [&[ODD]; 2]),
        ("images of odd results", |net| product(net, [2, 8, 65_529]), [&[ODD]; 2]),
        ("images of even rows", |net| product(net, [2, 8, 65_536]), [&[], &[]]),
    ]);
}

/// Adds functions before and after a transposition.
fn moved(net: &mut Net, shape: &[usize], perm: &[usize]) -> Vec<ValueId> {
    let x = net.input(shape);
    let x = net.unary(UnaryKind::Neg, x);
    let y = net.op(Transpose { perm: perm.to_vec() }, &[x]);
    vec![net.unary(UnaryKind::Neg, y)]
}

#[test]
fn moves_that_the_host_does_as_well() {
    check(&[
        ("whole words", |net| moved(net, &[2, 3, 8], &[1, 0, 2]), [&[], &[]]),
        ("halves of words", |net| moved(net, &[2, 3, 4], &[1, 0, 2]), [&[NO_WORDS]; 2]),
        ("1024 pieces", |net| moved(net, &[2, 512, 8], &[1, 0, 2]), [&[], &[]]),
        ("1026 pieces", |net| moved(net, &[2, 513, 8], &[1, 0, 2]), [&["it moves more than 1024 pieces"]; 2]),
        (
            "another shape",
            |net| {
                let x = net.input(&[3, 5]);
                let x = net.unary(UnaryKind::Neg, x);
                let y = net.op(Reshape { shape: vec![15] }, &[x]);
                vec![net.unary(UnaryKind::Neg, y)]
            },
            [&[], &[]],
        ),
        (
            "wanted by the host only",
            |net| {
                let x = net.input(&[2, 3, 8]);
                let x = net.unary(UnaryKind::Neg, x);
                let y = net.op(Transpose { perm: vec![1, 0, 2] }, &[x]);
                vec![net.unary(UnaryKind::Erf, y)]
            },
            [&["the host needs its result", NO_FORM]; 2],
        ),
        (
            "keys and values, which become weights at the host",
            |net| {
                let (queries, keys) = (net.input(&[2, 3, 16]), net.input(&[16, 2, 8]));
                let values = net.input(&[8, 2, 16]);
                let [keys, values] = [keys, values].map(|x| {
                    let x = net.unary(UnaryKind::Neg, x);
                    net.op(Transpose { perm: vec![1, 0, 2] }, &[x])
                });
                let scores = net.op(MatMul, &[queries, keys]);
                let chances = net.op(Softmax { axis: 2, axis_end: 3 }, &[scores]);
                vec![net.op(MatMul, &[chances, values])]
            },
            [&["the host needs its result"; 2]; 2],
        ),
    ]);
}

fn rotated(net: &mut Net, head: usize) -> Vec<ValueId> {
    let x = net.input(&[1, 1, 2 * head]);
    let table = net.random(&[1, 1, head / 2]);
    vec![net.op(RotaryEmbedding { heads: 2, size: head, interleaved: true }, &[x, table, table])]
}

fn normal(net: &mut Net, shape: [usize; 2]) -> Vec<ValueId> {
    let (x, gain) = (net.input(&shape), net.random(&[shape[1]]));
    let y = net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain]);
    vec![net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[y, gain])]
}

#[test]
fn rotations_and_norms_of_parts_of_words() {
    const HEADS: &str = "its heads are not whole words of L2";
    const ROWS: &str = "its rows are not whole words of L2";
    check(&[
        ("heads of a word", |net| rotated(net, 8), [&[NO_MUL], &[]]),
        ("heads of half a word", |net| rotated(net, 4), [&[NO_MUL], &[HEADS]]),
        ("wide heads", |net| rotated(net, 1024), [&[NO_MUL], &[]]),
        ("wider heads", |net| rotated(net, 1032), [&[NO_MUL], &["its heads have more than 1024 features"]]),
        ("rows of words", |net| normal(net, [2, 16]), [&[GAINS; 2], &[]]),
        ("a row of half a word", |net| normal(net, [1, 4]), [&[GAINS; 2], &[]]),
        ("rows of half a word", |net| normal(net, [2, 4]), [&[ROWS; 2], &[ROWS; 2]]),
    ]);
}

/// The host computes the form with the error function only on request.
#[test]
fn an_exact_gelu_is_the_hosts_when_asked_for() {
    for config in instances() {
        for (gelu, form, expected) in [
            (Gelu::Tanh, GeluForm::Exact, &[][..]),
            (Gelu::Tanh, GeluForm::Tanh, &[]),
            (
                Gelu::Exact,
                GeluForm::Exact,
                &[("Gelu", "gelu=exact: the machine computes only the tanh form")],
            ),
            (Gelu::Exact, GeluForm::Tanh, &[]),
        ] {
            let options = Options { gelu, ..Options::of(&config) };
            let executable = compiled(&config, &options, |net| unary(net, UnaryKind::Gelu { form }));
            assert_eq!(reasons(&executable), expected, "{gelu:?} {form:?}");
        }
    }
}

/// Each value of each option, and errors for other values.
#[test]
fn options_are_what_was_asked_for() {
    let [reference, extended] = instances();
    let parse = |config: &Config, key: &str, value: &str| {
        Options::parse(config, &BTreeMap::from([(key.to_owned(), value.to_owned())]))
    };
    let plain = Options {
        isa: Isa::Base,
        kv: Kv::Npu,
        norms: Norms::Npu,
        rotations: Rotations::Host,
        scales: Scales::Rows,
        weights: WeightPath::Stream,
        gelu: Gelu::Tanh,
        activations: Activations::Bits8,
        weight_bits: WeightBits::Fitting,
        m_tile: 16,
        k_part: None,
        kv_bits: 8,
        keeps_codes: false,
    };
    assert_eq!(Options::of(&reference), plain);
    let ext = Options { isa: Isa::Ext, rotations: Rotations::Tables, ..plain.clone() };
    assert_eq!(Options::of(&extended), ext);
    let ext = || ext.clone();
    for (key, value, expected) in [
        ("isa", "base", plain),
        ("norms", "npu", ext()),
        ("norms", "host", Options { norms: Norms::Host, ..ext() }),
        ("rotations", "npu", Options { rotations: Rotations::Npu, ..ext() }),
        ("rotations", "tables", ext()),
        ("rotations", "host", Options { rotations: Rotations::Host, ..ext() }),
        ("scales", "rows", ext()),
        ("weights", "stream", ext()),
        ("isa", "ext", ext()),
        ("kv", "npu", ext()),
        ("kv", "host", Options { kv: Kv::Host, ..ext() }),
        ("gelu", "tanh", ext()),
        ("gelu", "exact", Options { gelu: Gelu::Exact, ..ext() }),
        ("activations", "8", ext()),
        ("activations", "16", Options { activations: Activations::Bits16, ..ext() }),
        ("weight_bits", "4", Options { weight_bits: WeightBits::Bits4, ..ext() }),
        ("weight_bits", "8", Options { weight_bits: WeightBits::Bits8, ..ext() }),
        ("weight_bits", "auto", Options { weight_bits: WeightBits::Auto, ..ext() }),
        ("weights", "8", Options { weight_bits: WeightBits::Bits8, ..ext() }),
        ("m_tile", "1", Options { m_tile: 1, ..ext() }),
        ("m_tile", "1024", Options { m_tile: 1024, ..ext() }),
        ("k_part", "32", Options { k_part: Some(32), ..ext() }),
        ("k_part", "65504", Options { k_part: Some(65_504), ..ext() }),
    ] {
        assert_eq!(parse(&extended, key, value), Ok(expected), "{key}={value}");
    }
    let seed = Config { reading: Reading::Seed, ..extended };
    for (key, value, expected) in [
        ("scales", "memset", Options { scales: Scales::Memset, ..ext() }),
        ("weights", "memcpy", Options { weights: WeightPath::Memcpy, ..ext() }),
    ] {
        assert_eq!(parse(&seed, key, value), Ok(expected), "{key}={value}");
    }
    for (key, value, reason) in [
        ("scales", "memset", "the instance does not support this; add `+seed` to its name"),
        ("weights", "memcpy", "the instance does not support this; add `+seed` to its name"),
        ("norms", "ext", "must be npu or host"),
        ("rotations", "ext", "must be npu, tables or host"),
        ("isa", "ext", "the instance has no extensions; `pccx:extended` does"),
        ("isa", "new", "must be base or ext"),
        ("kv", "ext", "must be npu or host"),
        ("gelu", "8", "must be tanh or exact"),
        ("activations", "12", "must be 8 or 16"),
        ("m_tile", "0", "must be a whole number from 1 to 1024"),
        ("m_tile", "1025", "must be a whole number from 1 to 1024"),
        ("k_part", "16", "must be a whole number from 32 to 65504"),
        ("k_part", "100", "must be a multiple of 32 from 32 to 65504"),
        ("m_tile", "x", "must be a whole number from 1 to 1024"),
        (
            "mtile",
            "1",
            "unknown option (did you mean `m_tile`?); options of pccx: segments, isa, kv, norms, \
             rotations, scales, weights, gelu, activations, weight_bits, kv_bits, m_tile, k_part",
        ),
    ] {
        let [key, value, reason] = [key, value, reason].map(str::to_owned);
        assert_eq!(parse(&reference, &key, &value), Err(OptionError { key, value, reason }));
    }
}

#[test]
fn choices_are_named_as_they_are_asked_for() {
    let [reference, extended] = instances();
    let choices = |options: Options| -> Vec<String> {
        options.choices().into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    };
    assert_eq!(
        choices(Options::of(&reference)),
        ["activations=8", "isa=base", "kv=npu", "norms=npu", "rotations=host"]
    );
    let other = Options { kv: Kv::Host, activations: Activations::Bits16, ..Options::of(&extended) };
    assert_eq!(choices(other), ["activations=16", "isa=ext", "kv=host", "norms=npu", "rotations=tables"]);
    let wide = Options { weight_bits: WeightBits::Bits8, ..Options::of(&reference) };
    assert_eq!(choices(wide).last().map(String::as_str), Some("weight_bits=8"));
}
