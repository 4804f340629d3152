//! TensorFlow's constants: the field of each element type, repetition, and unsupported types.

use npukit_graph::evaluate;
use npukit_import::Reason;
use npukit_import::tensorflow::proto::TensorProto;
use npukit_numeric::{ElementType, TensorData};

use crate::graph_def::{Graph, shape};

fn constant(tensor: TensorProto) -> Graph {
    let tensor_shape = Some(shape(&[3]));
    Graph::default().constant("c", TensorProto { tensor_shape, ..tensor }).outputs(&["c"])
}

/// Two of three elements are stored; the last one is repeated.
#[test]
fn each_element_type_has_its_list() {
    use ElementType::*;
    let float = || TensorData::F32(vec![1.0, -2.0, -2.0]);
    let (signed, unsigned) = (|| TensorData::I32(vec![1, -2, -2]), || TensorData::I32(vec![1, 200, 200]));
    let wide = |last: i64| TensorData::I64(vec![1, last, last]);
    let all = TensorProto {
        float_val: vec![1.0, -2.0],
        double_val: vec![1.0, -2.0],
        int_val: vec![1, -2],
        int64_val: vec![1, -(1 << 40)],
        bool_val: vec![false, true],
        uint32_val: vec![1, u32::MAX],
        uint64_val: vec![1, 1 << 40],
        ..TensorProto::default()
    };
    let halves = |bits: [i32; 2]| TensorProto { half_val: bits.to_vec(), ..all.clone() };
    let bytes = |bits: [u8; 2]| TensorProto { float8_val: bits.to_vec(), ..all.clone() };
    let large = TensorProto { int_val: vec![1, 200], ..all.clone() };
    let cases = [
        (1, F32, all.clone(), float()),
        (2, F64, all.clone(), float()),
        (3, I32, all.clone(), signed()),
        (4, U8, large.clone(), unsigned()),
        (5, I16, all.clone(), signed()),
        (6, I8, all.clone(), signed()),
        (9, I64, all.clone(), wide(-(1 << 40))),
        (10, Bool, all.clone(), TensorData::Bool(vec![false, true, true])),
        (14, BF16, halves([0x3F80, 0xC000]), float()),
        (17, U16, large, unsigned()),
        (19, F16, halves([0x3C00, 0xC000]), float()),
        (22, U32, all.clone(), wide(u32::MAX.into())),
        (23, U64, all.clone(), wide(1 << 40)),
        (24, F8E5M2, bytes([0x3C, 0xC0]), float()),
        (25, F8E4M3FN, bytes([0x38, 0xC0]), float()),
    ];
    for (dtype, element, tensor, expected) in cases {
        let graph = constant(TensorProto { dtype, ..tensor }).import().unwrap();
        let found = evaluate(&graph, &[]).unwrap().remove(0);
        assert_eq!((found.element(), found.data()), (element, &expected), "type {dtype}");
    }
}

#[test]
fn content_counts_before_any_list() {
    let content: Vec<u8> = [3.0f32, 4.0, 5.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let both =
        TensorProto { dtype: 1, tensor_content: content, float_val: vec![1.0], ..TensorProto::default() };
    assert_eq!(constant(both).run(&[]).1, [3.0, 4.0, 5.0]);
}

#[test]
fn element_types_that_are_not_read_are_named() {
    for (dtype, name) in [
        (0, "invalid"),
        (7, "string"),
        (8, "complex64"),
        (11, "qint8"),
        (20, "resource"),
        (29, "int4"),
        (-1, "-1"),
        (99, "99"),
    ] {
        let reason = constant(TensorProto { dtype, ..TensorProto::default() }).reason();
        assert_eq!(reason, Reason::ElementType { name: name.to_owned() });
    }
}

#[test]
fn a_constant_of_unknown_shape_is_refused() {
    let mut unknown = shape(&[]);
    unknown.unknown_rank = true;
    let tensor =
        TensorProto { dtype: 1, tensor_shape: Some(unknown), float_val: vec![1.0], ..TensorProto::default() };
    let graph = Graph::default().constant("c", tensor).outputs(&["c"]);
    assert_eq!(graph.reason(), Reason::NoShape);
}
