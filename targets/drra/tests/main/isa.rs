//! Compares the table with the specification's, and words with the typed form.

use npukit_drra::Component;
use npukit_drra::internals::config::from_short;
use npukit_drra::internals::encoding::Encoding;
use npukit_drra::internals::fabric::{Fabric, Place};
use npukit_drra::internals::isa::{Instruction, Isa, range, recode};
use npukit_drra::internals::op::Op;
use npukit_isa::{Field, FieldKind, InstructionSpec, Mode};
use proptest::prelude::*;
use serde_json::Value;

use npukit_testing::{needs, shared_bytes};

/// Instruction, opcode, and fields: name, bits, default, sign, names.
type Known = (String, u64, Vec<(String, u64, u64, u64, bool, Vec<(u64, String)>)>);

fn known(row: &Value) -> Known {
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let names = |field: &Value| match field.get("enum").and_then(Value::as_object) {
        Some(names) => {
            let name =
                |(code, name): (&String, &Value)| (code.parse().unwrap(), name.as_str().unwrap().to_owned());
            let mut names: Vec<(u64, String)> = names.iter().map(name).collect();
            names.sort();
            names
        }
        None => Vec::new(),
    };
    let field = |field: &Value| {
        let (lsb, width) = (number(field, "lsb"), number(field, "width"));
        let signed = field["signed"].as_bool().unwrap();
        (text(field, "name"), lsb, width, number(field, "default"), signed, names(field))
    };
    (text(row, "name"), number(row, "opcode"), row["fields"].as_array().unwrap().iter().map(field).collect())
}

fn names_of(field: &Field) -> Vec<(u64, String)> {
    match &field.kind {
        FieldKind::Choice { names, .. } => names.clone(),
        _ => Vec::new(),
    }
}

fn opcode(row: &InstructionSpec) -> u64 {
    row.patterns.iter().find(|pattern| pattern.name == "opcode").unwrap().value
}

#[needs(NPUKIT_SHARED)]
#[test]
fn the_table_is_the_specifications() {
    let file: Value = serde_json::from_slice(&shared_bytes("spec/drra-isa.json")).unwrap();
    let components = file["components"].as_array().unwrap();
    assert_eq!(components.len(), Component::ALL.len());
    for described in components {
        let component = Component::from_name(described["kind"].as_str().unwrap()).unwrap();
        assert_eq!(u64::from(component.slots()), described["slots"].as_u64().unwrap());
        let mut expected: Vec<Known> =
            described["instructions"].as_array().unwrap().iter().map(known).collect();
        let rows = Isa::get().rows(component).iter().map(|row| {
            let fields = row.fields.iter().filter(|field| field.name != "slot").map(|field| {
                let (bits, is_signed) = (field.bits, matches!(field.kind, FieldKind::Signed { .. }));
                let default = field.default_value();
                (field.name.clone(), bits.lo.into(), bits.width.into(), default, is_signed, names_of(field))
            });
            (row.name.clone(), opcode(row), fields.collect())
        });
        let mut found: Vec<Known> = rows.collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{}", component.name());
    }
}

/// Any instruction of any component.
fn instructions() -> impl Strategy<Value = Instruction> {
    let rows = Component::ALL
        .into_iter()
        .flat_map(|component| (0..Isa::get().rows(component).len()).map(move |row| (component, row)));
    let pick = proptest::sample::select(rows.collect::<Vec<_>>());
    (pick, proptest::collection::vec(any::<u32>(), 6)).prop_map(|((component, row), values)| {
        let fields = &Isa::get().rows(component)[row].fields;
        let values =
            fields.iter().zip(values).map(|(field, value)| value & field.bits.max() as u32).collect();
        Instruction { component, row, values }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_instruction_survives(instruction in instructions()) {
        let word = Isa::get().encode(&instruction);
        let back = Isa::get().decode(word, |_| Some(instruction.component));
        prop_assert_eq!(back.as_ref(), Ok(&instruction));
        if let Ok(op) = Op::new(&instruction) {
            prop_assert_eq!(op.word(instruction.component), Ok(word));
        }
    }

    /// The table that `npu isa` prints decodes words in the same way.
    #[test]
    fn the_reference_agrees(word: u32, index in 0_usize..7) {
        let component = Component::ALL[index];
        let spec = Isa::get().spec("drra");
        let row = spec.decode(&word.to_be_bytes(), 0, Some(component.name()), Mode::Strict);
        let component = if word >> 31 == 0 { Component::Sequencer } else { component };
        match Isa::get().decode(word, |_| Some(component)) {
            Ok(found) if component.name() == Component::ALL[index].name() => {
                let row = row.unwrap();
                prop_assert_eq!(&spec.instructions[row.instruction].name, &found.spec().name);
                let values: Vec<u64> = found.fields().map(|(field, bits)| field.value(bits.into())).collect();
                prop_assert_eq!(row.values, values);
            }
            Ok(_) => {}
            Err(_) => prop_assert!(row.is_err()),
        }
    }
}

fn fabric() -> Fabric {
    from_short("1x1: [swb,rf,rf,iosram_both,dpu]").unwrap()
}

/// Returns the words of assembly in the later encoding, or the error.
fn later(text: &str) -> Result<Vec<u32>, String> {
    let source =
        npukit_drra::internals::asm::assemble(&fabric(), "t", &format!("cell (row=0, col=0) {text}"))
            .unwrap();
    let recoded = recode(&fabric(), &source.program, Encoding::Released, Encoding::Later);
    recoded.map(|program| program.cells[&Place::default()].clone()).map_err(|error| error.to_string())
}

/// Bits counted by hand from the specification's paragraph: `conf` 0, `evt` 1, `rep` 2, `trans` 3;
/// the variant or extension bit first.
#[test]
fn the_later_encoding_is_as_described() {
    let slot = |slot: u32| 1 << 31 | slot << 24;
    for (text, word) in [
        ("dpu(slot=7, config=1, mode=mult)", slot(7) | 1 << 22 | 7 << 17),
        ("evt(slot=7, port=rst)", slot(7) | 1 << 28 | 1 << 23),
        (
            "swb(slot=0, option=1, channel=2, source=1, target=2)",
            slot(0) | 1 << 21 | 2 << 17 | 1 << 13 | 2 << 9,
        ),
        ("route(slot=0, sr=receive, source=1, target=6)", slot(0) | 1 << 23 | 1 << 20 | 1 << 16 | 6),
        ("dsu(slot=1, port=bulk_read, init_addr=3)", slot(1) | 1 << 28 | 3 << 20 | 3 << 3),
        (
            "rep(slot=1, port=word_read, iter=32, step=-1, delay=5)",
            slot(1) | 2 << 28 | 1 << 21 | 32 << 14 | 127 << 7 | 5,
        ),
        ("rep(slot=0, iter=3, step=-1, delay=255)", slot(0) | 2 << 28 | 3 << 15 | 63 << 9 | 255 << 1),
        ("rep(slot=7, iter=3, step=-1, delay=100)", slot(7) | 2 << 28 | 3 << 15 | 127 << 8 | 100 << 1),
        ("trans(slot=1, port=word_read, delay=9)", slot(1) | 3 << 28 | 1 << 22 | 9),
        ("wait(cycle=7)", 0x1000_0007),
    ] {
        assert_eq!(later(text), Ok(vec![word]), "{text}: {word:#010x}");
    }
    // 256 + 4 repetitions are encoded as 2 * 128 + 4.
    let both = later("rep(slot=1, iter=4, step=-1) repx(slot=1, iter=1, step=127)").unwrap();
    let first = slot(1) | 2 << 28 | 4 << 14 | 127 << 7;
    assert_eq!(both, [first, slot(1) | 2 << 28 | 1 << 23 | 2 << 14 | 127 << 7]);
    let message =
        "cell (0, 0), instruction 0: 200 does not fit field `iter` of rep, which has 7 bits in that encoding";
    assert_eq!(later("rep(slot=1, iter=200)").unwrap_err(), message);
}

/// A missing step is 1. The step of `rep` is signed, and `repx` has the bits above it, in both
/// encodings.
#[test]
fn steps_have_a_default_and_a_sign() {
    use Component::{Dpu, IosramBoth, Rf, Swb};
    for (encoding, component, bits) in [
        (Encoding::Released, Rf, 7),
        (Encoding::Released, IosramBoth, 7),
        (Encoding::Released, Dpu, 7),
        (Encoding::Released, Swb, 7),
        (Encoding::Later, Rf, 7),
        (Encoding::Later, IosramBoth, 7),
        (Encoding::Later, Dpu, 7),
        (Encoding::Later, Swb, 6),
    ] {
        let (half, all) = (1 << (bits - 1), 1 << bits);
        for (name, expected) in [("rep", (-half, half - 1)), ("repx", (0, all - 1))] {
            let rows = Isa::of(encoding).rows(component);
            let row = rows.iter().find(|row| row.name == name).unwrap();
            let step = &row.fields[row.field("step").unwrap()];
            assert_eq!(
                (step.default_value(), range(step)),
                (1, expected),
                "{name} of {component:?} in {encoding:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Words that can be converted to the other encoding convert back to the same words.
    #[test]
    fn encodings_agree(words in proptest::collection::vec(any::<u32>(), 1..8)) {
        let fabric = fabric();
        for (own, other) in [(Encoding::Released, Encoding::Later), (Encoding::Later, Encoding::Released)] {
            let decodes = |word: &u32| Isa::of(own).decode(*word, |slot| fabric.cells[0].component_at(slot)).is_ok();
            let words = words.iter().copied().filter(decodes).collect();
            let program = npukit_drra::Program { cells: [(Place::default(), words)].into() };
            if let Ok(recoded) = recode(&fabric, &program, own, other) {
                prop_assert_eq!(recode(&fabric, &recoded, other, own), Ok(program));
            }
        }
    }
}
