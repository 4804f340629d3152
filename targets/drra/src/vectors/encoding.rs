//! Encodings: text to a word, and the word to the same fields.

use std::collections::BTreeMap;

use npukit_target::{Case, Outcome};
use serde::Deserialize;
use serde_json::Value;

use crate::config::component::Component;
use crate::isa::asm::{Listing, instruction};
use crate::isa::{Instruction, Isa};

#[derive(Deserialize)]
struct File {
    encodings: Vec<Encoding>,
}

#[derive(Deserialize)]
struct Encoding {
    component: String,
    text: String,
    slot: Option<u8>,
    fields: BTreeMap<String, u32>,
    bin: String,
    hex: String,
}

pub(super) fn cases(file: Value) -> Result<Vec<Case>, serde_json::Error> {
    let file: File = serde_json::from_value(file)?;
    let case = |encoding: Encoding| Case::new(encoding.text.clone(), move || check(&encoding));
    Ok(file.encodings.into_iter().map(case).collect())
}

fn check(encoding: &Encoding) -> Outcome {
    let Some(component) = Component::from_name(&encoding.component) else {
        return Outcome::error("a component", format!("unknown component `{}`", encoding.component));
    };
    let wanted = format!("{} {}", encoding.hex, encoding.bin);
    let found = match instruction(component, &encoding.text) {
        Ok(found) => found,
        Err(error) => return Outcome::error(wanted, error),
    };
    let word = Isa::get().encode(&found);
    match Outcome::compare(&wanted, &format!("{word:#010x} {word:032b}")) {
        Outcome::Passed => {}
        failed => return failed,
    }
    let back = match Isa::get().decode(word, |_| Some(component)) {
        Ok(back) => back,
        Err(error) => return Outcome::error(&encoding.text, error),
    };
    // Default: control instructions have no slot in the vectors.
    let wanted = format!("slot {:?}, {:?}", encoding.slot.unwrap_or(0), encoding.fields);
    let slot = back.get("slot").unwrap_or(0);
    match Outcome::compare(&wanted, &format!("slot {slot:?}, {:?}", fields(&back))) {
        Outcome::Passed => {}
        failed => return failed,
    }
    let texts = [Listing::Named, Listing::Upstream]
        .map(|listing| instruction(component, &back.text(Isa::get(), listing)));
    let agree = texts.iter().all(|text| text.as_ref().is_ok_and(|text| *text == back));
    Outcome::compare(&true, &agree)
}

fn fields(instruction: &Instruction) -> BTreeMap<String, u32> {
    let fields = instruction.fields().filter(|(field, _)| field.name != "slot");
    fields.map(|(field, bits)| (field.name.clone(), bits)).collect()
}
