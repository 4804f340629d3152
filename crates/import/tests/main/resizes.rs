//! Resize and Upsample in the forms of opsets 7, 9, 10, 11, 13 and 18.

use npukit_graph::{Op, evaluate};
use npukit_import::onnx::proto::{NodeProto, TensorProto};
use npukit_import::onnx::{Options, Reason, Remark, read};

use crate::model::{Model, With, counting, float_tensor, floats, int_tensor, node, unary};

/// A row of an image of 2 columns with the values 0 and 8.
fn row(opset: i64, node: NodeProto, constants: Vec<TensorProto>) -> Model {
    unary(opset, &[1, 1, 1, 2], node, constants)
}

fn run(model: &Model, options: &Options) -> Vec<f32> {
    let graph = read(&model.bytes(), "test", options).unwrap().graph;
    let outputs = evaluate(&graph, &[floats(&[1, 1, 1, 2], &[0.0, 8.0])]).unwrap();
    outputs[0].as_f32().unwrap().to_vec()
}

fn doubled() -> TensorProto {
    float_tensor("s", &[4], &[1.0, 1.0, 1.0, 2.0])
}

#[test]
fn asymmetric_before_opset_11_unless_asked() {
    let half_pixel = Options { resize_half_pixel: Some(true), ..Options::default() };
    let upsample7 =
        node("Upsample", &["x"], &["y"]).string("mode", "linear").floats("scales", &[1.0, 1.0, 1.0, 2.0]);
    let upsample9 = node("Upsample", &["x", "s"], &["y"]).string("mode", "linear");
    let resize10 = node("Resize", &["x", "s"], &["y"]).string("mode", "linear");
    for model in
        [row(7, upsample7, vec![]), row(9, upsample9, vec![doubled()]), row(10, resize10, vec![doubled()])]
    {
        assert_eq!(run(&model, &Options::default()), [0.0, 4.0, 8.0, 8.0]);
        assert_eq!(run(&model, &half_pixel), [0.0, 2.0, 6.0, 8.0]);
    }
}

#[test]
fn nearest_before_opset_11() {
    let resize = |scale: f32| {
        let scales = float_tensor("s", &[4], &[1.0, 1.0, 1.0, scale]);
        run(&row(10, node("Resize", &["x", "s"], &["y"]), vec![scales]), &Options::default())
    };
    assert_eq!(resize(2.0), [0.0, 0.0, 8.0, 8.0]);
    assert_eq!(resize(0.5), [0.0]);
}

#[test]
fn coordinates_since_opset_11() {
    let resize = |mode: &str| {
        let node = node("Resize", &["x", "", "s"], &["y"]).string("mode", "linear");
        row(13, node.string("coordinate_transformation_mode", mode), vec![doubled()])
    };
    let options = Options { resize_half_pixel: Some(true), ..Options::default() };
    assert_eq!(run(&resize("half_pixel"), &options), [0.0, 2.0, 6.0, 8.0]);
    assert_eq!(run(&resize("asymmetric"), &options), [0.0, 4.0, 8.0, 8.0]);
    let corners = run(&resize("align_corners"), &options);
    let expected = [0.0, 8.0 / 3.0, 16.0 / 3.0, 8.0];
    assert!(corners.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{corners:?}");
    assert_eq!(run(&resize("half_pixel_symmetric"), &options), [0.0, 2.0, 6.0, 8.0]);
    let reason = resize("tf_crop_and_resize").reason();
    assert!(matches!(reason, Reason::OperandMissing { operand: "roi" }), "{reason}");
    let reason = resize("pixel").reason();
    assert!(
        matches!(reason, Reason::AttributeValue { name: "coordinate_transformation_mode", .. }),
        "{reason}"
    );
}

#[test]
fn sizes_and_axes() {
    // Opset 11 writes absent operands as empty tensors.
    let empty = vec![float_tensor("roi", &[0], &[]), float_tensor("none", &[0], &[])];
    let sizes = [empty, vec![int_tensor("n", &[4], &[1, 1, 1, 4])]].concat();
    let node11 = node("Resize", &["x", "roi", "none", "n"], &["y"]).string("nearest_mode", "floor");
    assert_eq!(run(&row(11, node11, sizes), &Options::default()), [0.0, 0.0, 0.0, 8.0]);
    let node18 = node("Resize", &["x", "", "", "n"], &["y"]).ints("axes", &[-1]).int("antialias", 0);
    let model = row(18, node18, vec![int_tensor("n", &[1], &[4])]);
    assert_eq!(run(&model, &Options::default()), [0.0, 0.0, 8.0, 8.0]);
}

/// The nearest element differs between enlarging and shrinking, and is undefined for both together.
#[test]
fn growing_and_shrinking_at_once_needs_no_nearest_element_before_opset_11() {
    let resize = |mode: &str, scales: [f32; 2]| {
        let scales = vec![float_tensor("s", &[4], &[1.0, 1.0, scales[0], scales[1]])];
        unary(10, &[1, 1, 2, 2], node("Resize", &["x", "s"], &["y"]).string("mode", mode), scales)
    };
    let shape = |model: Model| {
        let graph = model.import().unwrap();
        graph.shape(graph.outputs[0]).to_vec()
    };
    assert_eq!(shape(resize("linear", [2.0, 0.5])), [1, 1, 4, 1]);
    assert_eq!(shape(resize("nearest", [2.0, 1.0])), [1, 1, 4, 2]);
    assert_eq!(shape(resize("nearest", [1.0, 0.5])), [1, 1, 2, 1]);
    let message = resize("nearest", [2.0, 0.5]).reason().to_string();
    let legal = "all at least 1 or all at most 1 with mode nearest";
    assert_eq!(message, format!("operand \"scales\" is [1.0, 1.0, 2.0, 0.5]; legal: {legal}"));
}

/// Positions of results in a row of 4 elements, for each coordinate mode. `x` is the position of a
/// result, the scale 2/4 or 6/4.
#[test]
fn every_rule_of_coordinates_by_its_formula() {
    let (shrink, grow) = (0.5f32, 1.5f32);
    type Rule = fn(f32, f32, f32) -> f32;
    let rules: [(&str, Rule); 5] = [
        ("half_pixel", |x, scale, _| (x + 0.5) / scale - 0.5),
        ("pytorch_half_pixel", |x, scale, to| if to > 1.0 { (x + 0.5) / scale - 0.5 } else { 0.0 }),
        ("align_corners", |x, _, to| if to > 1.0 { x * 3.0 / (to - 1.0) } else { 0.0 }),
        ("asymmetric", |x, scale, _| x / scale),
        ("half_pixel_symmetric", |x, scale, _| (x + 0.5) / scale - 0.5),
    ];
    for scale in [0.25, shrink, grow] {
        for (name, rule) in rules {
            let resize = node("Resize", &["x", "", "s"], &["y"]).string("mode", "linear");
            let resize = resize.string("coordinate_transformation_mode", name);
            let scales = float_tensor("s", &[4], &[1.0, 1.0, 1.0, scale]);
            let model = unary(19, &[1, 1, 1, 4], resize, vec![scales]);
            let (_, found) = model.run(&[floats(&[1, 1, 1, 4], &[0.0, 10.0, 20.0, 30.0])]);
            let to = 4.0 * scale;
            // On a line, the value is the position within the elements.
            let expected: Vec<f32> =
                (0..to as usize).map(|x| 10.0 * rule(x as f32, scale, to).clamp(0.0, 3.0)).collect();
            let close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(found.len() == expected.len() && close, "{name} by {scale}: {found:?}, not {expected:?}");
        }
    }
}

/// A scale has an effect even if it changes no size; each of two options is valid separately.
#[test]
fn scales_that_change_no_size_move_the_results() {
    let resize = || node("Resize", &["x", "", "s"], &["y"]).string("mode", "linear");
    let scaled = |dims: &[i64], scales: &[f32], node| {
        unary(18, dims, node, vec![float_tensor("s", &[scales.len() as i64], scales)])
    };
    let expected = (0..4).map(|x| ((x as f32 + 0.5) / 1.2 - 0.5).clamp(0.0, 3.0)).collect::<Vec<_>>();
    let (_, found) = scaled(&[4], &[1.2], resize()).run(&[floats(&[4], &[0.0, 1.0, 2.0, 3.0])]);
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}, not {expected:?}");
    for option in ["antialias", "exclude_outside"] {
        let (_, grown) = scaled(&[2], &[2.0], resize().int(option, 1)).run(&[floats(&[2], &[0.0, 8.0])]);
        assert_eq!(grown, [0.0, 2.0, 6.0, 8.0], "{option}");
    }
}

/// Results halfway between two elements, for each rounding mode.
#[test]
fn every_rule_of_the_nearest_element() {
    // Asymmetric at half the scale: positions 0, 0.5, .. of four elements.
    for (name, expected) in [
        ("round_prefer_floor", [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
        ("round_prefer_ceil", [0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]),
        ("floor", [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
        ("ceil", [0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]),
    ] {
        let resize = |scale: f32| {
            let resize = node("Resize", &["x", "", "s"], &["y"]).string("nearest_mode", name);
            let resize = resize.string("coordinate_transformation_mode", "asymmetric");
            let scales = float_tensor("s", &[4], &[1.0, 1.0, 1.0, scale]);
            unary(13, &[1, 1, 1, 4], resize, vec![scales])
                .run(&[floats(&[1, 1, 1, 4], &[0.0, 1.0, 2.0, 3.0])])
                .1
        };
        assert_eq!(resize(2.0), expected, "{name}");
        // At a quarter, only floor and ceil matter.
        let quarter = resize(4.0)[1];
        assert_eq!(quarter, if name == "ceil" { 1.0 } else { 0.0 }, "{name}");
        let three_quarters = resize(4.0)[3];
        assert_eq!(three_quarters, if name == "floor" { 0.0 } else { 1.0 }, "{name}");
    }
}

/// Sizes that keep the aspect ratio: one scale for all listed axes.
#[test]
fn aspect_ratios_are_kept_within_or_around_the_sizes() {
    let shape = |policy: &str, sizes: [i64; 2], dims: &[i64]| {
        let resize = node("Resize", &["x", "", "", "n"], &["y"]).ints("axes", &[2, 3]);
        let resize = resize.string("keep_aspect_ratio_policy", policy);
        let model = unary(18, dims, resize, vec![int_tensor("n", &[2], &sizes)]);
        let graph = model.import().unwrap();
        graph.shape(graph.outputs[0]).to_vec()
    };
    assert_eq!(shape("stretch", [4, 3], &[1, 1, 2, 3]), [1, 1, 4, 3]);
    assert_eq!(shape("not_larger", [4, 3], &[1, 1, 2, 3]), [1, 1, 2, 3]);
    assert_eq!(shape("not_smaller", [4, 3], &[1, 1, 2, 3]), [1, 1, 4, 6]);
    assert_eq!(shape("not_larger", [7, 8], &[1, 1, 4, 2]), [1, 1, 7, 4], "3.5 is rounded up");
}

/// Part of the image, as fractions of its size; outside it, a separate value is used.
#[test]
fn parts_of_images_are_cropped_and_resized() {
    let crop = |roi: [f32; 2], beyond: Option<f32>| {
        let resize = node("Resize", &["x", "roi", "", "n"], &["y"]).string("mode", "linear");
        let resize = resize.string("coordinate_transformation_mode", "tf_crop_and_resize");
        let resize = match beyond {
            Some(value) => resize.float("extrapolation_value", value),
            None => resize,
        };
        let all = [0.0, 0.0, 0.0, roi[0], 1.0, 1.0, 1.0, roi[1]];
        let constants = vec![float_tensor("roi", &[8], &all), int_tensor("n", &[4], &[1, 1, 1, 3])];
        unary(13, &[1, 1, 1, 5], resize, constants)
            .run(&[floats(&[1, 1, 1, 5], &[0.0, 1.0, 2.0, 3.0, 4.0])])
            .1
    };
    assert_eq!(crop([0.0, 1.0], None), [0.0, 2.0, 4.0]);
    assert_eq!(crop([0.25, 0.75], None), [1.0, 2.0, 3.0]);
    assert_eq!(crop([0.5, 1.5], None), [2.0, 4.0, 0.0]);
    assert_eq!(crop([0.5, 1.5], Some(9.0)), [2.0, 4.0, 9.0]);
}

#[test]
fn resizes_that_make_no_sense_are_refused() {
    let base = || node("Resize", &["x", "", "s"], &["y"]);
    let scales = |values: &[f32]| vec![float_tensor("s", &[values.len() as i64], values)];
    for wrong in [
        &[1.0, 1.0][..],
        &[1.0, 1.0, 0.0, 1.0],
        &[1.0, 1.0, 1.0, f32::NAN],
        &[1.0, 1.0, 1.0, f32::INFINITY],
        &[1.0, 1.0, 1.0, -1.0],
        &[1.0, 1.0, 1.0, 1e30],
        &[1.0, 1.0, 1.0, 0.1],
    ] {
        let reason = row(13, base(), scales(wrong)).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "scales", .. }), "{wrong:?}: {reason}");
    }
    // Each size is legal, but their product is not.
    let reason = row(13, base(), scales(&[1.0, 1.0, 32768.0, 16384.0])).reason();
    assert!(matches!(reason, Reason::TooLarge { .. }), "{reason}");
    for node in [
        base().string("mode", "quartic"),
        base().string("nearest_mode", "simple"),
        base().string("mode", "linear").int("antialias", 1).int("exclude_outside", 1),
        base().ints("axes", &[1, 2, 3, 3]),
    ] {
        let reason = row(18, node, vec![doubled()]).reason();
        assert!(matches!(reason, Reason::AttributeValue { .. }), "{reason}");
    }
    let sizes = node("Resize", &["x", "", "", "n"], &["y"]).string("keep_aspect_ratio_policy", "square");
    let reason = row(18, sizes, vec![int_tensor("n", &[4], &[1, 1, 1, 4])]).reason();
    assert!(matches!(reason, Reason::AttributeValue { .. }), "{reason}");
    for wrong in [&[1, 1, 4][..], &[1, 1, 1, 0], &[1, 1, 1, -4], &[1, 1, 1, (1 << 28) + 1]] {
        let sizes = node("Resize", &["x", "", "", "n"], &["y"]);
        let reason = row(18, sizes, vec![int_tensor("n", &[wrong.len() as i64], wrong)]).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "sizes", .. }), "{wrong:?}: {reason}");
    }
    // 2 * 1.25 is not an integer: the standard and ONNX Runtime differ.
    let corners = base().string("mode", "linear").string("coordinate_transformation_mode", "align_corners");
    let reason = row(13, corners, scales(&[1.0, 1.0, 1.0, 1.25])).reason();
    assert!(matches!(reason, Reason::OperandValue { operand: "scales", .. }), "{reason}");
}

#[test]
fn reading_coordinates_that_no_file_states_is_told() {
    let scales = || node("Resize", &["x", "s"], &["y"]);
    let model = row(10, scales(), vec![doubled()]).node(node("Resize", &["y", "s"], &["z"])).output("z");
    let remarks = |options: &Options| model.read(options).unwrap().remarks;
    let nodes = vec!["y".to_owned(), "z".to_owned()];
    let message = Remark::Coordinates { op: "Resize", nodes, opset: 10 };
    assert_eq!(remarks(&Options::default()), [message]);
    for half_pixel in [true, false] {
        assert_eq!(remarks(&Options { resize_half_pixel: Some(half_pixel), ..Options::default() }), []);
    }
    let stated = row(11, node("Resize", &["x", "", "s"], &["y"]), vec![doubled()]);
    assert_eq!(stated.read(&Options::default()).unwrap().remarks, []);
    let upsample = row(9, node("Upsample", &["x", "s"], &["y"]), vec![doubled()]);
    let remarks = upsample.read(&Options::default()).unwrap().remarks;
    assert!(matches!(&remarks[..], [Remark::Coordinates { op: "Upsample", opset: 9, .. }]), "{remarks:?}");
}

/// Batches and channels may also be resized: the element at `i / scale` of each axis, listed
/// explicitly.
#[test]
fn any_axes_of_signals_and_images_are_resized() {
    for (rank, changed) in [3, 4].into_iter().flat_map(|rank| (0..1 << rank).map(move |bits| (rank, bits))) {
        let shape = &[2, 3, 4, 5][..rank];
        let scales: Vec<usize> = (0..rank).map(|axis| 1 + (changed >> axis & 1)).collect();
        let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        let stated: Vec<f32> = scales.iter().map(|&scale| scale as f32).collect();
        let resize = node("Resize", &["x", "", "s"], &["y"]).string("nearest_mode", "floor");
        let resize = resize.string("coordinate_transformation_mode", "asymmetric");
        let model = unary(13, &dims, resize, vec![float_tensor("s", &[rank as i64], &stated)]);
        let to: Vec<usize> = shape.iter().zip(&scales).map(|(size, scale)| size * scale).collect();
        let source = |index: usize| {
            let axes = (0..rank).rev().fold((index, 0, 1), |(rest, place, step), axis| {
                (rest / to[axis], place + rest % to[axis] / scales[axis] * step, step * shape[axis])
            });
            axes.1 as f32
        };
        let expected: Vec<f32> = (0..to.iter().product()).map(source).collect();
        assert_eq!(model.run(&[counting(shape)]), (to, expected), "{scales:?}");
    }
}

/// A signal keeps its channels side by side: it is an image of one row.
#[test]
fn signals_are_resized_as_images_of_one_row() {
    let resize = node("Resize", &["x", "", "s"], &["y"]);
    let model = unary(13, &[2, 3, 4], resize, vec![float_tensor("s", &[3], &[1.0, 1.0, 2.0])]);
    let graph = model.import().unwrap();
    let resized: Vec<_> = graph.nodes.iter().filter(|node| matches!(node.op, Op::Resize(_))).collect();
    assert_eq!(resized.iter().map(|node| graph.shape(node.inputs[0])).collect::<Vec<_>>(), [[2, 1, 4, 3]]);
}

#[test]
fn all_axes_may_be_named_in_any_order() {
    let resize = node("Resize", &["x", "", "", "n"], &["y"]).ints("axes", &[3, -2, 1, 0]);
    let graph = row(18, resize, vec![int_tensor("n", &[4], &[8, 3, 1, 1])]).import().unwrap();
    assert_eq!(graph.shape(graph.outputs[0]), [1, 1, 3, 8]);
}

/// A region has the first and the last coordinate of each axis, all of them numbers.
#[test]
fn regions_that_are_none_are_refused() {
    for (region, shown) in [
        (&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0][..], "[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]"),
        (&[0.0, 0.0, 0.0, f32::NAN, 1.0, 1.0, 1.0, 1.0], "[0.0, 0.0, 0.0, NaN, 1.0, 1.0, 1.0, 1.0]"),
    ] {
        let resize = node("Resize", &["x", "roi", "s"], &["y"]).string("mode", "linear");
        let resize = resize.string("coordinate_transformation_mode", "tf_crop_and_resize");
        let constants = vec![float_tensor("roi", &[region.len() as i64], region), doubled()];
        let message = row(13, resize, constants).reason().to_string();
        let legal = "8 numbers, first and last coordinate of each axis";
        assert_eq!(message, format!("operand \"roi\" is {shown}; legal: {legal}"));
    }
}
