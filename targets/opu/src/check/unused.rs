//! [`Unused`]: buffers that are filled, and registers that are set, without being used.

use std::collections::BTreeMap;

use npukit_target::Lint;

use crate::check::lints::{DEAD_CONFIGURATION, UNREAD_SUMS, UNUSED_LOAD};
use crate::isa::fault::Buffer;
use crate::isa::op::{Effects, Op};

/// Buffers and registers that were filled or set and not used since.
#[derive(Default)]
pub(super) struct Unused {
    /// Instruction that filled each buffer, by buffer name.
    buffers: BTreeMap<&'static str, usize>,
    /// Instruction that set each register, by mnemonic.
    registers: BTreeMap<&'static str, usize>,
}

/// Instruction without effect.
pub(super) struct Idle {
    pub instruction: usize,
    pub lint: &'static Lint,
    pub message: String,
}

impl Unused {
    /// Takes an instruction with its effects. Returns the earlier instructions that it makes
    /// useless.
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
            let message = format!("instruction {index} sets it again before it is used; remove it");
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
                "instruction {index} starts new sums before these are stored; store them, or add to them"
            ),
        ),
        _ => (
            UNUSED_LOAD,
            format!("instruction {index} fills the {name} buffer again before it is used; remove it"),
        ),
    };
    Idle { instruction: before, lint, message }
}

fn left(name: &str, instruction: usize) -> Idle {
    let is_sums = name == Buffer::Ofm.name();
    let (lint, message) = match is_sums {
        true => (UNREAD_SUMS, "the program ends before these sums are stored".to_owned()),
        false => (UNUSED_LOAD, format!("the program ends before the {name} buffer is used")),
    };
    Idle { instruction, lint, message }
}

/// Whether an instruction sets a register that is tracked. Shape registers are not: setting one
/// also makes buffers invalid.
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

/// Returns the mnemonics of the instructions that set the registers which this one uses.
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
