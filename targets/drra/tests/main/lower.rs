//! Graphs on fabrics: results compared with a literal computation, cycles compared with goals.

use npukit_drra::internals::config::preset;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::fabric::Fabric;
use npukit_drra::internals::lower::{lower, prepare};
use npukit_graph::op::{Binary, BinaryKind, Conv, MatMul, MaxPool, Op, Relu, Window};
use npukit_graph::{Graph, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};

use crate::artifact::reloaded;
use crate::run::checked;

fn fabric(name: &str, extensions: bool) -> Fabric {
    let mut fabric = preset(name).unwrap();
    fabric.options.strict = true;
    fabric.options.extensions = extensions;
    fabric
}

/// Small whole numbers.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let count = shape.iter().product::<usize>();
    let number = |index: usize| ((index * 7 + seed * 13 + index * index / 5) % 7) as f32 - 3.0;
    Tensor::from_f32(shape.to_vec(), (0..count).map(number).collect()).unwrap()
}

/// Graph of one node. With `weights`, all operands except the first are constants.
fn graph(op: impl Into<Op>, shapes: &[&[usize]], weights: bool) -> (Graph, Vec<Tensor>) {
    let (mut graph, mut inputs) = (Graph::default(), Vec::new());
    let ids = shapes.iter().enumerate().map(|(index, shape)| {
        let values = numbers(shape, index);
        if weights && index > 0 {
            return graph.add_constant(format!("w{index}"), values);
        }
        inputs.push(values);
        graph.add_input(format!("x{index}"), ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    });
    let ids = ids.collect::<Vec<_>>();
    graph.outputs = graph.add_node("node", op.into(), ids, &["y"]).unwrap();
    (graph, inputs)
}

/// Returns the cycles of the graph on the fabric, after checking its results against the evaluator.
fn cycles(fabric: &Fabric, (graph, inputs): &(Graph, Vec<Tensor>)) -> u64 {
    let prepared = prepare(graph).unwrap();
    let plan = lower(fabric, &prepared, None).unwrap_or_else(|problems| panic!("{problems:?}"));
    let executable = reloaded(&Executable::new(fabric, plan).unwrap());
    let integers: Vec<Vec<i16>> =
        inputs.iter().map(|one| one.as_f32().unwrap().iter().map(|&x| x as i16).collect()).collect();
    let ran = checked(&executable, &integers);
    let expected = evaluate(graph, inputs).unwrap();
    for (number, expected) in executable.plan.outputs.iter().zip(&expected) {
        let found: Vec<f32> = ran.values[*number].iter().map(|&word| word.into()).collect();
        assert_eq!(found, expected.as_f32().unwrap());
    }
    assert_eq!(ran.cycles, executable.cycles(), "kernels take the cycles of their schedules");
    ran.cycles.iter().sum()
}

const MUL: Binary = Binary { kind: BinaryKind::Mul };

#[test]
fn an_elementwise_product_of_32() {
    let cycles = cycles(&fabric("3x1", false), &graph(MUL, &[&[32], &[32]], false));
    eprintln!("elementwise product of 32: {cycles} cycles");
    assert!(cycles <= 62, "{cycles}");
}

/// Sums of 20 elements, more than a row, computed by hand. Two are at the ends of the range, where
/// sums saturate.
#[test]
fn a_run_gives_results_and_counts_those_at_the_ends() {
    let fabric = fabric("3x1", false);
    let (graph, _) = graph(Binary { kind: BinaryKind::Add }, &[&[20], &[20]], false);
    let executable = Executable::new(&fabric, lower(&fabric, &graph, None).unwrap()).unwrap();
    let (mut a, b): (Vec<i16>, Vec<i16>) = ((0..20).collect(), (0..20).map(|index| 100 * index).collect());
    let mut expected: Vec<i16> = (0..20).map(|index| 101 * index).collect();
    (a[3], a[7], a[19]) = (i16::MAX, i16::MIN, i16::MAX - 1900);
    (expected[3], expected[7], expected[19]) = (i16::MAX, i16::MIN + 700, i16::MAX);
    let ran = executable.run(&[a.clone(), b.clone()]).unwrap();
    assert_eq!((&ran.values[2], &ran.saturations), (&expected, &vec![2]));
    assert_eq!(ran.cycles, executable.cycles());
    // A step that saturates on purpose is not counted.
    let mut meant = executable;
    meant.plan.steps[0].saturates = true;
    assert_eq!(meant.run(&[a, b]).unwrap().saturations, [0]);
}

/// One of two sums saturates and returns into the range; the other ends at the limit without loss.
#[test]
fn sums_that_saturate_on_their_way_are_counted() {
    let fabric = fabric("3x1", false);
    let (graph, _) = graph(MatMul, &[&[1, 3], &[3, 2]], false);
    let executable = Executable::new(&fabric, lower(&fabric, &graph, None).unwrap()).unwrap();
    let (a, b) = (vec![300, 300, 100], vec![200, 100, -200, 9, 1, -1]);
    let ran = checked(&executable, &[a, b]);
    assert_eq!((&ran.values[2], &ran.saturations), (&vec![99, 32_600], &vec![1]));
}

#[test]
fn numbers_that_no_word_holds_are_counted() {
    let counted = |numbers: [f32; 4]| {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
        let w = graph.add_constant("w", Tensor::from_f32(vec![2, 2], numbers.to_vec()).unwrap());
        graph.outputs = graph.add_node("node", MatMul.into(), vec![x, w], &["y"]).unwrap();
        lower(&fabric("3x1", false), &graph, None).unwrap().saturated_constants
    };
    assert_eq!(counted([32_767.4, -32_768.4, 0.0, 0.4]), Some(0));
    assert_eq!(counted([32_767.5, -32_769.0, f32::NAN, f32::INFINITY]), Some(4));
}

#[test]
fn elementwise_operators_of_any_size_and_broadcast() {
    for name in ["3x1", "3x4"] {
        for size in [1, 15, 16, 17, 48, 100, 1000] {
            cycles(&fabric(name, false), &graph(MUL, &[&[size], &[size]], false));
        }
        cycles(&fabric(name, false), &graph(Binary { kind: BinaryKind::Add }, &[&[5, 7], &[7]], true));
        cycles(&fabric(name, true), &graph(Binary { kind: BinaryKind::Sub }, &[&[5, 7], &[1]], false));
        for extensions in [false, true] {
            let max = Binary { kind: BinaryKind::Max };
            cycles(&fabric(name, extensions), &graph(max, &[&[5, 7], &[5, 1]], false));
        }
        cycles(&fabric(name, false), &graph(Relu, &[&[77]], false));
        cycles(&fabric(name, true), &graph(Relu, &[&[77]], false));
    }
}

#[test]
fn a_product_of_4x4_matrices() {
    let cycles = cycles(&fabric("3x1", false), &graph(MatMul, &[&[4, 4], &[4, 4]], false));
    eprintln!("4x4 by 4x4: {cycles} cycles");
    assert!(cycles <= 102, "{cycles}");
}

#[test]
fn matrix_products_of_any_size() {
    let shapes: [[usize; 3]; 9] = [
        [1, 64, 10],
        [1, 65, 10],
        [3, 200, 5],
        [7, 16, 9],
        [2, 3, 4],
        [20, 64, 33],
        [1, 32, 1],
        [5, 1100, 3],
        [2, 100, 40],
    ];
    for name in ["3x1", "3x4"] {
        for [m, k, n] in shapes {
            cycles(&fabric(name, false), &graph(MatMul, &[&[m, k], &[k, n]], m % 2 == 0));
        }
    }
}

/// A product of 64x64 matrices takes 262,144 cycles of a dpu.
#[test]
fn a_product_of_64x64_matrices() {
    let product = graph(MatMul, &[&[64, 64], &[64, 64]], false);
    let [one, four] = ["3x1", "3x4"].map(|name| cycles(&fabric(name, false), &product));
    eprintln!("64x64 by 64x64: {one} cycles on 3x1, {four} on 3x4");
    let work = 64_u64.pow(3);
    assert!(work * 100 >= 80 * one && work * 100 >= 80 * 4 * four, "{one} {four}");
    assert!(one * 10 >= 35 * four, "{one} {four}");
}

/// Calls on several threads give the same results as one after the other.
#[test]
fn calls_run_in_parallel() {
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 2 };
    let (graph, inputs) = graph(conv, &[&[1, 9, 9, 4], &[3, 3, 2, 6], &[6]], true);
    let fabric = fabric("3x1", false);
    let plan = lower(&fabric, &prepare(&graph).unwrap(), None).unwrap();
    let executable = Executable::new(&fabric, plan).unwrap();
    let words: Vec<i16> = inputs[0].as_f32().unwrap().iter().map(|&x| x as i16).collect();
    let [one, four] = [1, 4].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| executable.run(std::slice::from_ref(&words)).unwrap())
    });
    assert_eq!(one, four);
}

#[test]
fn convolutions_and_pooling() {
    let conv = |strides, dilations, pads, group| Conv { strides, dilations, pads, group };
    let plain = conv([1, 1], [1, 1], [0; 4], 1);
    let cases = [
        // A filter of 5 taps over 60 samples, and a 3x3 filter over 8x8. Neither needs gathered
        // windows.
        (plain.clone(), vec![&[1, 1, 60, 1][..], &[1, 5, 1, 1]]),
        (plain.clone(), vec![&[1, 8, 8, 1][..], &[3, 3, 1, 1]]),
        (conv([2, 1], [1, 2], [0; 4], 1), vec![&[1, 8, 8, 1][..], &[2, 3, 1, 1]]),
        (plain.clone(), vec![&[1, 9, 9, 2][..], &[3, 3, 2, 5], &[5]]),
        (conv([1, 1], [1, 1], [1, 1, 1, 1], 1), vec![&[1, 6, 5, 8][..], &[3, 3, 8, 4], &[4]]),
        (conv([2, 2], [1, 1], [1, 0, 0, 1], 3), vec![&[2, 7, 7, 6][..], &[3, 3, 2, 9], &[9]]),
    ];
    for (conv, shapes) in cases {
        for name in ["3x1", "3x4"] {
            cycles(&fabric(name, false), &graph(conv.clone(), &shapes, true));
        }
    }
    let window = Window { pads: [1, 1, 0, 0], ..Window::plain([3, 2], [2, 2]) };
    for extensions in [false, true] {
        cycles(
            &fabric("3x4", extensions),
            &graph(MaxPool { window: window.clone() }, &[&[1, 8, 9, 3]], false),
        );
    }
}

#[test]
fn what_has_no_kernel_is_named() {
    // If a window has no word of the border, the padding is the smallest word.
    let window = Window { dilations: [2, 2], pads: [1; 4], ..Window::plain([2, 2], [2, 2]) };
    let (graph, _) = graph(MaxPool { window }, &[&[1, 4, 4, 1]], false);
    let problems = lower(&fabric("3x1", false), &graph, None).unwrap_err();
    assert!(problems[0].reason.contains("max_min_acc"), "{problems:?}");
    let problems = lower(&fabric("1x1", true), &graph, None).unwrap_err();
    assert!(problems[0].reason.contains("no column"), "{problems:?}");
}
