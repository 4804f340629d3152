//! Operators on values: arithmetic, activations, matrix products, constants. Results are worked out
//! manually from the operators' definitions.

use npukit_import::Reason;
use npukit_import::onnx::proto::{TensorProto, data_type};

use crate::model::{Model, With, counting, float_tensor, floats, int_tensor, node, unary};

#[test]
fn arithmetic_broadcasts() {
    for (op, expected) in [
        ("Add", [11.0, 22.0, 13.0, 24.0]),
        ("Sub", [-9.0, -18.0, -7.0, -16.0]),
        ("Mul", [10.0, 40.0, 30.0, 80.0]),
        ("Div", [0.1, 0.1, 0.3, 0.2]),
    ] {
        let constant = float_tensor("c", &[2], &[10.0, 20.0]);
        let model = unary(7, &[2, 2], node(op, &["x", "c"], &["y"]), vec![constant]);
        let x = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(model.run(&[x]), (vec![2, 2], expected.to_vec()), "{op}");
    }
}

#[test]
fn activations() {
    let x = || floats(&[3], &[-2.0, 0.5, 9.0]);
    let run = |node| unary(9, &[3], node, vec![]).run(&[x()]).1;
    assert_eq!(run(node("Relu", &["x"], &["y"])), [0.0, 0.5, 9.0]);
    assert_eq!(run(node("LeakyRelu", &["x"], &["y"])), [-0.02, 0.5, 9.0]);
    assert_eq!(run(node("LeakyRelu", &["x"], &["y"]).float("alpha", 0.5)), [-1.0, 0.5, 9.0]);
    assert_eq!(run(node("Clip", &["x"], &["y"]).float("min", 0.0).float("max", 6.0)), [0.0, 0.5, 6.0]);
    assert_eq!(run(node("Clip", &["x"], &["y"])), [-2.0, 0.5, 9.0]);
}

#[test]
fn clip_bounds_are_operands_since_opset_11() {
    let bounds = vec![float_tensor("lo", &[], &[-1.0]), float_tensor("hi", &[], &[1.0])];
    let run = |inputs: &[&str]| {
        unary(13, &[3], node("Clip", inputs, &["y"]), bounds.clone())
            .run(&[floats(&[3], &[-2.0, 0.5, 9.0])])
            .1
    };
    assert_eq!(run(&["x", "lo", "hi"]), [-1.0, 0.5, 1.0]);
    assert_eq!(run(&["x", "", "hi"]), [-2.0, 0.5, 1.0]);
    assert_eq!(run(&["x", "lo"]), [-1.0, 0.5, 9.0]);
}

#[test]
fn matrix_products() {
    let weights = || float_tensor("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let bias = float_tensor("c", &[2], &[100.0, 200.0]);
    let x = || floats(&[1, 2], &[1.0, 10.0]);
    let model = unary(9, &[1, 2], node("MatMul", &["x", "w"], &["y"]), vec![weights()]);
    assert_eq!(model.run(&[x()]), (vec![1, 2], vec![31.0, 42.0]));
    let gemm = node("Gemm", &["x", "w", "c"], &["y"]).float("beta", 0.5).int("transB", 1);
    let model = unary(9, &[1, 2], gemm, vec![weights(), bias]);
    assert_eq!(model.run(&[x()]), (vec![1, 2], vec![71.0, 143.0]));
    let gemm = node("Gemm", &["x", "w"], &["y"]).float("alpha", 2.0);
    assert_eq!(unary(11, &[1, 2], gemm, vec![weights()]).run(&[x()]).1, [62.0, 84.0]);
}

#[test]
fn softmax_sums_over_trailing_axes_before_opset_13() {
    let run =
        |opset: i64, node| unary(opset, &[1, 2, 2], node, vec![]).run(&[floats(&[1, 2, 2], &[0.0; 4])]).1;
    assert_eq!(run(12, node("Softmax", &["x"], &["y"])), [0.25; 4]);
    assert_eq!(run(13, node("Softmax", &["x"], &["y"])), [0.5; 4]);
    assert_eq!(run(12, node("Softmax", &["x"], &["y"]).int("axis", -1)), [0.5; 4]);
    assert_eq!(run(13, node("Softmax", &["x"], &["y"]).int("axis", 0)), [1.0; 4]);
}

#[test]
fn dropout_and_identity_pass_through() {
    let x = || floats(&[2], &[1.0, -1.0]);
    let dropout = node("Dropout", &["x"], &["y", "mask"]).float("ratio", 0.9);
    assert_eq!(unary(7, &[2], dropout, vec![]).run(&[x()]).1, [1.0, -1.0]);
    let ratio = vec![float_tensor("r", &[], &[0.9])];
    let dropout = node("Dropout", &["x", "r"], &["y"]).int("seed", 3);
    assert_eq!(unary(13, &[2], dropout, ratio).run(&[x()]).1, [1.0, -1.0]);
    let graph = unary(13, &[2], node("Identity", &["x"], &["y"]), vec![]).import().unwrap();
    // The input keeps its name, the output has its own.
    assert_eq!(graph.value(graph.inputs[0]).name, "x");
    assert_eq!(graph.value(graph.outputs[0]).name, "y");
}

#[test]
fn batch_normalization_of_channels() {
    let stats = |count: i64| {
        let two = |name: &str, values: [f32; 2]| float_tensor(name, &[count], &values);
        vec![two("s", [2.0, 1.0]), two("b", [1.0, 0.0]), two("m", [1.0, 3.0]), two("v", [3.0, 3.0])]
    };
    let batch_norm = || {
        node("BatchNormalization", &["x", "s", "b", "m", "v"], &["y"])
            .float("epsilon", 1.0)
            .float("momentum", 0.9)
    };
    let expected = [0.0, 1.0, -0.5, 0.0];
    let model = unary(9, &[1, 2, 1, 2], batch_norm(), stats(2));
    assert_eq!(model.run(&[counting(&[1, 2, 1, 2])]), (vec![1, 2, 1, 2], expected.to_vec()));
    let model = unary(9, &[1, 2, 2], batch_norm(), stats(2));
    assert_eq!(model.run(&[counting(&[1, 2, 2])]), (vec![1, 2, 2], expected.to_vec()));
    let model = unary(9, &[2, 2], batch_norm(), stats(2));
    assert_eq!(model.run(&[counting(&[2, 2])]), (vec![2, 2], vec![0.0, -1.0, 2.0, 0.0]));
}

#[test]
fn constants_of_all_forms() {
    let typed = TensorProto { raw_data: None, float_data: vec![5.0, 6.0], ..float_tensor("", &[2], &[]) };
    let flags = TensorProto {
        dims: vec![2],
        data_type: data_type::BOOL,
        int32_data: vec![0, 1],
        ..TensorProto::default()
    };
    let constant = || node("Constant", &[], &["y"]);
    for (node, shape, expected) in [
        (constant().tensor("value", float_tensor("", &[2], &[1.0, 2.0])), vec![2], vec![1.0, 2.0]),
        (constant().tensor("value", typed), vec![2], vec![5.0, 6.0]),
        (constant().tensor("value", int_tensor("", &[1], &[-7])), vec![1], vec![-7.0]),
        (constant().tensor("value", flags), vec![2], vec![0.0, 1.0]),
        (constant().float("value_float", 2.5), vec![], vec![2.5]),
        (constant().int("value_int", 3), vec![], vec![3.0]),
        (constant().floats("value_floats", &[1.0, 4.0]), vec![2], vec![1.0, 4.0]),
        (constant().ints("value_ints", &[8, 9]), vec![2], vec![8.0, 9.0]),
    ] {
        assert_eq!(Model::new(13).node(node).output("y").run(&[]), (shape, expected));
    }
}

#[test]
fn constant_of_shape_repeats_one_value() {
    let model = Model::new(9).ints("s", &[2, 2]).output("y");
    let filled = node("ConstantOfShape", &["s"], &["y"]);
    assert_eq!(model.node(filled).run(&[]), (vec![2, 2], vec![0.0; 4]));
    let filled = node("ConstantOfShape", &["s"], &["y"]).tensor("value", int_tensor("", &[1], &[3]));
    assert_eq!(Model::new(9).ints("s", &[2]).output("y").node(filled).run(&[]), (vec![2], vec![3.0; 2]));
}

#[test]
fn cast_converts() {
    let cast = node("Cast", &["x"], &["y"]).int("to", data_type::INT64.into());
    assert_eq!(unary(9, &[2], cast, vec![]).run(&[floats(&[2], &[1.75, -1.75])]).1, [1.0, -1.0]);
}

/// A Range over constants of one element each.
fn range(operands: [TensorProto; 3]) -> Model {
    let mut model = Model::new(11).node(node("Range", &["s", "l", "d"], &["y"])).output("y");
    for (name, tensor) in ["s", "l", "d"].iter().zip(operands) {
        model.graph().initializer.push(TensorProto { name: (*name).to_owned(), ..tensor });
    }
    model
}

/// The first three are examples of the standard.
#[test]
fn ranges_of_every_type() {
    for ([start, limit, delta], expected) in [
        ([1.0, 5.0, 2.0], &[1.0, 3.0][..]),
        ([3.0, 9.0, 3.0], &[3.0, 6.0]),
        ([10.0, 4.0, -2.0], &[10.0, 8.0, 6.0]),
        ([0.5, 1.5, 0.25], &[0.5, 0.75, 1.0, 1.25]),
        ([0.5, 1.75, 0.5], &[0.5, 1.0, 1.5]),
        ([2.0, 1.0, 0.5], &[]),
    ] {
        let float = |value: f32| float_tensor("", &[], &[value]);
        let expected = (vec![expected.len()], expected.to_vec());
        assert_eq!(range([start, limit, delta].map(float)).run(&[]), expected, "{start} {limit} {delta}");
        if [start, limit, delta].iter().all(|value| value.fract() == 0.0) {
            let narrow = |value: f32| TensorProto {
                data_type: data_type::INT32,
                int32_data: vec![value as i32],
                ..TensorProto::default()
            };
            let graph = range([start, limit, delta].map(narrow)).import().unwrap();
            let element = graph.value(graph.outputs[0]).info.element;
            assert_eq!(element, npukit_numeric::ElementType::I32);
            assert_eq!(
                range([start, limit, delta].map(narrow)).run(&[]),
                expected,
                "{start} {limit} {delta}"
            );
        }
    }
}

#[test]
fn ranges_that_have_no_end_or_no_room_are_refused() {
    let wide = |values: [i64; 3]| range(values.map(|value| int_tensor("", &[], &[value]))).reason();
    let message = |found: &str| {
        let legal = "a step that is not 0, and at most 268435456 elements";
        format!("operand \"start, limit, delta\" is {found}; legal: {legal}")
    };
    assert_eq!(wide([1, 5, 0]).to_string(), message("1 to 5 by 0"));
    assert_eq!(wide([5, 5, 0]).to_string(), message("5 to 5 by 0"));
    let floats = range([1.0, 5.0, 0.0].map(|value| float_tensor("", &[], &[value])));
    assert_eq!(floats.reason().to_string(), message("1 to 5 by 0"));
    // The maximum size of a value is too large for a file of this size; one more is too large for
    // any file.
    assert!(matches!(wide([0, 1 << 28, 1]), Reason::TooLarge { .. }));
    assert_eq!(wide([0, (1 << 28) + 1, 1]).to_string(), message("0 to 268435457 by 1"));
    let mixed = range([float_tensor("", &[], &[1.0]), int_tensor("", &[], &[5]), int_tensor("", &[], &[1])]);
    let found = "F32 [], I64 [], I64 []; legal: numbers of one type";
    assert_eq!(mixed.reason().to_string(), format!("operand \"start, limit, delta\" is {found}"));
    let two = range([int_tensor("", &[2], &[1, 2]), int_tensor("", &[], &[5]), int_tensor("", &[], &[1])]);
    assert_eq!(two.reason().to_string(), "operand \"start\" is I64 [2]; legal: one number");
}

/// Tested for every storage type: floats, both widths of integers, and truth values.
#[test]
fn one_element_is_repeated_whatever_its_type() {
    for (code, values) in [
        (data_type::FLOAT, [0.5f32, 0.0]),
        (data_type::INT64, [-3.0, 0.0]),
        (data_type::INT32, [-3.0, 0.0]),
        (data_type::BOOL, [1.0, 0.0]),
    ] {
        let element = |count: usize| {
            let mut tensor =
                TensorProto { data_type: code, dims: vec![count as i64], ..TensorProto::default() };
            let values = &values[..count];
            match code {
                data_type::FLOAT => tensor.float_data = values.to_vec(),
                data_type::INT64 => tensor.int64_data = values.iter().map(|&value| value as i64).collect(),
                _ => tensor.int32_data = values.iter().map(|&value| value as i32).collect(),
            }
            let filled = node("ConstantOfShape", &["s"], &["y"]).tensor("value", tensor);
            Model::new(9).ints("s", &[3]).output("y").node(filled)
        };
        assert_eq!(element(1).run(&[]), (vec![3], vec![values[0]; 3]), "type {code}");
        for wrong in [0, 2] {
            let message = element(wrong).reason().to_string();
            let legal = format!("[{wrong}]; legal: a tensor of one element");
            assert!(message.starts_with("attribute \"value\" is ") && message.ends_with(&legal), "{message}");
        }
    }
}

/// The standard's `constant_value` has the type of the data.
#[test]
fn pads_hold_a_number_of_any_type() {
    let tensor = |name: &str, code: i32, values: &[f32]| {
        let (name, dims) = (name.to_owned(), vec![values.len() as i64]);
        let mut tensor = TensorProto { name, data_type: code, dims, ..TensorProto::default() };
        match code {
            data_type::FLOAT => tensor.float_data = values.to_vec(),
            data_type::INT64 => tensor.int64_data = values.iter().map(|&value| value as i64).collect(),
            _ => tensor.int32_data = values.iter().map(|&value| value as i32).collect(),
        }
        tensor
    };
    for (code, name) in [(data_type::FLOAT, "F32"), (data_type::INT64, "I64"), (data_type::INT32, "I32")] {
        // The number is an operand since opset 11.
        let padded = |value: &[f32]| {
            let mut model = Model::new(11).ints("p", &[1, 2]).output("y");
            let data = [tensor("x", code, &[4.0, 5.0]), tensor("v", code, value)];
            model.graph().initializer.extend(data);
            model.node(node("Pad", &["x", "p", "v"], &["y"]))
        };
        assert_eq!(padded(&[-7.0]).run(&[]).1, [-7.0, 4.0, 5.0, -7.0, -7.0], "{name}");
        for wrong in [&[][..], &[1.0, 2.0]] {
            let message = padded(wrong).reason().to_string();
            let found = format!("{name} [{}]", wrong.len());
            assert_eq!(message, format!("operand \"constant_value\" is {found}; legal: one number"));
        }
    }
}

/// The graph stores the number as a float, which represents these integers exactly.
#[test]
fn integers_are_padded_with_integers_below_2_to_the_24() {
    let padded = |value: TensorProto| {
        let mut model = Model::new(13).ints("x", &[4]).ints("p", &[1, 0]).output("y");
        model.graph().initializer.push(TensorProto { name: "v".to_owned(), ..value });
        model.node(node("Pad", &["x", "p", "v"], &["y"]))
    };
    let limit = (1i64 << 24) - 1;
    for value in [limit, -limit] {
        assert_eq!(padded(int_tensor("", &[], &[value])).run(&[]).1, [value as f32, 4.0]);
    }
    let legal = "legal: an integer between -16777216 and 16777216 for a tensor of integers";
    for (value, shown) in [
        (int_tensor("", &[], &[limit + 1]), "16777216"),
        (int_tensor("", &[], &[-limit - 1]), "-16777216"),
        (float_tensor("", &[], &[0.5]), "0.5"),
    ] {
        let message = padded(value).reason().to_string();
        assert_eq!(message, format!("operand \"constant_value\" is {shown}; {legal}"));
    }
}

#[test]
fn ranges_are_rounded_up_in_either_direction() {
    for ([start, limit, delta], expected) in [
        ([1, 5, 2], &[1.0, 3.0][..]),
        ([1, 6, 2], &[1.0, 3.0, 5.0]),
        ([10, 6, -3], &[10.0, 7.0]),
        ([10, 4, -3], &[10.0, 7.0]),
        ([1, 5, -2], &[]),
        ([5, 1, 2], &[]),
    ] {
        let mut model = Model::new(11).node(node("Range", &["s", "l", "d"], &["y"])).output("y");
        let operands = [("s", start), ("l", limit), ("d", delta)];
        model.graph().initializer = operands.map(|(name, value)| int_tensor(name, &[], &[value])).to_vec();
        assert_eq!(model.run(&[]), (vec![expected.len()], expected.to_vec()), "{start} {limit} {delta}");
    }
}
