//! Cost of evaluations, counted one by one.

use std::sync::{Arc, Weak};

use npukit_graph::op::{Conv, ConvTranspose, Gemm, MatMul, Window};
use npukit_graph::{Graph, Node, Op, ValueId, Work, evaluate_all, evaluate_with};
use npukit_numeric::{Tensor, TensorData};
use proptest::prelude::*;

use crate::random::random_graph;
use crate::support::{Net, noise};

/// Number of pairs of a row or column of the result and a tap of its window that is on the image.
fn taps(window: &Window, axis: usize, size: usize, count: usize) -> usize {
    let places = (0..count).flat_map(|index| {
        (0..window.kernel[axis]).map(move |tap| index * window.strides[axis] + tap * window.dilations[axis])
    });
    places.filter(|place| (window.pads[axis]..window.pads[axis] + size).contains(place)).count()
}

/// Number of pairs of a row or column of the operand and a tap that leads to the result.
fn spread(conv: &ConvTranspose, axis: usize, size: usize, kernel: usize, count: usize) -> usize {
    let places = (0..size).flat_map(|index| {
        (0..kernel).map(move |tap| index * conv.strides[axis] + tap * conv.dilations[axis])
    });
    places.filter(|place| (conv.pads[axis]..conv.pads[axis] + count).contains(place)).count()
}

/// Returns the multiply-accumulates of a node.
fn products(graph: &Graph, node: &Node) -> usize {
    let shape = |i: usize| graph.shape(node.inputs[i]);
    let (x, y) = (shape(0), graph.shape(node.outputs[0]));
    let results: usize = y.iter().product();
    match &node.op {
        Op::Conv(conv) => {
            let (w, window) = (shape(1), conv.window([shape(1)[0], shape(1)[1]]));
            taps(&window, 0, x[1], y[1]) * taps(&window, 1, x[2], y[2]) * x[0] * w[2] * w[3]
        }
        Op::ConvTranspose(conv) => {
            let w = shape(1);
            let pixels = spread(conv, 0, x[1], w[0], y[1]) * spread(conv, 1, x[2], w[1], y[2]);
            pixels * x[0] * w[2] * w[3]
        }
        Op::Gemm(gemm) => results * if gemm.trans_a { x[0] } else { x[1] },
        Op::MatMul(_) => results * x[x.len() - 1],
        _ => 0,
    }
}

/// Returns the number of elements read and produced, plus the summed terms.
fn operations(graph: &Graph, node: &Node) -> usize {
    let elements = |id: &ValueId| graph.shape(*id).iter().product::<usize>();
    let moved: usize = node.inputs.iter().chain(&node.outputs).map(elements).sum();
    let (x, y) = (graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
    let pooled = |window: &Window| taps(window, 0, x[1], y[1]) * taps(window, 1, x[2], y[2]) * x[0] * x[3];
    moved
        + match &node.op {
            Op::MaxPool(pool) => pooled(&pool.window),
            Op::AveragePool(pool) => pooled(&pool.window),
            Op::Lrn(lrn) => y.iter().product::<usize>() * lrn.size.min(x[x.len() - 1]),
            _ => products(graph, node),
        }
}

fn bytes(tensor: &Tensor) -> usize {
    match tensor.data() {
        TensorData::F32(values) => 4 * values.len(),
        TensorData::I32(values) => 4 * values.len(),
        TensorData::I64(values) => 8 * values.len(),
        TensorData::Bool(values) => values.len(),
    }
}

/// Returns the peak bytes of results that exist at some node and that a later node, or the caller,
/// reads.
fn peak(graph: &Graph, inputs: &[Tensor]) -> usize {
    let all = evaluate_all(graph, inputs).unwrap();
    let alive = |moment: usize| -> usize {
        let needed = |id: &ValueId| {
            graph.is_output(*id) || graph.nodes[moment..].iter().any(|node| node.inputs.contains(id))
        };
        let made = graph.nodes[..=moment]
            .iter()
            .enumerate()
            .flat_map(|(index, node)| node.outputs.iter().filter(move |id| index == moment || needed(id)));
        made.map(|id| bytes(all[id.0 as usize].as_ref().unwrap())).sum()
    };
    (0..graph.nodes.len()).map(alive).max().unwrap_or(0)
}

fn judge(graph: &Graph, inputs: &[Tensor]) {
    let by_node: Vec<usize> = graph.nodes.iter().map(|node| operations(graph, node)).collect();
    let work = Work::of(graph);
    assert_eq!(work.operations, by_node.iter().sum::<usize>() as u64, "{graph}");
    assert_eq!(work.costliest.map(|id| by_node[id.0 as usize]), by_node.iter().copied().max(), "{graph}");
    assert_eq!(work.peak_bytes, peak(graph, inputs) as u64, "{graph}");
    let macs: Vec<u64> = graph.nodes.iter().map(|node| products(graph, node) as u64).collect();
    assert_eq!(graph.macs_by_node().collect::<Vec<_>>(), macs, "{graph}");
    assert_eq!(graph.macs(), macs.iter().sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn work_is_what_is_done(choices in proptest::collection::vec(0..1000u32, 0..60)) {
        let graph = random_graph(choices);
        let inputs: Vec<Tensor> = graph.inputs.iter().map(|&id| noise(graph.shape(id), 7)).collect();
        judge(&graph, &inputs);
    }

    /// No tensor is kept after its last use.
    #[test]
    fn tensors_go_after_their_last_use(choices in proptest::collection::vec(0..1000u32, 0..60)) {
        let graph = random_graph(choices);
        let inputs: Vec<Tensor> = graph.inputs.iter().map(|&id| noise(graph.shape(id), 7)).collect();
        let mut held: Vec<(ValueId, Weak<Tensor>)> = Vec::new();
        let mut index = 0;
        evaluate_with(&graph, &inputs, |node, results| {
            let needed = |id: &ValueId| {
                graph.is_output(*id) || graph.nodes[index..].iter().any(|node| node.inputs.contains(id))
            };
            for (id, tensor) in &held {
                assert_eq!(tensor.strong_count() > 0, needed(id), "{} at {}", graph.value(*id).name, node.name);
            }
            held.extend(node.outputs.iter().zip(results).map(|(&id, tensor)| (id, Arc::downgrade(tensor))));
            index += 1;
        }).unwrap();
        prop_assert_eq!(index, graph.nodes.len());
    }
}

#[test]
fn products_of_any_layout_are_counted() {
    for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut net = Net::default();
        let shape = |turned: bool, [rows, columns]: [usize; 2]| {
            if turned { [columns, rows] } else { [rows, columns] }
        };
        let a = net.input(noise(&shape(trans_a, [2, 5]), 1));
        let b = net.input(noise(&shape(trans_b, [5, 3]), 2));
        let y = net.node(Gemm { alpha: 1.0, beta: 1.0, trans_a, trans_b }, &[a, b]);
        let batch = net.constant(noise(&[4, 3, 7], 3));
        let y = net.node(MatMul, &[y, batch]);
        let net = net.giving(y);
        judge(&net.graph, &net.inputs);
        assert_eq!(net.graph.macs(), 2 * 5 * 3 + 4 * 2 * 3 * 7);
    }
}

/// An input that is an output, an unused result, and one with two readers.
#[test]
fn only_results_are_held() {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 4, 4, 2], 1));
    let w = net.constant(noise(&[3, 3, 2, 2], 2));
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [1; 4], group: 1 };
    let y = net.node(conv.clone(), &[x, w]);
    let unread = net.node(conv.clone(), &[y, w]);
    let z = net.node(conv, &[y, w]);
    let mut net = net.giving(z);
    net.graph.outputs.push(x);
    assert!(net.graph.consumers()[unread.0 as usize].is_empty());
    judge(&net.graph, &net.inputs);
    assert_eq!(Work::of(&net.graph).peak_bytes, 2 * 4 * 4 * 4 * 2);
}
