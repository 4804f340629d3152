//! Vectors of programs in assembly text: their results in L2, their cycles, and their lint
//! findings. Instructions that no other vector runs have their vectors here.

use std::collections::BTreeMap;

use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, json, outcome, patterns};
use crate::check::word_findings;
use crate::isa::codec::{Codec, decode_program};
use crate::machine::Machine;
use crate::{Config, clock, isa};

#[derive(Deserialize)]
struct Programs {
    programs: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    /// Name of the built-in instance.
    instance: String,
    /// Content of L2 before the run, by word.
    #[serde(default)]
    l2: BTreeMap<Hex, Vec<Hex>>,
    /// Instructions, one per line.
    code: Vec<String>,
    /// Content of L2 after the run, by word.
    result: BTreeMap<Hex, Vec<Hex>>,
    /// Core cycles from the first push to the end of the last instruction.
    cycles: u64,
    /// Codes of findings in instruction order. L2 is regarded as unwritten.
    #[serde(default)]
    findings: Vec<String>,
}

/// Result of a program: values by word, cycles, codes of findings.
type Left = (BTreeMap<u32, Vec<u16>>, u64, Vec<String>);

/// Runs each program on a separate machine.
pub fn programs(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Programs = json(bytes)?;
    let case = |case: Program| Case::new(case.name.clone(), move || outcome(&case.expected(), case.run()));
    Ok(file.programs.into_iter().map(case).collect())
}

impl Program {
    fn expected(&self) -> Left {
        (values(&self.result), self.cycles, self.findings.clone())
    }

    fn run(&self) -> Result<Left, String> {
        let config = Config::preset(&self.instance);
        let config = config.ok_or_else(|| format!("unknown instance {}", self.instance))?;
        let code = npukit_asm::assemble(&isa(&config), &self.name, &self.code.join("\n"));
        let bytes = code.map_err(|error| error.to_string())?.bytes;
        let ops = decode_program(&Codec::new(&config), &bytes).map_err(|error| error.to_string())?;
        let mut machine = Machine::new(&config).map_err(|error| error.to_string())?;
        for (word, values) in values(&self.l2) {
            machine.write_l2(word, &values).map_err(|error| error.to_string())?;
        }
        machine.run(&ops, &mut |_| ()).map_err(|error| error.to_string())?;
        let mut left = values(&self.result);
        for (&word, values) in &mut left {
            let found = machine.read_l2(word, values.len()).map_err(|error| error.to_string())?;
            values.copy_from_slice(found);
        }
        let findings = word_findings(&config, &bytes).map_err(|error| error.to_string())?;
        let findings = findings.iter().map(|finding| finding.code.to_owned()).collect();
        Ok((left, clock::run(&config, &ops).cycles, findings))
    }
}

fn values(words: &BTreeMap<Hex, Vec<Hex>>) -> BTreeMap<u32, Vec<u16>> {
    words.iter().map(|(word, values)| (word.0 as u32, patterns(values))).collect()
}
