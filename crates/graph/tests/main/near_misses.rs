//! Passes one by one: each works where it may, and leaves similar graphs unchanged.

use npukit_graph::op::{
    Binary, BinaryKind, Cast, Clip, Concat, Conv, ConvTranspose, Coordinates, Crop, DequantizeLinear, Gemm,
    MatMul, MaxPool, NearestMode, Pad, PadMode, QuantizeLinear, Relu, Reshape, Resize, ResizeMode, Slice,
    SliceRange, Softmax, Split, Tile, Transpose, Window,
};
use npukit_graph::pass::passes;
use npukit_graph::{Graph, Op, Operator, ValueId, evaluate};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{Net, f32s, floats, noise};

/// Returns the result of a pass without unused nodes. Checks the reported change, and that results
/// stay the same.
pub fn after(name: &str, net: &Net) -> Graph {
    let pass = |name: &str| passes().iter().find(|pass| pass.name == name).unwrap().run;
    let looks = |graph: &Graph| format!("{:?} {graph}", graph.nodes);
    let mut graph = net.graph.clone();
    let changed = pass(name)(&mut graph).unwrap();
    assert_eq!(changed, looks(&graph) != looks(&net.graph), "{name}\n{}\n{graph}", net.graph);
    graph.validate().unwrap_or_else(|error| panic!("{name}: {error}\n{}\n{graph}", net.graph));
    let [left, right] = [&net.graph, &graph].map(|graph| evaluate(graph, &net.inputs).unwrap());
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(&right) {
        assert_eq!(left.shape(), right.shape());
        for (l, r) in floats(left).iter().zip(floats(right)) {
            let near = (l - r).abs() <= 1e-5 * (1.0 + l.abs()) || l == r || l.is_nan() && r.is_nan();
            assert!(near, "{name}: {l} became {r}\n{}\n{graph}", net.graph);
        }
    }
    pass("dead-nodes")(&mut graph).unwrap();
    graph
}

pub fn names(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(|node| node.op.name()).collect()
}

/// Returns the names of the operators that a pass leaves of a graph with an input of `shape`.
fn left(pass: &str, shape: &[usize], build: impl FnOnce(&mut Net, ValueId) -> ValueId) -> Vec<&'static str> {
    let mut net = Net::default();
    let x = net.input(noise(shape, 1));
    let y = build(&mut net, x);
    names(&after(pass, &net.giving(y)))
}

fn constant(net: &mut Net, shape: &[usize]) -> ValueId {
    net.constant(noise(shape, 7 + shape.len() as u64))
}

fn binary(kind: BinaryKind) -> Op {
    Binary { kind }.into()
}

fn reshape(shape: &[usize]) -> Op {
    Reshape { shape: shape.to_vec() }.into()
}

fn transpose(perm: &[usize]) -> Op {
    Transpose { perm: perm.to_vec() }.into()
}

fn conv() -> Conv {
    Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 }
}

#[test]
fn what_changes_nothing_goes() {
    let slice = |axis, start, length, step| -> Op {
        Slice { ranges: vec![SliceRange { axis, start, length, step }] }.into()
    };
    let pad = |rows: [isize; 2]| -> Op {
        Pad { pads: vec![[0; 2], rows, [0; 2], [0; 2]], mode: PadMode::Constant(0.5) }.into()
    };
    let resize = |scale, coordinates| -> Op {
        let mode = ResizeMode::Nearest(NearestMode::Floor);
        Resize { size: [3, 3], scales: [scale, 1.0], mode, coordinates }.into()
    };
    let crop = Crop { roi: [[0.5, 1.0], [0.0, 1.0]], extrapolation: 0.0 };
    let nothing = f32::INFINITY;
    let table: [(Op, bool); 23] = [
        (reshape(&[1, 3, 3, 2]), true),
        (Cast::new(ElementType::F32).into(), true),
        (transpose(&[0, 1, 2, 3]), true),
        (transpose(&[0, 2, 1, 3]), false),
        (pad([0, 0]), true),
        (pad([1, -1]), false),
        (Clip { min: -nothing, max: nothing }.into(), true),
        (Clip { min: -0.5, max: nothing }.into(), false),
        (Clip { min: -nothing, max: 0.5 }.into(), false),
        (Tile { repeats: vec![1; 4] }.into(), true),
        (Concat { axis: 1 }.into(), true),
        (Split { axis: 1, sizes: vec![3] }.into(), true),
        (slice(1, 0, 3, 1), true),
        (slice(1, 2, 3, -1), false),
        (slice(0, 0, 1, -1), true),
        (slice(0, 0, 1, 5), true),
        (resize(1.0, Coordinates::HalfPixel), true),
        (resize(1.0, Coordinates::AlignCorners), true),
        (resize(1.0, Coordinates::Asymmetric), true),
        // Coordinates shifted by half an element, another part of the image, a slightly smaller
        // part.
        (resize(1.0, Coordinates::TfHalfPixelForNn), false),
        (resize(1.0, Coordinates::TfCropAndResize(crop)), false),
        (resize(1.25, Coordinates::Asymmetric), false),
        (Relu.into(), false),
    ];
    for (op, goes) in table {
        let after = left("identities", &[1, 3, 3, 2], |net, x| {
            let x = net.node(binary(BinaryKind::Add), &[x, x]);
            let y = net.node(op.clone(), &[x]);
            net.node(binary(BinaryKind::Mul), &[x, y])
        });
        assert_eq!(after.len(), if goes { 2 } else { 3 }, "{op}");
    }
    // No number is below -inf, in either order. The smallest number is different, and a constant
    // may have more elements.
    let infinity = f32::INFINITY;
    for (kind, bounds, shape, goes) in [
        (BinaryKind::Max, [-infinity; 3], [3], true),
        (BinaryKind::Min, [infinity; 3], [3], true),
        (BinaryKind::Max, [infinity; 3], [3], false),
        (BinaryKind::Max, [-infinity, f32::MIN, -infinity], [3], false),
    ] {
        for swapped in [false, true] {
            let after = left("identities", &[2, 3], |net, x| {
                let (x, bound) = (net.node(Relu, &[x]), net.constant(f32s(&shape, &bounds)));
                let operands = if swapped { [bound, x] } else { [x, bound] };
                let y = net.node(binary(kind), &operands);
                net.node(Relu, &[y])
            });
            assert_eq!(after.len(), if goes { 2 } else { 3 }, "{kind:?} {bounds:?}");
        }
    }
    let after = left("identities", &[1, 3], |net, x| {
        let (x, bound) = (net.node(Relu, &[x]), net.constant(f32s(&[2, 3], &[-infinity; 6])));
        let y = net.node(binary(BinaryKind::Max), &[x, bound]);
        net.node(Relu, &[y])
    });
    assert_eq!(after.len(), 3);
    // A concatenation with an empty tensor returns its other operand.
    let after = left("identities", &[2, 3], |net, x| {
        let none = net.constant(f32s(&[2, 0], &[]));
        let x = net.node(Relu, &[x]);
        let y = net.node(Concat { axis: 1 }, &[x, none]);
        net.node(Relu, &[y])
    });
    assert_eq!(after, ["Relu", "Relu"]);
}

#[test]
fn nodes_that_are_alike_share_a_result_unless_both_are_given_out() {
    for given_out in [false, true] {
        let mut net = Net::default();
        let x = net.input(noise(&[2, 3], 1));
        let pair = [(); 2].map(|()| net.node(Softmax { axis: 1, axis_end: 2 }, &[x]));
        let other = net.node(Softmax { axis: 0, axis_end: 2 }, &[x]);
        let sum = net.node(binary(BinaryKind::Add), &pair);
        let sum = net.node(binary(BinaryKind::Add), &[sum, other]);
        let mut net = net.giving(sum);
        if given_out {
            net.graph.outputs.extend(pair);
        }
        let softmaxes = names(&after("duplicates", &net)).iter().filter(|name| **name == "Softmax").count();
        assert_eq!(softmaxes, if given_out { 3 } else { 2 });
    }
}

/// A flattening of a transposition, and the reader of its rows; returns whether the transposition
/// is removed.
fn flattened(
    [shape, flat]: [&[usize]; 2],
    perm: &[usize],
    user: impl FnOnce(&mut Net, ValueId) -> ValueId,
) -> bool {
    let left = left("flatten-weights", shape, |net, x| {
        let x = net.node(transpose(perm), &[x]);
        let rows = net.node(reshape(flat), &[x]);
        user(net, rows)
    });
    !left.contains(&"Transpose")
}

#[test]
fn weights_take_a_transposition_only_as_rows_of_a_constant_matrix() {
    let gemm = |trans_a, trans_b| Gemm { alpha: 1.0, beta: 1.0, trans_a, trans_b };
    let by = |op: Op, weights: &'static [usize]| {
        move |net: &mut Net, rows| {
            let weights = constant(net, weights);
            net.node(op, &[rows, weights])
        }
    };
    let (shapes, perm): ([&[usize]; 2], _) = ([&[4, 2, 2], &[4, 4]], [0, 2, 1]);
    for (op, weights, goes) in [
        (MatMul.into(), &[4, 4][..], true),
        (gemm(false, false).into(), &[4, 4], true),
        (gemm(false, true).into(), &[4, 4], true),
        (gemm(true, false).into(), &[4, 4], false),
        (MatMul.into(), &[2, 4, 4], false),
        (MatMul.into(), &[4], false),
        (binary(BinaryKind::Add), &[4, 4], false),
        (binary(BinaryKind::Add), &[4], false),
    ] {
        assert_eq!(flattened(shapes, &perm, by(op.clone(), weights)), goes, "{op} {weights:?}");
    }
    // The rows are also the addend, or the matrix, or are multiplied by a computed value, or have
    // another reader.
    let addend = |net: &mut Net, rows| {
        let weights = constant(net, &[4, 4]);
        net.node(Gemm::PLAIN, &[rows, weights, rows])
    };
    let right = |net: &mut Net, rows| {
        let weights = constant(net, &[4, 4]);
        net.node(MatMul, &[weights, rows])
    };
    let other = |net: &mut Net, rows| {
        let weights = net.input(noise(&[4, 4], 2));
        net.node(MatMul, &[rows, weights])
    };
    let twice = |net: &mut Net, rows| {
        let weights = constant(net, &[4, 4]);
        let y = net.node(MatMul, &[rows, weights]);
        let softmax = net.node(Softmax { axis: 1, axis_end: 2 }, &[rows]);
        net.node(binary(BinaryKind::Add), &[y, softmax])
    };
    let users: [fn(&mut Net, ValueId) -> ValueId; 4] = [addend, right, other, twice];
    for user in users {
        assert!(!flattened(shapes, &perm, user));
    }
    // All elements in one row, in any order; and a result that has no rows.
    assert!(flattened([&[3, 1, 4], &[1, 12]], &[1, 2, 0], by(MatMul.into(), &[12, 5])));
    assert!(!flattened([&[3, 2, 4], &[2, 12]], &[1, 2, 0], by(MatMul.into(), &[12, 5])));
    assert!(!flattened([&[4, 3, 2], &[2, 12]], &[0, 2, 1], by(MatMul.into(), &[12, 5])));
    assert!(!flattened([&[4, 3, 2], &[4, 1, 6]], &[0, 2, 1], by(MatMul.into(), &[6, 5])));
}

#[test]
fn a_gemm_keeps_one_constant_for_each_column() {
    let run = |op: Gemm, addend: Option<(&[usize], bool)>| {
        let mut net = Net::default();
        let x = net.input(noise(&[2, 3], 1));
        let weights = constant(&mut net, &[3, 4]);
        let addend = addend.map(|(shape, is_constant)| match is_constant {
            true => constant(&mut net, shape),
            false => net.input(noise(shape, 5)),
        });
        let y = net.node(op, &[Some(x), Some(weights), addend].into_iter().flatten().collect::<Vec<_>>());
        let graph = after("gemm-form", &net.giving(y));
        let left: Vec<(Op, usize)> =
            graph.nodes.iter().map(|node| (node.op.clone(), node.inputs.len())).collect();
        left
    };
    let scaled = |beta| Gemm { beta, ..Gemm::PLAIN };
    let plain = || Op::from(Gemm::PLAIN);
    let apart = || vec![(plain(), 2), (binary(BinaryKind::Add), 2)];
    // The factor is folded into constants; a factor of a computed value stays.
    assert_eq!(run(scaled(0.5), Some((&[4], true))), [(plain(), 3)]);
    assert_eq!(run(scaled(0.5), None), [(plain(), 2)]);
    assert_eq!(run(scaled(0.5), Some((&[4], false))), [(scaled(0.5).into(), 3)]);
    for shape in [&[4][..], &[1, 4], &[2, 4], &[2, 1]] {
        assert_eq!(run(scaled(1.0), Some((shape, false))), apart());
    }
    for shape in [&[2, 4][..], &[2, 1]] {
        assert_eq!(run(scaled(1.0), Some((shape, true))), apart());
    }
    for shape in [&[4][..], &[1, 4], &[1], &[]] {
        assert_eq!(run(scaled(1.0), Some((shape, true))), [(plain(), 3)]);
    }
}

/// A product followed by factors for its columns; returns whether they are folded into its weights.
/// `operands` are shapes, and whether they are constant.
fn folds(op: impl Into<Op>, shape: &[usize], operands: &[(&[usize], bool)], factors: &[usize]) -> bool {
    let left = left("batch-norm-folding", shape, |net, x| {
        let mut inputs = vec![x];
        for (i, &(shape, is_constant)) in operands.iter().enumerate() {
            let tensor = noise(shape, 3 + i as u64);
            inputs.push(if is_constant { net.constant(tensor) } else { net.input(tensor) });
        }
        let y = net.node(op, &inputs);
        let factors = constant(net, factors);
        net.node(binary(BinaryKind::Mul), &[y, factors])
    });
    left.len() == 1
}

#[test]
fn factors_go_only_into_constants_that_lie_by_column() {
    let (image, kernel, columns): (&[usize], &[usize], &[usize]) = (&[1, 3, 3, 4], &[1, 1, 4, 4], &[4]);
    for (weights, bias, goes) in
        [(true, None, true), (true, Some(true), true), (false, None, false), (true, Some(false), false)]
    {
        let operands = [Some((kernel, weights)), bias.map(|bias| (columns, bias))];
        let operands: Vec<_> = operands.into_iter().flatten().collect();
        assert_eq!(folds(conv(), image, &operands, columns), goes, "{operands:?}");
    }
    let (rows, matrix): (&[usize], &[usize]) = (&[4, 4], &[4, 4]);
    let gemm = |alpha, beta, trans_a, trans_b| Gemm { alpha, beta, trans_a, trans_b };
    for (op, operands, goes) in [
        (Gemm::PLAIN, vec![(matrix, true)], true),
        (Gemm::PLAIN, vec![(matrix, true), (columns, true)], true),
        (Gemm::PLAIN, vec![(matrix, false)], false),
        (Gemm::PLAIN, vec![(matrix, true), (columns, false)], false),
        (Gemm::PLAIN, vec![(matrix, true), (&[1][..], true)], false),
        (Gemm::PLAIN, vec![(matrix, true), (&[4, 1], true)], false),
        (gemm(1.0, 0.5, false, false), vec![(matrix, true), (columns, true)], false),
        (gemm(0.5, 1.0, false, false), vec![(matrix, true), (columns, true)], false),
        (gemm(1.0, 1.0, false, true), vec![(matrix, true), (columns, true)], false),
    ] {
        assert_eq!(folds(op.clone(), rows, &operands, columns), goes, "{op:?} {operands:?}");
    }
    assert!(folds(MatMul, &[2, 3, 4], &[(matrix, true)], columns));
    assert!(!folds(MatMul, &[2, 3, 4], &[(matrix, false)], columns));
    // A vector has no columns: factors after its product apply to rows.
    assert!(!folds(MatMul, &[2, 3, 4], &[(columns, true)], &[3]));
    assert!(!folds(MatMul, &[2, 4, 4], &[(columns, true)], columns));
}

/// Weights shared by two nodes are separated when one of them takes factors.
#[test]
fn shared_weights_stay_for_the_other_one() {
    let after = left("batch-norm-folding", &[1, 3, 3, 4], |net, x| {
        let (weights, bias) = (constant(net, &[1, 1, 4, 4]), constant(net, &[4]));
        let factors = [constant(net, &[4]), constant(net, &[1, 4])];
        let branches = factors.map(|factors| {
            let y = net.node(conv(), &[x, weights, bias]);
            let y = net.node(binary(BinaryKind::Mul), &[y, factors]);
            net.node(binary(BinaryKind::Add), &[y, factors])
        });
        let plain = net.node(conv(), &[x, weights, bias]);
        let sum = net.node(binary(BinaryKind::Add), &branches);
        net.node(binary(BinaryKind::Sub), &[sum, plain])
    });
    assert_eq!(after, ["Conv", "Conv", "Conv", "Add", "Sub"]);
}

/// Padding of an image after `before`; returns whether it is merged into `op`.
fn pad_goes(before: impl Into<Op>, fill: f32, op: impl Into<Op>) -> bool {
    let left = left("pad-merging", &[1, 5, 5, 2], |net, x| {
        let x = net.node(before, &[x]);
        let pads = vec![[0, 0], [1, 1], [1, 1], [0, 0]];
        let y = net.node(Pad { pads, mode: PadMode::Constant(fill) }, &[x]);
        let op = op.into();
        let weights = matches!(op, Op::ConvTranspose(_)).then(|| constant(net, &[3, 3, 2, 2]));
        net.node(op, &[Some(y), weights].into_iter().flatten().collect::<Vec<_>>())
    });
    !left.contains(&"Pad")
}

#[test]
fn only_padding_that_is_never_seen_goes() {
    let (strides, pads) = ([1; 2], [1; 4]);
    let transposed = || ConvTranspose { strides, dilations: [1; 2], pads, output_padding: [0; 2], group: 1 };
    for (fill, goes) in [(0.0, true), (1.0, false), (f32::NEG_INFINITY, false)] {
        assert_eq!(pad_goes(Clip { min: -0.5, max: 0.5 }, fill, transposed()), goes, "{fill}");
    }
    let pool = || MaxPool { window: Window::plain([3, 3], [1, 1]) };
    for (min, max, goes) in
        [(0.0, 0.5, true), (0.25, 0.5, true), (-0.5, 0.5, false), (-0.5, -0.25, false), (0.0, -0.5, false)]
    {
        assert_eq!(pad_goes(Clip { min, max }, 0.0, pool()), goes, "{min} to {max}");
    }
    assert!(!pad_goes(Clip { min: 0.0, max: 0.5 }, 0.25, pool()));
}

#[test]
fn reshapes_by_ones_go_behind_what_does_not_see_them() {
    let add = |net: &mut Net, x, shape: &[usize]| {
        let c = constant(net, shape);
        net.node(binary(BinaryKind::Add), &[x, c])
    };
    let sinks = |from: &[usize], to: &[usize], c: &[usize]| {
        let left = left("reshape-sinking", from, |net, x| {
            let y = net.node(reshape(to), &[x]);
            add(net, y, c)
        });
        left == ["Add", "Reshape"]
    };
    for (from, to, c, expected) in [
        (&[2, 4][..], &[2, 1, 4][..], &[4][..], true),
        (&[2, 4], &[2, 1, 4], &[], true),
        (&[2, 4], &[2, 1, 4], &[1], true),
        (&[2, 4], &[2, 4, 1], &[1], true),
        (&[2, 4], &[2, 1, 4], &[1, 4], false),
        (&[4, 1], &[1, 4], &[4], false),
        (&[1, 4], &[4, 1], &[4], false),
        (&[2, 4], &[4, 2], &[2], false),
        (&[2, 4], &[2, 1, 4], &[2, 3, 4], false),
        (&[4, 1], &[1, 4], &[1], true),
    ] {
        assert_eq!(sinks(from, to, c), expected, "{from:?} to {to:?} and {c:?}");
    }
    // A reshape with another reader stays.
    for given_out in [false, true] {
        let mut net = Net::default();
        let x = net.input(noise(&[2, 4], 1));
        let y = net.node(reshape(&[2, 1, 4]), &[x]);
        let sum = add(&mut net, y, &[4]);
        let used = if given_out { y } else { net.node(Softmax { axis: 0, axis_end: 1 }, &[y]) };
        let mut net = net.giving(sum);
        net.graph.outputs.push(used);
        let expected = ["Reshape", "Add", "Softmax"];
        assert_eq!(names(&after("reshape-sinking", &net)), expected[..if given_out { 2 } else { 3 }]);
    }
}

/// Float types other than 32 bits, in values and in attributes; a second run finds none.
#[test]
fn other_floats_become_those_of_32_bits() {
    use ElementType::{BF16, F16, F32, F64, I8};
    let quantize =
        |precision| QuantizeLinear { to: I8, axis: 0, block: 0, saturate: true, precision, away: false };
    let dequantize = |to| DequantizeLinear { to, axis: 0, block: 0 };
    let integers = || Tensor::new(vec![2], TensorData::I32(vec![3, -4])).unwrap().with_element(I8).unwrap();
    let scale = || f32s(&[], &[0.5]);
    let half = || noise(&[2], 1).with_element(F16).unwrap();
    let cases: [(Op, Vec<Tensor>, Op, bool); 7] = [
        (Relu.into(), vec![half()], Relu.into(), true),
        (Relu.into(), vec![noise(&[2], 1)], Relu.into(), false),
        (Cast::new(F64).into(), vec![noise(&[2], 1)], Cast::new(F32).into(), true),
        (quantize(F16).into(), vec![noise(&[2], 1), scale()], quantize(F32).into(), true),
        (quantize(F32).into(), vec![noise(&[2], 1), scale()], quantize(F32).into(), false),
        (dequantize(BF16).into(), vec![integers(), scale()], dequantize(F32).into(), true),
        (dequantize(F32).into(), vec![integers(), scale()], dequantize(F32).into(), false),
    ];
    let pass = passes().iter().find(|pass| pass.name == "single-precision").unwrap().run;
    for (op, operands, expected, changes) in cases {
        let mut net = Net::default();
        let inputs: Vec<ValueId> = operands.into_iter().map(|tensor| net.input(tensor)).collect();
        let y = net.node(op.clone(), &inputs);
        let mut graph = net.giving(y).graph;
        assert_eq!((pass(&mut graph), pass(&mut graph)), (Ok(changes), Ok(false)), "{op}");
        graph.validate().unwrap();
        assert_eq!(graph.nodes[0].op, expected);
    }
}

/// A small file must not expand without limit: a result that is too large, or takes too long, is
/// left as it is.
#[test]
fn constants_unfold_within_reason() {
    let fold = passes().iter().find(|pass| pass.name == "constant-folding").unwrap().run;
    let folds = |op: Op, operands: &[&[usize]]| {
        let mut net = Net::default();
        let zeros = |shape: &&[usize]| f32s(shape, &vec![0.0; shape.iter().product()]);
        let operands: Vec<ValueId> = operands.iter().map(|shape| net.constant(zeros(shape))).collect();
        let y = net.node(op, &operands);
        fold(&mut net.giving(y).graph).unwrap()
    };
    for (repeats, expected) in [(1000, true), ((1 << 28) + 2, false)] {
        assert_eq!(folds(Tile { repeats: vec![repeats] }.into(), &[&[1]]), expected, "{repeats}");
    }
    assert!(folds(MatMul.into(), &[&[8, 16], &[16, 8]]));
    assert!(!folds(MatMul.into(), &[&[1 << 13, 1 << 8], &[1 << 8, 1 << 13]]));
}
