//! Movement of transpositions: only to where they cancel or cost least.

use npukit_graph::op::{
    BinaryKind, Cast, DequantizeLinear, Gemm, MatMul, QuantizeLinear, Relu, Reshape, Softmax, Transpose,
    UnaryKind,
};
use npukit_graph::pass::simplify;
use npukit_graph::{Graph, Op, ValueId};
use npukit_numeric::ElementType;

use crate::near_misses::{after, names};
use crate::support::{Net, f32s, noise, run};

/// A product with a constant: it fixes the order of axes.
fn product(net: &mut Net, x: ValueId) -> ValueId {
    let inner = *net.graph.shape(x).last().unwrap();
    let weights = net.constant(noise(&[inner, inner], 3));
    net.node(MatMul, &[x, weights])
}

fn transposed(net: &mut Net, x: ValueId, perm: &[usize]) -> ValueId {
    net.node(Transpose { perm: perm.to_vec() }, &[x])
}

/// Returns the operators that one run leaves of a graph with an input of `shape`; transpositions
/// without effect are not counted.
fn left(shape: &[usize], build: impl FnOnce(&mut Net, ValueId) -> ValueId) -> Vec<&'static str> {
    let mut net = Net::default();
    let x = net.input(noise(shape, 1));
    let y = build(&mut net, x);
    names(&without_idle(after("transpose-sinking", &net.giving(y))))
}

fn without_idle(mut graph: Graph) -> Graph {
    graph.nodes.retain(|node| !matches!(&node.op, Op::Transpose(op) if op.perm.is_sorted()));
    graph
}

#[test]
fn a_transposition_goes_through_to_cancel_another() {
    let between = left(&[2, 3, 4], |net, x| {
        let y = product(net, x);
        let y = transposed(net, y, &[0, 2, 1]);
        let y = net.node(Relu, &[y]);
        let y = transposed(net, y, &[0, 2, 1]);
        product(net, y)
    });
    assert_eq!(between, ["MatMul", "Relu", "MatMul"]);
}

/// An existing transposition also serves other readers of that order of axes.
#[test]
fn one_transposition_serves_two() {
    let left = left(&[2, 3, 4], |net, x| {
        let y = product(net, x);
        let turned = transposed(net, y, &[0, 2, 1]);
        let first = product(net, turned);
        let y = net.node(Relu, &[y]);
        let y = transposed(net, y, &[0, 2, 1]);
        let second = product(net, y);
        net.binary(BinaryKind::Add, first, second)
    });
    assert_eq!(left.iter().filter(|name| **name == "Transpose").count(), 1, "{left:?}");
}

/// Permuting a value to one order of axes does not save the other transposition, however similar
/// the two are.
#[test]
fn two_transpositions_of_one_value_stay() {
    let left = left(&[1, 3, 4], |net, x| {
        let y = product(net, x);
        let other = transposed(net, y, &[2, 0, 1]);
        let first = product(net, other);
        let y = net.node(Relu, &[y]);
        let y = transposed(net, y, &[0, 2, 1]);
        let second = product(net, y);
        let second = net.node(Reshape { shape: vec![4, 1, 3] }, &[second]);
        net.binary(BinaryKind::Add, first, second)
    });
    let expected = ["MatMul", "Transpose", "MatMul", "Relu", "Transpose", "MatMul", "Reshape", "Add"];
    assert_eq!(left, expected);
}

/// At the border of the graph a transposition costs slightly less, the same on either side.
#[test]
fn transpositions_gather_at_the_border() {
    let run = |shape: &[usize], steps: &[&str]| {
        left(shape, |net, x| {
            steps.iter().fold(x, |y, step| match *step {
                "MatMul" => product(net, y),
                "Relu" => net.node(Relu, &[y]),
                _ => transposed(net, y, &[0, 2, 1]),
            })
        })
    };
    let shape = [2, 3, 4];
    for (steps, expected) in [
        (["MatMul", "Transpose", "Relu"], ["MatMul", "Relu", "Transpose"]),
        (["MatMul", "Relu", "Transpose"], ["MatMul", "Relu", "Transpose"]),
        (["Relu", "Transpose", "MatMul"], ["Transpose", "Relu", "MatMul"]),
        (["Transpose", "Relu", "MatMul"], ["Transpose", "Relu", "MatMul"]),
    ] {
        assert_eq!(run(&shape, &steps), expected);
    }
    // Neither end is better than the other.
    for steps in [["Relu", "Transpose"], ["Transpose", "Relu"]] {
        assert_eq!(run(&shape, &steps), steps);
    }
}

/// A product of rows folds the transposition before them into its weights; no other operator does.
#[test]
fn transpositions_go_where_weights_take_them() {
    let flat = |shape: &'static [usize], user: fn(&mut Net, ValueId) -> ValueId| {
        left(&[2, 3, 4], move |net, x| {
            let y = product(net, x);
            let y = transposed(net, y, &[0, 2, 1]);
            let y = net.node(Relu, &[y]);
            let y = net.node(Reshape { shape: shape.to_vec() }, &[y]);
            user(net, y)
        })
    };
    let softmax = |net: &mut Net, x| net.node(Softmax { axis: 1, axis_end: 2 }, &[x]);
    assert_eq!(flat(&[2, 12], product)[1..3], ["Relu", "Transpose"]);
    // Mixed rows, and an operator that is not a product.
    assert_eq!(flat(&[4, 6], product)[1..3], ["Transpose", "Relu"]);
    assert_eq!(flat(&[2, 12], softmax)[1..3], ["Transpose", "Relu"]);
    // An input that is used without a flattening.
    let unflattened = left(&[1, 6], |net, x| {
        let y = net.node(Softmax { axis: 1, axis_end: 2 }, &[x]);
        let y = net.node(Reshape { shape: vec![6, 1] }, &[y]);
        let y = transposed(net, y, &[1, 0]);
        let y = net.node(Relu, &[y]);
        let weights = net.constant(noise(&[6, 4], 3));
        let y = net.node(Gemm::PLAIN, &[y, weights]);
        product(net, y)
    });
    assert_eq!(unflattened, ["Softmax", "Reshape", "Transpose", "Relu", "Gemm", "MatMul"]);
}

/// All passes: the weights have absorbed the transposition.
#[test]
fn flattened_rows_need_no_transposition() {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 3, 4], 1));
    let y = product(&mut net, x);
    let y = transposed(&mut net, y, &[0, 2, 1]);
    let y = net.unary(UnaryKind::Tanh, y);
    let y = net.node(Reshape { shape: vec![2, 12] }, &[y]);
    let y = product(&mut net, y);
    let mut graph = net.giving(y).graph;
    simplify(&mut graph).unwrap();
    assert_eq!(names(&graph), ["MatMul", "Tanh", "Reshape", "MatMul"]);
}

/// Integers with one scale work in any order of axes, unlike those with a scale per index on an
/// axis.
#[test]
fn scales_by_axis_fix_the_order_of_axes() {
    for (scales, zeros, through) in [
        (&[][..], false, true),
        (&[], true, true),
        (&[1], true, true),
        (&[3], false, false),
        (&[3], true, false),
    ] {
        let left = left(&[2, 4, 3], |net, x| {
            let count = scales.iter().product::<usize>();
            let scale = net.constant(f32s(scales, &[0.5, 0.25, 0.125][..count]));
            let zero = f32s(scales, &[0.0, 1.0, 2.0][..count]);
            let zero = zeros.then(|| net.constant(run(Cast::new(ElementType::I8), &[&zero])));
            let operands = |x| [Some(x), Some(scale), zero].into_iter().flatten().collect::<Vec<_>>();
            let quantize = QuantizeLinear {
                to: ElementType::I8,
                axis: 1,
                block: 0,
                saturate: true,
                precision: ElementType::F32,
                away: false,
            };
            let y = product(net, x);
            let y = transposed(net, y, &[0, 2, 1]);
            let y = net.node(quantize, &operands(y));
            let y = net.node(DequantizeLinear { to: ElementType::F32, axis: 1, block: 0 }, &operands(y));
            let y = transposed(net, y, &[0, 2, 1]);
            product(net, y)
        });
        assert_eq!(!left.contains(&"Transpose"), through, "{scales:?} {left:?}");
    }
}

/// Permuted values keep the names that the model gave them.
#[test]
fn values_keep_their_names_in_another_order() {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 3, 4], 1));
    let y = product(&mut net, x);
    let y = transposed(&mut net, y, &[0, 2, 1]);
    let y = net.node(Relu, &[y]);
    let name = net.graph.value(y).name.clone();
    let y = transposed(&mut net, y, &[0, 2, 1]);
    let y = product(&mut net, y);
    let mut graph = net.giving(y).graph;
    simplify(&mut graph).unwrap();
    let relu = graph.nodes.iter().find(|node| node.op == Relu.into()).unwrap();
    assert_eq!((graph.value(relu.outputs[0]).name.clone(), graph.nodes.len()), (name, 3));
}

/// Values may be numbered in any order, also from the last one to the first.
#[test]
fn the_numbering_of_values_does_not_matter() {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 3, 4], 1));
    let y = transposed(&mut net, x, &[0, 2, 1]);
    let y = net.node(Relu, &[y]);
    let y = transposed(&mut net, y, &[0, 2, 1]);
    let y = net.unary(UnaryKind::Tanh, y);
    let y = transposed(&mut net, y, &[0, 2, 1]);
    let y = product(&mut net, y);
    let mut net = net.giving(y);
    let graph = &mut net.graph;
    let turned = |id: ValueId| ValueId(graph.values.len() as u32 - 1 - id.0);
    let nodes = graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
    nodes.chain(&mut graph.inputs).chain(&mut graph.outputs).for_each(|id| *id = turned(*id));
    graph.values.reverse();
    after("transpose-sinking", &net);
    simplify(&mut net.graph).unwrap();
    assert_eq!(names(&net.graph), ["Transpose", "Relu", "Tanh", "MatMul"]);
}
