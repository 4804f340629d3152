//! Signed numbers, powers of two and bounded products.

use npukit_asm::{Words, assemble, disassemble_as};
use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, When};

fn spec() -> IsaSpec {
    let opcode = |name, code| {
        InstructionSpec::new(name, 4, "Works.").with_pattern("opcode", BitRange::new(0, 6), code)
    };
    let number = || FieldKind::up_to(127, Radix::Decimal);
    let shift = opcode("@shift", 1)
        .with_field("f", BitRange::new(6, 8), FieldKind::Signed { min: -128, max: 127 }, "distance")
        .with_form("@shift {f}", Vec::new());
    let shape = opcode("@shape", 2)
        .with_field("h", BitRange::new(6, 7), number(), "rows")
        .with_field("w", BitRange::new(13, 7), number(), "columns")
        .with_field("c", BitRange::new(20, 7), FieldKind::Power { min: 4, max: 6 }, "channels")
        .with_limit(&["h", "w"], 2048)
        .with_form("@shape [{h},{w},{c}]", Vec::new());
    let post = opcode("@post", 3)
        .with_field("act", BitRange::new(6, 2), FieldKind::up_to(2, Radix::Decimal), "function")
        .with_form("@post pool", vec![When::Is("act".into(), 0)])
        .with_form("@post act.relu, pool", vec![When::Is("act".into(), 1)]);
    let instructions = vec![shift, shape, post];
    let (name, doc) = ("numbers".to_owned(), String::new());
    IsaSpec { name, doc, byte_order: ByteOrder::Little, instructions }
}

fn words(text: &str) -> Vec<u32> {
    let bytes = assemble(&spec(), "n.s", text).unwrap().bytes;
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn the_table_is_sound() {
    assert_eq!(spec().check(), []);
}

#[test]
fn signs_powers_and_raw_words() {
    let text = "@shift -5\n@shift +0x7f # most\n@shape [14,14,64]\n@post act.relu, pool\n.word 0x0000000f\n";
    let expected = [0x3ec1, 0x1fc1, 0x0061_c382, 0x43, 0xf];
    assert_eq!(words(text), expected);
    let bytes: Vec<u8> = expected.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let listing = disassemble_as(&spec(), &bytes, None, Words::Value).to_string();
    assert_eq!(
        listing,
        "@shift -5\n@shift 127\n@shape [14,14,64]\n@post act.relu, pool\n.word 0x0000000f ; no instruction\n"
    );
    assert_eq!(words(&listing), expected);
    assert_eq!(words("@shift -128\n@shift 127\n@shift +127"), [0x2001, 0x1fc1, 0x1fc1]);
}

#[test]
fn what_would_fault_is_refused() {
    let error = |text: &str| assemble(&spec(), "n.s", text).unwrap_err().errors[0].to_string();
    assert_eq!(error("@shift -129"), "-129 does not fit: legal are -128 to 127");
    assert_eq!(
        error("@shift 99999999999999999999"),
        "99999999999999999999 does not fit: legal are -128 to 127"
    );
    assert_eq!(error("@shape [1,1,48]"), "48 does not fit: legal are 16, 32, 64");
    assert_eq!(error("@shape [46,45,16]"), "h * w of @shape is 2070: the product is at most 2048");
    assert_eq!(error("@shift x"), "expected a number for `f` (-128 to 127), found `x`");
    assert_eq!(error("@shape [1,1,x]"), "expected a number for `c` (16, 32, 64), found `x`");
    assert_eq!(error("@post res"), "expected `pool` or `act`, found `res`");
    let bytes = 0x02d5_a382u32.to_le_bytes();
    assert!(
        disassemble_as(&spec(), &bytes, None, Words::Value)
            .to_string()
            .starts_with(".word 0x02d5a382 ; @shape:")
    );
}
