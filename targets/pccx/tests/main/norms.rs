//! Norms on the machine without MUL: gains are folded into the weights that follow, and the host
//! computes one scalar per row.

use npukit_graph::op::{
    BinaryKind, LayerNormalization, MatMul, Reshape, RmsNormalization, Softmax, UnaryKind,
};
use npukit_graph::{Graph, ValueId};
use npukit_pccx::Config;
use npukit_pccx::internals::host::HostStep;
use npukit_pccx::internals::lower::{Norms, Options};
use npukit_pccx::internals::op::{CvoFunc, Op};

use crate::net::{BY_ROWS, Net, PRODUCT, compiled, instances, reasons, run_with, steps};

const RMS: RmsNormalization = RmsNormalization { axis: 1, epsilon: 1e-5 };
const LAYER: LayerNormalization = LayerNormalization { axis: 1, epsilon: 1e-5 };

/// Returns gains that are powers of two, so that 4 bits represent weights exactly also with gains:
/// three in each row of codes below 2 stay below 7 when doubled.
fn gains(net: &mut Net, row: usize) -> ValueId {
    let values = (0..row).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
    net.constant(&[row], values)
}

/// Returns weights `[n, k]` of small codes and one 7, which has a gain of 1.
fn weights(net: &mut Net, n: usize, k: usize) -> ValueId {
    let noise = net.noise(n * k);
    let code = |(i, x): (usize, f32)| if i % k == 1 { 7.0 } else { (3.0 * x).round() };
    let values = noise.into_iter().enumerate().map(code).map(|code| code / 16.0).collect();
    net.constant(&[n, k], values)
}

fn base(norms: Norms) -> (Config, Options) {
    let [config, _] = instances();
    let options = Options { norms, ..Options::of(&config) };
    (config, options)
}

/// Equals float with exactly representable weights, with and without gains; the host only computes
/// sums.
#[test]
fn gains_go_into_weights() {
    for [m, k, n] in [[1, 64, 24], [1, 50, 9], [3, 64, 16], [16, 128, 40], [300, 32, 8]] {
        for norms in [Norms::Npu, Norms::Host] {
            let (config, options) = base(norms);
            let mut net = Net::new();
            let (x, gain) = (net.input(&[m, k]), gains(&mut net, k));
            let y = net.op(RMS, &[x, gain]);
            let [left, right] = [(); 2].map(|()| weights(&mut net, n, k));
            let outputs = [left, right].map(|weights| net.op(BY_ROWS, &[y, weights]));
            let found = run_with(&mut net, &config, &options, &outputs);
            // The largest measured error is 0.0189, with norms at the host.
            assert!(found.error < 1.2 * 0.0189, "{m} {k} {n} {norms:?}: {}", found.error);
            assert_eq!(found.hosts, usize::from(norms == Norms::Host), "{m} {k} {n}");
        }
    }
}

/// Biases of a norm become biases of the products and are added to existing biases.
#[test]
fn biases_go_into_products() {
    for [m, k, n] in [[1, 64, 24], [4, 64, 16], [1, 50, 9]] {
        for own in [false, true] {
            let (config, options) = base(Norms::Npu);
            let mut net = Net::new();
            let (x, gain, bias) = (net.input(&[m, k]), gains(&mut net, k), net.random(&[k]));
            let y = net.op(LAYER, &[x, gain, bias]);
            let weights = weights(&mut net, n, k);
            let operands = match own {
                true => vec![y, weights, net.random(&[n])],
                false => vec![y, weights],
            };
            let z = net.op(BY_ROWS, &operands);
            // A constant addend is merged into the bias as well.
            let more = net.random(&[n]);
            let z = net.binary(BinaryKind::Add, z, more);
            let found = run_with(&mut net, &config, &options, &[z]);
            assert!(found.error < PRODUCT, "{m} {k} {n} {own}: {}", found.error);
            assert_eq!(found.hosts, 0);
        }
    }
}

/// Through reshapes and factors, into products by columns and a product with softmax.
#[test]
fn gains_go_through_what_keeps_rows() {
    let (config, options) = base(Norms::Npu);
    let mut net = Net::new();
    let (x, gain) = (net.input(&[2, 3, 64]), gains(&mut net, 64));
    let y = net.op(RmsNormalization { axis: 2, epsilon: 1e-5 }, &[x, gain]);
    let flat = net.op(Reshape { shape: vec![6, 64] }, &[y]);
    let half = net.constant(&[], vec![0.5]);
    let small = net.binary(BinaryKind::Mul, half, y);
    let by_rows = weights(&mut net, 16, 64);
    let values = net.graph.constant(by_rows).unwrap().as_f32().unwrap().to_vec();
    let columns = (0..64).flat_map(|i| values.iter().skip(i).step_by(64).copied()).collect();
    let by_columns = net.constant(&[64, 16], columns);
    let scores = net.op(BY_ROWS, &[flat, by_rows]);
    let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
    let product = net.op(MatMul, &[small, by_columns]);
    let found = run_with(&mut net, &config, &options, &[chances, product]);
    assert!(found.error < 2.0 * PRODUCT, "{}", found.error);
    assert_eq!(found.hosts, 0);
}

fn norm(net: &mut Net) -> (ValueId, ValueId, ValueId) {
    let (x, gain) = (net.input(&[1, 64]), net.random(&[64]));
    let y = net.op(RMS, &[x, gain]);
    (x, y, net.weights(16, 64))
}

/// Other readers of a norm need its gains, and so does a product at the host.
#[test]
fn gains_stay_where_something_else_reads_them() {
    const STAYS: &str = "needs element-wise multiply (isa=ext): gains fold into weights only if all readers \
                         are products with constants";
    type Build = fn(&mut Net) -> Vec<ValueId>;
    let cases: [(&str, Build, usize); 6] = [
        (
            "an output",
            |net| {
                let (_, y, w) = norm(net);
                vec![net.op(BY_ROWS, &[y, w]), y]
            },
            1,
        ),
        (
            "a sum",
            |net| {
                let (x, y, w) = norm(net);
                vec![net.op(BY_ROWS, &[y, w]), net.binary(BinaryKind::Add, x, y)]
            },
            1,
        ),
        (
            "a function",
            |net| {
                let (_, y, _) = norm(net);
                vec![net.unary(UnaryKind::Exp, y)]
            },
            1,
        ),
        (
            "nothing",
            |net| {
                let (x, _, _) = norm(net);
                vec![net.unary(UnaryKind::Exp, x)]
            },
            1,
        ),
        (
            "weights that are not finite",
            |net| {
                let (_, y, _) = norm(net);
                let w = net.constant(&[8, 64], vec![f32::INFINITY; 512]);
                vec![net.op(BY_ROWS, &[y, w])]
            },
            2,
        ),
        (
            "a bias that changes",
            |net| {
                let (_, y, w) = norm(net);
                let bias = net.input(&[16]);
                let gemm = npukit_graph::op::Gemm { beta: 2.0, ..BY_ROWS };
                vec![net.op(gemm, &[y, w, bias])]
            },
            2,
        ),
    ];
    let (config, options) = base(Norms::Npu);
    for (what, build, hosts) in cases {
        let executable = compiled(&config, &options, build);
        let found = reasons(&executable);
        assert_eq!((found.len(), found[0]), (hosts, ("RMSNormalization", STAYS)), "{what}");
    }
    // Host and machine must compute equal values.
    let mut net = Net::new();
    let (x, y, w) = norm(&mut net);
    let outputs = [net.op(BY_ROWS, &[y, w]), net.binary(BinaryKind::Add, x, y)];
    assert!(run_with(&mut net, &config, &options, &outputs).error < PRODUCT);
}

/// A norm without gains has nothing to fold.
#[test]
fn norms_without_gains_are_the_machines() {
    let (config, options) = base(Norms::Npu);
    let mut net = Net::new();
    let (x, one) = (net.input(&[3, 64]), net.constant(&[64], vec![1.0; 64]));
    let zero = net.constant(&[64], vec![0.0; 64]);
    let y = [net.op(RMS, &[x, one]), net.op(LAYER, &[x, one, zero])];
    let found = run_with(&mut net, &config, &options, &y);
    assert_eq!(found.hosts, 0);
    // The largest measured error is 0.0041, partly from the sum of squares in BF16 and its root.
    assert!(found.error < 1.2 * 0.0041, "{}", found.error);
}

/// Returns the function of each CVO.
fn functions(ops: &[Op]) -> Vec<CvoFunc> {
    let function = |op: &Op| if let Op::Cvo(cvo) = op { Some(cvo.cvo_func) } else { None };
    ops.iter().filter_map(function).collect()
}

/// Instructions of the machine for a row: 1/N, epsilon, the root, the quotient.
#[test]
fn one_scalar_comes_from_the_host() {
    let (config, options) = base(Norms::Npu);
    let executable = compiled(&config, &options, |net| {
        let (_, y, w) = norm(net);
        vec![net.op(BY_ROWS, &[y, w])]
    });
    let squares = steps(&executable);
    let squares: Vec<_> =
        squares.iter().filter(|(_, step)| matches!(step, HostStep::Squares { row: 64, .. })).collect();
    assert_eq!(squares.len(), 1);
    let expected = [CvoFunc::Scale, CvoFunc::Scale, CvoFunc::Sqrt, CvoFunc::Scale];
    assert_eq!(functions(&executable.program.code), expected);
    let warning = "1 layer of the machine: the host computes the sum of squares of each row, because no \
                   instruction multiplies two values; with `--option norms=host` the host computes the whole norm";
    assert!(executable.host.warnings.iter().any(|found| found == warning), "{:?}", executable.host.warnings);
    assert_eq!(executable.host.layers.iter().filter(|layer| layer.help.is_some()).count(), 1);
}

/// Sums of squares, computed with pen and paper: 9 + 16, and minus the mean of 3: 4 + 0 + 4.
#[test]
fn sums_of_squares_are_of_rows() {
    let sums = |row: &[f32], centered: bool| {
        let mut graph = Graph::default();
        let info = |shape| npukit_graph::ValueInfo { shape, element: npukit_numeric::ElementType::F32 };
        let x = graph.add_input("x", info(vec![2, row.len()]));
        let value = npukit_graph::Value { name: "sums".to_owned(), info: info(vec![2, 8]), constant: None };
        let sums = graph.add_value(value);
        graph.outputs = vec![sums];
        let step = HostStep::Squares { slot: x, row: row.len() as u32, centered, sums };
        let program = npukit_pccx::Program { host_ops: vec![step.encode(0)], ..Default::default() };
        let host = npukit_pccx::internals::host::Host { graph, ..Default::default() };
        let twice = [row, &vec![1.0; row.len()]].concat();
        let input = npukit_numeric::Tensor::from_f32(vec![2, row.len()], twice).unwrap();
        let [config, _] = instances();
        let found = npukit_pccx::internals::runtime::run(&config, &program, &host, &[input]).unwrap();
        found[0].as_f32().unwrap().to_vec()
    };
    assert_eq!(sums(&[3.0, -4.0], false), [vec![25.0; 8], vec![2.0; 8]].concat());
    assert_eq!(sums(&[1.0, 3.0, 5.0], true), [vec![8.0; 8], vec![0.0; 8]].concat());
}

/// If there are fewer results than values in a row, the results are divided by its root, also
/// through factors, which are folded into the weights.
#[test]
fn few_results_are_divided_instead() {
    for (rows, results, divided) in
        [(1, 4, true), (1, 16, true), (3, 16, true), (1, 64, false), (3, 12, false)]
    {
        for config in instances() {
            let mut net = Net::new();
            let (x, one) = (net.input(&[rows, 64]), net.constant(&[64], vec![1.0; 64]));
            let y = net.op(RMS, &[x, one]);
            let small = net.constant(&[], vec![1.0 / 512.0]);
            let y = net.binary(BinaryKind::Mul, y, small);
            let w = net.weights(results, 64);
            let z = net.op(BY_ROWS, &[y, w]);
            let options = Options::of(&config);
            let found = run_with(&mut net, &config, &options, &[z]);
            assert!(found.error < PRODUCT, "{rows} of {results}, {:?}: {}", options.isa, found.error);
            assert_eq!(found.hosts, 0);
            let executable = npukit_pccx::internals::lower::compile(
                &config,
                &net.graph,
                &options,
                &mut npukit_pccx::internals::lower::Weights::default(),
            );
            let long =
                |op: &&Op| matches!(op, Op::Cvo(cvo) if cvo.cvo_func == CvoFunc::Scale && cvo.length == 64);
            let longs = executable.unwrap().program.code.iter().filter(long).count();
            // With MUL, nothing is folded: an instruction between the two products applies the
            // factor.
            let expected = if options.isa == npukit_pccx::internals::lower::Isa::Ext {
                None
            } else {
                Some(if divided { 0 } else { rows })
            };
            assert!(expected.is_none_or(|expected| longs == expected), "{rows} of {results}: {longs}");
        }
    }
}
