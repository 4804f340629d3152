//! Golden vectors: [`vectors`] reads and runs them.

use std::collections::BTreeMap;

use npukit_target::{Case, Outcome, UninitMemory};
use serde::Deserialize;

use crate::clock::cycles;
use crate::config::Config;
use crate::isa::codec::decode_program;
use crate::isa::isa;
use crate::machine::Machine;

#[derive(Deserialize)]
struct File {
    cases: Vec<Program>,
}

/// A program on the default instance.
#[derive(Deserialize)]
struct Program {
    name: String,
    program: Vec<String>,
    /// Initial memory contents by the address of their first number.
    before: BTreeMap<String, Vec<i16>>,
    after: BTreeMap<String, Vec<i16>>,
    saturated: u64,
    cycles: u64,
}

/// Returns the cases of a file, or `None` if its format is unknown.
///
/// A file with a known format and invalid content is a failing case.
pub fn vectors(path: &str, bytes: &[u8]) -> Option<Vec<Case>> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    if value.get("format")?.as_str()? != "skeleton-program-1" {
        return None;
    }
    Some(match serde_json::from_value::<File>(value) {
        Ok(file) => {
            file.cases.into_iter().map(|case| Case::new(case.name.clone(), move || check(&case))).collect()
        }
        Err(error) => {
            vec![Case::done(path, Outcome::error("a file of programs", format!("{path}: {error}")))]
        }
    })
}

fn check(case: &Program) -> Outcome {
    let expected = format!("{:?}, {} saturated, {} cycles", case.after, case.saturated, case.cycles);
    match got(case) {
        Ok(got) => Outcome::compare(&expected, &got),
        Err(error) => Outcome::error(expected, error),
    }
}

fn got(case: &Program) -> Result<String, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let assembled = npukit_asm::assemble(&isa(), &case.name, &case.program.join("\n"));
    let ops =
        decode_program(&assembled.map_err(|error| text(&error))?.bytes).map_err(|error| text(&error))?;
    let config = Config::presets().next().and_then(Config::preset).ok_or("no built-in instance")?;
    let mut machine = Machine::new(&config, UninitMemory::Poison);
    for (address, numbers) in &case.before {
        let address = address.parse().map_err(|error| text(&error))?;
        machine.write(address, numbers).map_err(|error| text(&error))?;
    }
    machine.run(&ops).map_err(|error| text(&error))?;
    let mut after = BTreeMap::new();
    for (address, numbers) in &case.after {
        let first = address.parse().map_err(|error| text(&error))?;
        let found = machine.read(first, numbers.len() as u32).map_err(|error| text(&error))?;
        after.insert(address, found);
    }
    Ok(format!("{after:?}, {} saturated, {} cycles", machine.saturated(), cycles(&config, &ops)))
}
