//! Powers of two between layers, operator by operator: the exponent of each value, and that it is
//! the former value divided by that power.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Concat, Conv, Coordinates, Gather, Gemm,
    LeakyRelu, MatMul, MaxPool, NearestMode, PRelu, Pad, PadMode, Reduce, ReduceKind, Relu, Reshape, Resize,
    ResizeMode, Slice, SliceRange, Softmax, Split, Tile, Transpose, Trilu, Unary, UnaryKind, Where, Window,
};
use npukit_graph::rescale::{Limits, Ranges, Rescaled, rescale};
use npukit_graph::{Op, ValueId, evaluate_all};
use npukit_numeric::{Tensor, TensorData};

use crate::support::{FP16BP8, Net, f32s, i64s};

fn rescaled(net: &Net, limits: &Limits) -> Option<Rescaled> {
    let mut ranges = Ranges::new(&net.graph);
    ranges.observe(&net.graph, &net.inputs).unwrap();
    let found = rescale(&net.graph, &ranges, limits).unwrap();
    found.iter().for_each(|found| judge(net, found));
    found
}

fn exponent(net: &Net, found: &Rescaled, id: ValueId) -> i32 {
    let name = &net.graph.value(id).name;
    found.exponents.iter().find(|(value, _)| value == name).map_or(0, |(_, exponent)| *exponent)
}

/// Values with the same name in both graphs must be equal up to their power of two.
fn judge(net: &Net, found: &Rescaled) {
    let [before, after] = [&net.graph, &found.graph].map(|graph| evaluate_all(graph, &net.inputs).unwrap());
    for (id, value) in (0..).map(ValueId).zip(&net.graph.values) {
        let Some(same) = found.graph.find_value(&value.name).filter(|_| value.constant.is_none()) else {
            continue;
        };
        let [Some(x), Some(y)] = [&before[id.0 as usize], &after[same.0 as usize]] else { continue };
        let (Some(x), Some(y)) = (x.as_f32(), y.as_f32()) else { continue };
        let power = 2f32.powi(exponent(net, found, id));
        for (x, y) in x.iter().zip(y) {
            assert_eq!(x / power, *y, "{} in {}", value.name, found.graph);
        }
    }
}

/// `x` times a number, in a separate node.
fn times(net: &mut Net, x: ValueId, number: f32) -> ValueId {
    let number = net.constant(f32s(&[], &[number]));
    net.node(Binary { kind: BinaryKind::Mul }, &[x, number])
}

/// `op` on an image of up to 900 and `others`: returns the exponent of its result, and the number
/// of nodes.
fn behind_large(op: Op, others: &[Tensor]) -> (i32, usize) {
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 2, 2, 1], &[9.0, 0.125, -0.25, 0.0]));
    let large = times(&mut net, x, 100.0);
    let others: Vec<ValueId> = others.iter().map(|tensor| net.constant(tensor.clone())).collect();
    // A condition is the first operand.
    let inputs =
        if op == Where.into() { vec![others[0], large, large] } else { [vec![large], others].concat() };
    let y = net.node(op, &inputs);
    let z = times(&mut net, y, 0.01);
    let net = net.giving(z);
    let found = rescaled(&net, &FP16BP8).unwrap();
    assert_eq!(exponent(&net, &found, large), 3);
    (exponent(&net, &found, y), found.graph.nodes.len() - net.graph.nodes.len())
}

#[test]
fn what_scales_with_its_operand_keeps_the_exponent() {
    let axes = || vec![1, 2];
    let (mode, coordinates) = (ResizeMode::Nearest(NearestMode::Floor), Coordinates::Asymmetric);
    let window = || Window::plain([1, 2], [1, 1]);
    let mut ops: Vec<(Op, Vec<Tensor>)> = vec![
        (Clip { min: -50.0, max: 600.0 }.into(), vec![]),
        (LeakyRelu { alpha: 0.25 }.into(), vec![]),
        (Relu.into(), vec![]),
        (AveragePool { window: window(), count_include_pad: false }.into(), vec![]),
        (MaxPool { window: window() }.into(), vec![]),
        (Resize { size: [4, 2], scales: [2.0, 1.0], mode, coordinates }.into(), vec![]),
        (Concat { axis: 1 }.into(), vec![]),
        (Gather { axis: 1 }.into(), vec![i64s(&[1], &[0])]),
        (Pad { pads: vec![[0, 0], [1, 0], [0, 0], [0, 0]], mode: PadMode::Constant(500.0) }.into(), vec![]),
        (Reshape { shape: vec![4] }.into(), vec![]),
        (Slice { ranges: vec![SliceRange { axis: 1, start: 0, length: 1, step: 1 }] }.into(), vec![]),
        (Split { axis: 1, sizes: vec![1, 1] }.into(), vec![]),
        (Tile { repeats: vec![1, 1, 2, 1] }.into(), vec![]),
        (Transpose { perm: vec![0, 2, 1, 3] }.into(), vec![]),
        (Trilu { upper: true, offset: 0 }.into(), vec![]),
        (Where.into(), vec![Tensor::new(vec![1], TensorData::Bool(vec![true])).unwrap()]),
        (PRelu.into(), vec![f32s(&[1], &[0.25])]),
    ];
    let kinds = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Max, BinaryKind::Min];
    ops.extend(kinds.map(|kind| (Binary { kind }.into(), vec![f32s(&[1], &[2.0])])));
    use ReduceKind::{L1, L2, Max, Mean, Min, Sum};
    ops.extend(
        [Mean, Sum, Max, Min, L1, L2]
            .map(|kind| (Reduce { kind, axes: axes(), keep_dims: true }.into(), vec![])),
    );
    ops.extend([UnaryKind::Neg, UnaryKind::Abs].map(|kind| (Unary { kind }.into(), vec![])));
    for (op, others) in ops {
        assert_eq!(behind_large(op.clone(), &others), (3, 0), "{op}");
    }
}

#[test]
fn what_does_not_gets_real_values() {
    let log = Reduce { kind: ReduceKind::LogSumExp, axes: vec![1, 2], keep_dims: true };
    let real: [Op; 4] = [
        Unary { kind: UnaryKind::Tanh }.into(),
        Unary { kind: UnaryKind::Sigmoid }.into(),
        Softmax { axis: 1, axis_end: 2 }.into(),
        log.into(),
    ];
    for op in real {
        let (exponent, added) = behind_large(op.clone(), &[]);
        // The logarithm of the sum is about as large as the largest element.
        assert_eq!((exponent, added), (0, 1), "{op}");
    }
    // A slope that is not a constant.
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 2], &[9.0, -9.0]));
    let large = times(&mut net, x, 100.0);
    let y = net.node(PRelu, &[large, x]);
    let z = times(&mut net, y, 0.01);
    let net = net.giving(z);
    let found = rescaled(&net, &FP16BP8).unwrap();
    assert_eq!((exponent(&net, &found, large), exponent(&net, &found, y)), (3, 0));
}

/// Returns the exponent of an operator's result that is due only to its constants: `x` makes the
/// result small.
fn of_constants(x: &[f32], op: impl Into<Op>, constants: &[(&[usize], &[f32])], place: usize) -> Option<i32> {
    let mut net = Net::default();
    let x = net.input(f32s(&[1, x.len()], x));
    let mut inputs: Vec<ValueId> =
        constants.iter().map(|(shape, data)| net.constant(f32s(shape, data))).collect();
    inputs.insert(place, x);
    let y = net.node(op, &inputs);
    let z = times(&mut net, y, 0.01);
    let net = net.giving(z);
    let found = rescaled(&net, &FP16BP8)?;
    assert_eq!(found.graph.nodes.len(), 2);
    Some(exponent(&net, &found, y))
}

#[test]
fn constants_ask_for_exponents() {
    let small = [1.0 / 1024.0];
    let one: &[usize] = &[1, 1];
    assert_eq!(of_constants(&small, MatMul, &[(one, &[1000.0])], 0), Some(3));
    assert_eq!(of_constants(&small, MatMul, &[(one, &[1000.0])], 1), Some(3));
    assert_eq!(of_constants(&small, MatMul, &[(one, &[100.0])], 0), None);
    let mul = || Binary { kind: BinaryKind::Mul };
    assert_eq!(of_constants(&small, mul(), &[(&[1], &[1000.0])], 0), Some(3));
    assert_eq!(of_constants(&small, mul(), &[(&[1], &[1000.0])], 1), Some(3));
    let div = || Binary { kind: BinaryKind::Div };
    assert_eq!(of_constants(&small, div(), &[(&[1], &[1.0 / 1024.0])], 0), Some(4));
    assert_eq!(of_constants(&small, div(), &[(&[1], &[1024.0])], 0), None);
    let gemm = |alpha, beta| Gemm { alpha, beta, trans_a: false, trans_b: false };
    for place in [0, 1] {
        assert_eq!(of_constants(&small, gemm(4.0, 1.0), &[(one, &[100.0])], place), Some(2));
        assert_eq!(of_constants(&small, gemm(0.25, 1.0), &[(one, &[100.0])], place), None);
        assert_eq!(of_constants(&small, gemm(0.25, 1.0), &[(one, &[500.0])], place), Some(2));
        // 4 times 100 times -1 and 4 times 100 cancel.
        let both: [(&[usize], &[f32]); 2] = [(one, &[100.0]), (&[1], &[100.0])];
        assert_eq!(of_constants(&[-4.0], gemm(1.0, 4.0), &both, place), Some(2));
        let both: [(&[usize], &[f32]); 2] = [(one, &[100.0]), (&[1], &[600.0])];
        assert_eq!(of_constants(&[-1.5], gemm(1.0, 0.25), &both, place), Some(3));
    }
    let norm = BatchNormalization { epsilon: 2f32.powi(-24) };
    let zero: (&[usize], &[f32]) = (&[1], &[0.0]);
    let variance: (&[usize], &[f32]) = (&[1], &[3.0 * 2f32.powi(-24)]);
    // A factor of 2^11, and an addend of 1024 with a factor of 1.
    let found = of_constants(&small, norm.clone(), &[(&[1], &[1.0]), zero, zero, variance], 0);
    assert_eq!(found, Some(5));
    let constants: [(&[usize], &[f32]); 4] = [(&[1], &[2f32.powi(-11)]), zero, (&[1], &[1000.0]), variance];
    assert_eq!(of_constants(&[1000.0], norm, &constants, 0), Some(3));
}

/// `a` and `b`, each large where the other is zero.
fn two_large(net: &mut Net) -> [ValueId; 2] {
    [[9.0, 0.0], [0.0, 9.0]].map(|data| {
        let x = net.input(f32s(&[1, 2], &data));
        times(net, x, 100.0)
    })
}

#[test]
fn products_have_the_sum_of_their_operands_exponents() {
    let mut net = Net::default();
    let [a, b] = two_large(&mut net);
    let m = net.node(Binary { kind: BinaryKind::Mul }, &[a, b]);
    let z = times(&mut net, m, 0.01);
    let net = net.giving(z);
    let found = rescaled(&net, &FP16BP8).unwrap();
    assert_eq!([a, b, m].map(|id| exponent(&net, &found, id)), [3, 3, 6]);
    assert_eq!(found.graph.nodes.len(), net.graph.nodes.len());

    // In a sum with a larger value, one operand takes the difference; both do for more than four
    // bits.
    for (factor, exponents, multiplications) in [(100.0, 10, 1), (200.0, 11, 2)] {
        let mut net = Net::default();
        let [a, b] = two_large(&mut net);
        let m = net.node(Binary { kind: BinaryKind::Mul }, &[a, b]);
        let larger = times(&mut net, a, factor);
        let sum = net.node(Binary { kind: BinaryKind::Add }, &[m, larger]);
        let z = times(&mut net, sum, 0.01);
        let net = net.giving(z);
        let found = rescaled(&net, &FP16BP8).unwrap();
        assert_eq!([a, b, m, larger].map(|id| exponent(&net, &found, id)), [3, 3, exponents, exponents]);
        assert_eq!(found.graph.nodes.len(), net.graph.nodes.len() + multiplications);
    }
}

/// If a product is added to its own operand, its exponent cannot be the sum; all other values still
/// fit.
#[test]
fn a_product_beside_its_operand_is_taken_back() {
    let mut net = Net::default();
    let [a, b] = two_large(&mut net);
    let m = net.node(Binary { kind: BinaryKind::Mul }, &[a, b]);
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[m, a]);
    let z = times(&mut net, sum, 0.01);
    let tiny = net.input(f32s(&[1, 2], &[1.0 / 1024.0; 2]));
    let weighted = times(&mut net, tiny, 1000.0);
    let other = times(&mut net, weighted, 0.01);
    let mut net = net.giving(z);
    net.graph.outputs.push(other);
    let found = rescaled(&net, &FP16BP8).unwrap();
    assert_eq!([a, b, m, sum, weighted].map(|id| exponent(&net, &found, id)), [3; 5]);
    assert_eq!(found.graph.nodes.len(), net.graph.nodes.len() + 1);
}

/// Operators with computed operands instead of the required constants take unscaled values.
#[test]
fn what_would_have_to_change_must_be_constant() {
    let plain = || Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    for computed in [true, false] {
        let mut net = Net::default();
        let x = net.input(f32s(&[1, 1, 1, 1], &[9.0]));
        let large = times(&mut net, x, 100.0);
        let constant = net.constant(f32s(&[1, 1, 1, 1], &[0.5]));
        let y = if computed { net.node(plain(), &[constant, large]) } else { net.node(plain(), &[large, x]) };
        let z = times(&mut net, y, 0.01);
        let net = net.giving(z);
        let found = rescaled(&net, &FP16BP8).unwrap();
        assert_eq!((exponent(&net, &found, large), exponent(&net, &found, y)), (3, 0));
    }
    // A product of two values with an addend.
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 1], &[9.0]));
    let (large, addend) = (times(&mut net, x, 100.0), net.constant(f32s(&[1], &[1.0])));
    let y = net.node(Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false }, &[large, x, addend]);
    let z = times(&mut net, y, 0.001);
    let net = net.giving(z);
    let found = rescaled(&net, &FP16BP8).unwrap();
    assert_eq!((exponent(&net, &found, large), exponent(&net, &found, y)), (3, 0));
}

/// Returns the exponent of a value of up to `most`.
fn of_range(most: f32, limits: &Limits) -> Option<i32> {
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 1], &[1.0]));
    let y = times(&mut net, x, most);
    let z = times(&mut net, y, 1.0 / most);
    let net = net.giving(z);
    rescaled(&net, limits).map(|found| exponent(&net, &found, y))
}

#[test]
fn exponents_are_the_smallest_that_fit() {
    let margin = |margin| Limits { margin, ..FP16BP8 };
    assert_eq!((of_range(100.0, &FP16BP8), of_range(100.0, &margin(2.0))), (None, Some(1)));
    assert_eq!((of_range(30.0, &margin(4.0)), of_range(30.0, &margin(5.0))), (None, Some(1)));
    assert_eq!(of_range(2f32.powi(36), &FP16BP8), Some(30));
    assert_eq!(of_range(2f32.powi(37), &FP16BP8), None, "beyond reason");
    // Filling the format by one more bit is not worth a change.
    let fill = Limits { fill: true, ..FP16BP8 };
    assert_eq!((of_range(60.0, &fill), of_range(30.0, &fill)), (Some(0), Some(-2)));
}

#[test]
fn a_gate_absorbs_as_long_as_its_slope_fits() {
    for (power, absorbed) in [(9, true), (10, false)] {
        let mut net = Net::default();
        let x = net.input(f32s(&[1, 2], &[1.0, -1.0 / 65536.0]));
        let large = times(&mut net, x, 100.0 * 2f32.powi(power));
        let gate = net.node(Unary { kind: UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 } }, &[large]);
        let net = net.giving(gate);
        let found = rescaled(&net, &FP16BP8).unwrap();
        assert_eq!(exponent(&net, &found, large), power);
        assert_eq!(found.graph.nodes.len() == 2, absorbed, "{}", found.graph);
    }
}
