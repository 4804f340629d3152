//! Loop: a graph inside an operator, against results computed by hand.

use npukit_graph::op::{Binary, BinaryKind, Body, Compare, CompareKind, IsNaN, Loop};
use npukit_graph::{Graph, OpError, Operator, ValueId, ValueInfo, Work};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{f32s, floats, i64s, refuse};

/// `s + x` until its first element is `most` or more, and the sum of every iteration.
fn summing(stacked: Option<usize>) -> Loop {
    let mut graph = Graph::default();
    let mut input = |name: &str, shape: &[usize], element| {
        graph.add_input(name, ValueInfo { shape: shape.to_vec(), element })
    };
    let _round = input("round", &[], ElementType::I64);
    let goes = input("goes", &[], ElementType::Bool);
    let [s, x] = ["s", "x"].map(|name| input(name, &[1], ElementType::F32));
    let most = input("most", &[], ElementType::F32);
    let mut node = |name: &str, op: npukit_graph::Op, operands: Vec<ValueId>| {
        graph.add_node(name, op, operands, &[name]).unwrap()[0]
    };
    let sum = node("sum", Binary { kind: BinaryKind::Add }.into(), vec![s, x]);
    let less = node("less", Compare { kind: CompareKind::Less }.into(), vec![sum, most]);
    let less = node("go", npukit_graph::op::Reshape { shape: vec![] }.into(), vec![less]);
    graph.outputs = if stacked.is_some() { vec![goes, sum, sum] } else { vec![less, sum] };
    Loop { body: Body(graph.into()), carried: 1, stacked }
}

fn operands(rounds: i64, goes: bool) -> [Tensor; 5] {
    let goes = Tensor::new(vec![], TensorData::Bool(vec![goes])).unwrap();
    [i64s(&[], &[rounds]), goes, f32s(&[1], &[0.0]), f32s(&[1], &[2.0]), f32s(&[], &[5.0])]
}

fn run(op: &Loop, operands: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    npukit_graph::Op::from(op.clone()).eval(&operands.iter().collect::<Vec<_>>())
}

#[test]
fn rounds_end_by_their_number_or_by_the_condition() {
    for (rounds, goes, expected) in [(0, true, 0.0), (9, false, 0.0), (2, true, 4.0), (9, true, 6.0)] {
        let results = run(&summing(None), &operands(rounds, goes)).unwrap();
        assert_eq!(floats(&results[0]), [expected], "{rounds} {goes}");
    }
}

#[test]
fn results_of_rounds_are_stacked_where_their_number_is_known() {
    let results = run(&summing(Some(3)), &operands(3, true)).unwrap();
    assert_eq!((results[1].shape(), floats(&results[1])), (&[3, 1][..], &[2.0, 4.0, 6.0][..]));
    let none = run(&summing(Some(0)), &operands(0, true)).unwrap();
    assert_eq!(none[1].shape(), [0, 1]);
    // The number of iterations differs from the declared one.
    assert!(run(&summing(Some(2)), &operands(3, true)).is_err());
}

#[test]
fn operands_that_change_their_shape_are_refused() {
    let mut wrong = operands(2, true);
    wrong[2] = f32s(&[2], &[0.0, 0.0]);
    let found = refuse(summing(None), &wrong.iter().collect::<Vec<_>>());
    let expected = OpError::Carried { op: "Loop", index: 2, expected: vec![1], found: vec![2] };
    assert_eq!(found, expected);
    let few = operands(2, true);
    let found = refuse(summing(None), &few.iter().take(4).collect::<Vec<_>>());
    assert!(matches!(found, OpError::Size { expected: 5, found: 4, .. }), "{found:?}");
}

#[test]
fn what_is_no_number_is_told_apart() {
    let x = f32s(&[4], &[f32::NAN, f32::INFINITY, 0.0, -1.0]);
    let found = npukit_graph::Op::from(IsNaN).eval(&[&x]).unwrap();
    assert_eq!(found[0].data(), &TensorData::Bool(vec![true, false, false, false]));
    assert!(matches!(refuse(IsNaN, &[&i64s(&[1], &[0])]), OpError::ElementType { .. }));
}

/// The work of a loop with a known number of iterations is known before it runs: that number times
/// the work of one.
#[test]
fn rounds_are_counted_before_they_are_computed() {
    let work = |rounds: i64, op: Loop| {
        let mut graph = Graph::default();
        let [rounds, goes, s, x, most] = operands(rounds, true);
        let mut ids = vec![graph.add_constant("rounds", rounds), graph.add_constant("goes", goes)];
        ids.push(graph.add_input("s", ValueInfo { shape: s.shape().to_vec(), element: ElementType::F32 }));
        ids.extend([graph.add_constant("x", x), graph.add_constant("most", most)]);
        let names = ["sum", "every"];
        let names = &names[..1 + usize::from(op.stacked.is_some())];
        graph.outputs = graph.add_node("loop", op.into(), ids, names).unwrap();
        Work::of(&graph).operations
    };
    // The condition of the plain loop is computed: its number of iterations is unknown.
    assert_eq!(work(1_000_000_000, summing(None)), work(1, summing(None)));
    let goes_on = || {
        let op = summing(None);
        let mut body = Graph::clone(&op.body.0);
        body.outputs[0] = body.inputs[1];
        Loop { body: Body(body.into()), ..op }
    };
    let each = work(2, goes_on()) - work(1, goes_on());
    assert!(each > 0);
    assert_eq!(work(1_000_000_001, goes_on()) - work(1, goes_on()), 1_000_000_000 * each);
    assert!(work(1000, summing(Some(1000))) > 1000 * each / 2);
}
