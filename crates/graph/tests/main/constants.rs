//! Constants next to values whose axes are permuted.

use npukit_graph::op::{
    Binary, BinaryKind, Compare, CompareKind, Concat, Conv, Gemm, LayerNormalization, Logic, LogicKind,
    MatMul, PRelu, Pow, RmsNormalization, Transpose, Where,
};
use npukit_graph::pass::{passes, simplify};
use npukit_graph::{Op, Operator, Value, ValueInfo, evaluate};
use npukit_numeric::ElementType;

use crate::support::{Net, distance, noise};

/// An operator broadcasts if it accepts an operand with a single element instead of two axes.
#[test]
fn operators_say_whether_they_repeat_operands() {
    let value = |shape: &[usize], element| Value {
        name: String::new(),
        info: ValueInfo { shape: shape.to_vec(), element },
        constant: None,
    };
    let ops: [(Op, bool); 10] = [
        (Binary { kind: BinaryKind::Sub }.into(), true),
        (Compare { kind: CompareKind::Less }.into(), true),
        (Pow.into(), true),
        (PRelu.into(), true),
        (Where.into(), true),
        (Logic { kind: LogicKind::Xor }.into(), true),
        (LayerNormalization { axis: 1, epsilon: 0.5 }.into(), true),
        (RmsNormalization { axis: 1, epsilon: 0.5 }.into(), true),
        (Concat { axis: 0 }.into(), false),
        (MatMul.into(), false),
    ];
    for (op, expected) in ops {
        let element = if matches!(op, Op::Logic(_)) { ElementType::Bool } else { ElementType::F32 };
        let (wide, one) = (value(&[2, 3], element), value(&[1], element));
        let condition = value(&[2, 3], ElementType::Bool);
        let operands = if op == Where.into() { vec![&condition, &wide, &one] } else { vec![&wide, &one] };
        assert_eq!((op.infer(&operands).is_ok(), op.broadcasts()), (expected, expected), "{op}");
    }
}

/// A slope per channel with trailing axes of size 1 has no leading ones after the pass.
#[test]
fn repeated_constants_have_no_axes_to_spare() {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 5, 5, 4], 1));
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    let weights = [2, 3].map(|seed| net.constant(noise(&[3, 3, 4, 4], seed)));
    let slope = net.constant(noise(&[4, 1, 1], 4));
    let y = net.node(conv.clone(), &[x, weights[0]]);
    let y = net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y]);
    let y = net.node(PRelu, &[y, slope]);
    let y = net.node(Transpose { perm: vec![0, 2, 3, 1] }, &[y]);
    let y = net.node(conv, &[y, weights[1]]);
    let net = net.giving(y);
    let mut graph = net.graph.clone();
    simplify(&mut graph).unwrap();
    let names: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(names, ["Conv", "PRelu", "Conv"]);
    assert_eq!(graph.shape(graph.nodes[1].inputs[1]), [4]);
    let [before, after] = [&net.graph, &graph].map(|graph| evaluate(graph, &net.inputs).unwrap());
    assert!(distance(&before[0], &after[0]) < 1e-5);
}

/// A transposed constant is transposed at once, any other value by a node.
#[test]
fn matrices_of_a_gemm_are_turned() {
    let pass = passes().iter().find(|pass| pass.name == "gemm-form").unwrap();
    for (trans_a, trans_b) in [(true, false), (false, true), (true, true)] {
        let mut net = Net::default();
        let (left, right) = (if trans_a { [3, 2] } else { [2, 3] }, if trans_b { [4, 3] } else { [3, 4] });
        let x = net.input(noise(&left, 1));
        let w = net.constant(noise(&right, 2));
        let y = net.node(Gemm { alpha: 0.5, beta: 1.0, trans_a, trans_b }, &[x, w]);
        let net = net.giving(y);
        let mut graph = net.graph.clone();
        // One step at a time: the factor, then the transpositions.
        let runs = (0..9).take_while(|_| (pass.run)(&mut graph).unwrap()).count();
        assert_eq!(runs, 2, "{graph}");
        graph.validate().unwrap();
        let turned = graph.nodes.iter().filter(|node| node.op.name() == "Transpose").count();
        assert_eq!(turned, usize::from(trans_a));
        let [before, after] = [&net.graph, &graph].map(|graph| evaluate(graph, &net.inputs).unwrap());
        assert!(distance(&before[0], &after[0]) < 1e-6);
    }
}
