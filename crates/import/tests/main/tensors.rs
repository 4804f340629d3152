//! Tensors of every element type, in the file and next to it, and the sizes of named dimensions.

use std::ops::Range;
use std::sync::Mutex;

use npukit_graph::evaluate;
use npukit_import::onnx::proto::{StringStringEntryProto, TensorProto, data_type};
use npukit_import::onnx::{ImportError, Options, Part, Reason, read_with_files};
use npukit_numeric::{ElementType, TensorData};
use proptest::prelude::*;

use crate::model::{Model, float_tensor, node, value_info};

/// A model whose only output is the tensor `w`.
fn of(tensor: TensorProto) -> Model {
    let mut model = Model::new(21).output("w");
    model.graph().initializer.push(TensorProto { name: "w".to_owned(), ..tensor });
    model
}

fn raw(code: i32, dims: &[i64], bytes: &[u8]) -> TensorProto {
    let raw_data = Some(bytes.to_vec());
    TensorProto { data_type: code, dims: dims.to_vec(), raw_data, ..TensorProto::default() }
}

fn ints(code: i32, dims: &[i64], values: &[i32]) -> TensorProto {
    let int32_data = values.to_vec();
    TensorProto { data_type: code, dims: dims.to_vec(), int32_data, ..TensorProto::default() }
}

/// Type and elements of the tensor.
fn values(tensor: TensorProto) -> (ElementType, TensorData) {
    let graph = of(tensor).import().unwrap();
    let results = evaluate(&graph, &[]).unwrap();
    (results[0].element(), results[0].data().clone())
}

/// Bytes as `onnx.numpy_helper.from_array` (1.23) packs `[1, -2, 3]`, and `[1, 2, 3]` unsigned.
#[test]
fn raw_elements_of_every_type() {
    use ElementType::*;
    let float = || TensorData::F32(vec![1.0, -2.0, 3.0]);
    let cases: &[(i32, ElementType, &[u8], TensorData)] = &[
        (data_type::FLOAT16, F16, &[0x00, 0x3C, 0x00, 0xC0, 0x00, 0x42], float()),
        (data_type::BFLOAT16, BF16, &[0x80, 0x3F, 0x00, 0xC0, 0x40, 0x40], float()),
        (data_type::FLOAT8E4M3FN, F8E4M3FN, &[0x38, 0xC0, 0x44], float()),
        (data_type::FLOAT8E4M3FNUZ, F8E4M3FNUZ, &[0x40, 0xC8, 0x4C], float()),
        (data_type::FLOAT8E5M2, F8E5M2, &[0x3C, 0xC0, 0x42], float()),
        (data_type::FLOAT8E5M2FNUZ, F8E5M2FNUZ, &[0x40, 0xC4, 0x46], float()),
        (data_type::FLOAT8E8M0, F8E8M0, &[0x7F, 0x80, 0x81], TensorData::F32(vec![1.0, 2.0, 4.0])),
        (data_type::FLOAT6E2M3, F6E2M3, &[0x08, 0x4C, 0x01], float()),
        (data_type::FLOAT6E3M2, F6E3M2, &[0x0C, 0x2C, 0x01], float()),
        (data_type::FLOAT4E2M1, F4E2M1, &[0xC2, 0x05], float()),
        (data_type::INT8, I8, &[0x01, 0xFE, 0x03], TensorData::I32(vec![1, -2, 3])),
        (data_type::INT16, I16, &[0x01, 0x00, 0xFE, 0xFF, 0x03, 0x00], TensorData::I32(vec![1, -2, 3])),
        (data_type::INT4, I4, &[0xE1, 0x03], TensorData::I32(vec![1, -2, 3])),
        (data_type::INT2, I2, &[0x09], TensorData::I32(vec![1, -2, 0])),
        (data_type::UINT8, U8, &[0x01, 0x02, 0xFF], TensorData::I32(vec![1, 2, 255])),
        (data_type::UINT16, U16, &[0x01, 0x00, 0x02, 0x00, 0xFF, 0xFF], TensorData::I32(vec![1, 2, 65535])),
        (data_type::UINT4, U4, &[0x21, 0x0F], TensorData::I32(vec![1, 2, 15])),
        (data_type::UINT2, U2, &[0x39], TensorData::I32(vec![1, 2, 3])),
        (data_type::BOOL, Bool, &[1, 0, 1], TensorData::Bool(vec![true, false, true])),
    ];
    for (code, element, bytes, expected) in cases {
        assert_eq!(values(raw(*code, &[3], bytes)), (*element, expected.clone()), "{element}");
    }
    let wide: Vec<u8> = [1u64, u64::MAX >> 1].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(values(raw(data_type::UINT64, &[2], &wide)), (U64, TensorData::I64(vec![1, i64::MAX])));
    assert_eq!(
        values(raw(data_type::UINT32, &[1], &[0xFF; 4])),
        (U32, TensorData::I64(vec![u32::MAX.into()]))
    );
    let double = raw(data_type::DOUBLE, &[1], &0.1f64.to_le_bytes());
    assert_eq!(values(double), (F64, TensorData::F32(vec![0.1])));
}

#[test]
fn typed_elements_of_every_field() {
    let halves = ints(data_type::FLOAT16, &[2], &[0x3C00, 0xC000]);
    assert_eq!(values(halves), (ElementType::F16, TensorData::F32(vec![1.0, -2.0])));
    let bytes = ints(data_type::UINT8, &[2], &[200, 7]);
    assert_eq!(values(bytes), (ElementType::U8, TensorData::I32(vec![200, 7])));
    let nibbles = ints(data_type::INT4, &[3], &[0xE1, 0x03]);
    assert_eq!(values(nibbles), (ElementType::I4, TensorData::I32(vec![1, -2, 3])));
    let eights = ints(data_type::FLOAT8E5M2, &[1], &[0xC0]);
    assert_eq!(values(eights), (ElementType::F8E5M2, TensorData::F32(vec![-2.0])));
    let dims = vec![1];
    let double = TensorProto {
        data_type: data_type::DOUBLE,
        dims: dims.clone(),
        double_data: vec![0.5],
        ..TensorProto::default()
    };
    assert_eq!(values(double), (ElementType::F64, TensorData::F32(vec![0.5])));
    let wide = |value| TensorProto {
        data_type: data_type::UINT64,
        dims: dims.clone(),
        uint64_data: vec![value],
        ..TensorProto::default()
    };
    assert_eq!(values(wide(7)), (ElementType::U64, TensorData::I64(vec![7])));
    let message = of(wide(u64::MAX)).reason().to_string();
    assert!(message.contains("18446744073709551615"), "{message}");
}

#[test]
fn sizes_are_checked_in_bits() {
    let short = of(raw(data_type::INT4, &[3], &[0x21])).reason();
    assert_eq!(short, Reason::DataSize { shape: vec![3], expected: 2, found: 1, unit: "bytes" });
    let long = of(ints(data_type::UINT2, &[4], &[0, 0])).reason();
    assert_eq!(long, Reason::DataSize { shape: vec![4], expected: 1, found: 2, unit: "elements" });
}

/// A tensor of 2 floats in another file.
fn external(entries: &[(&str, &str)]) -> TensorProto {
    let entry = |&(key, value): &(&str, &str)| StringStringEntryProto {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let external_data = entries.iter().map(entry).collect();
    TensorProto { external_data, data_location: 1, ..raw(data_type::FLOAT, &[2], &[]) }
}

/// Requested files and ranges.
type Asked = Vec<(String, Range<u64>)>;

/// Imports the model with a file `data/w.bin` of the floats 0 to 3. Also returns the requested
/// parts.
fn read_beside(model: &Model) -> (Result<Vec<f32>, ImportError>, Asked) {
    let asked = Mutex::new(Vec::new());
    let files = |path: &str, range: Range<u64>| {
        asked.lock().unwrap().push((path.to_owned(), range.clone()));
        let bytes: Vec<u8> = (0..4u8).flat_map(|value| f32::from(value).to_le_bytes()).collect();
        let part =
            |range: Range<u64>| bytes[range.start.min(16) as usize..range.end.min(16) as usize].to_vec();
        if path == "data/w.bin" {
            Ok(Part { bytes: part(range), file_bytes: 16 })
        } else {
            Err("the file does not exist".to_owned())
        }
    };
    let graph = read_with_files(&model.bytes(), "m", &Options::default(), &files);
    let values = graph.map(|imported| evaluate(&imported.graph, &[]).unwrap()[0].as_f32().unwrap().to_vec());
    (values, asked.into_inner().unwrap())
}

fn beside(entries: &[(&str, &str)]) -> (Result<Vec<f32>, String>, Asked) {
    let (values, asked) = read_beside(&of(TensorProto { raw_data: None, ..external(entries) }));
    let reason = |error| match error {
        ImportError::Problems { problems } => problems[0].reason.to_string(),
        other => other.to_string(),
    };
    (values.map_err(reason), asked)
}

#[test]
fn parts_of_files_beside_the_model() {
    let part = [("location", "./data/w.bin"), ("offset", "4"), ("length", "8"), ("checksum", "?")];
    assert_eq!(beside(&part), (Ok(vec![1.0, 2.0]), vec![("data/w.bin".to_owned(), 4..12)]));
    assert_eq!(beside(&[("location", "data/w.bin"), ("offset", "8")]).0, Ok(vec![2.0, 3.0]));
    let refused = |entries: &[(&str, &str)], text: &str| {
        let error = beside(entries).0.unwrap_err();
        assert!(error.contains(text), "{error}");
    };
    // The default length is that of the shape, as in ONNX Runtime.
    assert_eq!(beside(&[("location", "data/w.bin")]).0, Ok(vec![0.0, 1.0]));
    assert_eq!(beside(&[("location", "data\\w.bin"), ("offset", "4")]).0, Ok(vec![1.0, 2.0]));
    refused(&[("location", "data/w.bin"), ("offset", "12")], "need 8 bytes; 4 are present");
    refused(&[("location", "data/w.bin"), ("length", "16")], "need 8 bytes; 16 are present");
    refused(&[("location", "data/w.bin"), ("offset", "12"), ("length", "8")], "not in its 16 bytes");
    refused(&[("location", "data/w.bin"), ("offset", "18446744073709551615")], "not in its 16 bytes");
    refused(&[("location", "data/w.bin"), ("length", "18446744073709551616")], "is not a number of bytes");
    refused(&[("location", "data/w.bin"), ("offset", "-1")], "is not a number of bytes");
    refused(&[("location", "other.bin")], "the file does not exist");
}

#[test]
fn nobody_is_asked_for_files_elsewhere() {
    for path in ["", "/etc/passwd", "../w.bin", "data/../../w.bin", "C:\\w.bin", "data\\..\\..\\w.bin"] {
        let (values, asked) = beside(&[("location", path)]);
        assert!(values.unwrap_err().contains("leaves the model's folder"), "{path}");
        assert!(asked.is_empty());
    }
}

/// Entries that tools leave in a model when they move elements back into it.
#[test]
fn elements_in_the_model_count_wherever_others_were() {
    let own = float_tensor("w", &[2], &[7.0, 8.0]).raw_data;
    let entries = external(&[("location", "data/w.bin"), ("length", "8")]);
    let (values, asked) = read_beside(&of(TensorProto { raw_data: own, data_location: 0, ..entries }));
    assert_eq!((values, asked), (Ok(vec![7.0, 8.0]), vec![]));
}

#[test]
fn a_file_does_not_unfold() {
    let part = [("location", "data/w.bin"), ("length", "8")];
    let mut model = Model::new(13);
    for index in 0..9 {
        let name = format!("w{index}");
        model.graph().initializer.push(TensorProto { name: name.clone(), raw_data: None, ..external(&part) });
        model = model.output(&name);
    }
    let (values, asked) = read_beside(&model);
    assert!(asked.iter().all(|(_, range)| *range == (0..8)), "only the tensors' own bytes");
    // 64 bytes may be used; the ninth tensor exceeds that.
    let Err(ImportError::Problems { problems }) = values else { panic!("refused") };
    assert_eq!((problems.len(), problems[0].node.as_str()), (1, "w8"));
}

#[test]
fn elements_elsewhere_need_files() {
    let part = [("location", "data/w.bin"), ("length", "8")];
    let message = of(TensorProto { raw_data: None, ..external(&part) }).reason().to_string();
    assert!(message.contains("files next to the model are not available"), "{message}");
}

fn with_sizes(options: &Options) -> Result<Vec<Vec<usize>>, ImportError> {
    let mut model = Model::new(13).node(node("Identity", &["a"], &["y"])).output("y");
    for (name, dims) in [("a", ["n", "h"]), ("b", ["n", ""])] {
        let mut input = value_info(name, data_type::FLOAT, &[-1, -1]);
        let shape = input.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
        for (dim, name) in shape.dim.iter_mut().zip(dims) {
            dim.dim_param = Some(name.to_owned());
        }
        model.graph().input.push(input);
    }
    let graph = read_with_files(&model.bytes(), "m", options, &|_, _| Err(String::new()))?.graph;
    Ok(graph.inputs.iter().map(|&id| graph.shape(id).to_vec()).collect())
}

#[test]
fn a_name_means_one_size_everywhere() {
    let sizes = |sizes: &[(&str, usize)]| sizes.iter().map(|&(name, size)| (name.to_owned(), size)).collect();
    let open = |options: &Options| match with_sizes(options) {
        Err(ImportError::OpenDimensions { inputs }) => {
            let open = inputs.iter().map(|input| input.open().map(|(axis, _)| axis).collect());
            open.collect::<Vec<Vec<usize>>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(open(&Options { batch: Some(3), ..Options::default() }), [[1], [1]]);
    let named = |of: &[(&str, usize)]| Options { sizes: sizes(of), ..Options::default() };
    assert_eq!(open(&named(&[("n", 8), ("h", 5)])), [vec![], vec![1]]);
    let b = ("b".to_owned(), vec![2, 6]);
    let shaped = Options { shapes: [("a".to_owned(), vec![4, 7])].into(), ..Options::default() };
    assert_eq!(open(&shaped), [vec![], vec![1]]);
    let unknown = with_sizes(&named(&[("m", 8)]));
    assert!(matches!(unknown, Err(ImportError::UnknownName { kind: "dimension", .. })));
    // A shape takes precedence over the size of a name; an input with its own shape follows the
    // caller.
    let both = Options { shapes: [b, ("a".to_owned(), vec![4, 7])].into(), ..named(&[("n", 8)]) };
    assert_eq!(with_sizes(&both), Ok(vec![vec![4, 7], vec![2, 6]]));
}

proptest! {
    /// Reading any tensor description ends with elements or with an error.
    #[test]
    fn any_description_is_read_or_refused(
        code in -1..32i32,
        dims in prop::collection::vec(prop_oneof![-1..5i64, Just(i64::MAX), Just(1 << 40)], 0..4),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        typed in prop::collection::vec(any::<i32>(), 0..9),
        keys in prop::collection::vec(("(location|offset|length)", "(data/w.bin|[-0-9]{1,20}|[./a]{0,6})"), 0..4),
        form in 0..3,
    ) {
        let tensor = match form {
            0 => raw(code, &dims, &bytes),
            1 => ints(code, &dims, &typed),
            _ => {
                let keys: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                TensorProto { raw_data: None, data_type: code, dims, ..external(&keys) }
            }
        };
        let files = |_: &str, _: Range<u64>| Ok(Part { bytes: vec![0; 64], file_bytes: 64 });
        let result = read_with_files(&of(tensor).bytes(), "m", &Options::default(), &files);
        if let Err(ImportError::Problems { problems }) = result {
            prop_assert_eq!(&problems[0].node, "w");
        }
    }

    #[test]
    fn floats_of_any_bits_come_in(bits in prop::collection::vec(any::<u32>(), 1..6)) {
        let floats: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
        let (element, TensorData::F32(found)) = values(float_tensor("w", &[floats.len() as i64], &floats)) else {
            return Err(TestCaseError::fail("floats"));
        };
        prop_assert_eq!(element, ElementType::F32);
        prop_assert_eq!(found.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), bits);
    }
}
