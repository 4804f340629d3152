//! Bounds of rounding errors in operators without products, and of the rounding of `f32` itself.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Concat, Coordinates, Gather, Gemm, MatMul,
    MaxPool, NearestMode, Reduce, ReduceKind, Relu, Reshape, Resize, ResizeMode, Slice, SliceRange, Softmax,
    Split, Tile, Transpose, Trilu, Unary, UnaryKind, Window,
};
use npukit_graph::{Op, evaluate, rounding_bounds};
use npukit_numeric::Tensor;

use crate::support::{Net, f32s, floats, i64s, noise};

const STEP: f32 = 1.0 / 64.0;

/// `op` on an image that is off by half a step, and on integers.
fn of_image(op: impl Into<Op>, off: &[f32], indices: Option<&[i64]>) -> Net {
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 2, 2, 1], &[0.5, -0.25, -1.5, 0.0]));
    let off = net.constant(f32s(&[1, 2, 2, 1], &off.iter().map(|off| 1.0 + off).collect::<Vec<_>>()));
    let sum = net.node(Binary { kind: BinaryKind::Sub }, &[x, off]);
    let indices = indices.map(|indices| net.constant(i64s(&[indices.len()], indices)));
    let y = net.node(op, &[vec![sum], indices.into_iter().collect()].concat());
    net.giving(y)
}

fn result(net: &Net) -> Tensor {
    evaluate(&net.graph, &net.inputs).unwrap().remove(0)
}

fn bounds(net: &Net, step: f32) -> Option<Tensor> {
    rounding_bounds(&net.graph, &net.inputs, step).unwrap().remove(0)
}

/// The bound of each element must equal the effect of the worst operand within half a step.
fn judge(op: impl Into<Op>, indices: Option<&[i64]>) {
    let op = op.into();
    let (exact, half) = (of_image(op.clone(), &[0.0; 4], indices), STEP / 2.0);
    let (bounds, exact) =
        (bounds(&exact, STEP).unwrap_or_else(|| panic!("{op} has no rule")), result(&exact));
    let mut worst = vec![0f32; floats(&exact).len()];
    for corner in 0..1u32 << 4 {
        let off = [0, 1, 2, 3].map(|i| if corner >> i & 1 == 1 { half } else { -half });
        let found = result(&of_image(op.clone(), &off, indices));
        let off = floats(&found).iter().zip(floats(&exact)).map(|(found, exact)| (found - exact).abs());
        worst.iter_mut().zip(off).for_each(|(worst, off)| *worst = worst.max(off));
    }
    for (worst, bound) in worst.iter().zip(floats(&bounds)) {
        assert!((worst - 1e-6..worst * 1.001 + 1e-6).contains(bound), "{op}: {worst}, bound {bound}");
    }
}

#[test]
fn what_moves_and_compares_adds_nothing() {
    let nearest = ResizeMode::Nearest(NearestMode::Floor);
    let coordinates = Coordinates::Asymmetric;
    judge(Relu, None);
    judge(MaxPool { window: Window::plain([1, 2], [1, 1]) }, None);
    judge(Resize { size: [4, 2], scales: [2.0, 1.0], mode: nearest, coordinates }, None);
    judge(Concat { axis: 1 }, None);
    judge(Split { axis: 1, sizes: vec![1, 1] }, None);
    for kind in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min] {
        judge(Reduce { kind, axes: vec![1, 2], keep_dims: true }, None);
    }
    judge(Tile { repeats: vec![1, 1, 2, 1] }, None);
    judge(Slice { ranges: vec![SliceRange { axis: 1, start: 1, length: 1, step: 1 }] }, None);
    judge(Gather { axis: 2 }, Some(&[1, 1, 0]));
    judge(Reshape { shape: vec![4] }, None);
    judge(Transpose { perm: vec![0, 2, 1, 3] }, None);
    for kind in [UnaryKind::Neg, UnaryKind::Abs] {
        judge(Unary { kind }, None);
    }
    judge(Trilu { upper: false, offset: 0 }, None);
}

/// An operator that is not a sum of products may be an approximation, as may all nodes after it.
#[test]
fn approximations_have_no_bound() {
    let none = |op: Op| {
        let mut net = of_image(op, &[0.0; 4], None);
        let last = net.graph.outputs[0];
        let y = net.node(Relu, &[last]);
        assert_eq!(bounds(&net.giving(y), STEP), None);
    };
    none(Unary { kind: UnaryKind::Sigmoid }.into());
    none(Unary { kind: UnaryKind::Exp }.into());
    none(Softmax { axis: 1, axis_end: 2 }.into());
    none(Reduce { kind: ReduceKind::L2, axes: vec![1, 2], keep_dims: true }.into());
    let mut net = Net::default();
    let (x, c) = (net.input(f32s(&[2], &[1.0, 3.0])), net.constant(f32s(&[2], &[0.5, 0.25])));
    let y = net.node(Binary { kind: BinaryKind::Div }, &[x, c]);
    assert_eq!(bounds(&net.giving(y), STEP), None);
}

/// With a step of 0, only the rounding of `f32` remains. `exact` are the results; `scale` is the
/// sum of their terms' magnitudes times the number of roundings. The bound is that many units, and
/// the evaluator must respect it.
fn judge_single(net: &Net, exact: &[f64], scale: &[f64]) {
    let (bounds, found) = (bounds(net, 0.0).unwrap(), result(net));
    let unit = 2f64.powi(-24);
    for (((bound, found), exact), scale) in floats(&bounds).iter().zip(floats(&found)).zip(exact).zip(scale) {
        let off = (f64::from(*found) - exact).abs();
        assert!(off <= f64::from(*bound), "{off} is beyond {bound}\n{}", net.graph);
        let share = f64::from(*bound) / (scale * unit);
        assert!((0.999..1.001).contains(&share), "{share} times the roundings\n{}", net.graph);
    }
}

fn reals(tensor: &Tensor) -> Vec<f64> {
    floats(tensor).iter().map(|&x| x.into()).collect()
}

#[test]
fn single_precision_rounds_once_for_each_term_and_twice_more() {
    let (x, w, c) = (noise(&[1, 48], 1), noise(&[48, 1], 2), noise(&[1, 48], 3));
    let (xs, ws, cs) = (reals(&x), reals(&w), reals(&c));
    let pairs = |of: fn(f64, f64) -> f64, others: &[f64]| -> Vec<f64> {
        xs.iter().zip(others).map(|(&x, &other)| of(x, other)).collect()
    };
    let both = |op: Op, other: &Tensor| {
        let mut net = Net::default();
        let inputs = [net.input(x.clone()), net.constant(other.clone())];
        let y = net.node(op, &inputs);
        net.giving(y)
    };
    let (sum, size) = (pairs(|x, w| x * w, &ws), pairs(|x, w| (x * w).abs(), &ws));
    let (sum, size) = ([sum.iter().sum::<f64>()], [size.iter().sum::<f64>() * 50.0]);
    judge_single(&both(MatMul.into(), &w), &sum, &size);
    let half = Gemm { alpha: 0.5, beta: 1.0, trans_a: false, trans_b: false };
    let [whole] = sum;
    judge_single(&both(half.into(), &w), &[0.5 * whole], &size);
    let binary = |kind| Op::from(Binary { kind });
    judge_single(
        &both(binary(BinaryKind::Add), &c),
        &pairs(|x, c| x + c, &cs),
        &pairs(|x, c| x.abs() + c.abs(), &cs),
    );
    judge_single(
        &both(binary(BinaryKind::Mul), &c),
        &pairs(|x, c| x * c, &cs),
        &pairs(|x, c| (x * c).abs(), &cs),
    );
}

#[test]
fn sums_round_for_each_term_however_small_they_end() {
    // Each number, and later nearly its negative: the sum is far smaller than its terms.
    let half: Vec<f32> = reals(&noise(&[1, 2, 16, 1], 5)).iter().map(|x| *x as f32).collect();
    let all: Vec<f32> = half.iter().copied().chain(half.iter().map(|x| -x * 0.999_999)).collect();
    let x = f32s(&[1, 4, 16, 1], &all);
    let (sum, size) = reals(&x).iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    let reduce = |kind| Op::from(Reduce { kind, axes: vec![1, 2], keep_dims: true });
    let pool = AveragePool { window: Window::plain([4, 16], [1, 1]), count_include_pad: false };
    for (op, count) in
        [(reduce(ReduceKind::Sum), 1.0), (reduce(ReduceKind::Mean), 64.0), (Op::from(pool), 64.0)]
    {
        let mut net = Net::default();
        let input = net.input(x.clone());
        let y = net.node(op, &[input]);
        judge_single(&net.giving(y), &[sum / count], &[(64.0 * size + 2.0 * sum.abs()) / count]);
    }
}

#[test]
fn single_precision_normalizes_with_a_few_roundings() {
    // Mean and addend cancel, except for their roundings.
    let (x, p) = (f32s(&[1, 2], &[0.001, -0.75]), [[1.0, 0.5], [999.9, 0.25], [1000.1, 2.0], [0.5, 3.0]]);
    let mut net = Net::default();
    let constants = p.map(|data| net.constant(f32s(&[2], &data)));
    let input = net.input(x.clone());
    let y = net.node(BatchNormalization { epsilon: 0.5 }, &[&[input][..], &constants].concat());
    let factor = |c: usize| f64::from(p[0][c]) / (f64::from(p[3][c]) + 0.5).sqrt();
    let real = |of: [f32; 2], c: usize| f64::from(of[c]);
    let xs = reals(&x);
    let exact = [0, 1].map(|c| (xs[c] - real(p[2], c)) * factor(c) + real(p[1], c));
    let size = [0, 1].map(|c| ((xs[c].abs() + real(p[2], c)) * factor(c) + real(p[1], c)) * 8.0);
    judge_single(&net.giving(y), &exact, &size);
}

/// An infinity is padding beyond an image: it is exact, and so is a zero.
#[test]
fn zeros_and_infinities_are_exact() {
    let c = f32s(&[4], &[0.0, f32::NEG_INFINITY, f32::INFINITY, 0.5]);
    let mut net = Net::default();
    let (x, c) = (net.input(f32s(&[4], &[-1.0, -1.0, -1.0, -1.0])), net.constant(c));
    let y = net.node(Binary { kind: BinaryKind::Max }, &[x, c]);
    let y = net.node(Clip { min: -2.0, max: f32::INFINITY }, &[y]);
    let bounds = bounds(&net.giving(y), STEP).unwrap();
    assert_eq!(
        floats(&bounds).iter().map(|bound| *bound < STEP * 0.6).collect::<Vec<_>>(),
        [true, true, true, false]
    );
}
