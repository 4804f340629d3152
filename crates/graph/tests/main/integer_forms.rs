//! Quantized operators: exact sums, one rounding, and the networks that use them.

use npukit_graph::op::{
    AveragePool, Binary, BinaryKind, Cast, Clip, Conv, DequantizeLinear, Gemm, MatMul, QLinear,
    QuantizeLinear, Relu, Transpose, Window,
};
use npukit_graph::{Graph, Op, Operator, ValueId, evaluate, integer_forms};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{Net, f32s, refuse, run};

use ElementType::{F32, I8, I32, U8};

fn integers(element: ElementType, shape: &[usize], values: &[i32]) -> Tensor {
    Tensor::new(shape.to_vec(), TensorData::I32(values.to_vec())).unwrap().with_element(element).unwrap()
}

fn qlinear(op: impl Into<Op>, to: ElementType) -> QLinear {
    QLinear { op: Box::new(op.into()), to, away: false }
}

fn values(tensor: &Tensor) -> Vec<i64> {
    tensor.reals().iter().map(|&value| value as i64).collect()
}

/// Operands of one element each: integers, scale, zero point.
fn one(element: ElementType, value: i32, scale: f32, zero: i32) -> [Tensor; 3] {
    [integers(element, &[1, 1], &[value]), f32s(&[], &[scale]), integers(element, &[], &[zero])]
}

#[test]
fn sums_beyond_floats_are_exact() {
    // 300 products of 255 * 255 and one of 1: 19,507,501, which an f32 cannot represent.
    let mut left = vec![255; 301];
    left[300] = 1;
    let right = [vec![255; 300], vec![1]].concat();
    let (a, b) = (integers(U8, &[1, 301], &left), integers(U8, &[301, 1], &right));
    let (unit, zero) = (f32s(&[], &[1.0]), integers(U8, &[], &[0]));
    let sum = run(qlinear(MatMul, I32), &[&a, &unit, &zero, &b, &unit, &zero]);
    assert_eq!((values(&sum), sum.element()), (vec![19_507_501], I32));
}

#[test]
fn a_sum_is_rounded_once_from_the_middle_to_even() {
    for (value, expected) in [(5, 2 + 10), (7, 4 + 10), (-5, -2 + 10), (127, 64 + 10), (-128, -64 + 10)] {
        let (a, b) = (one(I8, value, 0.25, 0), one(I8, 1, 2.0, 0));
        let (scale, zero) = (f32s(&[], &[1.0]), integers(I8, &[], &[10]));
        let operands: Vec<&Tensor> = a.iter().chain(&b).chain([&scale, &zero]).collect();
        assert_eq!(values(&run(qlinear(MatMul, I8), &operands)), [expected], "{value}");
        let gemm = Gemm { alpha: 1.0, ..Gemm::PLAIN };
        assert_eq!(values(&run(qlinear(gemm, I8), &operands)), [expected], "{value}");
    }
}

#[test]
fn columns_have_scales_and_zero_points_and_the_bias_counts() {
    let x = integers(U8, &[1, 1, 2, 1], &[130, 120]);
    let weights = integers(I8, &[1, 2, 1, 2], &[3, -1, 5, 7]);
    let operands = [
        x,
        f32s(&[1], &[0.5]),
        integers(U8, &[1], &[128]),
        weights,
        f32s(&[2], &[1.0, 0.25]),
        integers(I8, &[2], &[0, 1]),
        integers(I32, &[2], &[100, -4]),
        f32s(&[], &[0.5]),
        integers(U8, &[], &[3]),
    ];
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    // 2 * 3 - 8 * 5 + 100 = 66; 2 * -2 - 8 * 6 - 4 = -56, a quarter of it -14.
    let result = run(qlinear(conv.clone(), U8), &operands.iter().collect::<Vec<_>>());
    assert_eq!((values(&result), result.element()), (vec![69, 0], U8));
    let padded = Conv { pads: [0, 1, 0, 0], ..conv };
    // The padding is the zero point: 2 * 5 + 100; 2 * 6 - 4, a quarter of it 2.
    let result = run(qlinear(padded, U8), &operands.iter().collect::<Vec<_>>());
    assert_eq!(values(&result), [113, 5, 69, 0]);
}

#[test]
fn groups_take_their_own_channels() {
    let operands = [
        integers(U8, &[1, 1, 1, 4], &[1, 2, 3, 4]),
        f32s(&[], &[1.0]),
        integers(U8, &[], &[0]),
        integers(U8, &[1, 1, 2, 2], &[1, 10, 100, 50]),
        f32s(&[], &[1.0]),
        integers(U8, &[], &[0]),
    ];
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 2 };
    let result = run(qlinear(conv, I32), &operands.iter().collect::<Vec<_>>());
    assert_eq!(values(&result), [201, 230]);
}

#[test]
fn sums_of_two_and_products_are_rounded_with_the_zero_point() {
    let pair = |kind, zero| {
        let (a, b) = (one(U8, 7, 0.5, 0), one(U8, 2, 1.0, 2));
        let (scale, zero) = (f32s(&[], &[1.0]), integers(U8, &[], &[zero]));
        let operands: Vec<&Tensor> = a.iter().chain(&b).chain([&scale, &zero]).collect();
        values(&run(qlinear(Binary { kind }, U8), &operands))[0]
    };
    // 3.5 rounds to 4 for an even zero point; for an odd one, 3.5 + 1 rounds to 4 as well.
    assert_eq!([pair(BinaryKind::Add, 0), pair(BinaryKind::Add, 1)], [4, 4]);
    assert_eq!([pair(BinaryKind::Mul, 0), pair(BinaryKind::Mul, 1)], [0, 1]);
}

#[test]
fn means_of_whole_images_are_of_integers() {
    let operands = |zero| {
        [
            integers(I8, &[1, 2, 2, 1], &[1, 2, 3, 4]),
            f32s(&[], &[2.0]),
            integers(I8, &[], &[0]),
            f32s(&[], &[2.0]),
            integers(I8, &[], &[zero]),
        ]
    };
    let pool = |kernel| AveragePool { window: Window::plain(kernel, [1; 2]), count_include_pad: false };
    let mean =
        |kernel, zero| values(&run(qlinear(pool(kernel), I8), &operands(zero).iter().collect::<Vec<_>>()));
    // 2.5, rounded before the zero point is added; means of smaller windows, after.
    assert_eq!([mean([2, 2], 0), mean([2, 2], 1)], [[2], [3]]);
    assert_eq!([mean([1, 2], 0), mean([1, 2], 1)], [[2, 4], [2, 4]]);
}

#[test]
fn means_may_be_rounded_away_from_zero_as_tensorflow_lite_has_them() {
    let form = (I8, 0.1, 3);
    let graph = |away| {
        let mut net = Net::default();
        let x = net.input(integers(I8, &[1, 1, 6, 1], &[2, 3, -2, -3, -128, -127]));
        let real = dequantize(&mut net, x, form);
        let window = Window::plain([1, 2], [1, 2]);
        let mean = net.node(AveragePool { window, count_include_pad: false }, &[real]);
        let [scale, zero] = parameters(&mut net, form);
        let op = QuantizeLinear { to: I8, axis: 0, block: 0, saturate: true, precision: F32, away };
        let y = net.node(op, &[mean, scale, zero]);
        net.giving(y)
    };
    let of = |away| {
        let Net { mut graph, inputs } = graph(away);
        integer_forms(&mut graph);
        assert!(graph.nodes.iter().any(|node| matches!(node.op, Op::QLinear(_))), "{graph}");
        values(&evaluate(&graph, &inputs).unwrap()[0])
    };
    assert_eq!(of(true), [3, -3, -128]);
    // Like ONNX Runtime, in floats, which do not represent the middle exactly.
    assert_ne!(of(false), of(true));
}

#[test]
fn what_is_not_computed_so_is_refused() {
    let (a, b) = (one(U8, 1, 1.0, 0), one(U8, 1, 1.0, 0));
    let all: Vec<&Tensor> = a.iter().chain(&b).collect();
    assert!(refuse(qlinear(Relu, I32), &all).to_string().contains("Conv, Gemm"));
    refuse(qlinear(MatMul, U8), &all);
    refuse(qlinear(MatMul, F32), &all);
    refuse(qlinear(MatMul, I32), &all[..5]);
    refuse(qlinear(Gemm { beta: 0.5, ..Gemm::PLAIN }, I32), &all);
    let scales = f32s(&[2], &[1.0, 2.0]);
    refuse(qlinear(MatMul, I32), &[all[0], &scales, all[2], all[3], all[4], all[5]]);
    refuse(qlinear(MatMul, I32), &[all[0], all[1], all[2], all[3], &scales, all[5]]);
}

/// Element type, scale and zero point.
type Form = (ElementType, f32, i32);

fn parameters(net: &mut Net, (element, scale, zero): Form) -> [ValueId; 2] {
    [net.constant(f32s(&[], &[scale])), net.constant(integers(element, &[], &[zero]))]
}

fn dequantize(net: &mut Net, x: ValueId, form: Form) -> ValueId {
    let [scale, zero] = parameters(net, form);
    net.node(DequantizeLinear { to: F32, axis: 0, block: 0 }, &[x, scale, zero])
}

fn quantize(net: &mut Net, x: ValueId, form: Form) -> ValueId {
    let [scale, zero] = parameters(net, form);
    let op = QuantizeLinear { to: form.0, axis: 0, block: 0, saturate: true, precision: F32, away: false };
    net.node(op, &[x, scale, zero])
}

/// `x` times weights of two columns, operators in between, and quantization.
fn product(between: &[Op], form: Form) -> Net {
    let mut net = Net::default();
    let x = net.input(integers(U8, &[1, 3], &[200, 3, 129]));
    let weights = net.constant(integers(I8, &[2, 3], &[1, -2, 3, 4, 5, -6]));
    let real = dequantize(&mut net, x, (U8, 0.1, 128));
    let [scale, zero] = [net.constant(f32s(&[2], &[0.01, 0.02])), net.constant(integers(I8, &[2], &[0, 0]))];
    let weights = net.node(DequantizeLinear { to: F32, axis: 0, block: 0 }, &[weights, scale, zero]);
    let weights = net.node(Transpose { perm: vec![1, 0] }, &[weights]);
    let mut y = net.node(MatMul, &[real, weights]);
    for op in between {
        y = net.node(op.clone(), &[y]);
    }
    let y = quantize(&mut net, y, form);
    net.giving(y)
}

fn on_integers(net: &Net) -> (Vec<&'static str>, Vec<i64>, Vec<i64>) {
    let mut graph: Graph = net.graph.clone();
    integer_forms(&mut graph);
    graph.validate().unwrap();
    let name = |graph: &Graph| graph.value(graph.outputs[0]).name.clone();
    assert_eq!(name(&graph), name(&net.graph));
    let [floats, integers] =
        [&net.graph, &graph].map(|graph| values(&evaluate(graph, &net.inputs).unwrap()[0]));
    (graph.nodes.iter().map(|node| node.op.name()).collect(), floats, integers)
}

#[test]
fn products_between_bytes_are_found() {
    let form = (U8, 0.01, 7);
    let (names, floats, integers) = on_integers(&product(&[], form));
    assert_eq!(names, ["QLinear"], "transposed constants are constants");
    // 72 + 250 + 3 = 325; 288 - 625 - 6 = -343. Float sums are slightly below the middle of two
    // integers.
    assert_eq!((floats, integers), (vec![39, 0], vec![40, 0]));
    let turned = [Transpose { perm: vec![1, 0] }.into()];
    assert_eq!(on_integers(&product(&turned, form)).0, ["QLinear", "Transpose"]);
}

#[test]
fn functions_that_saturation_computes_are_left_out() {
    let zero_is_least = (U8, 0.01, 0);
    assert_eq!(on_integers(&product(&[Relu.into()], zero_is_least)).0, ["QLinear"]);
    assert_eq!(on_integers(&product(&[Clip { min: 0.0, max: 6.0 }.into()], zero_is_least)).0, ["QLinear"]);
    let kept = |op: Op, form| on_integers(&product(&[op], form)).0.contains(&"MatMul");
    assert!(kept(Relu.into(), (U8, 0.01, 1)));
    assert!(kept(Clip { min: 0.0, max: 1.0 }.into(), zero_is_least));
    assert!(kept(Clip { min: 0.001, max: 6.0 }.into(), (U8, 0.001, 0)));
}

#[test]
fn what_others_see_stays_float() {
    let mut net = product(&[], (U8, 0.01, 7));
    let floats = net.graph.nodes.iter().find(|node| node.op.name() == "MatMul").unwrap().outputs[0];
    net.graph.outputs.push(floats);
    integer_forms(&mut net.graph);
    assert!(net.graph.nodes.iter().any(|node| node.op.name() == "MatMul"));
    // 16-bit integers are not bytes, and ONNX Runtime computes them as floats.
    let mut wide = product(&[], (ElementType::I16, 0.01, 7));
    integer_forms(&mut wide.graph);
    assert!(wide.graph.nodes.iter().any(|node| node.op.name() == "MatMul"));
}

#[test]
fn integers_that_stand_for_themselves_are_summed() {
    for (scale, exact) in [(1.0, true), (0.5, false)] {
        let mut net = Net::default();
        let x = net.input(integers(U8, &[1, 2], &[200, 3]));
        let weights = net.constant(integers(U8, &[2, 1], &[200, 1]));
        let (a, b) = (dequantize(&mut net, x, (U8, scale, 0)), dequantize(&mut net, weights, (U8, 1.0, 0)));
        let y = net.node(MatMul, &[a, b]);
        let y = net.node(Cast::new(I32), &[y]);
        let (names, floats, integers) = on_integers(&net.giving(y));
        assert_eq!(names.contains(&"QLinear"), exact);
        assert_eq!(floats, integers);
    }
}
