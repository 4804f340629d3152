//! Operands in any order, optional parts, sets of named bits.

use npukit_asm::{assemble, disassemble};
use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, When};

fn spec() -> IsaSpec {
    let range = BitRange::new;
    let row = |name, code| InstructionSpec::new(name, 2, "Works.").with_pattern("op", range(12, 4), code);
    let number = || FieldKind::up_to(7, Radix::Decimal);
    let load = row("Load", 1)
        .with_field("a", range(0, 3), number(), "")
        .with_field("b", range(3, 3), number(), "")
        .with_field("c", range(6, 3), number(), "")
        .with_field("flags", range(9, 3), FieldKind::set([(0, "one"), (2, "three")]), "")
        .with_form("load(?.{flags}?) (*a={a}; b={b}?; c={c}?*)", Vec::new());
    // The first form omits `y`, and must not be printed if `y` has another value than its default.
    let pair = row("Pair", 2)
        .with_field("x", range(0, 3), number(), "")
        .with_field("y", range(3, 3), number(), "")
        .with_form("pair {x}", vec![])
        .with_form("pair both {x}", vec![When::Same("y".into(), "x".into())])
        .with_form("pair odd {x}, {y}", vec![When::OneOf("y".into(), vec![1, 3, 5])])
        .with_form("pair {x}, {y}", vec![]);
    let instructions = vec![load, pair];
    IsaSpec { name: "operands".into(), doc: String::new(), byte_order: ByteOrder::Big, instructions }
}

fn bytes(text: &str) -> Vec<u8> {
    assemble(&spec(), "o.s", text).unwrap().bytes
}

fn printed(text: &str) -> String {
    disassemble(&spec(), &bytes(text)).to_string().trim_end().to_owned()
}

#[test]
fn operands_come_in_any_order_and_are_printed_in_the_forms() {
    for (text, expected, word) in [
        ("load a=1", "load a=1", [0x10, 0o001]),
        ("load a=0", "load a=0", [0x10, 0]),
        ("load b=2, a=1", "load a=1, b=2", [0x10, 0o021]),
        ("load c=3, a=1", "load a=1, c=3", [0x10, 0o301]),
        ("load c=3, b=2, a=1", "load a=1, b=2, c=3", [0x10, 0o321]),
        ("load a=1, b=0", "load a=1", [0x10, 0o001]),
        ("load.three|one a=1", "load.one|three a=1", [0x1A, 0o001]),
        ("load.three a=1", "load.three a=1", [0x18, 0o001]),
        ("load.0 a=1", "load a=1", [0x10, 0o001]),
    ] {
        assert_eq!((printed(text), bytes(text)), (expected.to_owned(), word.to_vec()), "{text}");
    }
}

#[test]
fn operands_stand_once_and_those_that_must() {
    for text in
        ["load b=2", "load a=1, a=2", "load a=1 b=2", "load a=1,", "load a=1, d=2", "load.two a=1", "load"]
    {
        assert_eq!(assemble(&spec(), "o.s", text).map(|_| ()).unwrap_err().errors.len(), 1, "{text}");
    }
}

#[test]
fn a_form_is_printed_where_it_says_all() {
    let texts = ["pair 0", "pair 4", "pair both 2", "pair odd 2, 3", "pair 2, 4"];
    for text in texts {
        assert_eq!(printed(text), text);
    }
    for (x, y, text) in [
        (0, 0, "pair 0"),
        (4, 0, "pair 4"),
        (2, 2, "pair both 2"),
        (2, 5, "pair odd 2, 5"),
        (2, 6, "pair 2, 6"),
    ] {
        assert_eq!(disassemble(&spec(), &[0x20, y * 8 + x]).to_string().trim_end(), text);
        assert_eq!(bytes(text), [0x20, y * 8 + x]);
    }
}

#[test]
fn what_an_operand_should_be_is_said() {
    for (text, expected) in [
        ("load b=2", "expected `a`, found the end of the line"),
        ("load a=1, a=2", "expected `b` or `c`, found `a`"),
        ("load a=1 b=2", "expected the end of the line, found `b`"),
        ("load a=1,", "expected `b` or `c`, found the end of the line"),
        ("load a=1, b=1, c=1,", "expected the end of the line, found `,`"),
        ("load a=1, d=2", "expected `b` or `c`, found `d`"),
        ("load.two a=1", "expected `0`, `one` or `three`, found `two`"),
        ("load", "expected `.`, `a`, `b` or `c`, found the end of the line"),
    ] {
        let refused = assemble(&spec(), "o.s", text).unwrap_err();
        assert_eq!(refused.to_string(), "1 error in o.s");
        assert_eq!(refused.errors[0].to_string(), expected, "{text}");
    }
}
