//! The table, the typed instructions and their words agree.

use npukit_asm::{Words, assemble, disassemble_as};
use npukit_isa::Mode;
use npukit_opu::internals::codec::reserved_bits;
use npukit_opu::{Validity, decode, decode_program, encode, encode_program, isa};
use proptest::prelude::*;

/// Reading of the vectors.
const PUBLISHED: Validity = Validity::Corrected;

#[test]
fn the_table_is_sound() {
    assert_eq!(isa(PUBLISHED).check(), []);
    let opcodes: Vec<u64> = isa(PUBLISHED).instructions.iter().map(|row| row.patterns[0].value).collect();
    assert!((0..=8).chain(16..=26).all(|opcode| opcodes.contains(&opcode)), "{opcodes:?}");
}

#[test]
fn text_of_the_specification() {
    let text = "start: @shape.ifm [14,14,64] # the tile\n@shape.ker 9\n@mem.ifm 3, 226\n@mem.ofm 2, [58,60]\n\
                @stride [2,3]\n@shift -5, +2\n@post act.leaky, pool, res\n@pool [2,3], [4,5]\nld.ker 123456\n\
                conv.bias ifm:[1,2], ker:5\nstore 0x1e240\npad 200, 3 ; border\nend // all\n";
    let expected: [u32; 13] = [
        0x0061_c390,
        0x0000_0252,
        0x0003_88d3,
        0x03c0_e896,
        0x0000_0697,
        0x0000_bed8,
        0x0000_0699,
        0x000b_0c9a,
        0x0078_9002,
        0x0001_4845,
        0x0078_9007,
        0x3000_3208,
        0,
    ];
    let bytes = assemble(&isa(PUBLISHED), "opu.s", text).unwrap().bytes;
    assert_eq!(bytes, expected.map(u32::to_le_bytes).concat());
    assert_eq!(encode_program(&decode_program(&bytes, PUBLISHED).unwrap(), PUBLISHED).unwrap(), bytes);
}

#[test]
fn what_would_fault_is_refused_and_has_a_raw_form() {
    let refused = [
        "@shape.ifm [0,5,16]",
        "@shape.ifm [46,45,16]",
        "@shape.ifm [2,2,8]",
        "@shape.ofm [2,2,128]",
        "@shape.ker 37",
        "@mem.ifm 0, 0",
        "@mem.ofm 16, [1,1]",
        "@stride [0,1]",
        "@shift 128, 0",
        "@post act.relu",
        "@post res, act.none, pool",
        "@pool [16,1], [1,1]",
        "ld.ifm 4194304",
        "conv ifm:[16,0], ker:0",
        "pad 0, 16",
        ".word 0x100000000",
    ];
    for text in refused {
        assert!(assemble(&isa(PUBLISHED), "opu.s", text).is_err(), "{text}");
    }
    let words: [u32; 4] = [0x9, 0xd9, 0x8000_0000, 0x0040_0010];
    let bytes = words.map(u32::to_le_bytes).concat();
    let listing = disassemble_as(&isa(PUBLISHED), &bytes, None, Words::Value).to_string();
    assert_eq!(listing.lines().count(), 4);
    assert!(
        listing.lines().zip(words).all(|(line, word)| line.starts_with(&format!(".word {word:#010x} ;")))
    );
    assert_eq!(assemble(&isa(PUBLISHED), "opu.s", &listing).unwrap().bytes, bytes);
}

#[test]
fn reserved_bits_are_those_that_no_field_has() {
    // Highest and lowest bit of all fields, by opcode, as specified in section 2.1.
    let fields = |opcode| match opcode {
        1..=3 | 7 => Some((27, 6)),
        4..=6 => Some((19, 6)),
        8 => Some((31, 6)),
        16 | 17 => Some((26, 6)),
        18 => Some((11, 6)),
        19 => Some((19, 6)),
        20 | 21 => Some((9, 6)),
        22 => Some((29, 6)),
        23 => Some((11, 6)),
        24 => Some((21, 6)),
        25 => Some((10, 6)),
        26 => Some((19, 6)),
        _ => None,
    };
    let rows = isa(PUBLISHED).instructions;
    let has_row = |opcode: u32| rows.iter().any(|row| row.patterns[0].value == u64::from(opcode));
    // An opcode that only a row has is an instruction of npukit.
    for opcode in (0..64).filter(|&opcode| fields(opcode).is_some() || opcode == 0 || !has_row(opcode)) {
        let operands = fields(opcode).map_or(0, |(high, low)| u32::MAX >> (31 - high) & u32::MAX << low);
        assert_eq!(reserved_bits(!0x3F | opcode), !0x3F & !operands, "{opcode}");
        assert_eq!(reserved_bits(operands | opcode), 0, "{opcode}");
    }
}

/// Words; half of them have a valid opcode.
fn word() -> impl Strategy<Value = u32> {
    let opcode = prop_oneof![0..=8u32, 16..=26u32];
    prop_oneof![any::<u32>(), (any::<u32>(), opcode).prop_map(|(word, opcode)| word & !0x3F | opcode)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn table_and_codec_agree(word in word()) {
        let bytes = word.to_le_bytes();
        let row = isa(PUBLISHED).decode(&bytes, 0, None, Mode::Strict);
        let listing = disassemble_as(&isa(PUBLISHED), &bytes, None, Words::Value).to_string();
        match decode(word, PUBLISHED) {
            Ok(op) => {
                prop_assert_eq!(encode(&op, PUBLISHED), Ok(word & !reserved_bits(word)));
                prop_assert_eq!(row.is_ok(), reserved_bits(word) == 0);
                prop_assert_eq!(listing.starts_with(".word"), reserved_bits(word) != 0);
                prop_assert!(row.is_err() || listing.starts_with(op.mnemonic()));
            }
            Err(_) => prop_assert!(listing.starts_with(".word"), "{}", listing),
        }
        prop_assert_eq!(assemble(&isa(PUBLISHED), "opu.s", &listing).unwrap().bytes, bytes);
    }
}
