//! Symbols, labels, words and reserved bits.

use npukit_asm::{Words, assemble, disassemble_as};
use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix};

fn spec(byte_order: ByteOrder) -> IsaSpec {
    let range = BitRange::new;
    let row = |name, code| InstructionSpec::new(name, 2, "Works.").with_pattern("op", range(12, 4), code);
    let number = |max| FieldKind::up_to(max, Radix::Decimal);
    let go = row("Go", 1)
        .with_field("to", range(0, 8), number(200), "target")
        .with_form("go {to}", Vec::new())
        .with_label_field("to")
        .with_reserved_operand("rsv");
    let near =
        row("Near", 2).with_field("a", range(0, 8), number(3), "near").with_form("set {a}", Vec::new());
    let far = row("Far", 3).with_field("b", range(0, 8), number(5), "far").with_form("set {b}", Vec::new());
    let pair =
        row("Pair", 4).with_field("p", range(0, 8), number(5), "").with_form("mv {p} to x", Vec::new());
    let other = row("Other", 5).with_form("mv all", Vec::new());
    let wide = InstructionSpec::new("Wide", 10, "Has bits beyond 64.")
        .with_pattern("op", range(76, 4), 6)
        .with_form("wide", Vec::new())
        .with_reserved_operand("rsv");
    let instructions = vec![go, near, far, pair, other, wide];
    IsaSpec { name: "directives".into(), doc: String::new(), byte_order, instructions }
}

fn bytes(text: &str) -> Vec<u8> {
    assemble(&spec(ByteOrder::Big), "d.s", text).unwrap().bytes
}

fn errors(text: &str) -> Vec<String> {
    let errors = assemble(&spec(ByteOrder::Big), "d.s", text).unwrap_err().errors;
    errors.iter().map(ToString::to_string).collect()
}

fn listing(bytes: &[u8], byte_order: ByteOrder, words: Words) -> String {
    disassemble_as(&spec(byte_order), bytes, None, words).to_string()
}

#[test]
fn symbols_are_numbers_other_symbols_and_sums() {
    assert_eq!(
        bytes(".equ a, 0x10\n.equ b, a\n.equ c, a+b-2\ngo a\ngo b\ngo c"),
        [0x10, 16, 0x10, 16, 0x10, 30]
    );
    for wrong in ["1x, 5", "a 5", "a; 5", "a", "", "a, ", "a, b", "a, 1 2", "a, (1", "a, 1 +"] {
        let found = errors(&format!(".equ {wrong}"));
        assert!(
            found.len() == 1 && found[0].starts_with("`.equ` needs a name, a comma and a value"),
            "{found:?}"
        );
    }
    let large = errors(".equ a, 99999999999999999999");
    assert_eq!(
        large,
        ["`99999999999999999999` is not a number of at most 64 bits: write 64, 0x40 or 0b100_0000"]
    );
    let tail = errors(".equ a, 1\n.equ b, a c");
    assert_eq!(tail, ["`.equ` needs a name, a comma and a value, not the value `ac`"]);
    assert_eq!(errors(".equ a, 1\n.equ a, 2").len(), 1, "a name is defined once");
}

#[test]
fn operands_are_expressions() {
    assert_eq!(bytes("go 2*(3+4)-1"), [0x10, 13]);
    assert_eq!(bytes(".equ a, -4\ngo a + 6, rsv = 1 << 8 | 0x200"), [0x13, 2]);
    assert_eq!(bytes("go ~0 & 0x1f"), [0x10, 31]);
    assert_eq!(errors("go 1/0"), ["`1/0` divides by zero"]);
    assert_eq!(errors("go 2*(200)"), ["2*(200) = 400 does not fit: legal are 0 to 200"]);
    assert_eq!(errors("go -1"), ["-1 does not fit: legal are 0 to 200"]);
    assert_eq!(errors("go (1"), ["expected `)`, found the end of the line"]);
    assert_eq!(errors("go 1 + b"), ["expected a number for `to` (0 to 200), found `b`"]);
}

#[test]
fn variables_change_and_other_symbols_do_not() {
    assert_eq!(bytes(".set i, 1\ngo i\n.set i, i*2\ngo i\ni = i + 5\ngo i"), [0x10, 1, 0x10, 2, 0x10, 7]);
    for wrong in [".equ i, 1\n.set i, 2", ".set i, 1\n.equ i, 2", "i = 1\ni: go 1", "i: go 1\ni = 1"] {
        assert_eq!(errors(wrong), ["`i` is already defined"], "{wrong}");
    }
    assert_eq!(errors(".set i"), ["`.set` needs a name, a comma and a value, not the end of the line"]);
    assert_eq!(errors("i = 1 2"), ["`.set` needs a name, a comma and a value, not the value `12`"]);
}

#[test]
fn a_label_is_its_instructions_field() {
    assert_eq!(bytes("here: go 7\ngo here\ngo here + 1"), [0x10, 7, 0x10, 7, 0x10, 8]);
    assert_eq!(errors("here: go 7\nhere: go 8").len(), 1);
    // A label of an instruction without such a field has no value.
    assert_eq!(errors("there: set 1\ngo there").len(), 1);
    assert_eq!(errors("12: go 7").len(), 1);
}

#[test]
fn reserved_bits_are_said_by_their_operand() {
    assert_eq!(bytes("go 7, rsv = 0x300"), [0x13, 7]);
    for wrong in ["go 7, rsv = 0x80", "go 7, rsv = 0x1100", "go 7, rsv = x"] {
        let found = errors(wrong);
        assert!(
            found.len() == 1 && found[0].ends_with("sets bits that are not reserved: reserved are 11:8"),
            "{found:?}"
        );
    }
    for wrong in [
        "go 7 rsv = 0x300",
        "go 7; rsv = 0x300 1",
        "go 7, res = 0x300",
        "go 7, rsv : 0x300",
        "set 1, rsv = 0x300",
    ] {
        assert_eq!(assemble(&spec(ByteOrder::Big), "d.s", wrong).is_ok(), wrong.contains(';'), "{wrong}");
    }
    let said = listing(&[0x13, 7], ByteOrder::Big, Words::Bytes);
    assert!(said.starts_with("go 7, rsv=0x300 ; Go: reserved bits 9:8 are not 0"), "{said}");
    assert_eq!(bytes(&said), [0x13, 7]);
    // An instruction with another fault, or without the operand, is printed as a word.
    assert!(listing(&[0x13, 201], ByteOrder::Big, Words::Bytes).starts_with(".word 13c9 ; Go: "));
    assert!(listing(&[0x21, 1], ByteOrder::Big, Words::Bytes).starts_with(".word 2101 ; Near: "));
}

#[test]
fn reserved_bits_beyond_64_are_words() {
    let mut word = [0x60, 0, 0, 0, 0, 0, 0, 0, 0, 5];
    assert!(listing(&word, ByteOrder::Big, Words::Bytes).starts_with("wide, rsv=0x5 ; "));
    // The instruction is not the first one, so that its offset is not 0.
    let after: Vec<u8> = [0x10, 7].into_iter().chain(word).collect();
    assert!(listing(&after, ByteOrder::Big, Words::Bytes).starts_with("go 7\nwide, rsv=0x5 ; "));
    word[1] = 1;
    assert!(listing(&word, ByteOrder::Big, Words::Bytes).starts_with(".word 60010000000000000005 ; "));
}

#[test]
fn words_are_bytes_of_the_file_or_values() {
    for (byte_order, words, text) in [
        (ByteOrder::Little, Words::Value, ".word 0xf0a3"),
        (ByteOrder::Little, Words::Bytes, ".word a3f0"),
        (ByteOrder::Big, Words::Value, ".word 0xa3f0"),
        (ByteOrder::Big, Words::Bytes, ".word a3f0"),
    ] {
        let said = listing(&[0xA3, 0xF0], byte_order, words);
        assert_eq!(said, format!("{text} ; no instruction\n"));
        assert_eq!(assemble(&spec(byte_order), "d.s", &said).unwrap().bytes, [0xA3, 0xF0]);
    }
}

#[test]
fn an_error_is_that_of_the_first_form_or_of_the_one_that_read_furthest() {
    assert_eq!(bytes("set 3\nset 5"), [0x20, 3, 0x30, 5]);
    assert_eq!(errors("set 99"), ["99 does not fit: legal are 0 to 3"]);
    assert_eq!(errors("mv 1 to y"), ["expected `x`, found `y`"]);
    assert_eq!(errors("mv none"), ["expected a number for `p` (0 to 5) or `all`, found `none`"]);
    assert_eq!(errors("mv all of"), ["expected the end of the line, found `of`"]);
}

/// Each wait has the number of instructions before it, in repetitions and macros too; it has no
/// operands.
#[test]
fn waits_know_what_is_above_them() {
    let positions = |text: &str| -> Vec<usize> {
        let assembly = assemble(&spec(ByteOrder::Big), "d.s", text).unwrap();
        assembly.experiment.waits.iter().map(|wait| wait.position).collect()
    };
    assert_eq!(positions(".wait\ngo 1\n.WAIT ; all\ngo 2\nx: go 3\n.equ y, 4\n.wait\n"), [0, 1, 3]);
    assert_eq!(positions(".rept 3\ngo 1\n.wait\n.endr\n"), [1, 2, 3]);
    assert_eq!(positions(".macro both\ngo 1\n.wait\ngo 2\n.endm\nboth\nboth\n"), [1, 3]);
    assert!(errors("go 1\n.wait 3\n")[0].contains("`.wait` needs nothing more, not `3`"));
}
