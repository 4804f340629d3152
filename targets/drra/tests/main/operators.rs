//! Every operator with real numbers, quantized by samples: compared with the evaluator, on fabrics
//! without fraction bits, with 11 fraction bits, and with the modes of the extension.

use npukit_drra::DRRA;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::fabric::Fabric;
use npukit_drra::internals::lower::{lower, prepare, scheme};
use npukit_drra::internals::word::integer;
use npukit_graph::op::*;
use npukit_graph::quantize::{Distributions, Kind, Method, Quantization, quantize};
use npukit_graph::{Graph, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::InstanceSpec;

use crate::artifact::reloaded;
use crate::run::checked;

pub fn fabric(name: &str, fraction_bits: u32, extensions: bool) -> Fabric {
    let mut fabric = preset(name).unwrap();
    fabric.options.strict = true;
    fabric.options.extensions = extensions;
    let parts = fabric.cells.iter_mut().flat_map(|cell| &mut cell.resources);
    parts.for_each(|part| part.fraction_bits = fraction_bits);
    fabric
}

/// Returns pseudorandom numbers between -`size` and `size`.
pub fn numbers(shape: &[usize], size: f32, seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0) * size
    };
    Tensor::from_f32(shape.to_vec(), (0..shape.iter().product()).map(|_| number()).collect()).unwrap()
}

/// Graph of one node. Its first `inputs` operands are inputs; all others are constants.
pub fn graph(op: Op, shapes: &[&[usize]], inputs: usize) -> Graph {
    let mut graph = Graph::default();
    let operand = |(index, shape): (usize, &&[usize])| match index < inputs {
        true => graph
            .add_input(format!("x{index}"), ValueInfo { shape: shape.to_vec(), element: ElementType::F32 }),
        false => graph.add_constant(format!("w{index}"), numbers(shape, 0.8, index as u64)),
    };
    let operands: Vec<_> = shapes.iter().enumerate().map(operand).collect();
    let outputs = if let Op::Split(split) = &op { split.sizes.len() } else { 1 };
    graph.outputs = graph.add_node("node", op, operands, &["a", "b", "c"][..outputs]).unwrap();
    graph
}

/// Returns the largest error of all results, relative to the largest result, and the cycles.
fn error(fabric: &Fabric, graph: &Graph, size: f32) -> Result<(f64, u64), String> {
    let prepared = prepare(graph).unwrap();
    let sample = |seed: u64| -> Vec<Tensor> {
        let inputs = prepared.inputs.iter().enumerate();
        inputs.map(|(index, &id)| numbers(prepared.shape(id), size, 10 * seed + index as u64)).collect()
    };
    let mut seen = Distributions::new(&prepared);
    (0..8).for_each(|seed| seen.observe(&prepared, &sample(seed)).unwrap());
    let quantization = quantize(&prepared, &seen, &scheme(fabric), Method::MinMax, &Default::default());
    let plan = lower(fabric, &prepared, Some(&quantization)).map_err(|problems| format!("{problems:?}"))?;
    let executable = reloaded(&Executable::new(fabric, plan).unwrap());
    let fraction = |number: usize| executable.plan.values[number].fraction;
    let given: Vec<Vec<i16>> = executable
        .plan
        .inputs
        .iter()
        .zip(sample(3))
        .map(|(&number, values)| {
            values.as_f32().unwrap().iter().map(|&x| integer(x.into(), fraction(number))).collect()
        })
        .collect();
    let ran = checked(&executable, &given);
    assert_eq!(ran.cycles, executable.cycles(), "kernels take the cycles of their schedules");
    let (mut error, mut largest) = (0_f64, 1e-9_f64);
    for (&number, expected) in executable.plan.outputs.iter().zip(evaluate(graph, &sample(3)).unwrap()) {
        let scale = 2f64.powi(-fraction(number));
        let expected = expected.as_f32().unwrap();
        assert_eq!(expected.len(), ran.values[number].len());
        for (&word, &expected) in ran.values[number].iter().zip(expected) {
            largest = largest.max(f64::from(expected).abs());
            error = error.max((f64::from(word) * scale - f64::from(expected)).abs());
        }
    }
    Ok((error / largest, ran.cycles.iter().sum()))
}

/// Operator with its measured error, relative to the largest result: without fraction bits, with
/// 11, and with the extension. `None` if it is refused.
struct Case {
    name: &'static str,
    graph: Graph,
    size: f32,
    errors: [Option<f64>; 3],
}

fn case(
    name: &'static str,
    op: impl Into<Op>,
    shapes: &[&[usize]],
    inputs: usize,
    errors: [Option<f64>; 3],
) -> Case {
    Case { name, graph: graph(op.into(), shapes, inputs), size: 3.0, errors }
}

fn check(cases: &[Case]) {
    let fabrics = [fabric("3x1", 0, false), fabric("3x2", 11, false), fabric("3x4", 0, true)];
    let mut wrong = Vec::new();
    for case in cases {
        for (fabric, bar) in fabrics.iter().zip(case.errors) {
            let found = error(fabric, &case.graph, case.size);
            eprintln!("{}: {found:?}", case.name);
            let is_right = match (&found, bar) {
                (Ok((error, _)), Some(measured)) => *error <= SLACK * measured,
                (Err(_), None) => true,
                _ => false,
            };
            if !is_right {
                wrong.push(format!("{}: {found:?}, not {bar:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Equal error on all fabrics.
const fn within(error: f64) -> [Option<f64>; 3] {
    [Some(error); 3]
}

/// Error of an operator that needs modes of the extension.
const fn extended(error: f64) -> [Option<f64>; 3] {
    [None, None, Some(error)]
}

/// Measured error on each fabric. Without fraction bits, operands of products have 8 bits or less.
const fn measured([plain, fraction, extended]: [f64; 3]) -> [Option<f64>; 3] {
    [Some(plain), Some(fraction), Some(extended)]
}

/// Largest error of an operator that only rounds its operands.
const EXACT: f64 = 0.000121;

/// Allowed error, relative to the measured one.
const SLACK: f64 = 1.1;

/// Pairs of words are in the input buffer, of 1,024 rows of 16 words, for as many columns as fit.
#[test]
fn long_sums_take_fewer_columns_or_are_refused() {
    let product = |terms: usize| graph(MatMul.into(), &[&[3, terms], &[terms, 2]], 2);
    let fabrics = [fabric("3x1", 11, false), fabric("3x4", 11, false)];
    // A quarter of the buffer is too small for each length. The last length is the longest that
    // fits one column.
    for (fabric, terms) in
        [(&fabrics[1], 2_500), (&fabrics[1], 5_000), (&fabrics[0], 8_192), (&fabrics[1], 8_192)]
    {
        let (error, _) = error(fabric, &product(terms), 0.01).unwrap();
        assert!(error <= 0.05, "{terms} terms: {error}");
    }
    for terms in [8_193, 15_999] {
        let problems = error(&fabrics[0], &product(terms), 0.01).unwrap_err();
        let rows = 2 * terms.div_ceil(16).next_multiple_of(2);
        for number in [format!("a result of {terms} pairs"), "which has 1024".to_owned()] {
            assert!(problems.contains(&number), "{problems}");
        }
        assert!(rows > 1024);
    }
}

#[test]
fn products() {
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
    let matrix: &[usize] = &[16, 9];
    check(&[
        case("MatMul", MatMul, &[&[5, 16], matrix], 1, measured([0.0138, 0.00118, 0.0000432])),
        case("MatMul of inputs", MatMul, &[&[5, 16], matrix], 2, measured([0.0167, 0.000578, 0.0000567])),
        case(
            "MatMul of stacks",
            MatMul,
            &[&[2, 3, 5, 16], &[3, 16, 4]],
            2,
            measured([0.0152, 0.000451, 0.0000456]),
        ),
        case("MatMul of a stack", MatMul, &[&[2, 3, 16], matrix], 1, measured([0.0118, 0.00101, 0.0000368])),
        case("Gemm", Gemm::PLAIN, &[&[5, 16], matrix, &[9]], 1, measured([0.0129, 0.00106, 0.000042])),
        case("Conv", conv, &[&[1, 6, 6, 3], &[3, 3, 3, 4], &[4]], 1, measured([0.015, 0.0013, 0.0000327])),
        // If values are small, most of the result is the bias.
        Case {
            size: 0.3,
            ..case(
                "Gemm, bias",
                Gemm::PLAIN,
                &[&[5, 16], matrix, &[9]],
                1,
                measured([0.00905, 0.000817, 0.0000639]),
            )
        },
        Case {
            size: 0.03,
            ..case(
                "Gemm, large bias",
                Gemm::PLAIN,
                &[&[5, 16], matrix, &[9]],
                1,
                measured([0.00347, 0.000263, 0.000141]),
            )
        },
        case(
            "Mul",
            Binary { kind: BinaryKind::Mul },
            &[&[4, 7], &[7]],
            2,
            measured([0.00743, 0.000166, 0.0000468]),
        ),
        case("Neg", Unary { kind: UnaryKind::Neg }, &[&[40]], 1, within(EXACT)),
        case(
            "BatchNormalization",
            BatchNormalization { epsilon: 2.0 },
            &[&[1, 5, 5, 6], &[6], &[6], &[6], &[6]],
            1,
            measured([0.00423, 0.00026, 0.0000514]),
        ),
    ]);
}

#[test]
fn sums_and_limits() {
    let binary = |kind| Binary { kind };
    check(&[
        case("Add", binary(BinaryKind::Add), &[&[4, 7], &[4, 1]], 2, within(EXACT)),
        case("Sub", binary(BinaryKind::Sub), &[&[4, 7], &[7]], 2, within(EXACT)),
        case("Sub of a constant", binary(BinaryKind::Sub), &[&[4, 7], &[7]], 1, within(EXACT)),
        case("Max", binary(BinaryKind::Max), &[&[4, 7], &[7]], 2, within(EXACT)),
        case("Min", binary(BinaryKind::Min), &[&[4, 7], &[7]], 1, within(EXACT)),
        case("Min of a scalar", binary(BinaryKind::Min), &[&[4, 7], &[]], 1, within(EXACT)),
        case("Abs", Unary { kind: UnaryKind::Abs }, &[&[40]], 1, within(EXACT)),
        case("Relu", Relu, &[&[40]], 1, within(EXACT)),
        case("LeakyRelu", LeakyRelu { alpha: 0.1 }, &[&[40]], 1, extended(EXACT)),
        case("Clip", Clip { min: -0.5, max: 1.25 }, &[&[40]], 1, within(EXACT)),
        case("Clip above 0", Clip { min: 0.5, max: 1.25 }, &[&[40]], 1, extended(EXACT)),
        case("Clip from above", Clip { min: f32::NEG_INFINITY, max: 1.25 }, &[&[40]], 1, within(EXACT)),
    ]);
}

#[test]
fn functions() {
    let unary = |kind| Unary { kind };
    let rows: &[usize] = &[3, 200];
    check(&[
        case("Sigmoid", unary(UnaryKind::Sigmoid), &[&[40]], 1, extended(0.000284)),
        case("Tanh", unary(UnaryKind::Tanh), &[&[40]], 1, extended(0.000354)),
        Case { size: 2.0, ..case("Exp", unary(UnaryKind::Exp), &[&[40]], 1, extended(0.000172)) },
        case("Softmax", Softmax { axis: 1, axis_end: 2 }, &[&[3, 10]], 1, extended(0.00045)),
        case("Softmax of long rows", Softmax { axis: 1, axis_end: 2 }, &[rows], 1, extended(0.000835)),
        case(
            "Softmax of an inner axis",
            Softmax { axis: 1, axis_end: 2 },
            &[&[2, 5, 3]],
            1,
            extended(0.000523),
        ),
    ]);
}

/// Results of graph passes on arithmetic that the dpu has modes for.
#[test]
fn operators_that_others_make() {
    let unary = |kind| Unary { kind };
    let hard_sigmoid = UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 };
    check(&[
        case("Swish", unary(UnaryKind::Swish { alpha: 1.0 }), &[&[40]], 1, extended(0.000225)),
        case("Swish of 1.7 x", unary(UnaryKind::Swish { alpha: 1.7 }), &[&[40]], 1, extended(0.000219)),
        case("HardSigmoid", unary(hard_sigmoid), &[&[40]], 1, measured([0.00674, 0.000193, 0.000036])),
        case("HardSwish", unary(UnaryKind::HardSwish), &[&[40]], 1, measured([0.00768, 0.000238, 0.0000423])),
        case(
            "Div by a constant",
            Binary { kind: BinaryKind::Div },
            &[&[4, 7], &[]],
            1,
            measured([0.00558, 0.0000809, 0.0000469]),
        ),
        case("Reciprocal", unary(UnaryKind::Reciprocal), &[&[40]], 1, extended(0.00102)),
        case("Div of inputs", Binary { kind: BinaryKind::Div }, &[&[4, 7], &[7]], 2, extended(0.000091)),
        case("Gelu", unary(UnaryKind::Gelu { form: GeluForm::Exact }), &[&[40]], 1, extended(0.000355)),
        case(
            "LayerNormalization",
            LayerNormalization { axis: 1, epsilon: 1e-5 },
            &[&[5, 24], &[24], &[24]],
            1,
            extended(0.000149),
        ),
        case(
            "RMSNormalization",
            RmsNormalization { axis: 2, epsilon: 1e-5 },
            &[&[2, 3, 24], &[24]],
            1,
            extended(0.000159),
        ),
    ]);
}

/// A constant output, next to a computed one and alone.
#[test]
fn constants_are_outputs() {
    let mut beside = graph(Unary { kind: UnaryKind::Neg }.into(), &[&[40]], 1);
    let constant = beside.add_constant("c", numbers(&[2, 3], 0.8, 1));
    beside.outputs.push(constant);
    let mut alone = Graph::default();
    let constant = alone.add_constant("c", numbers(&[2, 3], 0.8, 1));
    alone.outputs = vec![constant, constant];
    let case = |name, graph| Case { name, graph, size: 3.0, errors: within(EXACT) };
    check(&[case("beside", beside), case("alone", alone)]);
}

#[test]
fn inputs_that_are_no_floats_are_refused() {
    let mut graph = graph(Reshape { shape: vec![5, 8] }.into(), &[&[40]], 1);
    graph.values.iter_mut().for_each(|value| value.info.element = ElementType::I64);
    let problems = lower(&fabric("3x1", 0, false), &graph, None).unwrap_err();
    assert!(problems[0].op == "input" && problems[0].reason.contains("I64"), "{problems:?}");
}

#[test]
fn pooling_and_reductions() {
    let window = Window::plain([2, 2], [2, 2]);
    let padded = Window { pads: [1, 2, 0, 1], ..Window::plain([2, 3], [2, 1]) };
    let dilated = Window { dilations: [1, 3], pads: [0, 2, 0, 2], ..Window::plain([2, 2], [2, 1]) };
    let mean = AveragePool { window: window.clone(), count_include_pad: false };
    let reduce = |kind, axes: &[usize], keep_dims| Reduce { kind, axes: axes.to_vec(), keep_dims };
    let image: &[usize] = &[1, 6, 8, 5];
    check(&[
        case("MaxPool", MaxPool { window }, &[image], 1, within(EXACT)),
        case("MaxPool with pads", MaxPool { window: padded }, &[image], 1, within(EXACT)),
        case("MaxPool with dilations", MaxPool { window: dilated }, &[image], 1, extended(EXACT)),
        case("AveragePool", mean, &[image], 1, measured([0.00933, 0.000159, 0.0000413])),
        case(
            "ReduceMean",
            reduce(ReduceKind::Mean, &[1, 2], false),
            &[image],
            1,
            measured([0.0191, 0.00244, 0.0000448]),
        ),
        case(
            "ReduceSum",
            reduce(ReduceKind::Sum, &[3], true),
            &[image],
            1,
            measured([0.0119, 0.000228, 0.000046]),
        ),
        case("ReduceMax", reduce(ReduceKind::Max, &[0, 2], true), &[image], 1, within(EXACT)),
        case("ReduceMin", reduce(ReduceKind::Min, &[3], true), &[image], 1, within(EXACT)),
        case(
            "ReduceSumSquare",
            reduce(ReduceKind::SumSquare, &[3], true),
            &[image],
            1,
            measured([0.00417, 0.000213, 0.0000288]),
        ),
    ]);
}

#[test]
fn transforms() {
    let dft = |axis, length| Dft { axis, length, inverse: false, onesided: false };
    // Every stage rounds. Without fraction bits, results have at most 8 bits.
    check(&[
        case("DFT of 8 real points", dft(0, 8), &[&[8, 1]], 1, measured([0.0472, 0.00041, 0.0000918])),
        case("DFT of 8", dft(0, 8), &[&[8, 2]], 1, measured([0.0191, 0.000304, 0.000114])),
        case("DFT of 64", dft(0, 64), &[&[64, 2]], 1, measured([0.139, 0.00119, 0.000363])),
        case(
            "DFT of 64 real points",
            Dft { onesided: true, ..dft(0, 64) },
            &[&[64, 1]],
            1,
            measured([0.11, 0.00111, 0.000424]),
        ),
        case("DFT of 256", dft(0, 256), &[&[256, 2]], 1, measured([0.103, 0.00134, 0.000443])),
        case(
            "inverse DFT of 64",
            Dft { inverse: true, ..dft(0, 64) },
            &[&[64, 2]],
            1,
            measured([0.139, 0.00119, 0.000363]),
        ),
        case("DFT of an inner axis", dft(1, 16), &[&[2, 16, 3, 2]], 1, measured([0.049, 0.000566, 0.000222])),
        case("DFT of padded points", dft(1, 16), &[&[2, 13, 3, 1]], 1, measured([0.0568, 0.00108, 0.000266])),
        case(
            "DFT of the first points",
            Dft { onesided: true, ..dft(1, 8) },
            &[&[2, 13, 1]],
            1,
            measured([0.0381, 0.000516, 0.000219]),
        ),
        case("DFT of 2", dft(1, 2), &[&[2, 2, 3, 2]], 1, measured([0.00661, 0.000151, 0.0000583])),
        case("DFT of 15", dft(1, 15), &[&[2, 15, 3, 2]], 1, measured([0.0192, 0.00176, 0.000046])),
        case(
            "DFT of 100 real points",
            Dft { onesided: true, ..dft(0, 100) },
            &[&[100, 1]],
            1,
            measured([0.0218, 0.00313, 0.0000483]),
        ),
        case(
            "inverse DFT of 20",
            Dft { inverse: true, ..dft(0, 20) },
            &[&[20, 2]],
            1,
            measured([0.0189, 0.00169, 0.0000569]),
        ),
    ]);
}

#[test]
fn what_the_driver_moves() {
    let image: &[usize] = &[1, 4, 6, 5];
    let range = SliceRange { axis: 2, start: 4, length: 2, step: -3 };
    let pad = |mode| Pad { pads: vec![[0, 0], [1, 2], [0, 1], [2, 0]], mode };
    let resize = Resize {
        size: [8, 9],
        scales: [2.0, 1.5],
        mode: ResizeMode::Nearest(NearestMode::Floor),
        coordinates: Coordinates::Asymmetric,
    };
    check(&[
        case("Reshape", Reshape { shape: vec![2, 60] }, &[image], 1, within(EXACT)),
        case("Transpose", Transpose { perm: vec![3, 0, 2, 1] }, &[image], 1, within(EXACT)),
        case("Slice", Slice { ranges: vec![range] }, &[image], 1, within(EXACT)),
        case("Split", Split { axis: 3, sizes: vec![1, 3, 1] }, &[image], 1, within(EXACT)),
        case("Concat", Concat { axis: 2 }, &[image, &[1, 4, 1, 5], image], 2, within(EXACT)),
        case("Pad", pad(PadMode::Constant(0.5)), &[image], 1, within(EXACT)),
        case("Pad by reflection", pad(PadMode::Reflect), &[image], 1, within(EXACT)),
        case("Resize", resize, &[image], 1, within(EXACT)),
    ]);
}

#[test]
fn names_of_fabrics_say_what_their_dpus_do() {
    let config = |name: &str| {
        DRRA.instance(InstanceSpec::Preset(name))
            .map(|instance| (instance.info().name.clone(), instance.info().config.clone()))
    };
    let (name, messages) = config("3x1+f11+ext").unwrap();
    assert_eq!(
        (&name[..], &messages["fraction_bits"], &messages["extensions"]),
        ("drra:3x1+f11+ext", &11.into(), &true.into())
    );
    assert_eq!(config("3x1").unwrap().1["fraction_bits"], 0);
    for name in ["3x1+f16", "3x1+f", "9x9+f11"] {
        assert!(config(name).is_err(), "{name}");
    }
    let wider = |name| DRRA.instance(InstanceSpec::Preset(name)).unwrap().wider_formats();
    let names: Vec<String> = wider("3x1+f11").iter().map(|instance| instance.info().name.clone()).collect();
    assert_eq!(names, ["drra:3x1+f11+ext"]);
    assert!(wider("3x1+ext").is_empty());
}

/// If large numbers are combined with small numbers, results would need more fraction bits than
/// products give. The results get the products' fraction bits.
#[test]
fn results_may_have_more_fraction_bits_than_products() {
    let mut graph = Graph::default();
    let mut factors = |name: &str, values: [f32; 2]| {
        graph.add_constant(name, Tensor::from_f32(vec![2], values.to_vec()).unwrap())
    };
    let (first, second) = (factors("first", [0.01, 1.0]), factors("second", [1.0, 0.01]));
    let x = graph.add_input("x", ValueInfo { shape: vec![20, 2], element: ElementType::F32 });
    let product = Op::from(Binary { kind: BinaryKind::Mul });
    let between = graph.add_node("one", product.clone(), vec![x, first], &["s"]).unwrap();
    graph.outputs = graph.add_node("other", product, vec![between[0], second], &["y"]).unwrap();
    let (error, _) = error(&fabric("3x1", 11, false), &graph, 3.0).unwrap();
    assert!(error < 0.01, "{error}");
}

/// The last stage of a transform may give its results fewer fraction bits than needed; they are
/// scaled. All intermediate numbers are exact.
#[test]
fn transforms_may_end_with_fewer_fraction_bits_than_their_results_have() {
    let fabric = fabric("3x1", 11, false);
    let dft = Dft { axis: 0, length: 4, inverse: true, onesided: false };
    let graph = prepare(&graph(dft.into(), &[&[4, 2]], 1)).unwrap();
    let mut quantization = Quantization::new(scheme(&fabric));
    quantization.set(graph.inputs[0], Kind::Activation, 0);
    quantization.set(graph.outputs[0], Kind::Activation, 10);
    let plan = lower(&fabric, &graph, Some(&quantization)).unwrap();
    assert_eq!(plan.steps.iter().map(|step| &step.op[..]).collect::<Vec<_>>(), ["DFT", "DFT", "Scale"]);
    let executable = Executable::new(&fabric, plan).unwrap();
    let x = [3, -7, 11, 5, -20, 9, 2, 1];
    let ran = checked(&executable, &[x.to_vec()]);
    let expected = evaluate(&graph, &[Tensor::from_f32(vec![4, 2], x.map(f32::from).to_vec()).unwrap()]);
    let expected: Vec<i16> =
        expected.unwrap()[0].as_f32().unwrap().iter().map(|x| (x * 1024.0).round() as i16).collect();
    assert_eq!(ran.values[executable.plan.outputs[0]], expected);
}
