//! NumPy files: written by NumPy itself, round trips, and broken ones.

use std::io::Write;

use npukit_numeric::npy::{NpyArray, NpyData, NpyErrorKind, read_npy, read_npz, write_npy, write_npz};
use npukit_numeric::{ElementType, Storage, Tensor, TensorData};
use proptest::prelude::*;

/// An array as NumPy writes it, with the given header text.
fn array(header: &str, values: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.push(b'\n');
    bytes.extend(values);
    bytes
}

fn read(header: &str, values: &[u8]) -> Result<Tensor, NpyErrorKind> {
    read_npy("a", &array(header, values)).map_err(|error| error.kind)
}

fn of(descr: &str, count: usize, values: &[u8]) -> TensorData {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    read(&header, values).unwrap().data().clone()
}

#[test]
fn every_element_type() {
    assert_eq!(of("|b1", 2, &[0, 2]), TensorData::Bool(vec![false, true]));
    assert_eq!(of("|i1", 1, &[0xFE]), TensorData::I32(vec![-2]));
    assert_eq!(of("|u1", 1, &[0xFE]), TensorData::I32(vec![254]));
    assert_eq!(of("<i2", 1, &[0xFE, 0xFF]), TensorData::I32(vec![-2]));
    assert_eq!(of(">i2", 1, &[0xFF, 0xFE]), TensorData::I32(vec![-2]));
    assert_eq!(of("<u2", 1, &[0xFE, 0xFF]), TensorData::I32(vec![65534]));
    assert_eq!(of(">i4", 1, &(-3i32).to_be_bytes()), TensorData::I32(vec![-3]));
    assert_eq!(of("<u4", 1, &[0xFF; 4]), TensorData::I64(vec![u32::MAX.into()]));
    assert_eq!(of("<i8", 1, &(-3i64).to_le_bytes()), TensorData::I64(vec![-3]));
    assert_eq!(of(">u8", 1, &3u64.to_be_bytes()), TensorData::I64(vec![3]));
    assert_eq!(of("<f2", 1, &[0x00, 0x3C]), TensorData::F32(vec![1.0]));
    assert_eq!(of(">f4", 1, &1.5f32.to_be_bytes()), TensorData::F32(vec![1.5]));
    assert_eq!(of("=f4", 1, &1.5f32.to_ne_bytes()), TensorData::F32(vec![1.5]));
    assert_eq!(of("<f8", 1, &0.1f64.to_le_bytes()), TensorData::F32(vec![0.1]));
}

#[test]
fn types_are_kept_or_widened() {
    let written = |element: ElementType| {
        let one = match element.storage() {
            Storage::F32 => TensorData::F32(vec![1.0]),
            Storage::I64 => TensorData::I64(vec![1]),
            Storage::I32 => TensorData::I32(vec![1]),
            Storage::Bool => TensorData::Bool(vec![true]),
        };
        let tensor = Tensor::new(vec![1], one).unwrap().with_element(element).unwrap();
        let bytes = write_npy((&tensor).into());
        let read = read_npy("a", &bytes).unwrap();
        (read.element(), bytes)
    };
    for element in ElementType::ALL {
        let expected = match element {
            ElementType::I4 | ElementType::I2 => ElementType::I8,
            ElementType::U4 | ElementType::U2 => ElementType::U8,
            _ if element.is_float() && (element.bits() < 16 || element == ElementType::BF16) => {
                ElementType::F32
            }
            _ => element,
        };
        assert_eq!(written(element).0, expected, "{element}");
    }
    assert!(written(ElementType::F16).1.ends_with(&[0x00, 0x3C]));
    assert!(written(ElementType::F64).1.ends_with(&1f64.to_le_bytes()));
}

#[test]
fn both_orders_of_axes() {
    let values: Vec<u8> = (0..6).collect();
    let c = read("{'descr':'u1','fortran_order':False,'shape':(2,3)}", &values).unwrap();
    assert_eq!(c.data(), &TensorData::I32(vec![0, 1, 2, 3, 4, 5]));
    let f = read("{\"shape\": (2L, 3L), 'fortran_order': True, 'descr': '|u1'}", &values).unwrap();
    assert_eq!(f.data(), &TensorData::I32(vec![0, 2, 4, 1, 3, 5]));
    assert_eq!(f.shape(), [2, 3]);
    let cube: Vec<u8> = (0..8).collect();
    let f = read("{'descr':'|u1','fortran_order':True,'shape':(2,2,2)}", &cube).unwrap();
    assert_eq!(f.data(), &TensorData::I32(vec![0, 4, 2, 6, 1, 5, 3, 7]));
    let scalar = read("{'descr':'|u1','fortran_order':True,'shape':()}", &[9]).unwrap();
    assert_eq!((scalar.shape(), scalar.data()), (&[][..], &TensorData::I32(vec![9])));
    let empty = read("{'descr':'<f8','fortran_order':True,'shape':(3,0,18446744073709551615)}", &[]).unwrap();
    assert!(empty.data().is_empty());
}

#[test]
fn errors_name_the_place() {
    let error = |bytes: &[u8]| read_npy("x.npy", bytes).unwrap_err().to_string();
    assert_eq!(error(b"PK"), "x.npy, byte 0: not a NumPy file: it must begin with \\x93NUMPY");
    assert_eq!(
        error(b"\x93NUMPY\x09\x00"),
        "x.npy, byte 6: unsupported format version 9.0; supported are 1.0, 2.0 and 3.0"
    );
    assert_eq!(
        error(b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{"),
        "x.npy, byte 13: the header needs 4294967307 bytes, but only 13 are present: the file is truncated"
    );
    let huge =
        array("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", &[0; 8]);
    assert_eq!(
        error(&huge),
        "x.npy, byte 88: shape [4294967296, 4294967296] of 4-byte elements does not fit the 8 bytes that follow"
    );
    let keys = NpyErrorKind::Header { expected: "the keys 'descr', 'fortran_order' and 'shape'" };
    assert_eq!(read("{}", &[]).unwrap_err(), keys);
    let nested = format!("{{'descr': {}", "(".repeat(60_000));
    assert_eq!(read(&nested, &[]).unwrap_err(), NpyErrorKind::Header { expected: "a string" });
    for descr in ["'<c8'", "'O'", "[('x', '<f4')]", "'<f3'", "''"] {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
        assert!(matches!(read(&header, &[0; 8]), Err(NpyErrorKind::Descr { .. })), "{descr}");
    }
    let structured = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }";
    let descr = "[('x', '<f4')".to_owned();
    assert_eq!(read(structured, &[0; 8]).unwrap_err(), NpyErrorKind::Descr { descr });
    let offset = |header: &str| read_npy("a", &array(header, &[])).unwrap_err().offset;
    assert_eq!(offset("{'descr' 3}"), 10 + "{'descr' ".len());
    let big = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }";
    let mut values = [0; 16];
    values[15] = 0x80;
    let error = read_npy("a", &array(big, &values)).unwrap_err();
    assert_eq!(error.kind, NpyErrorKind::TooBig { value: 1 << 63 });
    assert_eq!(error.offset, 10 + big.len() + 1 + 8);
}

/// NumPy maps the values after a header into memory.
#[test]
fn headers_of_any_length_are_filled_up_to_64_bytes() {
    for axes in 0..70 {
        for first in [1, 10] {
            let shape: Vec<usize> = std::iter::once(first).chain(std::iter::repeat_n(1, axes)).collect();
            let values = vec![7; first];
            let array = NpyArray::new(&shape, NpyData::I16(&values)).unwrap();
            let bytes = write_npy(array);
            assert_eq!((bytes.len() - 2 * first) % 64, 0, "{axes}");
            assert!(bytes.len() - 2 * first < 74 + 54 + 2 * axes + 64, "{axes}");
            assert_eq!(read_npy("a", &bytes).unwrap().shape(), shape);
        }
    }
}

#[test]
fn arrays_have_as_many_elements_as_their_shape_says() {
    assert!(NpyArray::new(&[2], NpyData::F32(&[1.0, 2.0])).is_some());
    assert!(NpyArray::new(&[1], NpyData::F32(&[1.0, 2.0])).is_none());
    assert!(NpyArray::new(&[2], NpyData::I16(&[1, 2])).is_some());
    assert!(NpyArray::new(&[1], NpyData::I32(&[1, 2])).is_none());
    assert!(NpyArray::new(&[1], NpyData::I64(&[1, 2])).is_none());
    assert!(NpyArray::new(&[1], NpyData::Bool(&[true, false])).is_none());
}

#[test]
fn a_zip_bomb_stops() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..257 {
        archive.write_all(&zeros).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 20);
    let error = read_npz("bomb.npz", &bytes).unwrap_err();
    assert_eq!(error.kind, NpyErrorKind::Unpacked { limit: 256 << 20, packed: bytes.len() });
    assert_eq!(error.name, "bomb.npz: a.npy");
}

#[test]
fn names_must_differ_and_entries_be_arrays() {
    let one = NpyArray::new(&[1], NpyData::I16(&[1])).unwrap();
    assert!(matches!(write_npz(&[("a", one), ("a", one)]).unwrap_err().kind, NpyErrorKind::Zip { .. }));
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("notes.txt", zip::write::SimpleFileOptions::default()).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    assert_eq!(read_npz("n.npz", &bytes).unwrap_err().kind, NpyErrorKind::NotAnArray);
    assert!(NpyArray::new(&[2], NpyData::I16(&[1])).is_none());
}

/// The element types that NumPy has.
const NUMPY: [ElementType; 12] = [
    ElementType::Bool,
    ElementType::I8,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::F16,
    ElementType::F32,
    ElementType::F64,
];

/// A tensor of any of these types and up to three axes.
fn tensor() -> impl Strategy<Value = Tensor> {
    let element = prop::sample::select(&NUMPY[..]);
    (prop::collection::vec(0..4usize, 0..4), any::<[u8; 27]>(), element).prop_map(|(shape, seed, element)| {
        let count = shape.iter().product::<usize>();
        let values = seed[..count].iter().map(|&v| i64::from(v) - 128);
        let least = if element == ElementType::U64 { 0 } else { i64::MIN };
        let data = match element.storage() {
            Storage::F32 => TensorData::F32(values.map(|v| v as f32 / 8.0).collect()),
            Storage::I64 => TensorData::I64(values.map(|v| (v << 40).max(least)).collect()),
            Storage::I32 => TensorData::I32(values.map(|v| v as i32 * 257).collect()),
            Storage::Bool => TensorData::Bool(values.map(|v| v > 0).collect()),
        };
        Tensor::new(shape, data).unwrap().with_element(element).unwrap()
    })
}

proptest! {
    #[test]
    fn arrays_come_back(tensors in prop::collection::vec(tensor(), 0..4)) {
        for tensor in &tensors {
            prop_assert_eq!(&read_npy("a", &write_npy(tensor.into())).unwrap(), tensor);
        }
        let names: Vec<String> = (0..tensors.len()).map(|i| format!("in/{i}")).collect();
        let arrays: Vec<_> = names.iter().map(String::as_str).zip(tensors.iter().map(NpyArray::from)).collect();
        let bytes = write_npz(&arrays).unwrap();
        prop_assert_eq!(read_npz("f", &bytes).unwrap(), names.into_iter().zip(tensors).collect::<Vec<_>>());
    }

    #[test]
    fn broken_files_never_panic(
        tensors in prop::collection::vec(tensor(), 1..3),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        shorten: bool,
    ) {
        let mut files = vec![write_npy((&tensors[0]).into())];
        files.push(write_npz(&[("a", (&tensors[0]).into())]).unwrap());
        for mut bytes in files {
            if shorten {
                bytes.truncate(cut.index(bytes.len()));
            }
            let edits = if bytes.is_empty() { &[] } else { &edits[..] };
            for (place, value) in edits {
                let i = place.index(bytes.len());
                bytes[i] = *value;
            }
            // If an edit hits a value, reading succeeds. The test only checks that reading ends.
            let _ = read_npy("a", &bytes);
            let _ = read_npz("a", &bytes);
        }
    }

    #[test]
    fn a_file_cut_short_is_an_error(tensor in tensor(), cut in any::<prop::sample::Index>()) {
        let npy = write_npy((&tensor).into());
        prop_assert!(read_npy("a", &npy[..cut.index(npy.len())]).is_err());
        let npz = write_npz(&[("a", (&tensor).into())]).unwrap();
        prop_assert!(read_npz("a", &npz[..cut.index(npz.len())]).is_err());
    }

    #[test]
    fn random_headers_never_panic(text in "[{}():,'a-zA-Z0-9 \\[<>|]{0,60}", values: [u8; 8]) {
        let _ = read(&text, &values);
    }
}
