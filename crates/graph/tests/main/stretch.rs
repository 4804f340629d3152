//! Values stretched so that powers of two are the scales that a model states.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::op::{Binary, BinaryKind, Clip, Conv, Relu};
use npukit_graph::quantise::{
    Distributions, Method, Scheme, Stretched, quantise, simulate, stated_fractions, stretch,
};
use npukit_graph::{Graph, NodeId, Op, QdqScales, ValueId, evaluate};
use npukit_numeric::ElementType;

use crate::support::{Net, distance, noise};

fn conv(net: &mut Net, x: ValueId, seed: u64) -> ValueId {
    let [w, b] = [noise(&[1, 1, 4, 4], seed), noise(&[4], seed + 1)];
    let (w, b) = (net.constant(w), net.constant(b));
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    net.node(conv, &[x, w, b])
}

fn state(graph: &mut Graph, id: ValueId, scale: f32, zero: i64) {
    let stated = QdqScales {
        name: "q".to_owned(),
        scales: [scale; 2],
        zero_points: [zero; 2],
        element: ElementType::I8,
    };
    graph.scales.insert(id, stated);
}

/// Two branches that are added and rectified, and a layer after them: the net, the sum rectified and clipped.
fn branches(scale: f32) -> (Net, [ValueId; 2]) {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 3, 3, 4], 1));
    let [left, right] = [2, 4].map(|seed| conv(&mut net, x, seed));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[left, right]);
    let relu = net.node(Relu, &[sum]);
    let clip = net.node(Clip { min: 0.0, max: 2.5 }, &[relu]);
    let y = conv(&mut net, clip, 6);
    let mut net = net.giving(y);
    for id in [relu, clip] {
        state(&mut net.graph, id, scale, -128);
    }
    (net, [relu, clip])
}

fn stretched(net: &Net, host: &[u32]) -> Option<Stretched> {
    let host: BTreeSet<NodeId> = host.iter().map(|&id| NodeId(id)).collect();
    stretch(&net.graph, &host, &Scheme::default()).unwrap()
}

#[test]
fn the_same_is_computed_with_the_model_s_steps() {
    let scale = 0.0123;
    let (net, [relu, clip]) = branches(scale);
    let Stretched { graph, fractions } = stretched(&net, &[]).unwrap();
    let names = [relu, clip].map(|id| graph.value(id).name.as_str());
    assert_eq!(names, ["n3_0/stretched", "n4_0/stretched"]);
    let [before, after] = [&net.graph, &graph].map(|graph| evaluate(graph, &net.inputs).unwrap());
    assert!(distance(&before[0], &after[0]) < 1e-5);
    // 255 steps of the model become 127 of the machine.
    let Op::Clip(clip) = &graph.nodes[4].op else { panic!("{:?}", graph.nodes[4].op) };
    let step = f64::from(fractions[&relu]).exp2() * f64::from(clip.max) / 2.5;
    assert!((step * 255.0 * f64::from(scale) - 127.0).abs() < 1e-3, "{step}");
    assert!(graph.scales.is_empty());
    // What the machine computes is nearer to the model.
    let error = |graph: &Graph, stated: &BTreeMap<ValueId, i32>| {
        let mut seen = Distributions::new(graph);
        seen.observe(graph, &net.inputs).unwrap();
        let found = quantise(graph, &seen, &Scheme::default(), Method::MinMax, stated);
        distance(&before[0], &simulate(graph, &found, &net.inputs).unwrap()[0])
    };
    let plain = error(&net.graph, &stated_fractions(&net.graph, &Scheme::default()));
    assert!(error(&graph, &fractions) < plain);
}

#[test]
fn what_others_see_is_not_stretched() {
    // Powers of two are the machine's own.
    assert!(stretched(&branches(0.0625).0, &[]).is_none());
    // Nor what a step of the host reads or makes.
    let (net, _) = branches(0.0123);
    for node in 0..net.graph.nodes.len() as u32 {
        assert!(stretched(&net, &[node]).is_none(), "{node}");
    }
    // Nor inputs, outputs and what shares a scale with them.
    let (mut net, [relu, _]) = branches(0.0123);
    net.graph.outputs.push(relu);
    assert!(stretched(&net, &[]).is_none());
}
