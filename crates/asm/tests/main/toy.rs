//! A big-endian set with two word sizes and a context: a combination that no single target has.

use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, When};

pub fn toy() -> IsaSpec {
    let range = BitRange::new;
    let opcode = |row: InstructionSpec, code| row.with_pattern("opcode", range(12, 4), code);
    let number = |max| FieldKind::up_to(max, Radix::Decimal);
    let copy = opcode(InstructionSpec::new("Copy", 2, "Copies words."), 1)
        .with_field("to", range(8, 4), number(11), "target")
        .with_field("size", range(4, 4), FieldKind::size(16), "words")
        .with_field("add", range(0, 1), FieldKind::flag(".add"), "adds")
        .with_field("round", range(1, 1), FieldKind::flag(".round"), "rounds")
        .with_form("copy{add}{round} [{to}](?, {size}?)", Vec::new());
    let modes = vec![(0, "off".to_owned()), (3, "on".to_owned())];
    let mode = opcode(InstructionSpec::new("Mode", 2, "Sets the mode."), 2)
        .with_field("mode", range(0, 4), FieldKind::Choice { names: modes, open: true }, "mode")
        .with_form("mode {mode}", Vec::new());
    let op = FieldKind::choice(["nop", "neg", "add"]);
    let alu = opcode(InstructionSpec::new("Alu", 2, "Computes."), 3)
        .with_context("alu")
        .with_field("op", range(8, 4), op, "operation")
        .with_field("a", range(4, 4), number(15), "first")
        .with_field("b", range(0, 4), number(15), "second")
        .with_form(
            "alu {op}({a})",
            vec![When::OneOf("op".into(), vec![1]), When::Same("b".into(), "a".into())],
        )
        .with_form("alu {op}({a}, {b})", Vec::new());
    let jump = opcode(InstructionSpec::new("Jump", 2, "Jumps."), 3)
        .with_context("control")
        .with_field("target", range(0, 12), FieldKind::up_to(4095, Radix::Hexadecimal), "address")
        .with_form("jump {target}", Vec::new());
    let wide = InstructionSpec::new("Wide", 4, "Takes two words.")
        .with_pattern("opcode", range(28, 4), 4)
        .with_field("value", range(0, 24), FieldKind::up_to(0xFF_FFFF, Radix::Hexadecimal), "value")
        .with_form("wide {value}", Vec::new());
    let instructions = vec![copy, mode, alu, jump, wide];
    IsaSpec { name: "toy".into(), doc: "For tests.".into(), byte_order: ByteOrder::Big, instructions }
}
