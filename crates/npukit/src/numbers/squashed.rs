//! [`message`]: outputs at the limits of a function such as Softmax, which hide differences before
//! it.

use npukit_graph::op::{Unary, UnaryKind};
use npukit_graph::{Graph, Op, Operator, ValueId};
use npukit_numeric::Tensor;

use crate::run::stack::Stack;

/// Distance to a limit up to which an element counts as at the limit.
const NEAR: f64 = 1e-4;

/// Returns a sentence if all elements of an output are at the limits of the function that computes
/// it, on the machine and in float. `None` otherwise.
pub(crate) fn message(graph: &Graph, ours: &[Stack], reference: &[Stack]) -> Option<String> {
    let producers = graph.producers();
    let at_limits = |id: &ValueId| -> Option<String> {
        let op = &graph.node(producers.get(id.0 as usize).copied()??).op;
        let limits = limits(op)?;
        let name = &graph.value(*id).name;
        let is_near = |value: f64| limits.iter().any(|limit| (value - limit).abs() <= NEAR);
        let is_squashed = |stacks: &[Stack]| {
            let tensors = stacks.iter().filter(|stack| stack.name == *name).flat_map(|stack| &stack.samples);
            let mut elements = tensors.flat_map(Tensor::reals).peekable();
            elements.peek().is_some() && elements.all(is_near)
        };
        let [low, high] = limits;
        (is_squashed(ours) && is_squashed(reference)).then(|| {
            format!(
                "all elements of output `{name}` are {low} or {high}, the limits of {}: it hides differences before it from the \
                 comparison with float",
                op.name()
            )
        })
    };
    graph.outputs.iter().find_map(at_limits)
}

/// Returns the limits of a function that squashes large values.
fn limits(op: &Op) -> Option<[f64; 2]> {
    match op {
        Op::Softmax(_) => Some([0.0, 1.0]),
        Op::Unary(Unary { kind: UnaryKind::Sigmoid | UnaryKind::HardSigmoid { .. } }) => Some([0.0, 1.0]),
        Op::Unary(Unary { kind: UnaryKind::Tanh }) => Some([-1.0, 1.0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_graph::op::Softmax;
    use npukit_numeric::ElementType;

    use super::*;

    #[test]
    fn a_softmax_of_zeros_and_ones_hides_differences() {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
        graph.outputs =
            graph.add_node("end", Softmax { axis: 1, axis_end: 2 }.into(), vec![x], &["y"]).unwrap();
        let of = |values: [f32; 2]| {
            let samples = vec![Tensor::from_f32(vec![1, 2], values.to_vec()).unwrap()];
            let stack = [Stack { name: "y".to_owned(), samples, ..Stack::default() }];
            message(&graph, &stack, &stack)
        };
        assert!(of([0.0, 1.0]).is_some_and(|text| text.contains("Softmax") && text.contains("0 or 1")));
        assert_eq!((of([0.25, 0.75]), message(&graph, &[], &[])), (None, None));
    }
}
