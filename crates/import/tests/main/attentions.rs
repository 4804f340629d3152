//! Attention with expected values worked out manually. Queries of zero weigh all visible keys
//! equally, so a result is the mean of the visible values.

use npukit_graph::Op;
use npukit_import::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};
use npukit_numeric::ElementType;

use crate::model::{Model, With, float_tensor, floats, int_tensor, node};

/// Two query heads on one key head, two queries with one feature, values 1 and 3.
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
    // A query without visible keys gives 0.
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

/// One query on two keys. Scores are `scale * q * k`; only the first feature is not 0.
struct Scored {
    /// Products of the query and the keys.
    products: [f32; 2],
    features: usize,
    opset: i64,
}

impl Scored {
    /// Returns the result for values 1 and 3, and the scores that the node outputs.
    fn run(&self, attention: NodeProto, with: impl FnOnce(Model) -> Model) -> (f32, Vec<f32>) {
        let dims = [1, 1, 2, self.features as i64];
        let mut keys = vec![0.0; 2 * self.features];
        (keys[0], keys[self.features]) = (self.products[0], self.products[1]);
        let mut query = vec![0.0; self.features];
        query[0] = 1.0;
        let model = Model::new(self.opset).floats("q", &[1, 1, 1, self.features as i64], &query);
        let model = model.floats("k", &dims, &keys).floats("v", &[1, 1, 2, 1], &[1.0, 3.0]);
        let graph = with(model).node(attention).output("y").output("shown").import().unwrap();
        let found = npukit_graph::evaluate(&graph, &[]).unwrap();
        let values: Vec<_> = found.iter().map(|value| value.as_f32().unwrap().to_vec()).collect();
        (values[0][0], values[1].clone())
    }
}

fn assert_close(found: (f32, Vec<f32>), y: f32, shown: [f32; 2]) {
    let close = |a: f32, b: f32| (a - b).abs() < 1e-5 || a == b;
    let all = found.1.iter().zip(shown).all(|(&a, b)| close(a, b)) && found.1.len() == 2;
    assert!(close(found.0, y) && all, "{found:?} is not {y} of {shown:?}");
}

/// Order of the steps in the standard since its correction (onnx pull request 7867): scale, cap,
/// mask.
#[test]
fn scores_are_scaled_capped_and_masked_in_this_order() {
    let of = |inputs: &[&str], mode: i64| {
        node("Attention", inputs, &["y", "", "", "shown"]).int("qk_matmul_output_mode", mode)
    };
    let plain = |mode| of(&["q", "k", "v"], mode);
    let three = 3f32.ln();
    // The default scale is 1 over the root of the number of features: 3 to 1 for the first key.
    let by_root = Scored { products: [2.0 * three, 0.0], features: 4, opset: 23 };
    assert_close(by_root.run(plain(0), |m| m), 1.5, [three, 0.0]);
    let stated = Scored { products: [three, 0.0], features: 4, opset: 23 };
    assert_close(stated.run(plain(0).float("scale", 1.0), |m| m), 1.5, [three, 0.0]);
    assert_close(stated.run(plain(3).float("scale", 1.0), |m| m), 1.5, [0.75, 0.25]);
    // A cap of 1/2, and a mask that is added after it.
    let single = Scored { products: [2.0, 0.0], features: 1, opset: 23 };
    let capped = 0.5 * (2.0f32 / 0.5).tanh();
    let mask = |m: Model| m.floats("m", &[1, 2], &[0.0, capped]);
    let masked = |mode| of(&["q", "k", "v", "m"], mode).float("softcap", 0.5);
    assert_close(single.run(masked(0), mask), 2.0, [2.0, 0.0]);
    assert_close(single.run(masked(1), mask), 2.0, [capped, 0.0]);
    assert_close(single.run(masked(2), mask), 2.0, [capped, capped]);
    assert_close(single.run(masked(3), mask), 2.0, [0.5, 0.5]);
    // A masked score stays masked under a cap.
    let hidden = |m: Model| m.floats("m", &[1, 2], &[f32::NEG_INFINITY, 0.0]);
    assert_close(single.run(masked(2), hidden), 3.0, [f32::NEG_INFINITY, 0.0]);
}

#[test]
fn masks_may_be_truth_values_or_end_early() {
    let truths = |values: &[i32]| {
        let (name, dims) = ("m".to_owned(), vec![1, values.len() as i64]);
        let (data_type, int32_data) = (data_type::BOOL, values.to_vec());
        TensorProto { name, dims, data_type, int32_data, ..TensorProto::default() }
    };
    let masked = |mask: TensorProto| {
        seen(node("Attention", &["q", "k", "v", "m"], &["y"]), |mut model| {
            model.graph().initializer.push(mask);
            model
        })
    };
    assert_eq!(masked(truths(&[1, 1])), [2.0; 4]);
    assert_eq!(masked(truths(&[1, 0])), [1.0; 4]);
    assert_eq!(masked(truths(&[0, 1])), [3.0; 4]);
    // One mask for all keys; and a mask of two keys for three, which hides the last.
    assert_eq!(masked(truths(&[1])), [2.0; 4]);
    let longer = |mask: TensorProto| {
        let model = Model::new(24).floats("q", &[1, 1, 1, 1], &[0.0]).floats("k", &[1, 1, 3, 1], &[5.0; 3]);
        let mut model = model.floats("v", &[1, 1, 3, 1], &[1.0, 3.0, 8.0]).output("y");
        model.graph().initializer.push(mask);
        model.node(node("Attention", &["q", "k", "v", "m"], &["y"])).run(&[]).1
    };
    assert_eq!(longer(truths(&[1, 1])), [2.0]);
    assert_eq!(longer(truths(&[0, 1])), [3.0]);
    assert_eq!(longer(float_tensor("m", &[1, 2], &[0.0, 0.0])), [2.0]);
    assert_eq!(longer(float_tensor("m", &[1, 1], &[0.0])), [4.0]);
    // A mask that covers all keys is not extended.
    for values in [&[0.0, 0.0][..], &[0.0]] {
        let masked = attention(node("Attention", &["q", "k", "v", "m"], &["y"]), |model| {
            model.input("m", &[1, values.len() as i64])
        });
        let graph = masked.import().unwrap();
        assert!(!graph.nodes.iter().any(|node| matches!(node.op, Op::Concat(_))), "{graph}");
    }
}

/// Texts of a batch that are shorter than their cache. With causality, a query sees the present
/// keys up to its own.
#[test]
fn keys_beyond_the_length_of_a_text_are_hidden() {
    let run = |attention: NodeProto| {
        let model =
            Model::new(24).floats("q", &[2, 1, 2, 1], &[0.0; 4]).floats("k", &[2, 1, 3, 1], &[5.0; 6]);
        let mut model = model.floats("v", &[2, 1, 3, 1], &[1.0, 3.0, 8.0, 1.0, 3.0, 8.0]).output("y");
        model.graph().initializer.push(int_tensor("n", &[2], &[2, 3]));
        model.node(attention).run(&[]).1
    };
    let of = || node("Attention", &["q", "k", "v", "", "", "", "n"], &["y"]);
    assert_eq!(run(of()), [2.0, 2.0, 4.0, 4.0]);
    // The queries are the last tokens of their text.
    assert_eq!(run(of().int("is_causal", 1)), [1.0, 2.0, 2.0, 4.0]);
}

#[test]
fn windows_bound_the_keys_at_either_side() {
    let run = |left: i64, right: i64| {
        let attention = node("Attention", &["q", "k", "v"], &["y"]);
        let attention = attention.int("left_window_size", left).int("right_window_size", right);
        let model =
            Model::new(25).floats("q", &[1, 1, 3, 1], &[0.0; 3]).floats("k", &[1, 1, 3, 1], &[5.0; 3]);
        model.floats("v", &[1, 1, 3, 1], &[1.0, 3.0, 8.0]).node(attention).output("y").run(&[]).1
    };
    assert_eq!(run(-1, -1), [4.0; 3], "below 0 is not a bound");
    assert_eq!(run(-1, 0), [1.0, 2.0, 4.0]);
    assert_eq!(run(0, -1), [4.0, 5.5, 8.0]);
    assert_eq!(run(1, 0), [1.0, 2.0, 5.5]);
    assert_eq!(run(0, 1), [2.0, 5.5, 8.0]);
    assert_eq!(run(0, 0), [1.0, 3.0, 8.0]);
}

/// Half floats are computed in single precision and rounded once; floats are not converted.
#[test]
fn attentions_of_half_floats_are_computed_as_floats() {
    for (code, element, bits) in [
        (data_type::FLOAT16, ElementType::F16, [0x3C00, 0x4200]),
        (data_type::BFLOAT16, ElementType::BF16, [0x3F80, 0x4040]),
    ] {
        let half = |name: &str, int32_data: Vec<i32>| TensorProto {
            name: name.to_owned(),
            dims: vec![1, 1, int32_data.len() as i64, 1],
            data_type: code,
            int32_data,
            ..TensorProto::default()
        };
        let mut model = Model::new(23).node(node("Attention", &["q", "k", "v"], &["y"])).output("y");
        model.graph().initializer = vec![half("q", vec![0]), half("k", vec![0; 2]), half("v", bits.to_vec())];
        let graph = model.import().unwrap();
        let found = npukit_graph::evaluate(&graph, &[]).unwrap().remove(0);
        assert_eq!((found.element(), found.as_f32()), (element, Some(&[2.0][..])));
        let products = graph.nodes.iter().filter(|node| matches!(node.op, Op::MatMul(_)));
        let mut elements = products.map(|node| graph.value(node.outputs[0]).info.element);
        assert!(elements.all(|element| element == ElementType::F32), "{graph}");
    }
    let graph = attention(node("Attention", &["q", "k", "v"], &["y"]), |m| m).import().unwrap();
    assert!(!graph.nodes.iter().any(|node| matches!(node.op, Op::Cast(_))), "{graph}");
}

/// Two query heads share each key head: the first two share the first.
#[test]
fn heads_of_queries_share_heads_of_keys() {
    let model = Model::new(23).floats("q", &[1, 4, 1, 1], &[0.0; 4]).floats("k", &[1, 2, 2, 1], &[5.0; 4]);
    let model = model.floats("v", &[1, 2, 2, 1], &[1.0, 3.0, 10.0, 30.0]).output("y");
    let found = model.node(node("Attention", &["q", "k", "v"], &["y"])).run(&[]);
    assert_eq!(found, (vec![1, 4, 1, 1], vec![2.0, 2.0, 20.0, 20.0]));
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
    // A single token sees only itself: its features are returned in order.
    let alone = node("Attention", &["x", "x", "x"], &["y"]).int("q_num_heads", 2).int("kv_num_heads", 2);
    let alone = Model::new(23).input("x", &[1, 1, 6]).node(alone).output("y");
    let features = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(alone.run(&[floats(&[1, 1, 6], &features)]), (vec![1, 1, 6], features.to_vec()));
    let unstated = Model::new(23).input("x", &[1, 2, 6]).node(node("Attention", &["x", "x", "x"], &["y"]));
    let message = unstated.output("y").reason().to_string();
    assert_eq!(message, "attribute \"q_num_heads\" is 0; legal: a divisor of the 6 features of a token");
    let empty = Model::new(23).input("x", &[1, 2, 0]).node(node("Attention", &["x", "x", "x"], &["y"]));
    let problems = empty.output("y").problems();
    let expected = "attribute \"q_num_heads\" is 0; legal: a divisor of the 0 features of a token";
    assert!(problems.iter().all(|problem| problem.reason.to_string() == expected), "{problems:?}");
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
    let none = Model::new(23).input("q", &[1, 0, 2, 1]).node(node("Attention", &["q", "q", "q"], &["y"]));
    let reason = none.output("y").reason();
    assert!(matches!(reason, Reason::OperandValue { operand: "K", .. }), "{reason}");
    let flat =
        Model::new(23).input("q", &[2, 1]).node(node("Attention", &["q", "q", "q"], &["y"])).output("y");
    assert!(matches!(flat.reason(), Reason::OperandValue { operand: "Q", .. }));
    let mode = node("Attention", &["q", "k", "v"], &["y"]).int("qk_matmul_output_mode", 4);
    let reason = attention(mode, |m| m).reason();
    assert!(matches!(reason, Reason::AttributeValue { name: "qk_matmul_output_mode", .. }), "{reason}");
}

#[test]
fn the_name_that_onnx_runtime_gives_rms_normalization() {
    let norm =
        node("SimplifiedLayerNormalization", &["x", "s"], &["y"]).int("axis", -1).float("epsilon", 1.0);
    let model = Model::new(17).input("x", &[1, 2]).floats("s", &[2], &[1.0, 2.0]).node(norm).output("y");
    // The mean of 1 and 5, plus the epsilon, is 4, whose root is 2.
    let (_, values) = model.run(&[floats(&[1, 2], &[1.0, -(5f32.sqrt())])]);
    assert!((values[0] - 0.5).abs() < 1e-6 && (values[1] + 5f32.sqrt()).abs() < 1e-6, "{values:?}");
}
