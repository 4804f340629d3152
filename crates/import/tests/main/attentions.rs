//! Attention, by hand: queries of zero look at all keys alike, so that a result is the mean of the values seen.

use npukit_import::Reason;
use npukit_import::onnx::proto::NodeProto;

use crate::model::{Model, With, floats, node};

/// Two heads on one of keys, two queries of one feature, values 1 and 3.
fn attention(node: NodeProto, with: impl FnOnce(Model) -> Model) -> Model {
    let model = Model::new(23).input("q", &[1, 2, 2, 1]).input("k", &[1, 1, 2, 1]).input("v", &[1, 1, 2, 1]);
    with(model).node(node).output("y")
}

fn seen(node: NodeProto, with: impl FnOnce(Model) -> Model) -> Vec<f32> {
    let (zero, values) = (floats(&[1, 2, 2, 1], &[0.0; 4]), floats(&[1, 1, 2, 1], &[1.0, 3.0]));
    attention(node, with).run(&[zero, floats(&[1, 1, 2, 1], &[5.0, -5.0]), values]).1
}

#[test]
fn causality_and_masks() {
    let of = |inputs: &[&str]| node("Attention", inputs, &["y"]);
    assert_eq!(seen(of(&["q", "k", "v"]), |m| m), [2.0; 4]);
    assert_eq!(seen(of(&["q", "k", "v"]).int("is_causal", 1), |m| m), [1.0, 2.0, 1.0, 2.0]);
    let bias = |values: &'static [f32]| move |m: Model| m.floats("m", &[1, values.len() as i64], values);
    let masked = |values| seen(of(&["q", "k", "v", "m"]), bias(values));
    assert_eq!(masked(&[f32::NEG_INFINITY, 0.0]), [3.0; 4]);
    // Who sees nothing gives nothing.
    assert_eq!(masked(&[f32::NEG_INFINITY, f32::NEG_INFINITY]), [0.0; 4]);
    let window = of(&["q", "k", "v"]).int("is_causal", 1).int("left_window_size", 0);
    assert_eq!(seen(window, |m| m), [1.0, 3.0, 1.0, 3.0]);
}

#[test]
fn what_came_before_is_joined_and_seen() {
    let past = |m: Model| m.floats("pk", &[1, 1, 1, 1], &[0.0]).floats("pv", &[1, 1, 1, 1], &[5.0]);
    let inputs = ["q", "k", "v", "", "pk", "pv"];
    let causal = node("Attention", &inputs, &["y", "keys", "values"]).int("is_causal", 1);
    assert_eq!(seen(causal, past), [3.0, 3.0, 3.0, 3.0]);
    let graph = attention(node("Attention", &inputs, &["y", "keys", "values"]), past).import().unwrap();
    assert_eq!(graph.shape(graph.find_value("values").unwrap()), [1, 1, 3, 1]);
}

#[test]
fn operands_by_token_are_split_into_heads() {
    let by_token = |heads: i64| {
        let attention = node("Attention", &["x", "x", "x"], &["y"]).int("q_num_heads", heads);
        Model::new(23).input("x", &[1, 2, 4]).node(attention.int("kv_num_heads", 2)).output("y")
    };
    let x = floats(&[1, 2, 4], &[0.0, 1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 4.0]);
    let (shape, values) = by_token(2).run(&[x]);
    assert_eq!(shape, [1, 2, 4]);
    assert!(values[3] > 3.0 && values[3] < 4.0 && values[1] == 1.0, "{values:?}");
    for wrong in [0, 3, -1] {
        let reason = by_token(wrong).reason();
        assert!(matches!(reason, Reason::AttributeValue { name: "q_num_heads", .. }), "{reason}");
    }
}

#[test]
fn heads_that_do_not_fit_are_refused() {
    let model = Model::new(23).input("q", &[1, 2, 2, 1]).input("k", &[1, 3, 2, 1]);
    let reason = model.node(node("Attention", &["q", "k", "k"], &["y"])).output("y").reason();
    assert!(matches!(reason, Reason::OperandValue { operand: "K", .. }), "{reason}");
    let flat =
        Model::new(23).input("q", &[2, 1]).node(node("Attention", &["q", "q", "q"], &["y"])).output("y");
    assert!(matches!(flat.reason(), Reason::OperandValue { operand: "Q", .. }));
    let mode = node("Attention", &["q", "k", "v"], &["y"]).int("qk_matmul_output_mode", 4);
    let reason = attention(mode, |m| m).reason();
    assert!(matches!(reason, Reason::AttributeValue { name: "qk_matmul_output_mode", .. }), "{reason}");
}

#[test]
fn the_name_that_onnx_runtime_gives_rms_normalisation() {
    let norm =
        node("SimplifiedLayerNormalization", &["x", "s"], &["y"]).int("axis", -1).float("epsilon", 1.0);
    let model = Model::new(17).input("x", &[1, 2]).floats("s", &[2], &[1.0, 2.0]).node(norm).output("y");
    // The mean of 1 and 5 and the epsilon are 4, whose root is 2.
    let (_, values) = model.run(&[floats(&[1, 2], &[1.0, -(5f32.sqrt())])]);
    assert!((values[0] - 0.5).abs() < 1e-6 && (values[1] + 5f32.sqrt()).abs() < 1e-6, "{values:?}");
}
