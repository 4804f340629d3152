//! Functions of one element, against values of ONNX Runtime.

use npukit_graph::op::{GeluForm, Unary, UnaryKind};
use npukit_graph::{OpError, Operator};
use npukit_numeric::{Tensor, TensorData};

use crate::support::{f32s, floats, i64s, refuse, run};

const X: [f32; 6] = [-3.0, -1.0, -0.25, 0.0, 0.5, 2.0];

#[test]
fn infinities_and_nan() {
    let special = [f32::NEG_INFINITY, f32::INFINITY];
    let cases = [
        (UnaryKind::Sigmoid, [0.0, 1.0]),
        (UnaryKind::Tanh, [-1.0, 1.0]),
        (UnaryKind::Erf, [-1.0, 1.0]),
        (UnaryKind::Softplus, [0.0, f32::INFINITY]),
        (UnaryKind::Exp, [0.0, f32::INFINITY]),
        (UnaryKind::Elu { alpha: 2.0 }, [-2.0, f32::INFINITY]),
        (UnaryKind::Sign, [-1.0, 1.0]),
    ];
    for (kind, expected) in cases {
        assert_eq!(special.map(|x| kind.apply(x)), expected, "{kind:?}");
        assert!(kind.apply(f32::NAN).is_nan(), "{kind:?}");
    }
}

#[test]
fn integers_and_truth_values() {
    let x = i64s(&[3], &[i64::MIN, -5, 7]);
    let unary = |kind| run(Unary { kind }, &[&x]);
    assert_eq!(unary(UnaryKind::Neg), i64s(&[3], &[i64::MIN, 5, -7]));
    assert_eq!(unary(UnaryKind::Abs), i64s(&[3], &[i64::MIN, 5, 7]));
    assert_eq!(unary(UnaryKind::Sign), i64s(&[3], &[-1, -1, 1]));
    let truth = Tensor::new(vec![2], TensorData::Bool(vec![true, false])).unwrap();
    let not = run(Unary { kind: UnaryKind::Not }, &[&truth]);
    assert_eq!(not.data(), &TensorData::Bool(vec![false, true]));
    assert!(matches!(
        refuse(Unary { kind: UnaryKind::Sqrt }, &[&x]),
        OpError::ElementType { op: "Sqrt", .. }
    ));
}

#[test]
fn print_their_parameters() {
    assert_eq!(
        npukit_graph::Op::from(Unary { kind: UnaryKind::Elu { alpha: 1.0 } }).to_string(),
        "Elu { alpha: 1.0 }"
    );
    assert_eq!(Unary { kind: UnaryKind::Exp }.name(), "Exp");
}

/// Values of ONNX Runtime 1.31.1 at the elements of `X`, in a model of one node per operator, opset
/// 24 (Swish: onnx's reference evaluator).
#[test]
#[allow(clippy::approx_constant, reason = "values as ONNX Runtime prints them")]
fn functions_are_those_of_onnx_runtime() {
    let cases: &[(UnaryKind, [f32; 6])] = &[
        (UnaryKind::Neg, [3.0, 1.0, 0.25, -0.0, -0.5, -2.0]),
        (UnaryKind::Abs, [3.0, 1.0, 0.25, 0.0, 0.5, 2.0]),
        (UnaryKind::Sign, [-1.0, -1.0, -1.0, 0.0, 1.0, 1.0]),
        (UnaryKind::Exp, [0.049787067, 0.36787945, 0.7788008, 1.0, 1.6487212, 7.389056]),
        (UnaryKind::Reciprocal, [-0.33333334, -1.0, -4.0, f32::INFINITY, 2.0, 0.5]),
        (UnaryKind::Floor, [-3.0, -1.0, -1.0, 0.0, 0.0, 2.0]),
        (UnaryKind::Ceil, [-3.0, -1.0, -0.0, 0.0, 1.0, 2.0]),
        (UnaryKind::Round, [-3.0, -1.0, -0.0, 0.0, 0.0, 2.0]),
        (UnaryKind::Sin, [-0.14112, -0.84147096, -0.24740396, 0.0, 0.47942555, 0.9092974]),
        (UnaryKind::Cos, [-0.9899925, 0.5403023, 0.9689124, 1.0, 0.87758255, -0.41614684]),
        (UnaryKind::Tan, [0.14254655, -1.5574077, -0.25534192, 0.0, 0.5463025, -2.1850398]),
        (UnaryKind::Atan, [-1.2490458, -0.7853981, -0.24497868, 0.0, 0.4636476, 1.1071488]),
        (UnaryKind::Sinh, [-10.017875, -1.1752012, -0.25261232, 0.0, 0.5210953, 3.6268604]),
        (UnaryKind::Cosh, [10.067662, 1.5430806, 1.0314131, 1.0, 1.127626, 3.7621958]),
        (UnaryKind::Tanh, [-0.9950547, -0.7615942, -0.24491866, 0.0, 0.46211717, 0.9640276]),
        (UnaryKind::Asinh, [-1.8184465, -0.8813736, -0.24746647, 0.0, 0.48121184, 1.4436355]),
        (UnaryKind::Erf, [-0.9999779, -0.8427008, -0.2763264, 0.0, 0.5204999, 0.9953223]),
        (UnaryKind::Sigmoid, [0.047425866, 0.26894143, 0.4378235, 0.5, 0.6224593, 0.8807971]),
        (UnaryKind::HardSigmoid { alpha: 0.25, beta: 0.375 }, [0.0, 0.125, 0.3125, 0.375, 0.5, 0.875]),
        (UnaryKind::HardSwish, [-0.0, -0.3333333, -0.114583336, 0.0, 0.29166666, 1.6666667]),
        (
            UnaryKind::Swish { alpha: 1.5 },
            [-0.03296083, -0.18242553, -0.10183335, 0.0, 0.33958936, 1.9051483],
        ),
        (UnaryKind::Mish, [-0.14564745, -0.30340144, -0.12992696, 0.0, 0.37524524, 1.943959]),
        (
            UnaryKind::Gelu { form: GeluForm::Exact },
            [-0.0040496886, -0.15865526, -0.10032342, 0.0, 0.34573123, 1.9544997],
        ),
        (
            UnaryKind::Gelu { form: GeluForm::Tanh },
            [-0.0036375225, -0.15880796, -0.10032465, 0.0, 0.345714, 1.9545977],
        ),
        (UnaryKind::Elu { alpha: 1.5 }, [-1.4253194, -0.9481808, -0.33179882, 0.0, 0.5, 2.0]),
        (UnaryKind::Celu { alpha: 1.5 }, [-1.2969971, -0.7298744, -0.23027748, 0.0, 0.5, 2.0]),
        (UnaryKind::Selu { alpha: 1.5, gamma: 2.0 }, [-2.8506389, -1.8963616, -0.66359764, 0.0, 1.0, 4.0]),
        (UnaryKind::Softplus, [0.048587356, 0.3132617, 0.5759395, 0.6931472, 0.974077, 2.126928]),
        (UnaryKind::Softsign, [-0.75, -0.5, -0.2, 0.0, 0.33333334, 0.6666667]),
        (UnaryKind::ThresholdedRelu { alpha: 0.5 }, [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]),
    ];
    let positive: &[(UnaryKind, [f32; 4])] = &[
        (UnaryKind::Sqrt, [0.0, 0.5, 1.0, 0.8660254]),
        (UnaryKind::Log, [f32::NEG_INFINITY, -1.3862944, 0.0, -0.2876821]),
        (UnaryKind::Asin, [0.0, 0.25268027, 1.5707964, 0.84806216]),
        (UnaryKind::Acos, [1.5707964, 1.318116, 0.0, 0.7227343]),
        (UnaryKind::Atanh, [0.0, 0.25541282, f32::INFINITY, 0.9729551]),
        (UnaryKind::Acosh, [f32::NAN, f32::NAN, 0.0, f32::NAN]),
    ];
    for (kind, expected) in cases {
        agree(*kind, &X, expected);
    }
    for (kind, expected) in positive {
        agree(*kind, &[0.0, 0.25, 1.0, 0.75], expected);
    }
}

/// Within a few units in the last place: ONNX Runtime has its own implementations.
fn agree(kind: UnaryKind, x: &[f32], expected: &[f32]) {
    let result = run(Unary { kind }, &[&f32s(&[x.len()], x)]);
    for ((&found, &expected), x) in floats(&result).iter().zip(expected).zip(x) {
        let close = (found - expected).abs() <= 1e-6 * (1.0 + expected.abs());
        let close = close || found == expected || found.is_nan() && expected.is_nan();
        assert!(close, "{kind:?} of {x} is {found}, ONNX Runtime has {expected}");
    }
}
