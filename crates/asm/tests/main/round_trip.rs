//! Text to bytes and back.

use npukit_asm::{AssemblyLine, SourceLocation, assemble, disassemble, disassemble_in};
use npukit_base::Span;
use npukit_isa::{DecodeError, SpecError};
use proptest::prelude::*;

use crate::toy::toy;

#[test]
fn the_toy_is_sound() {
    assert_eq!(toy().check(), []);
}

#[test]
fn forms_are_read() {
    let cases: [(&str, &[u8]); 9] = [
        ("copy [3], 16", &[0x13, 0xF0]),
        ("COPY.round.add [0xb]", &[0x1B, 0x03]),
        ("copy.add.round[11],1", &[0x1B, 0x03]),
        ("mode on", &[0x20, 0x03]),
        ("mode 7", &[0x20, 0x07]),
        ("wide 0x12_3456", &[0x40, 0x12, 0x34, 0x56]),
        (".word 13f0", &[0x13, 0xF0]),
        (".word 0x40123456", &[0x40, 0x12, 0x34, 0x56]),
        ("; nothing\r\n\n // at all", &[]),
    ];
    for (text, bytes) in cases {
        assert_eq!(assemble(&toy(), "toy.s", text).unwrap().bytes, bytes, "{text}");
    }
}

#[test]
fn the_context_decides() {
    let text = ".context alu\nalu neg(5)\nalu add(5, 5)\n.context control\njump 0x155";
    let assembly = assemble(&toy(), "toy.s", text).unwrap();
    assert_eq!(assembly.bytes, [0x31, 0x55, 0x32, 0x55, 0x31, 0x55]);
    let bytes = &assembly.bytes[..2];
    assert_eq!(disassemble_in(&toy(), bytes, Some("alu")).to_string(), ".context alu\nalu neg(5)\n");
    assert_eq!(disassemble_in(&toy(), bytes, Some("control")).to_string(), ".context control\njump 0x155\n");
    assert_eq!(disassemble(&toy(), bytes).to_string(), ".word 3155 ; no instruction\n");
}

#[test]
fn instructions_remember_their_line() {
    let assembly = assemble(&toy(), "toy.s", "wide 1\n  mode on ; x\n").unwrap();
    let second = AssemblyLine { offset: 4, size_bytes: 2, place: SourceLocation::new(Span::new(9, 16)) };
    assert_eq!(assembly.lines[1], second);
}

#[test]
fn a_partial_instruction_is_named() {
    let disassembly = disassemble(&toy(), &[0x20, 0x03, 0x40]);
    assert_eq!(disassembly.problems, [DecodeError::Truncated { offset: 2, have: 1, need: 2 }]);
    assert_eq!(
        disassembly.to_string(),
        "mode on\n; byte 0x2: only 1 of the 2 bytes of an instruction are left\n"
    );
}

#[test]
fn faults_of_a_table_are_found() {
    let mut spec = toy();
    spec.instructions[1].patterns[0].value = 1;
    spec.instructions[1].forms[0].syntax = "mode {modus}".into();
    spec.instructions[4].fields[0].bits.width = 25;
    spec.instructions[4].fields[0].bits.lo = 8;
    let text = |name: &str| name.to_owned();
    let (mode, wide) = (|| text("Mode"), || text("Wide"));
    let expected = [
        SpecError::NoField { instruction: mode(), field: text("modus") },
        SpecError::Unsaid { instruction: mode(), field: text("mode") },
        SpecError::Outside { instruction: wide(), part: text("value") },
        SpecError::Overlap { instruction: wide(), part: text("value") },
        SpecError::Ambiguous { first: text("Copy"), second: mode() },
    ];
    assert_eq!(spec.check(), expected);
}

proptest! {
    #[test]
    fn any_bytes_survive(bytes in prop::collection::vec(any::<u8>(), 0..60), alu: bool) {
        let context = if alu { "alu" } else { "control" };
        let disassembly = disassemble_in(&toy(), &bytes, Some(context));
        let again = assemble(&toy(), "toy.s", &disassembly.to_string()).unwrap().bytes;
        let whole = match disassembly.problems.last() {
            Some(DecodeError::Truncated { offset, .. }) => *offset,
            _ => bytes.len(),
        };
        prop_assert_eq!(&again, &bytes[..whole]);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "([a-z0-9., \\[\\]();/\n-]|copy|mode|alu|\\PC){0,40}") {
        let _ = assemble(&toy(), "toy.s", &text);
    }
}
