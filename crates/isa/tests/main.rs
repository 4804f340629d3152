//! Tests of instruction tables: legal and illegal tables, encoding, pages.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/faults.rs"]
mod faults;
#[path = "main/pages.rs"]
mod pages;

use npukit_base::{BitRange, Word};
use npukit_isa::{
    ByteOrder, DecodeError, FieldError, FieldKind, InstructionSpec, IsaSpec, Mode, Problem, Radix, SpecError,
    When,
};
use proptest::prelude::*;

/// Table of one instruction: opcode 0xA in the high bits, a size, a mode with a gap in its codes,
/// two reserved bits.
fn spec(byte_order: ByteOrder) -> IsaSpec {
    let modes = vec![(0, "off".to_owned()), (2, "on".to_owned())];
    let copy = InstructionSpec::new("Copy", 2, "Copies words.")
        .with_doc("Never the last one.")
        .with_pattern("opcode", BitRange::new(12, 4), 0xA)
        .with_field("size", BitRange::new(4, 8), FieldKind::size(200), "words")
        .with_field("mode", BitRange::new(0, 2), FieldKind::Choice { names: modes, open: false }, "how")
        .with_form("copy {mode}, {size}", Vec::new());
    IsaSpec { name: "One".into(), doc: "One instruction.".into(), byte_order, instructions: vec![copy] }
}

#[test]
fn values_are_stored_less_their_bias() {
    let spec = spec(ByteOrder::Little);
    let word = spec.instructions[0].encode(&[64, 2]).unwrap();
    assert_eq!(word, Word::from_le_bytes(&[0xF2, 0xA3]));
    assert_eq!(spec.bytes(word, 2), [0xF2, 0xA3]);
    let decoded = spec.decode(&[9, 0xF2, 0xA3], 1, None, Mode::Strict).unwrap();
    assert_eq!((decoded.instruction, decoded.values, decoded.size_bytes), (0, vec![64, 2], 2));
}

#[test]
fn big_endian_files_start_with_the_high_byte() {
    let spec = spec(ByteOrder::Big);
    let word = spec.instructions[0].encode(&[64, 2]).unwrap();
    assert_eq!(spec.bytes(word, 2), [0xA3, 0xF2]);
    assert_eq!(spec.decode(&[0xA3, 0xF2], 0, None, Mode::Strict).unwrap().values, [64, 2]);
}

#[test]
fn every_bad_value_is_named_with_its_range() {
    let copy = &spec(ByteOrder::Little).instructions[0];
    let errors: Vec<String> = copy.encode(&[0, 1]).unwrap_err().iter().map(FieldError::to_string).collect();
    let expected = [
        "`size` of Copy is 0: legal are 1 to 200",
        "`mode` of Copy is 1, which has no name: legal are off (0), on (2)",
    ];
    assert_eq!(errors, expected);
    assert_eq!(copy.encode(&[201, 2]).unwrap_err().len(), 1);
    assert_eq!(copy.encode(&[1]).unwrap_err()[0].to_string(), "Copy has 2 fields, not 1");
}

#[test]
fn strict_refuses_what_lenient_reports() {
    let spec = spec(ByteOrder::Little);
    let bytes = [0xFD, 0xAF];
    let strict = spec.decode(&bytes, 0, None, Mode::Strict).unwrap_err();
    assert_eq!(
        strict.to_string(),
        "byte 0x0: Copy: reserved bits 3:2 are not 0; `size` of Copy is 256: legal are 1 to 200; \
         `mode` of Copy is 1, which has no name: legal are off (0), on (2)"
    );
    let lenient = spec.decode(&bytes, 0, None, Mode::Lenient).unwrap();
    assert_eq!(lenient.problems[0], Problem::Reserved { bits: vec![BitRange::new(2, 2)] });
    assert_eq!((lenient.problems.len(), lenient.values), (3, vec![256, 1]));
}

#[test]
fn what_cannot_be_read_is_named_with_its_offset() {
    let spec = spec(ByteOrder::Little);
    let unknown = spec.decode(&[0, 0, 0, 0xB0], 2, None, Mode::Lenient).unwrap_err();
    assert_eq!(unknown, DecodeError::Unknown { offset: 2, bytes: vec![0, 0xB0], context: None });
    let cut = spec.decode(&[0, 0, 0], 2, None, Mode::Strict).unwrap_err();
    assert_eq!(cut, DecodeError::Truncated { offset: 2, have: 1, need: 2 });
    assert_eq!(
        spec.decode(&[0], 7, None, Mode::Strict),
        Err(DecodeError::Truncated { offset: 7, have: 0, need: 2 })
    );
}

#[test]
fn narrow_fields_and_same_names_are_faults() {
    let mut spec = spec(ByteOrder::Little);
    assert_eq!(spec.check(), []);
    spec.instructions[0].fields[0].kind = FieldKind::up_to(256, Radix::Decimal);
    let copy = spec.instructions[0].clone();
    spec.instructions.push(copy.with_field("size", BitRange::new(2, 1), FieldKind::flag("x"), ""));
    let copy = || "Copy".to_owned();
    let narrow = SpecError::TooNarrow { instruction: copy(), part: "size".to_owned() };
    let twice = SpecError::SameField { instruction: copy(), field: "size".to_owned() };
    let unsaid = SpecError::Unsaid { instruction: copy(), field: "size".to_owned() };
    assert_eq!(
        spec.check(),
        [narrow.clone(), narrow, twice, unsaid, SpecError::SameName { instruction: copy() }]
    );
}

#[test]
fn the_reference_as_text_and_markdown() {
    let spec = spec(ByteOrder::Little);
    let text = "One\n\nOne instruction.\n\nCopy - Copies words.\n    copy <mode>, <size>\n  \
                15:12  opcode    0xa\n   \
                11:4  size      1 to 200, stored less 1  words\n    \
                3:2  reserved  0\n    \
                1:0  mode      off (0), on (2)          how\n  \
                Never the last one.\n";
    assert_eq!(spec.reference().text(), text);
    let markdown = spec.reference_of("COPY").unwrap().markdown();
    assert!(markdown.contains("\n| 11:4 | `size` | 1 to 200, stored less 1 | words |\n"), "{markdown}");
    let json = spec.reference().json();
    assert_eq!(json["instructions"][0]["fields"][1]["names"]["on"], 2);
    assert_eq!(json["instructions"][0]["reserved"], "3:2");
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(size in 1_u64..=200, on: bool, big: bool) {
        let spec = spec(if big { ByteOrder::Big } else { ByteOrder::Little });
        let values = vec![size, if on { 2 } else { 0 }];
        let bytes = spec.bytes(spec.instructions[0].encode(&values).unwrap(), 2);
        prop_assert_eq!(spec.decode(&bytes, 0, None, Mode::Strict).unwrap().values, values);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..5), offset in 0_usize..6) {
        let _ = spec(ByteOrder::Little).decode(&bytes, offset, None, Mode::Strict);
    }
}

#[test]
fn signed_numbers_and_powers_have_their_own_encodings() {
    let row = InstructionSpec::new("Shift", 2, "Shifts.")
        .with_field("by", BitRange::new(0, 8), FieldKind::Signed { min: -128, max: 127 }, "distance")
        .with_field("size", BitRange::new(8, 3), FieldKind::Power { min: 1, max: 6 }, "elements")
        .with_form("shift {by}, {size}", Vec::new());
    let word = row.encode(&[(-5i64).cast_unsigned(), 64]).unwrap();
    assert_eq!(word, Word::from_le_bytes(&[0xFB, 6]));
    assert_eq!(row.values(word), [(-5i64).cast_unsigned(), 64]);
    for (value, stored) in [(-128i64, 0x80), (-127, 0x81), (-1, 0xFF), (0, 0), (126, 0x7E), (127, 0x7F)] {
        let word = row.encode(&[value.cast_unsigned(), 2]).unwrap();
        assert_eq!(word, Word::from_le_bytes(&[stored, 1]), "{value}");
        assert_eq!(row.values(word)[0].cast_signed(), value);
        assert_eq!(row.problems(word), []);
    }
    for value in [i64::MIN, -129, 128, i64::MAX] {
        assert_eq!(row.encode(&[value.cast_unsigned(), 2]).unwrap_err().len(), 1, "{value}");
    }
    let errors = row.encode(&[128, 48]).unwrap_err();
    let errors: Vec<String> = errors.iter().map(FieldError::to_string).collect();
    let expected = [
        "`by` of Shift is 128: legal are -128 to 127",
        "`size` of Shift is 48: legal are 2, 4, 8, 16, 32, 64",
    ];
    assert_eq!(errors, expected);
    assert_eq!(row.problems(Word::from_le_bytes(&[0, 7])).len(), 1);
}

#[test]
fn products_are_bounded() {
    let field = |row: InstructionSpec, name, lo| {
        row.with_field(name, BitRange::new(lo, 4), FieldKind::up_to(15, Radix::Decimal), "")
    };
    let row = field(field(InstructionSpec::new("Tile", 1, ""), "h", 0), "w", 4).with_limit(&["h", "w"], 20);
    assert!(row.encode(&[4, 5]).is_ok());
    assert_eq!(
        row.encode(&[3, 7]).unwrap_err()[0].to_string(),
        "h * w of Tile is 21: the product is at most 20"
    );
    assert_eq!(row.problems(Word::from_le_bytes(&[0x73])).len(), 1);
}

#[test]
fn a_bound_may_hold_for_some_values_of_another_field() {
    let names = FieldKind::choice(["narrow", "wide"]);
    let row = InstructionSpec::new("Set", 1, "")
        .with_field("to", BitRange::new(0, 4), FieldKind::up_to(15, Radix::Decimal), "")
        .with_field("register", BitRange::new(4, 1), names, "")
        .with_limit_when(&["to"], 3, vec![When::Is("register".to_owned(), 0)]);
    assert!(row.encode(&[3, 0]).is_ok() && row.encode(&[15, 1]).is_ok());
    assert_eq!(
        row.encode(&[4, 0]).unwrap_err()[0].to_string(),
        "to of Set is 4: it is at most 3, where `register` is narrow"
    );
}
