//! Unread pixels: they are omitted, the remaining pixels are the same bit for bit, and they are
//! stored contiguously.

use super::*;

/// Returns a block whose sum goes to a rectification that skips pixels: the sum, the rectified
/// value, and the last result.
fn stepping(net: &mut Net, channels: [usize; 2], strides: [usize; 2]) -> [ValueId; 3] {
    let x = net.input(&[1, 7, 8, channels[0]]);
    stepping_from(net, x, channels, strides)
}

fn stepping_from(net: &mut Net, x: ValueId, [narrow, wide]: [usize; 2], strides: [usize; 2]) -> [ValueId; 3] {
    let around = net.conv(x, [1, 1], wide, dense(1));
    let y = net.node(Relu, &[around]);
    let y = net.conv(y, [1, 1], narrow, dense(1));
    let y = net.conv(y, [3, 3], narrow, dense(3));
    let y = net.node(Relu, &[y]);
    let y = net.conv(y, [1, 1], wide, dense(1));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[around, y]);
    let rectified = net.node(Relu, &[sum]);
    [sum, rectified, net.conv(rectified, [1, 1], narrow, Conv { strides, ..dense(1) })]
}

const STRIDES: [[usize; 2]; 4] = [[2, 2], [1, 2], [2, 1], [3, 3]];

#[test]
fn what_is_left_out_changes_no_bit() {
    for strides in STRIDES {
        let mut net = Net::new();
        let [sum, _, last] = stepping(&mut net, [8, 16], strides);
        let config = Config { data_type: DataType::Fp16Bp8, ..config(8, 600, 200) };
        let numbers = net.numbers(7 * 8 * 8);
        let input = Tensor::from_f32(vec![1, 7, 8, 8], numbers).unwrap();
        let mut result = |outputs: &[ValueId]| {
            net.graph.outputs = outputs.to_vec();
            let compiled = lower::compile(&net.graph, &config, &Options::default()).unwrap();
            let names = [net.graph.value(last).name.clone()];
            (
                compiled.program.instructions.len(),
                run(&compiled.program, std::slice::from_ref(&input), &names),
            )
        };
        let ((fewer, part), (more, whole)) = (result(&[last]), result(&[last, sum]));
        assert_eq!(part, whole, "{strides:?}");
        assert!(fewer < more, "{strides:?}: {fewer} instructions of {more}");
    }
}

#[test]
fn what_steps_over_pixels_is_computed_at_steps() {
    for strides in STRIDES {
        let mut net = Net::new();
        let values = stepping(&mut net, [8, 16], strides);
        net.graph.outputs = vec![values[2]];
        let graph = lower::prepare(&net.graph, &config(8, 600, 200), Order::Default);
        let image = [7_usize.div_ceil(strides[0]), 8_usize.div_ceil(strides[1])];
        for value in values {
            assert_eq!(graph.shape(value)[1..3], image, "{strides:?}");
        }
        let steps = |op: &Op| if let Op::Conv(conv) = op { Some(conv.strides) } else { None };
        let convolutions: Vec<[usize; 2]> = graph.nodes.iter().filter_map(|node| steps(&node.op)).collect();
        assert_eq!(convolutions, [[1; 2], [1; 2], strides, [1; 2], [1; 2]], "{strides:?}");
        net.check(&[values[2]], &config(8, 600, 200));
    }
}

/// A slice of groups takes whole vectors of pixels.
#[test]
fn groups_are_sliced() {
    let mut net = Net::new();
    let x = net.input(&[1, 16, 8, 2]);
    let x = net.conv(x, [3, 3], 2, dense(3));
    let x = net.conv(x, [3, 3], 2, dense(3));
    let [.., last] = stepping_from(&mut net, x, [2, 4], [2, 2]);
    net.graph.outputs = vec![last];
    let graph = lower::prepare(&net.graph, &config(4, 1000, 400), Order::Default);
    let names: Vec<&str> = graph.nodes.iter().map(|node| npukit_graph::Operator::name(&node.op)).collect();
    let slice = names.iter().position(|&name| name == "Slice").unwrap();
    assert_eq!(names[slice - 1..=slice], ["Reshape", "Slice"], "{names:?}");
    net.check(&[last], &config(4, 1000, 400));
}

/// The residual sum is read at every other pixel: 16 of 56 pixels are stored, each of two vectors.
#[test]
fn of_a_variable_is_stored_what_is_read() {
    let mut net = Net::new();
    let [.., last] = stepping(&mut net, [8, 16], [2, 2]);
    net.graph.outputs = vec![last];
    let stages = lower::stages(&net.graph, &config(8, 600, 200), &Options::default()).unwrap();
    assert!(stages.hir.contains("save value0_0, 16 pixels of it"), "{}", stages.hir);
    assert!(stages.plan.contains(": 32 vectors, Variable value0_0"), "{}", stages.plan);
    // Tensil's order stores everything that it computes.
    let options = Options { order: Order::Upstream, ..Options::default() };
    let stages = lower::stages(&net.graph, &config(8, 600, 200), &options).unwrap();
    assert!(!stages.hir.contains("pixels of it"), "{}", stages.hir);
}

#[test]
fn windows_of_one_pixel_are_slices() {
    let pools: [fn(Window) -> Op; 2] = [
        |window| MaxPool { window }.into(),
        |window| AveragePool { window, count_include_pad: false }.into(),
    ];
    for pool in pools {
        for (strides, expected) in [([2, 2], "Slice"), ([1, 3], "Slice")] {
            let mut net = Net::new();
            let x = net.input(&[1, 7, 8, 8]);
            let y = net.node(pool(Window::plain([1; 2], strides)), &[x]);
            let z = net.conv(y, [1, 1], 8, dense(1));
            net.graph.outputs = vec![z];
            let graph = lower::prepare(&net.graph, &config(8, 600, 200), Order::Default);
            assert_eq!(npukit_graph::Operator::name(&graph.nodes[0].op), expected);
            net.check(&[z], &config(8, 600, 200));
        }
    }
}
