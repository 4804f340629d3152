//! Errors in a table, at the limits of each rule.

use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, SpecError, When};

fn table(instructions: Vec<InstructionSpec>) -> IsaSpec {
    IsaSpec { name: "T".into(), doc: String::new(), byte_order: ByteOrder::Little, instructions }
}

/// Returns a row of one byte with `code` in the bits `lo` to `lo + 3`.
fn row(name: &str, lo: u32, code: u64) -> InstructionSpec {
    InstructionSpec::new(name, 1, "").with_pattern("opcode", BitRange::new(lo, 4), code)
}

fn ambiguous(first: InstructionSpec, second: InstructionSpec) -> bool {
    let error = SpecError::Ambiguous { first: first.name.clone(), second: second.name.clone() };
    let found = table(vec![first, second]).check();
    assert!(found.is_empty() || found == [error], "{found:?}");
    !found.is_empty()
}

#[test]
fn rows_are_told_apart_by_bits_that_both_fix() {
    assert!(!ambiguous(row("a", 0, 1), row("b", 0, 2)));
    assert!(ambiguous(row("a", 0, 3), row("b", 0, 3)));
    assert!(ambiguous(row("a", 0, 1), row("b", 4, 2)), "no bit in common");
}

#[test]
fn rows_meet_in_one_context_or_where_one_has_none() {
    let at = |context: Option<&str>, name: &str| {
        let row = row(name, 0, 3);
        context.map_or(row.clone(), |context| row.with_context(context))
    };
    let cases = [(None, None, true), (Some("x"), None, true), (None, Some("x"), true)];
    for (first, second, meet) in
        cases.into_iter().chain([(Some("x"), Some("x"), true), (Some("x"), Some("y"), false)])
    {
        assert_eq!(ambiguous(at(first, "a"), at(second, "b")), meet, "{first:?} {second:?}");
    }
    let spec = table(vec![at(Some("x"), "a"), at(None, "b")]);
    let holds =
        |context: Option<&str>| spec.instructions.iter().map(|row| row.holds_in(context)).collect::<Vec<_>>();
    assert_eq!(
        [holds(None), holds(Some("x")), holds(Some("y"))],
        [[false, true], [true, true], [false, true]]
    );
    assert_eq!(spec.instruction("B").map(|row| &*row.name), Some("b"));
    assert_eq!(spec.instruction("c"), None);
}

#[test]
fn bits_have_one_meaning() {
    let field =
        |lo| row("a", 0, 1).with_field("f", BitRange::new(lo, 2), FieldKind::up_to(3, Radix::Decimal), "");
    let errors = |lo| table(vec![field(lo).with_form("a {f}", vec![])]).check();
    assert_eq!((errors(4), errors(6)), (vec![], vec![]));
    let (instruction, part) = ("a".to_owned(), "f".to_owned());
    assert_eq!(errors(3), [SpecError::Overlap { instruction: instruction.clone(), part: part.clone() }]);
    assert_eq!(errors(7), [SpecError::Outside { instruction, part }]);
}

/// Whether a field of `width` bits can hold all values of its kind.
fn fits(width: u32, kind: FieldKind) -> bool {
    let row = InstructionSpec::new("a", 16, "").with_field("f", BitRange::new(0, width), kind, "");
    let found = table(vec![row.with_form("a {f}", vec![])]).check();
    let narrow = SpecError::TooNarrow { instruction: "a".into(), part: "f".into() };
    assert!(found.is_empty() || found == [narrow], "{found:?}");
    found.is_empty()
}

#[test]
fn numbers_fit_less_their_bias() {
    let number = |min, max, bias| FieldKind::Number { min, max, bias, radix: Radix::Decimal };
    assert!(fits(2, number(1, 4, 1)) && fits(2, number(0, 3, 0)) && fits(2, number(3, 3, 3)));
    assert!(!fits(2, number(1, 5, 1)) && !fits(2, number(0, 4, 0)));
    assert!(!fits(2, number(2, 1, 0)) && !fits(2, number(0, 1, 1)), "in the wrong order");
}

#[test]
fn signed_numbers_fit_with_their_sign() {
    let signed = |min, max| FieldKind::Signed { min, max };
    for (width, min, max) in [(8, -128, 127), (8, -1, 0), (8, 3, 3), (1, -1, 0), (64, i64::MIN, i64::MAX)] {
        assert!(fits(width, signed(min, max)), "{width}: {min} to {max}");
    }
    for (width, min, max) in [(8, -129, 127), (8, -128, 128), (8, 1, 0), (1, 0, 1), (63, i64::MIN, 0)] {
        assert!(!fits(width, signed(min, max)), "{width}: {min} to {max}");
    }
}

#[test]
fn powers_and_sets_fit_by_their_exponents_and_bits() {
    let power = |min, max| FieldKind::Power { min, max };
    assert!(fits(3, power(1, 6)) && fits(3, power(7, 7)) && fits(6, power(0, 63)));
    assert!(!fits(3, power(6, 1)) && !fits(3, power(0, 8)) && !fits(7, power(0, 64)));
    assert!(fits(3, FieldKind::set([(0, "a"), (2, "c")])));
    assert!(!fits(3, FieldKind::set([(0, "a"), (3, "d")])));
    assert!(fits(1, FieldKind::flag("x")) && !fits(2, FieldKind::flag("x")));
}

/// Returns the errors of a row with fields `f` and `g` and one form, as text.
fn of_form(syntax: &str, when: Vec<When>) -> Vec<String> {
    let kind = || FieldKind::up_to(3, Radix::Decimal);
    let row = row("a", 0, 1).with_field("f", BitRange::new(4, 2), kind(), "");
    let row = row.with_field("g", BitRange::new(6, 2), kind(), "").with_form(syntax, when);
    table(vec![row]).check().iter().map(ToString::to_string).collect()
}

#[test]
fn conditions_say_fields_and_name_only_such() {
    let (f, g, no) = (|| "f".to_owned(), || "g".to_owned(), || "no".to_owned());
    assert_eq!(of_form("a {f}, {g}", vec![]), [""; 0]);
    assert_eq!(of_form("a {f}", vec![When::Is(g(), 2)]), [""; 0]);
    assert_eq!(of_form("a {f}", vec![When::Same(g(), f())]), [""; 0]);
    assert_eq!(of_form("a {f}", vec![When::OneOf(g(), vec![1, 2])]), ["no form of a contains `g`"]);
    assert_eq!(of_form("a {f}", vec![When::Same(f(), g())]), ["no form of a contains `g`"]);
    let unknown = "a form, a limit or the label of a names `no`, which is not a field";
    for when in [When::Is(no(), 1), When::OneOf(no(), vec![1]), When::Same(no(), f()), When::Same(f(), no())]
    {
        assert_eq!(of_form("a {f}, {g}", vec![when]), [unknown]);
    }
    assert_eq!(of_form("a {f}, {g}, {no}", vec![]), [unknown]);
    assert_eq!(of_form("{f} {g}", vec![]), ["a form of a has no mnemonic"]);
    let label = row("a", 0, 1).with_reserved_operand("rsv").with_label_field("no");
    assert_eq!((label.reserved_operand.as_deref(), label.patterns.len()), (Some("rsv"), 1));
    assert_eq!(table(vec![label]).check()[0].to_string(), unknown);
}

/// Returns messages for the limits that the values of the fields `f`, `g` and `mode` exceed.
fn broken(when: When, values: [u64; 3]) -> Vec<String> {
    let kind = || FieldKind::up_to(15, Radix::Decimal);
    let modes = FieldKind::choice(["off", "on"]);
    let row = row("a", 0, 1).with_field("f", BitRange::new(4, 4), kind(), "");
    let row = row.with_field("g", BitRange::new(8, 4), kind(), "").with_field(
        "mode",
        BitRange::new(12, 1),
        modes,
        "",
    );
    let row = row.with_limit_when(&["f"], 3, vec![when]).with_limit(&["f", "g"], 20);
    row.beyond_limits(&values).iter().map(ToString::to_string).collect()
}

#[test]
fn a_limit_holds_where_its_condition_does_and_says_so() {
    let mode = || "mode".to_owned();
    let product = "f * g of a is 21: the product is at most 20";
    for (when, holds, fails, words) in [
        (When::Is(mode(), 1), [4, 2, 1], [4, 2, 0], "`mode` is on"),
        (When::OneOf(mode(), vec![0, 1]), [4, 2, 0], [4, 2, 2], "`mode` is off or on"),
        (When::OneOf("g".into(), vec![2, 5]), [4, 5, 0], [4, 3, 0], "`g` is 2 or 5"),
        (When::Same("g".into(), mode()), [4, 1, 1], [4, 0, 1], "`g` is `mode`"),
    ] {
        assert_eq!(broken(when.clone(), holds), [format!("f of a is 4: it is at most 3, where {words}")]);
        assert_eq!(broken(when, fails), [""; 0]);
    }
    assert_eq!(broken(When::Is(mode(), 1), [3, 7, 1]), [product]);
}
