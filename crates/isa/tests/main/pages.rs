//! Descriptions of values of each kind, and names and pages of a table with all kinds.

use npukit_base::BitRange;
use npukit_isa::syntax::Template;
use npukit_isa::token::tokens;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Mode, Radix, When};

fn spec() -> IsaSpec {
    let code = |name, context: &str, code| {
        InstructionSpec::new(name, 2, "Works.").with_context(context).with_pattern(
            "op",
            BitRange::new(0, 2),
            code,
        )
    };
    let first = code("First", "cell", 1)
        .with_doc("With a remark.")
        .with_field("by", BitRange::new(2, 4), FieldKind::Signed { min: -8, max: 7 }, "")
        .with_field("size", BitRange::new(6, 3), FieldKind::Power { min: 0, max: 7 }, "")
        .with_field("go", BitRange::new(9, 1), FieldKind::flag(".go"), "")
        .with_form("move {by}, {size}{go}", vec![When::OneOf("go".into(), vec![1])])
        .with_form("move.all {by}, {size}{go}", vec![When::OneOf("go".into(), vec![0])]);
    let second = code("Second", "cell", 2)
        .with_field("which", BitRange::new(2, 3), FieldKind::set([(0, "a"), (2, "c"), (2, "see")]), "")
        .with_form("SECOND {which}", Vec::new());
    let (name, doc) = ("All".to_owned(), String::new());
    IsaSpec { name, doc, byte_order: ByteOrder::Little, instructions: vec![first, second] }
}

#[test]
fn sets_hold_named_bits_only() {
    let second = &spec().instructions[1];
    let legal: Vec<u64> = (0..8).filter(|&value| second.encode(&[value]).is_ok()).collect();
    assert_eq!(legal, [0, 1, 4, 5]);
    assert_eq!(
        second.encode(&[2]).unwrap_err()[0].to_string(),
        "`which` of Second is 2, which has no name: legal are a (0x1), c (0x4), see (0x4)"
    );
}

#[test]
fn negative_numbers_are_stored_in_their_bits() {
    let first = &spec().instructions[0];
    assert_eq!(first.fields[0].stored((-5i64).cast_unsigned()), 0xB);
    assert_eq!(first.fields[0].value(0xB).cast_signed(), -5);
    let wide = FieldKind::Signed { min: i64::MIN, max: i64::MAX };
    let row = InstructionSpec::new("Wide", 8, "").with_field("by", BitRange::new(0, 64), wide, "");
    for value in [i64::MIN, -1, 0, i64::MAX] {
        let word = row.encode(&[value.cast_unsigned()]).unwrap();
        assert_eq!(row.values(word), [value.cast_unsigned()]);
    }
}

#[test]
fn unknown_words_are_shown_with_their_context() {
    let unknown =
        |context| spec().decode(&[9, 0xA3, 0x0B], 1, context, Mode::Strict).unwrap_err().to_string();
    assert_eq!(unknown(None), "byte 0x1: a30b is not an instruction");
    assert_eq!(unknown(Some("cell")), "byte 0x1: a30b is not an instruction of cell");
    assert_eq!(spec().decode(&[1, 0], 0, Some("cell"), Mode::Strict).unwrap().instruction, 0);
}

#[test]
fn names_are_mnemonics_and_names_once_whatever_the_case() {
    let spec = spec();
    assert_eq!(spec.names(), ["move", "First", "SECOND"]);
    assert_eq!(spec.instructions[0].mnemonics(), ["move", "move"]);
    for (name, found) in
        [("MOVE", Some("# First")), ("first", Some("# First")), ("second", Some("# Second")), ("x", None)]
    {
        let page = spec.reference_of(name).map(|page| page.markdown());
        assert_eq!(
            page.as_deref().and_then(|page| page.lines().nth(4)),
            found.map(|name| format!("#{name}")).as_deref()
        );
    }
}

#[test]
fn the_pages_of_every_kind_of_field() {
    let spec = spec();
    let text = "All\n\n\n\nFirst - Works. (in cell)\n    move <by>, <size>.go\n    move.all <by>, <size>(.go)?\n  \
                15:10  reserved  0\n      \
                9  go        `.go` or nothing\n    \
                8:6  size      1, 2, 4, 8, 16, 32, 64, 128, stored as log2\n    \
                5:2  by        -8 to 7\n    \
                1:0  op        0x1\n  \
                With a remark.\n";
    let page = spec.reference_of("first").unwrap();
    assert_eq!(page.text(), text);
    let markdown = page.markdown();
    assert!(markdown.ends_with("| 1:0 | `op` | 0x1 |  |\n\nWith a remark.\n"), "{markdown}");
    assert!(spec.reference_of("second").unwrap().markdown().ends_with("| 1:0 | `op` | 0x2 |  |\n"));
    let json = spec.reference().json();
    let fields = &json["instructions"][0]["fields"];
    assert_eq!(
        (&fields[0]["min"], &fields[0]["max"], &fields[0]["signed"]),
        (&(-8).into(), &7.into(), &true.into())
    );
    assert_eq!(
        (&fields[1]["log2"], &fields[1]["max"], &fields[2]["signed"]),
        (&true.into(), &128.into(), &().into())
    );
    assert_eq!(json["instructions"][1]["fields"][0]["bits"]["c"], 2);
    assert_eq!(json["instructions"][1]["context"], "cell");
}

#[test]
fn named_values_with_meanings_are_listed_below_the_table() {
    let names = FieldKind::Choice { names: vec![(0, "add".to_owned()), (3, "less".to_owned())], open: true };
    let row = InstructionSpec::new("Do", 1, "Works.")
        .with_field("how", BitRange::new(0, 8), names, "operation")
        .with_meanings("how", &[(0, "a + b"), (3, "1 if a < b | 0")])
        .with_doc("A remark.");
    let (name, doc) = ("All".to_owned(), String::new());
    let spec = IsaSpec { name, doc, byte_order: ByteOrder::Little, instructions: vec![row] };
    let text = "  7:0  how  listed below, or up to 255  operation\n  how:\n    add (0)   a + b\n    \
                less (3)  1 if a < b | 0\n  A remark.\n";
    assert!(spec.reference().text().ends_with(text), "{}", spec.reference().text());
    let markdown = "\n| `how` | code | meaning |\n|---|---|---|\n| `add` | 0 | a + b |\n\
                    | `less` | 3 | 1 if a < b \\| 0 |\n\nA remark.\n";
    assert!(spec.reference().markdown().ends_with(markdown), "{}", spec.reference().markdown());
    let json = spec.reference().json();
    assert_eq!(json["instructions"][0]["fields"][0]["meanings"]["less"], "1 if a < b | 0");
}

#[test]
fn templates_know_their_mnemonic_and_what_is_no_field() {
    let row = InstructionSpec::new("a", 1, "").with_field(
        "f",
        BitRange::new(0, 8),
        FieldKind::up_to(9, Radix::Decimal),
        "",
    );
    let template = Template::new(&row, "go.to {f}(?, {no}?) (*x={f}; y={nor}?*)");
    assert_eq!((template.mnemonic(), template.fields()), (Some("go"), vec![0, 0]));
    assert_eq!(template.unknown(), ["no", "nor"]);
    assert_eq!(Template::new(&row, "{f} go").mnemonic(), None);
}

#[test]
fn tokens_stand_where_the_text_has_them() {
    let found = tokens("a 12é b_3", 10);
    let spans: Vec<_> = found.iter().map(|token| (token.text, token.span.start, token.span.end)).collect();
    assert_eq!(spans, [("a", 10, 11), ("12", 12, 14), ("é", 14, 16), ("b_3", 17, 20)]);
    assert_eq!(found.iter().map(|token| token.is_number()).collect::<Vec<_>>(), [false, true, false, false]);
}
