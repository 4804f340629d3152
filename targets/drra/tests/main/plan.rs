//! Plans without kernels: each task is computed word by word, and compared with the graph.

use npukit_drra::internals::gather::Source;
use npukit_drra::internals::gather::{Gather, offset};
use npukit_drra::internals::kernels::{Nest, Work};
use npukit_drra::internals::lower::{check, lower, prepare, scheme};
use npukit_drra::internals::op::DpuMode;
use npukit_drra::internals::plan::{Place, Plan, Task};
use npukit_drra::internals::word::integer;
use npukit_graph::op::*;
use npukit_graph::quantize::{Distributions, Method, quantize};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;

use crate::operators::{fabric, graph, numbers};

/// Fraction bits of functions and quotients of the extension, Q4.11.
const FUNCTION: i32 = 11;

/// Computes a result of one or two vectors of words on a dpu with extensions and without fraction
/// bits.
fn computed(work: Work, a: &[i16], b: &[i16]) -> i16 {
    let (places, first) = (i32::from(work.immediate), f64::from(a[0]));
    let sum: i64 = a.iter().zip(b).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
    match work.mode {
        DpuMode::MacInter => integer(sum as f64, -places),
        DpuMode::Mult => integer(sum as f64, 0),
        DpuMode::ScaleUp => integer(first, places),
        DpuMode::ScaleDw => integer(first, -places),
        DpuMode::MaxMinAcc => *a.iter().max().unwrap(),
        DpuMode::Subt => integer(first - f64::from(b[0]), 0),
        DpuMode::Expon => integer((first * 2f64.powi(-FUNCTION)).exp(), FUNCTION),
        DpuMode::Div => integer(first / f64::from(b[0]), FUNCTION),
        other => panic!("{other:?}"),
    }
}

/// Returns the words that levels of a loop read, innermost level first.
fn looped(words: &[i16], levels: &[(usize, i64)]) -> Vec<i16> {
    let places = levels.iter().fold(vec![0_i64], |inner, &(times, step)| {
        (0..times as i64).flat_map(|time| inner.iter().map(move |place| place + time * step)).collect()
    });
    places.into_iter().map(|place| words[place as usize]).collect()
}

/// Computes the integers of every value.
fn literal(plan: &Plan, inputs: &[Vec<i16>]) -> Vec<Vec<i16>> {
    let sizes = plan.values.iter().map(|value| value.shape.iter().product());
    let mut values: Vec<Vec<i16>> = sizes.map(|size| vec![0; size]).collect();
    for (&number, words) in plan.inputs.iter().zip(inputs) {
        values[number].clone_from(words);
    }
    for step in &plan.steps {
        let mut result = values[step.result].clone();
        let vectors = |gather: &Gather| -> Vec<Vec<i16>> {
            let source = match &gather.source {
                Source::Value(number) => &values[*number][..],
                Source::Constant(words) => words,
            };
            let words = |vector| {
                let mut words = Vec::new();
                gather.words(source, vector..vector + 1, 0, |word| word, |word| words.push(word));
                words
            };
            (0..gather.count()).map(words).collect()
        };
        let mut put = |to: &Place, number, word| result[to.offset + offset(&to.axes, number)] = word;
        for task in &step.tasks {
            match task {
                Task::Fill(word) => values[step.result].iter().enumerate().for_each(|(at, _)| {
                    put(&Place::all(usize::MAX), at, *word);
                }),
                Task::Move { from, to, shift } => {
                    let words = vectors(from).concat();
                    for (number, word) in words.into_iter().enumerate() {
                        put(to, number, integer(word.into(), -shift));
                    }
                }
                Task::Vectors { work, operands, to } => {
                    let all: Vec<_> = operands.iter().map(vectors).collect();
                    for (number, first) in all[0].iter().enumerate() {
                        let second = all.get(1).map_or(&[][..], |second| &second[number]);
                        put(to, number, computed(*work, first, second));
                    }
                }
                Task::Dots { work, stationary, stream, to } => {
                    let (kept, streaming) = (vectors(stationary), vectors(stream));
                    let pairs = kept.iter().flat_map(|a| streaming.iter().map(move |b| (a, b)));
                    for (number, (a, b)) in pairs.enumerate() {
                        put(to, number, computed(*work, a, b));
                    }
                }
                Task::Nest { nest: Nest { work, levels, period, .. }, operands, to } => {
                    let [a, b] = [0, 1].map(|at| looped(&vectors(&operands[at]).concat(), &levels[at]));
                    for (number, (a, b)) in a.chunks(*period).zip(b.chunks(*period)).enumerate() {
                        put(to, number, computed(*work, a, b));
                    }
                }
            }
        }
        values[step.result] = result;
    }
    values
}

/// Returns the plan of a graph on a fabric with extensions, quantized by samples, and the largest
/// error relative to the largest result.
fn planned(graph: &Graph) -> (Plan, f64) {
    planned_for(graph, |index, shape, seed| numbers(shape, 3.0, 10 * seed + index as u64))
}

/// Like `planned`, for samples made from the index of an input, its shape and a seed.
fn planned_for(graph: &Graph, sample: impl Fn(usize, &[usize], u64) -> Tensor) -> (Plan, f64) {
    let (fabric, prepared) = (fabric("3x1", 0, true), prepare(graph).unwrap());
    let sample = |seed: u64| -> Vec<Tensor> {
        let inputs = prepared.inputs.iter().enumerate();
        inputs.map(|(index, &id)| sample(index, prepared.shape(id), seed)).collect()
    };
    let mut seen = Distributions::new(&prepared);
    (0..8).for_each(|seed| seen.observe(&prepared, &sample(seed)).unwrap());
    let quantization = quantize(&prepared, &seen, &scheme(&fabric), Method::MinMax, &Default::default());
    let plan = lower(&fabric, &prepared, Some(&quantization)).unwrap();
    let words = |(&number, values): (&usize, Tensor)| -> Vec<i16> {
        let fraction = plan.values[number].fraction;
        values.as_f32().unwrap().iter().map(|&x| integer(x.into(), fraction)).collect()
    };
    let given: Vec<_> = plan.inputs.iter().zip(sample(3)).map(words).collect();
    let values = literal(&plan, &given);
    let mut results: Vec<usize> = plan.steps.iter().map(|step| step.result).collect();
    results.sort_unstable();
    assert!(results.is_sorted_by(|a, b| a < b), "a value is made by one step: {results:?}");
    let (mut error, mut largest) = (0_f64, 1e-9_f64);
    for (&number, expected) in plan.outputs.iter().zip(evaluate(graph, &sample(3)).unwrap()) {
        let scale = 2f64.powi(-plan.values[number].fraction);
        assert_eq!(expected.as_f32().unwrap().len(), values[number].len());
        for (&word, &expected) in values[number].iter().zip(expected.as_f32().unwrap()) {
            largest = largest.max(f64::from(expected).abs());
            error = error.max((f64::from(word) * scale - f64::from(expected)).abs());
        }
    }
    (plan, error / largest)
}

#[test]
fn plans_compute_what_graphs_do() {
    let dft = |axis, length| Dft { axis, length, inverse: false, onesided: false };
    let softmax = |axis| Softmax { axis, axis_end: axis + 1 };
    let batch = BatchNormalization { epsilon: 2.0 };
    let mean = |kernel, pads, count_include_pad| {
        let window = Window { pads, ..Window::plain(kernel, [2, 1]) };
        AveragePool { window, count_include_pad }
    };
    let (exact, near) = (0.0005, 0.005);
    let cases: Vec<(Op, Vec<&[usize]>, usize, f64)> = vec![
        (MatMul.into(), vec![&[2, 3], &[3, 5]], 2, exact),
        (MatMul.into(), vec![&[9, 20], &[20, 4]], 2, exact),
        (MatMul.into(), vec![&[4, 20], &[20, 9]], 1, exact),
        (MatMul.into(), vec![&[3, 70], &[70, 2]], 2, exact),
        (MatMul.into(), vec![&[2, 3, 5, 16], &[3, 16, 4]], 2, exact),
        (MatMul.into(), vec![&[2, 1, 2, 3], &[3, 3, 2]], 2, exact),
        (MatMul.into(), vec![&[2, 3, 16], &[16, 9]], 1, exact),
        (Gemm::PLAIN.into(), vec![&[5, 16], &[16, 9], &[9]], 1, exact),
        (Gemm::PLAIN.into(), vec![&[9, 16], &[16, 5], &[1]], 1, exact),
        (Gemm::PLAIN.into(), vec![&[5, 80], &[80, 3], &[3]], 1, exact),
        (batch.into(), vec![&[1, 5, 5, 6], &[6], &[6], &[6], &[6]], 1, exact),
        (softmax(1).into(), vec![&[3, 10]], 1, near),
        (softmax(1).into(), vec![&[2, 5, 3]], 1, near),
        (softmax(1).into(), vec![&[2, 40]], 1, near),
        (softmax(1).into(), vec![&[2, 600]], 1, 0.1),
        (dft(0, 8).into(), vec![&[8, 1]], 1, exact),
        (dft(0, 8).into(), vec![&[8, 2]], 1, exact),
        (dft(0, 64).into(), vec![&[64, 2]], 1, exact),
        (Dft { onesided: true, ..dft(0, 32) }.into(), vec![&[32, 1]], 1, exact),
        (Dft { onesided: true, ..dft(1, 8) }.into(), vec![&[3, 8, 2, 1]], 1, exact),
        (Dft { inverse: true, ..dft(0, 32) }.into(), vec![&[32, 2]], 1, exact),
        (dft(1, 16).into(), vec![&[2, 16, 3, 2]], 1, exact),
        (dft(1, 16).into(), vec![&[2, 13, 3, 1]], 1, exact),
        (dft(1, 8).into(), vec![&[2, 13, 3, 2]], 1, exact),
        (dft(1, 2).into(), vec![&[2, 2, 3, 2]], 1, exact),
        (dft(1, 15).into(), vec![&[2, 15, 3, 2]], 1, exact),
        (dft(1, 12).into(), vec![&[2, 15, 3, 1]], 1, exact),
        (Dft { onesided: true, ..dft(0, 20) }.into(), vec![&[20, 1]], 1, exact),
        (Dft { inverse: true, ..dft(0, 20) }.into(), vec![&[20, 2]], 1, exact),
        (mean([3, 2], [0; 4], false).into(), vec![&[2, 7, 6, 3]], 1, exact),
        (mean([1, 4], [0, 1, 0, 3], true).into(), vec![&[1, 3, 5, 2]], 1, exact),
    ];
    for (op, shapes, inputs, bar) in cases {
        let message = format!("{op:?} {shapes:?}");
        let (_, error) = planned(&graph(op, &shapes, inputs));
        assert!(error <= bar, "{message}: {error}");
    }
}

/// Files hold 64 words: both matrices fit at once, only the vectors of one, or none. Of vectors
/// that fit, the smaller number stays.
#[test]
fn products_stay_in_register_files_as_far_as_they_fit() {
    let of = |m: usize, k: usize, n: usize| {
        let (plan, _) = planned(&graph(MatMul.into(), &[&[m, k], &[k, n]], 2));
        match &plan.steps[0].tasks[..] {
            [Task::Nest { .. }] => "nest".to_owned(),
            [Task::Dots { stationary, stream, .. }] => {
                format!("{} by {}", stationary.count(), stream.count())
            }
            [Task::Vectors { .. }] => "vectors".to_owned(),
            other => panic!("{other:?}"),
        }
    };
    for (size, expected) in [
        ([8, 8, 8], "nest"),
        ([2, 2, 2], "nest"),
        ([9, 8, 8], "8 by 9"),
        ([8, 8, 9], "8 by 9"),
        ([1, 8, 8], "1 by 8"),
        ([8, 8, 1], "1 by 8"),
        ([2, 64, 3], "2 by 3"),
        ([3, 64, 3], "3 by 3"),
        ([2, 65, 3], "vectors"),
    ] {
        let [m, k, n] = size;
        assert_eq!(of(m, k, n), expected, "{size:?}");
    }
}

/// Powers of two starting at 4 take one stage per doubling, other lengths a product with a matrix.
#[test]
fn transforms_take_stages_where_they_can() {
    let stages = |points: usize| {
        let dft = Dft { axis: 0, length: points, inverse: false, onesided: false };
        let (plan, _) = planned(&graph(dft.into(), &[&[points, 2]], 1));
        let tasks = plan.steps.iter().filter(|step| step.op != "Scale").flat_map(|step| &step.tasks);
        let is_stage = |task: &Task| matches!(task, Task::Vectors { .. });
        tasks.map(is_stage).collect::<Vec<_>>()
    };
    assert_eq!(stages(2), [false]);
    assert_eq!(stages(3), [false]);
    assert_eq!(stages(4), [true; 2]);
    assert_eq!(stages(8), [true; 3]);
}

/// Saturating differences and exponentials of a softmax are intended; saturating sums are not.
#[test]
fn softmax_lets_saturate_what_may() {
    let (plan, _) = planned(&graph(Softmax { axis: 1, axis_end: 2 }.into(), &[&[3, 10]], 1));
    for step in &plan.steps {
        let modes = step.tasks.iter().filter_map(|task| match task {
            Task::Vectors { work, .. } => Some(work.mode),
            _ => None,
        });
        for mode in modes {
            match mode {
                DpuMode::Subt | DpuMode::Div => assert!(step.saturates, "{mode:?}"),
                DpuMode::MaxMinAcc | DpuMode::Expon | DpuMode::MacInter => {
                    assert!(!step.saturates, "{mode:?}")
                }
                _ => {}
            }
        }
    }
    let modes = plan.steps.iter().filter(|step| step.saturates).count();
    assert!(modes >= 2, "{modes}");
}

#[test]
fn what_cannot_be_lowered_is_told_with_a_way_out() {
    let plain = fabric("3x1", 0, false).of_revision(npukit_drra::Revision::Text);
    let mut extended = plain.clone();
    extended.options.extensions = true;
    let resize = |mode, coordinates| Resize { size: [8, 8], scales: [2.0, 2.0], mode, coordinates };
    let nearest = || ResizeMode::Nearest(NearestMode::Floor);
    let crop = Coordinates::TfCropAndResize(Crop { roi: [[0.0, 1.0]; 2], extrapolation: 0.0 });
    let most = Reduce { kind: ReduceKind::Max, axes: vec![0], keep_dims: true };
    let dft = |length| Dft { axis: 0, length, inverse: false, onesided: false };
    let half = |length| Dft { onesided: true, ..dft(length) };
    let window = Window { pads: [0, 0, 1, 0], ..Window::plain([2, 2], [1, 1]) };
    let mean = AveragePool { window, count_include_pad: false };
    let (image, product): (&[usize], Op) = (&[1, 4, 4, 1], MatMul.into());
    let matrices = |terms: usize| graph(product.clone(), &[&[1, terms], &[terms, 1]], 2);
    for (graph, reason, hint) in [
        (
            matrices(8_193),
            "a result of 8193 pairs of words needs 1028 rows of the input buffer, which has 1024",
            "split the sum into parts of at most about 8192, and add the parts",
        ),
        (matrices(16_000), "a result of 16000 pairs", "about 8192"),
        (matrices(16_001), "sums of 16001 products", "sums of at most 16000 products"),
        (
            graph(most.clone().into(), &[&[16_385, 2]], 1),
            "a result of 16385 words needs 1025 rows of the input buffer, which has 1024",
            "split the sum into parts of at most about 16384, and add the parts",
        ),
        (
            graph(half(4094).into(), &[&[1025, 1]], 1),
            "1025 points to 2048, which is not a power",
            "pad the signal",
        ),
        (
            graph(mean.clone().into(), &[image], 1),
            "means that exclude the padding",
            "use a Pad before it, or set count_include_pad to 1",
        ),
        (
            graph(dft(1025).into(), &[&[1025, 2]], 1),
            "1025 points to 1025, which is not a power",
            "pad the signal",
        ),
        (
            graph(resize(ResizeMode::Linear, Coordinates::Asymmetric).into(), &[image], 1),
            "interpolation",
            "nearest",
        ),
        (graph(resize(nearest(), crop).into(), &[image], 1), "interpolation", "nearest"),
    ] {
        let problems = check(&extended, &graph);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].node == "node" && problems[0].reason.contains(reason), "{problems:?}");
        assert!(problems[0].hint.contains(hint), "{problems:?}");
    }
    for graph in [
        matrices(8_192),
        graph(most.into(), &[&[16_384, 2]], 1),
        graph(dft(15).into(), &[&[15, 2]], 1),
        // The mean has 2^22 factors.
        graph(half(4094).into(), &[&[1024, 1]], 1),
        graph(AveragePool { count_include_pad: true, ..mean }.into(), &[image], 1),
        graph(resize(nearest(), Coordinates::Asymmetric).into(), &[image], 1),
    ] {
        assert_eq!(check(&extended, &graph), []);
    }
    assert_eq!(check(&plain, &graph(Unary { kind: UnaryKind::Exp }.into(), &[&[4]], 1)).len(), 1);
}

/// A filter over an image of one channel with at most 64 words, including padding, is a nest of at
/// most four loops.
#[test]
fn small_images_stay_in_register_files() {
    let plain = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
    let padded = Conv { pads: [1; 4], ..plain.clone() };
    let spread = Conv { strides: [2, 1], dilations: [1, 3], ..plain.clone() };
    let cases: [(&Conv, &[&[usize]], bool); 13] = [
        (&plain, &[&[1, 8, 8, 1], &[3, 3, 1, 1]], true),
        (&plain, &[&[1, 8, 8, 1], &[8, 8, 1, 1]], true),
        (&plain, &[&[1, 8, 8, 1], &[1, 1, 1, 1]], true),
        (&plain, &[&[1, 1, 64, 1], &[1, 5, 1, 1]], true),
        (&padded, &[&[1, 6, 6, 1], &[3, 2, 1, 1]], true),
        (&spread, &[&[1, 7, 9, 1], &[2, 3, 1, 1]], true),
        (&plain, &[&[1, 5, 13, 1], &[3, 3, 1, 1]], false),
        (&padded, &[&[1, 6, 7, 1], &[3, 3, 1, 1]], false),
        (&plain, &[&[2, 4, 4, 1], &[2, 2, 1, 1]], false),
        (&plain, &[&[1, 4, 4, 2], &[2, 2, 2, 1]], false),
        (&plain, &[&[1, 4, 4, 1], &[2, 2, 1, 2]], false),
        (&plain, &[&[1, 4, 4, 1], &[2, 2, 1, 1], &[1]], false),
        (&padded, &[&[2, 3, 4, 3], &[2, 3, 3, 2], &[2]], false),
    ];
    for (conv, shapes, expected) in cases {
        let (plan, error) = planned(&graph(conv.clone().into(), shapes, 1));
        let nests: Vec<&Nest> = plan
            .steps
            .iter()
            .flat_map(|step| &step.tasks)
            .filter_map(|task| if let Task::Nest { nest, .. } = task { Some(nest) } else { None })
            .collect();
        assert_eq!(nests.len(), usize::from(expected), "{conv:?} {shapes:?}");
        assert!(nests.iter().all(|nest| nest.levels.iter().all(|levels| levels.len() <= 4)), "{nests:?}");
        assert!(error <= 0.0005, "{conv:?} {shapes:?}: {error}");
    }
}

/// Points at the corners of a square whose sums grow as fast as possible in a stage before the
/// last: by a factor of `1 + sqrt(2)` instead of 2.
#[test]
fn no_stage_of_a_transform_saturates() {
    for (points, inverse, bin, turn) in [8, 16, 32, 64].into_iter().flat_map(|points| {
        [false, true].into_iter().flat_map(move |inverse| {
            (0..points).flat_map(move |bin| (0..4).map(move |turn| (points, inverse, bin, turn)))
        })
    }) {
        let dft = Dft { axis: 0, length: points, inverse, onesided: false };
        let signal = |_, shape: &[usize], _| {
            let corner = |n: usize| {
                let angle =
                    std::f64::consts::TAU * (n * bin) as f64 / points as f64 + f64::from(turn) * 0.4 + 0.05;
                [angle.cos(), angle.sin()].map(|part| 1.99 * part.signum() as f32)
            };
            Tensor::from_f32(shape.to_vec(), (0..points).flat_map(corner).collect()).unwrap()
        };
        let (_, error) = planned_for(&graph(dft.into(), &[&[points, 2]], 1), signal);
        assert!(error <= 0.001, "{points} {inverse} {bin} {turn}: {error}");
    }
}

/// Rows of large numbers with only one that matters, and long rows with one.
#[test]
fn softmax_takes_numbers_of_any_size() {
    let softmax = |shape: &[usize]| graph(Softmax { axis: 1, axis_end: 2 }.into(), &[shape], 1);
    for size in [7.0, 15.0, 31.0, 60.0, 500.0] {
        let (_, error) = planned_for(&softmax(&[4, 10]), |_, shape, seed| numbers(shape, size, seed));
        assert!(error <= 0.001, "{size}: {error}");
    }
    // Exponentials keep 9 bits, so each has an error of up to 1/500.
    let (_, error) = planned(&softmax(&[2, 600]));
    assert!(error <= 0.005, "{error}");
    let peak = |_, shape: &[usize], seed| {
        let mut values = numbers(shape, 1.0, seed).as_f32().unwrap().to_vec();
        values[17] = 20.0;
        Tensor::from_f32(shape.to_vec(), values).unwrap()
    };
    let (plan, error) = planned_for(&softmax(&[1, 600]), peak);
    assert!(error <= 0.001, "{error}");
    // A sum of 600 exponentials of at most 1 needs 10 integer bits.
    let is_sum = |task: &Task| matches!(task, Task::Vectors { work, .. } if work.mode == DpuMode::MacInter);
    let sum = plan.steps.iter().find(|step| step.tasks.iter().any(is_sum)).unwrap();
    assert_eq!(plan.values[sum.result].fraction, 5);
}
