//! [`Unused`]: buffers that are filled and registers that are set without a use.

use std::collections::BTreeMap;

use npukit_target::Lint;

use crate::check::lints::{DEAD_CONFIGURATION, UNREAD_SUMS, UNUSED_LOAD};
use crate::isa::fault::Buffer;
use crate::isa::op::{Effects, Op};

/// What was filled or set last and not used since.
#[derive(Default)]
pub(super) struct Unused {
    /// By name of the buffer, the instruction that filled it.
    buffers: BTreeMap<&'static str, usize>,
    /// By mnemonic, the instruction that set it.
    registers: BTreeMap<&'static str, usize>,
}

/// An instruction without a use.
pub(super) struct Idle {
    pub instruction: usize,
    pub lint: &'static Lint,
    pub message: String,
}

impl Unused {
    /// Takes an instruction with its effects: what it leaves without a use.
    pub fn step(&mut self, index: usize, op: &Op, effects: &Effects) -> Vec<Idle> {
        for register in users(op) {
            self.registers.remove(register);
        }
        for buffer in effects.reads {
            self.buffers.remove(buffer.name());
        }
        let before =
            effects.writes.and_then(|buffer| Some((buffer, self.buffers.insert(buffer.name(), index)?)));
        let mut found: Vec<Idle> =
            before.map(|(buffer, before)| refilled(buffer, before, index)).into_iter().collect();
        if is_followed(op)
            && let Some(before) = self.registers.insert(op.mnemonic(), index)
        {
            let message = format!("instruction {index} sets it again before anything uses it; take it away");
            found.push(Idle { instruction: before, lint: DEAD_CONFIGURATION, message });
        }
        if *op == Op::End {
            found.extend(
                std::mem::take(&mut self.buffers)
                    .into_iter()
                    .map(|(name, instruction)| left(name, instruction)),
            );
        }
        found
    }
}

fn refilled(buffer: Buffer, before: usize, index: usize) -> Idle {
    let name = buffer.name();
    let (lint, message) = match buffer {
        Buffer::Ofm => (
            UNREAD_SUMS,
            format!(
                "instruction {index} begins new sums and these have not been stored; store them, or add to them"
            ),
        ),
        _ => (
            UNUSED_LOAD,
            format!(
                "instruction {index} fills the {name} buffer again before anything uses it; take it away"
            ),
        ),
    };
    Idle { instruction: before, lint, message }
}

fn left(name: &str, instruction: usize) -> Idle {
    let is_sums = name == Buffer::Ofm.name();
    let (lint, message) = match is_sums {
        true => (UNREAD_SUMS, "the program ends and these sums have not been stored".to_owned()),
        false => (UNUSED_LOAD, format!("the program ends and nothing has used the {name} buffer")),
    };
    Idle { instruction, lint, message }
}

/// Whether an instruction sets a register that is followed: setting those of shapes makes buffers invalid, too.
const fn is_followed(op: &Op) -> bool {
    matches!(
        op,
        Op::MemIfm { .. }
            | Op::MemKer { .. }
            | Op::MemBias { .. }
            | Op::MemOfm { .. }
            | Op::Stride { .. }
            | Op::Shift { .. }
            | Op::Post(_)
            | Op::Pool(_)
    )
}

/// Mnemonics of the instructions that set what this one uses.
const fn users(op: &Op) -> &'static [&'static str] {
    match op {
        Op::LoadIfm { .. } => &["@mem.ifm"],
        Op::LoadKer { .. } => &["@mem.ker"],
        Op::LoadBias { .. } => &["@mem.bias"],
        Op::Conv { .. } => &["@stride", "@shift"],
        Op::Store { .. } => &["@mem.ofm", "@shift", "@post", "@pool"],
        Op::Pad { .. } => &["@mem.ofm"],
        _ => &[],
    }
}
