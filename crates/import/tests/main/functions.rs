//! Functions of one element, of two, and of all elements of an axis, under every name of each
//! format, compared with their definitions in double precision.

use npukit_graph::evaluate;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};
use npukit_import::tensorflow::proto as tf;
use npukit_numeric::{Tensor, TensorData};

use crate::graph_def::{self, With as _};
use crate::model::{Model, With as _, floats, int_tensor, node, unary};

/// Maximum difference from the definition, relative to `1 + |value|`.
const TOLERANCE: f64 = 1e-6;

/// Elements for which most functions are defined, including halves, whose rounding is a choice.
const ALL: &[f32] = &[-4.0, -3.5, -2.5, -1.25, -0.5, 0.0, 0.25, 0.75, 1.5, 2.5, 4.0, 7.0];
const WITHIN_1: &[f32] = &[-0.9, -0.5, 0.0, 0.25, 0.8];
const ABOVE_0: &[f32] = &[0.125, 0.5, 1.0, 2.0, 7.5];
const ABOVE_1: &[f32] = &[1.0, 1.5, 3.0];
const NOT_0: &[f32] = &[-4.0, -0.5, 0.25, 3.0];

type Function = fn(f64) -> f64;

/// Functions of both formats.
const SHARED: &[(&str, &[f32], Function)] = &[
    ("Abs", ALL, f64::abs),
    ("Acos", WITHIN_1, f64::acos),
    ("Acosh", ABOVE_1, f64::acosh),
    ("Asin", WITHIN_1, f64::asin),
    ("Asinh", ALL, f64::asinh),
    ("Atan", ALL, f64::atan),
    ("Atanh", WITHIN_1, f64::atanh),
    ("Ceil", ALL, f64::ceil),
    ("Cos", ALL, f64::cos),
    ("Cosh", ALL, f64::cosh),
    ("Elu", ALL, |x| if x < 0.0 { x.exp() - 1.0 } else { x }),
    ("Erf", ALL, erf),
    ("Exp", ALL, f64::exp),
    ("Floor", ALL, f64::floor),
    ("Log", ABOVE_0, f64::ln),
    ("Neg", ALL, |x| -x),
    ("Reciprocal", NOT_0, |x| 1.0 / x),
    ("Relu", ALL, |x| x.max(0.0)),
    ("Round", ALL, f64::round_ties_even),
    ("Selu", ALL, |x| 1.050_700_987 * if x > 0.0 { x } else { 1.673_263_242 * (x.exp() - 1.0) }),
    ("Sigmoid", ALL, sigmoid),
    ("Sign", ALL, |x| if x == 0.0 { 0.0 } else { x.signum() }),
    ("Sin", ALL, f64::sin),
    ("Sinh", ALL, f64::sinh),
    ("Softplus", ALL, softplus),
    ("Softsign", ALL, |x| x / (1.0 + x.abs())),
    ("Sqrt", ABOVE_0, f64::sqrt),
    ("Tan", ALL, f64::tan),
    ("Tanh", ALL, f64::tanh),
];

const ONNX: &[(&str, &[f32], Function)] = &[
    ("Celu", ALL, |x| x.max(0.0) + (x.exp() - 1.0).min(0.0)),
    ("Gelu", ALL, |x| x * (1.0 + erf(x / 2f64.sqrt())) / 2.0),
    ("HardSigmoid", ALL, |x| (0.2 * x + 0.5).clamp(0.0, 1.0)),
    ("HardSwish", ALL, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    ("LeakyRelu", ALL, |x| if x < 0.0 { 0.01 * x } else { x }),
    ("Mish", ALL, |x| x * softplus(x).tanh()),
    ("Swish", ALL, |x| x * sigmoid(x)),
    ("ThresholdedRelu", ALL, |x| if x > 1.0 { x } else { 0.0 }),
];

const TENSORFLOW: &[(&str, &[f32], Function)] = &[
    ("Erfc", ALL, |x| 1.0 - erf(x)),
    ("Inv", NOT_0, |x| 1.0 / x),
    ("LeakyRelu", ALL, |x| if x < 0.0 { 0.2 * x } else { x }),
    ("Log1p", ABOVE_0, |x| (1.0 + x).ln()),
    ("Relu6", ALL, |x| x.clamp(0.0, 6.0)),
    ("Rint", ALL, f64::round_ties_even),
    ("Rsqrt", ABOVE_0, |x| 1.0 / x.sqrt()),
    ("Square", ALL, |x| x * x),
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    (1.0 + x.exp()).ln()
}

/// The sum of `2 / sqrt(pi) * (-1)^n x^(2n + 1) / (n! (2n + 1))`; 1 and -1 where that needs too
/// many terms.
fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, 0.0);
    for n in 0..200 {
        let n = f64::from(n);
        sum += term / (2.0 * n + 1.0);
        term *= -x * x / (n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn assert_follows(name: &str, operands: &[f32], found: &[f32], function: impl Fn(f64) -> f64) {
    assert_eq!(operands.len(), found.len(), "{name}");
    for (&operand, &found) in operands.iter().zip(found) {
        let expected = function(operand.into());
        let error = (f64::from(found) - expected).abs();
        assert!(
            error <= TOLERANCE * (1.0 + expected.abs()),
            "{name} of {operand} is {found}, not {expected}"
        );
    }
}

/// Result of a node for the given elements.
fn onnx(node: NodeProto, operands: &[f32]) -> Vec<f32> {
    let count = operands.len();
    unary(24, &[count as i64], node, vec![]).run(&[floats(&[count], operands)]).1
}

fn tensorflow(node: tf::NodeDef, operands: &[f32]) -> Vec<f32> {
    let graph = graph_def::Graph::default().input("x", &[operands.len() as i64]).node(node);
    graph.run(&[floats(&[operands.len()], operands)]).1
}

#[test]
fn every_name_of_a_function_means_that_function() {
    for &(name, operands, function) in SHARED.iter().chain(ONNX) {
        assert_follows(name, operands, &onnx(node(name, &["x"], &["y"]), operands), function);
    }
    for &(name, operands, function) in SHARED.iter().chain(TENSORFLOW) {
        assert_follows(name, operands, &tensorflow(graph_def::node(name, "y", &["x"]), operands), function);
    }
}

#[test]
fn attributes_are_the_parameters_of_functions() {
    let of = |name: &str| node(name, &["x"], &["y"]);
    let cases: [(NodeProto, Function); 9] = [
        (of("Celu").float("alpha", 2.0), |x| x.max(0.0) + (2.0 * ((x / 2.0).exp() - 1.0)).min(0.0)),
        (of("Elu").float("alpha", 2.0), |x| if x < 0.0 { 2.0 * (x.exp() - 1.0) } else { x }),
        (of("HardSigmoid").float("alpha", 0.5).float("beta", 0.25), |x| (0.5 * x + 0.25).clamp(0.0, 1.0)),
        (of("LeakyRelu").float("alpha", 0.5), |x| if x < 0.0 { 0.5 * x } else { x }),
        (of("Selu").float("alpha", 2.0).float("gamma", 3.0), |x| {
            3.0 * if x > 0.0 { x } else { 2.0 * (x.exp() - 1.0) }
        }),
        (of("Swish").float("alpha", 2.0), |x| x * sigmoid(2.0 * x)),
        (of("ThresholdedRelu").float("alpha", 2.0), |x| if x > 2.0 { x } else { 0.0 }),
        (of("Gelu").string("approximate", "none"), |x| x * (1.0 + erf(x / 2f64.sqrt())) / 2.0),
        (of("Gelu").string("approximate", "tanh"), |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }),
    ];
    for (node, function) in cases {
        let name = format!("{} {:?}", node.op_type, node.attribute);
        assert_follows(&name, ALL, &onnx(node, ALL), function);
    }
    let leaky = graph_def::node("LeakyRelu", "y", &["x"]).float("alpha", 0.5);
    assert_follows("LeakyRelu", ALL, &tensorflow(leaky, ALL), |x| if x < 0.0 { 0.5 * x } else { x });
}

/// Two rows: each element is combined with the other one of its column.
const PAIRS: ([f32; 6], [f32; 6]) = ([7.0, -7.0, 7.0, -7.0, 1.5, 4.0], [2.0, 2.0, -2.0, -2.0, 4.0, 4.0]);

type Combination = fn(f64, f64) -> f64;

fn floor_mod(a: f64, b: f64) -> f64 {
    a - b * (a / b).floor()
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

const SHARED_PAIRS: &[(&str, Combination)] = &[
    ("Add", |a, b| a + b),
    ("Sub", |a, b| a - b),
    ("Mul", |a, b| a * b),
    ("Div", |a, b| a / b),
    ("Equal", |a, b| truth(a == b)),
    ("Greater", |a, b| truth(a > b)),
    ("Less", |a, b| truth(a < b)),
];

const ONNX_PAIRS: &[(&str, Combination)] = &[
    ("GreaterOrEqual", |a, b| truth(a >= b)),
    ("LessOrEqual", |a, b| truth(a <= b)),
    ("Max", f64::max),
    ("Min", f64::min),
    ("Sum", |a, b| a + b),
    ("Mean", |a, b| (a + b) / 2.0),
    ("PRelu", |a, b| if a < 0.0 { a * b } else { a }),
];

const TENSORFLOW_PAIRS: &[(&str, Combination)] = &[
    ("AddV2", |a, b| a + b),
    ("AddN", |a, b| a + b),
    ("AccumulateNV2", |a, b| a + b),
    ("RealDiv", |a, b| a / b),
    ("DivNoNan", |a, b| a / b),
    ("MulNoNan", |a, b| a * b),
    ("FloorDiv", |a, b| (a / b).floor()),
    ("FloorMod", floor_mod),
    ("Mod", |a, b| a % b),
    ("TruncateMod", |a, b| a % b),
    ("Maximum", f64::max),
    ("Minimum", f64::min),
    ("SquaredDifference", |a, b| (a - b) * (a - b)),
    ("GreaterEqual", |a, b| truth(a >= b)),
    ("LessEqual", |a, b| truth(a <= b)),
    ("NotEqual", |a, b| truth(a != b)),
];

#[test]
fn every_name_of_a_combination_means_that_combination() {
    let (a, b) = (floats(&[6], &PAIRS.0), floats(&[6], &PAIRS.1));
    let expected = |of: Combination| -> Vec<f32> {
        PAIRS.0.iter().zip(PAIRS.1).map(|(&a, b)| of(a.into(), b.into()) as f32).collect()
    };
    for &(name, of) in SHARED_PAIRS.iter().chain(ONNX_PAIRS) {
        let model = Model::new(18).input("a", &[6]).input("b", &[6]).output("y");
        let found = model.node(node(name, &["a", "b"], &["y"])).run(&[a.clone(), b.clone()]).1;
        assert_eq!(found, expected(of), "{name}");
    }
    for &(name, of) in SHARED_PAIRS.iter().chain(TENSORFLOW_PAIRS) {
        let graph = graph_def::Graph::default().input("a", &[6]).input("b", &[6]);
        let found = graph.node(graph_def::node(name, "y", &["a", "b"])).run(&[a.clone(), b.clone()]).1;
        assert_eq!(found, expected(of), "{name}");
    }
    let powers = Model::new(15).input("a", &[3]).floats("b", &[3], &[2.0, 0.5, 3.0]).output("y");
    let bases = floats(&[3], &[3.0, 4.0, -2.0]);
    let powers = powers.node(node("Pow", &["a", "b"], &["y"]));
    assert_eq!(powers.run(std::slice::from_ref(&bases)).1, [9.0, 2.0, -8.0]);
    let powers = graph_def::Graph::default().input("a", &[3]).floats("b", &[3], &[2.0, 0.5, 3.0]);
    assert_eq!(powers.node(graph_def::node("Pow", "y", &["a", "b"])).run(&[bases]).1, [9.0, 2.0, -8.0]);
}

/// The sign of a remainder is the divisor's, or with `fmod` the dividend's.
#[test]
fn integers_are_divided_as_their_operator_says() {
    let (a, b) = ([7, -7, 7, -7, 6], [2, 2, -2, -2, 3]);
    let onnx = |node: NodeProto| {
        let mut model = Model::new(13).node(node).output("y");
        let wide = |values: [i64; 5], name| int_tensor(name, &[5], &values);
        model.graph().initializer = vec![wide(a, "a"), wide(b, "b")];
        model.run(&[]).1
    };
    let modulo = || node("Mod", &["a", "b"], &["y"]);
    assert_eq!(onnx(modulo()), [1.0, 1.0, -1.0, -1.0, 0.0]);
    assert_eq!(onnx(modulo().int("fmod", 1)), [1.0, -1.0, 1.0, -1.0, 0.0]);
    assert_eq!(onnx(node("Div", &["a", "b"], &["y"])), [3.0, -3.0, -3.0, 3.0, 2.0]);
    let tensorflow = |name: &str| {
        let narrow = |values: [i64; 5]| values.map(|value| value as i32);
        let graph =
            graph_def::Graph::default().integers("a", &[5], &narrow(a)).integers("b", &[5], &narrow(b));
        graph.node(graph_def::node(name, "y", &["a", "b"])).run(&[]).1
    };
    assert_eq!(tensorflow("FloorDiv"), [3.0, -4.0, -4.0, 3.0, 2.0]);
    assert_eq!(tensorflow("TruncateDiv"), [3.0, -3.0, -3.0, 3.0, 2.0]);
    assert_eq!(tensorflow("FloorMod"), [1.0, 1.0, -1.0, -1.0, 0.0]);
    assert_eq!(tensorflow("TruncateMod"), [1.0, -1.0, 1.0, -1.0, 0.0]);
}

/// DivNoNan and MulNoNan are 0 wherever the second operand is 0.
#[test]
fn zero_takes_away_what_is_no_number() {
    let (a, b) = ([1.0, 0.0, f32::INFINITY, f32::NAN], [0.0; 4]);
    for name in ["DivNoNan", "MulNoNan"] {
        let graph = graph_def::Graph::default().input("a", &[4]).input("b", &[4]);
        let graph = graph.node(graph_def::node(name, "y", &["a", "b"]));
        assert_eq!(graph.run(&[floats(&[4], &a), floats(&[4], &b)]).1, [0.0; 4], "{name}");
    }
}

fn truths(name: &str, values: &[bool]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: vec![values.len() as i64],
        data_type: data_type::BOOL,
        int32_data: values.iter().map(|&value| value.into()).collect(),
        ..TensorProto::default()
    }
}

#[test]
fn truth_values_are_combined() {
    let (a, b) = ([false, false, true, true], [false, true, false, true]);
    let onnx = |node: NodeProto| {
        let mut model = Model::new(13).node(node).output("y");
        model.graph().initializer = vec![truths("a", &a), truths("b", &b)];
        model.run(&[]).1
    };
    assert_eq!(onnx(node("And", &["a", "b"], &["y"])), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(onnx(node("Or", &["a", "b"], &["y"])), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(onnx(node("Xor", &["a", "b"], &["y"])), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(onnx(node("Not", &["a"], &["y"])), [1.0, 1.0, 0.0, 0.0]);
    let tensorflow = |node: tf::NodeDef| {
        let constant = |values: [bool; 4]| tf::TensorProto {
            dtype: 10,
            tensor_shape: Some(graph_def::shape(&[4])),
            bool_val: values.to_vec(),
            ..tf::TensorProto::default()
        };
        let graph = graph_def::Graph::default().constant("a", constant(a)).constant("b", constant(b));
        let axis = graph.integers("axis", &[1], &[0]);
        axis.node(node).outputs(&["y"]).run(&[]).1
    };
    assert_eq!(tensorflow(graph_def::node("LogicalAnd", "y", &["a", "b"])), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(tensorflow(graph_def::node("LogicalOr", "y", &["a", "b"])), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(tensorflow(graph_def::node("LogicalNot", "y", &["a"])), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(tensorflow(graph_def::node("Any", "y", &["a", "axis"])), [1.0]);
    assert_eq!(tensorflow(graph_def::node("All", "y", &["a", "axis"])), [0.0]);
}

type Summary = fn(&[f64]) -> f64;

const SUMMARIES: &[(&str, Summary)] = &[
    ("ReduceL1", |x| x.iter().map(|x| x.abs()).sum()),
    ("ReduceL2", |x| x.iter().map(|x| x * x).sum::<f64>().sqrt()),
    ("ReduceLogSum", |x| x.iter().sum::<f64>().ln()),
    ("ReduceLogSumExp", |x| x.iter().map(|x| x.exp()).sum::<f64>().ln()),
    ("ReduceMax", |x| x.iter().copied().fold(f64::MIN, f64::max)),
    ("ReduceMean", |x| x.iter().sum::<f64>() / x.len() as f64),
    ("ReduceMin", |x| x.iter().copied().fold(f64::MAX, f64::min)),
    ("ReduceProd", |x| x.iter().product()),
    ("ReduceSum", |x| x.iter().sum()),
    ("ReduceSumSquare", |x| x.iter().map(|x| x * x).sum()),
];

/// All reduced axes are kept with size 1 unless `keepdims` is 0.
#[test]
fn every_name_of_a_reduction_means_that_reduction() {
    let elements = [1.5f32, -0.5, 2.0, 3.0];
    let wide: Vec<f64> = elements.iter().map(|&x| x.into()).collect();
    for &(name, of) in SUMMARIES {
        let model = unary(18, &[2, 2], node(name, &["x"], &["y"]), vec![]);
        let (shape, found) = model.run(&[floats(&[2, 2], &elements)]);
        assert_eq!(shape, [1, 1], "{name}");
        assert!((f64::from(found[0]) - of(&wide)).abs() < 1e-5, "{name}: {found:?}");
    }
    for name in ["Max", "Mean", "Min", "Prod", "Sum"] {
        let of = SUMMARIES.iter().find(|(other, _)| other.strip_prefix("Reduce") == Some(name)).unwrap().1;
        let reduce = |x: graph_def::Graph| {
            x.input("x", &[2, 2]).integers("axes", &[2], &[0, -1]).node(graph_def::node(
                name,
                "y",
                &["x", "axes"],
            ))
        };
        let (shape, found) = reduce(graph_def::Graph::default()).run(&[floats(&[2, 2], &elements)]);
        assert_eq!(shape, [0; 0], "{name}");
        assert!((f64::from(found[0]) - of(&wide)).abs() < 1e-5, "{name}: {found:?}");
    }
}

/// Index of an extreme: the first of several equal ones by default.
#[test]
fn places_of_extremes() {
    let x = floats(&[2, 3], &[3.0, 1.0, 3.0, 2.0, 5.0, 2.0]);
    let onnx = |node: NodeProto| unary(13, &[2, 3], node, vec![]).run(std::slice::from_ref(&x));
    assert_eq!(onnx(node("ArgMax", &["x"], &["y"])), (vec![1, 3], vec![0.0, 1.0, 0.0]));
    let last = |name: &str| node(name, &["x"], &["y"]).int("axis", -1).int("keepdims", 0);
    assert_eq!(onnx(last("ArgMax")), (vec![2], vec![0.0, 1.0]));
    assert_eq!(onnx(last("ArgMin")), (vec![2], vec![1.0, 0.0]));
    assert_eq!(onnx(last("ArgMax").int("select_last_index", 1)), (vec![2], vec![2.0, 1.0]));
    assert_eq!(onnx(last("ArgMin").int("select_last_index", 1)), (vec![2], vec![1.0, 2.0]));
    for (name, expected) in [("ArgMax", [0, 1]), ("ArgMin", [1, 0])] {
        for (code, data) in [
            (None, TensorData::I64(expected.map(i64::from).to_vec())),
            (Some(9), TensorData::I64(expected.map(i64::from).to_vec())),
            (Some(3), TensorData::I32(expected.to_vec())),
        ] {
            let mut place = graph_def::node(name, "y", &["x", "axis"]);
            if let Some(code) = code {
                place = place.with("output_type", tf::Attr::Type(code));
            }
            let graph =
                graph_def::Graph::default().input("x", &[2, 3]).integers("axis", &[], &[1]).node(place);
            let found: Tensor =
                evaluate(&graph.import().unwrap(), std::slice::from_ref(&x)).unwrap().remove(0);
            assert_eq!((found.shape(), found.data()), (&[2][..], &data), "{name}");
        }
    }
}

#[test]
fn softmax_and_its_logarithm_are_over_the_last_axis() {
    let x = floats(&[2, 2], &[0.0, 3f32.ln(), 1.0, 1.0]);
    for (name, expected) in
        [("Softmax", [0.25f32, 0.75, 0.5, 0.5]), ("LogSoftmax", [0.25f32, 0.75, 0.5, 0.5].map(f32::ln))]
    {
        let onnx = unary(13, &[2, 2], node(name, &["x"], &["y"]), vec![]).run(std::slice::from_ref(&x)).1;
        let graph = graph_def::Graph::default().input("x", &[2, 2]).node(graph_def::node(name, "y", &["x"]));
        for found in [onnx, graph.run(std::slice::from_ref(&x)).1] {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{name}: {found:?}");
        }
    }
}
