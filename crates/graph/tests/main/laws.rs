//! Laws for every operator that claims them: its name is the standard's, and an operator with
//! permutable axes computes the same on permuted operands.

use npukit_graph::op::{
    ArgMax, AveragePool, BatchNormalization, Binary, BinaryKind, BitCast, Bitwise, BitwiseKind, Cast, Clip,
    Compare, CompareKind, Concat, Conv, ConvTranspose, Coordinates, Cumulative, Dft, Gather, Gemm,
    GroupNormalization, InstanceNormalization, LayerNormalization, LeakyRelu, LogSoftmax, Logic, LogicKind,
    LpNormalization, Lrn, MatMul, MaxPool, MaxPoolIndices, Norm, PRelu, Pad, PadMode, Pow, Reduce,
    ReduceKind, Relu, Reshape, Resize, ResizeMode, RmsNormalization, RotaryEmbedding, Slice, SliceRange,
    Softmax, Split, Tile, TopK, Transpose, Trilu, Unary, UnaryKind, Where, Window,
};
use npukit_graph::{Op, Operator};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::noise;

const PERMUTATIONS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A tensor of three axes, permuted; tensors of one axis are unchanged.
fn permuted(tensor: &Tensor, perm: &[usize]) -> Tensor {
    if tensor.shape().len() != perm.len() {
        return tensor.clone();
    }
    Op::from(Transpose { perm: perm.to_vec() }).eval(&[tensor]).unwrap().remove(0)
}

fn is_near(left: &Tensor, right: &Tensor) -> bool {
    let near = |(l, r): (&f32, &f32)| (l - r).abs() <= 1e-5;
    match (left.as_f32(), right.as_f32()) {
        (Some(l), Some(r)) => left.shape() == right.shape() && l.iter().zip(r).all(near),
        _ => left == right,
    }
}

fn truths(shape: &[usize], seed: u64) -> Tensor {
    let data = noise(shape, seed).as_f32().unwrap().iter().map(|&x| x > 0.0).collect();
    Tensor::new(shape.to_vec(), TensorData::Bool(data)).unwrap()
}

/// An operator, its name, whether it is pointwise, its operands, and the number of permutations of
/// three axes that have an equivalent operator.
type Law = (Op, &'static str, bool, Vec<Tensor>, usize);

fn laws() -> Vec<Law> {
    let x = || noise(&[2, 3, 4], 1);
    let row = || noise(&[1, 3, 1], 2);
    let last = || noise(&[4], 3);
    let positive = || x().as_f32().map(|x| x.iter().map(|x| x.abs() + 0.5).collect()).unwrap();
    let positive = || Tensor::from_f32(vec![2, 3, 4], positive()).unwrap();
    let arg = |smallest, keep_dims| ArgMax { smallest, axis: 1, keep_dims, select_last: false };
    let reduce = |keep_dims| Reduce { kind: ReduceKind::Max, axes: vec![0, 2], keep_dims };
    let sums = Cumulative { axis: 2, product: false, exclusive: false, reverse: true };
    let bits = |seed| {
        Op::from(BitCast { to: ElementType::I32 }).eval(&[&noise(&[2, 3, 4], seed)]).unwrap().remove(0)
    };
    let range = SliceRange { axis: 2, start: 3, length: 2, step: -2 };
    let pads = vec![[1, 0], [0, 2], [1, 1]];
    vec![
        (arg(false, true).into(), "ArgMax", false, vec![x()], 6),
        (arg(true, true).into(), "ArgMin", false, vec![x()], 6),
        (arg(false, false).into(), "ArgMax", false, vec![x()], 0),
        (Binary { kind: BinaryKind::Sub }.into(), "Sub", false, vec![x(), row()], 6),
        (Cast::new(ElementType::I32).into(), "Cast", true, vec![x()], 6),
        (Clip { min: -0.25, max: 0.5 }.into(), "Clip", true, vec![x()], 6),
        (Compare { kind: CompareKind::Greater }.into(), "Greater", false, vec![x(), row()], 6),
        (Concat { axis: 1 }.into(), "Concat", false, vec![x(), noise(&[2, 1, 4], 4)], 6),
        // Real and imaginary parts are along the last axis.
        (
            Dft { axis: 0, length: 4, inverse: false, onesided: false }.into(),
            "DFT",
            false,
            vec![noise(&[4, 3, 2], 5)],
            2,
        ),
        (
            LayerNormalization { axis: 2, epsilon: 0.5 }.into(),
            "LayerNormalization",
            false,
            vec![x(), last(), last()],
            2,
        ),
        (RmsNormalization { axis: 2, epsilon: 0.5 }.into(), "RMSNormalization", false, vec![x(), last()], 2),
        (LeakyRelu { alpha: 0.25 }.into(), "LeakyRelu", true, vec![x()], 6),
        (LogSoftmax { axis: 1, axis_end: 2 }.into(), "LogSoftmax", false, vec![x()], 6),
        (Softmax { axis: 1, axis_end: 2 }.into(), "Softmax", false, vec![x()], 6),
        (Softmax { axis: 1, axis_end: 3 }.into(), "Softmax", false, vec![x()], 4),
        (
            Logic { kind: LogicKind::And }.into(),
            "And",
            false,
            vec![truths(&[2, 3, 4], 1), truths(&[1, 3, 1], 2)],
            6,
        ),
        (LpNormalization { axis: 1, norm: Norm::L2 }.into(), "LpNormalization", false, vec![x()], 6),
        (Pad { pads, mode: PadMode::Constant(0.5) }.into(), "Pad", false, vec![x()], 6),
        (Pow.into(), "Pow", false, vec![positive(), row()], 6),
        (PRelu.into(), "PRelu", false, vec![x(), row()], 6),
        (reduce(true).into(), "ReduceMax", false, vec![x()], 6),
        (reduce(false).into(), "ReduceMax", false, vec![x()], 0),
        (Relu.into(), "Relu", true, vec![x()], 6),
        (Slice { ranges: vec![range] }.into(), "Slice", false, vec![x()], 6),
        (Split { axis: 1, sizes: vec![1, 2] }.into(), "Split", false, vec![x()], 6),
        (TopK { axis: 1, k: 2, largest: true }.into(), "TopK", false, vec![x()], 6),
        (sums.into(), "CumSum", false, vec![x()], 6),
        (BitCast { to: ElementType::I32 }.into(), "BitCast", true, vec![x()], 6),
        (Bitwise { kind: BitwiseKind::Xor }.into(), "BitwiseXor", false, vec![bits(1), bits(2)], 6),
        (Tile { repeats: vec![1, 3, 2] }.into(), "Tile", false, vec![x()], 6),
        (Trilu { upper: true, offset: 1 }.into(), "Trilu", false, vec![x()], 2),
        (Unary { kind: UnaryKind::Exp }.into(), "Exp", true, vec![x()], 6),
        (Where.into(), "Where", false, vec![truths(&[2, 3, 4], 1), x(), row()], 6),
    ]
}

#[test]
fn permuted_operators_compute_permuted_results() {
    for (op, name, is_pointwise, operands, count) in laws() {
        assert_eq!((op.name(), op.is_pointwise()), (name, is_pointwise));
        let results = op.eval(&operands.iter().collect::<Vec<_>>()).unwrap();
        let mut found = 0;
        for perm in PERMUTATIONS {
            let Some(moved) = op.permuted(&perm) else { continue };
            found += 1;
            let operands: Vec<Tensor> = operands.iter().map(|tensor| permuted(tensor, &perm)).collect();
            let moved = moved.eval(&operands.iter().collect::<Vec<_>>()).unwrap();
            assert_eq!(moved.len(), results.len());
            for (result, moved) in results.iter().zip(&moved) {
                assert!(is_near(&permuted(result, &perm), moved), "{op} by {perm:?}");
            }
        }
        assert_eq!(found, count, "{op}");
    }
}

/// Operators whose axes have fixed meanings.
#[test]
fn names_are_the_standards() {
    let window = || Window::plain([2, 2], [1, 1]);
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
    let (strides, dilations, pads, output_padding) = ([1, 1], [1, 1], [0; 4], [0; 2]);
    let resize = Resize {
        size: [2; 2],
        scales: [1.0; 2],
        mode: ResizeMode::Linear,
        coordinates: Coordinates::Asymmetric,
    };
    let named: [(Op, &str); 16] = [
        (AveragePool { window: window(), count_include_pad: false }.into(), "AveragePool"),
        (BatchNormalization { epsilon: 0.0 }.into(), "BatchNormalization"),
        (conv.into(), "Conv"),
        (ConvTranspose { strides, dilations, pads, output_padding, group: 1 }.into(), "ConvTranspose"),
        (Gather { axis: 0 }.into(), "Gather"),
        (Gemm::PLAIN.into(), "Gemm"),
        (GroupNormalization { groups: 1, epsilon: 0.0 }.into(), "GroupNormalization"),
        (InstanceNormalization { epsilon: 0.0 }.into(), "InstanceNormalization"),
        (Lrn { size: 3, alpha: 1.0, beta: 1.0, bias: 1.0 }.into(), "LRN"),
        (MatMul.into(), "MatMul"),
        (MaxPool { window: window() }.into(), "MaxPool"),
        (MaxPoolIndices { window: window(), column_major: false }.into(), "MaxPoolIndices"),
        (Reshape { shape: vec![1] }.into(), "Reshape"),
        (resize.into(), "Resize"),
        (RotaryEmbedding { heads: 1, size: 2, interleaved: false }.into(), "RotaryEmbedding"),
        (Transpose { perm: vec![0] }.into(), "Transpose"),
    ];
    for (op, name) in named {
        assert_eq!((op.name(), op.is_pointwise(), op.permuted(&[0, 1]).is_some()), (name, false, false));
    }
}

/// Operators that print the name of their function.
#[test]
fn texts_begin_with_the_standards_name() {
    let arg = |smallest| ArgMax { smallest, axis: 1, keep_dims: true, select_last: false };
    for (op, text) in [
        (arg(false).into(), "ArgMax { axis: 1, keep_dims: true, select_last: false }"),
        (arg(true).into(), "ArgMin { axis: 1, keep_dims: true, select_last: false }"),
        (Op::from(Compare { kind: CompareKind::LessOrEqual }), "LessOrEqual"),
        (Logic { kind: LogicKind::Xor }.into(), "Xor"),
    ] {
        assert_eq!(op.to_string(), text);
    }
}
