//! Resize and Upsample in the forms of opsets 7, 9, 10, 11, 13 and 18.

use npukit_graph::evaluate;
use npukit_import::onnx::proto::{NodeProto, TensorProto};
use npukit_import::onnx::{Options, Reason, Remark, read};

use crate::model::{Model, With, float_tensor, floats, int_tensor, node, unary};

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
    // Opset 11 writes the absent operands as empty tensors.
    let empty = vec![float_tensor("roi", &[0], &[]), float_tensor("none", &[0], &[])];
    let sizes = [empty, vec![int_tensor("n", &[4], &[1, 1, 1, 4])]].concat();
    let node11 = node("Resize", &["x", "roi", "none", "n"], &["y"]).string("nearest_mode", "floor");
    assert_eq!(run(&row(11, node11, sizes), &Options::default()), [0.0, 0.0, 0.0, 8.0]);
    let node18 = node("Resize", &["x", "", "", "n"], &["y"]).ints("axes", &[-1]).int("antialias", 0);
    let model = row(18, node18, vec![int_tensor("n", &[1], &[4])]);
    assert_eq!(run(&model, &Options::default()), [0.0, 0.0, 8.0, 8.0]);
}

#[test]
fn resizes_that_make_no_sense_are_refused() {
    let base = || node("Resize", &["x", "", "s"], &["y"]);
    let scales = |values: &[f32]| vec![float_tensor("s", &[values.len() as i64], values)];
    for wrong in [
        &[1.0, 1.0][..],
        &[1.0, 1.0, 0.0, 1.0],
        &[1.0, 1.0, 1.0, f32::NAN],
        &[1.0, 1.0, 1.0, -1.0],
        &[1.0, 1.0, 1.0, 1e30],
        &[1.0, 1.0, 1.0, 0.1],
    ] {
        let reason = row(13, base(), scales(wrong)).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "scales", .. }), "{wrong:?}: {reason}");
    }
    // Each size is legal, their product is not.
    let reason = row(13, base(), scales(&[1.0, 1.0, 32768.0, 16384.0])).reason();
    assert!(matches!(reason, Reason::TooLarge { .. }), "{reason}");
    for node in [
        base().string("mode", "cubic"),
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
    // 2 * 1.25 is no whole size: the standard and ONNX Runtime part ways.
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
    let told = Remark::Coordinates { op: "Resize", nodes, opset: 10 };
    assert_eq!(remarks(&Options::default()), [told]);
    for half_pixel in [true, false] {
        assert_eq!(remarks(&Options { resize_half_pixel: Some(half_pixel), ..Options::default() }), []);
    }
    let stated = row(11, node("Resize", &["x", "", "s"], &["y"]), vec![doubled()]);
    assert_eq!(stated.read(&Options::default()).unwrap().remarks, []);
    let upsample = row(9, node("Upsample", &["x", "s"], &["y"]), vec![doubled()]);
    let remarks = upsample.read(&Options::default()).unwrap().remarks;
    assert!(matches!(&remarks[..], [Remark::Coordinates { op: "Upsample", opset: 9, .. }]), "{remarks:?}");
}
