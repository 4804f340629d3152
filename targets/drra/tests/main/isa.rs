//! The table against the specification's, and words against the typed form.

use npukit_drra::Component;
use npukit_drra::isa::{Instruction, Isa};
use npukit_drra::op::Op;
use npukit_isa::Mode;
use proptest::prelude::*;
use serde_json::Value;

use crate::shared;

/// Instruction, opcode, and its fields: name, bits, default, sign, names.
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

#[test]
fn the_table_is_the_specifications() {
    let Some(file) = shared::json("spec/drra-isa.json") else { return };
    let components = file["components"].as_array().unwrap();
    assert_eq!(components.len(), Component::ALL.len());
    for described in components {
        let component = Component::from_name(described["kind"].as_str().unwrap()).unwrap();
        assert_eq!(u64::from(component.slots()), described["slots"].as_u64().unwrap());
        let mut expected: Vec<Known> =
            described["instructions"].as_array().unwrap().iter().map(known).collect();
        let rows = Isa::get().rows(component).iter().map(|row| {
            let fields = row.fields.iter().map(|field| {
                let names =
                    field.names.iter().map(|(code, name)| ((*code).into(), (*name).to_owned())).collect();
                let bits = field.bits;
                (
                    field.name.to_owned(),
                    bits.lo.into(),
                    bits.width.into(),
                    field.default.into(),
                    field.signed,
                    names,
                )
            });
            (row.name.to_owned(), row.opcode.into(), fields.collect())
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
    (pick, 0_u8..16, proptest::collection::vec(any::<u32>(), 5)).prop_map(
        |((component, row), slot, values)| {
            let fields = &Isa::get().rows(component)[row].fields;
            let values =
                fields.iter().zip(values).map(|(field, value)| value & field.bits.max() as u32).collect();
            let slot = if component == Component::Sequencer { 0 } else { slot };
            Instruction { component, row, slot, values }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_instruction_survives(instruction in instructions()) {
        let word = Isa::get().encode(&instruction);
        let back = Isa::get().decode(word, |_| Some(instruction.component));
        prop_assert_eq!(back.as_ref(), Ok(&instruction));
        if let Ok(op) = Op::new(&instruction) {
            prop_assert_eq!(op.instruction(instruction.component), Some(instruction));
        }
    }

    /// Words mean the same by the table that `npu isa` prints.
    #[test]
    fn the_reference_agrees(word: u32, index in 0_usize..7) {
        let component = Component::ALL[index];
        let spec = Isa::get().spec("drra");
        let row = spec.decode(&word.to_be_bytes(), 0, Some(component.name()), Mode::Strict);
        let component = if word >> 31 == 0 { Component::Sequencer } else { component };
        match Isa::get().decode(word, |_| Some(component)) {
            Ok(found) if component.name() == Component::ALL[index].name() => {
                let row = row.unwrap();
                prop_assert_eq!(&spec.instructions[row.instruction].name, Isa::get().row(&found).unwrap().name);
                let slot = (component != Component::Sequencer).then_some(u64::from(found.slot));
                let values: Vec<u64> = slot.into_iter().chain(found.values.iter().map(|v| (*v).into())).collect();
                prop_assert_eq!(row.values, values);
            }
            Ok(_) => {}
            Err(_) => prop_assert!(row.is_err()),
        }
    }
}
