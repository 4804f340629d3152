//! [`Offsets`]: finds DRAM bank offsets that are set again before they were used.

use std::collections::BTreeMap;

use crate::check::lints::DEAD_CONFIGURATION;
use crate::check::problem::Problem;
use crate::isa::op::{Op, Register};

/// Last Configure of each bank's offset that was not used yet.
#[derive(Default)]
pub(super) struct Offsets(BTreeMap<usize, usize>);

impl Offsets {
    pub fn step(&mut self, index: usize, op: &Op) -> Option<Problem> {
        if let Some(bank) = op.flow().bank() {
            self.0.remove(&bank);
        }
        let bank = offset_of(op)?;
        let before = self.0.insert(bank, index)?;
        let reason =
            format!("instruction {index} sets the offset of DRAM{bank} again before a DataMove of that bank");
        let hint = "remove it, or put the intended moves between the two";
        Some(Problem::warning(before, DEAD_CONFIGURATION, reason, hint))
    }
}

/// Returns the bank whose offset an instruction sets.
pub(super) fn offset_of(op: &Op) -> Option<usize> {
    let Op::Configure { register, .. } = *op else { return None };
    match Register::from_code(register)? {
        Register::Dram0Offset => Some(0),
        Register::Dram1Offset => Some(1),
        _ => None,
    }
}
