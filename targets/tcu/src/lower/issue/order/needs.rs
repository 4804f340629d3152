//! What has to come before an instruction.

use std::collections::HashMap;

use super::Kind;
use crate::isa::op::{Memory, Op};

/// Of each kind the instructions that have to come before one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs([u32; Kind::ALL.len()]);

impl Needs {
    /// All of `kind` before this one have to.
    pub const fn of(&self, kind: Kind) -> usize {
        self.0[kind as usize] as usize
    }

    /// The last one of `kind` that has to.
    pub fn last(&self, kind: Kind) -> Option<usize> {
        self.of(kind).checked_sub(1)
    }

    fn add(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(need, other)| *need = (*need).max(other));
    }

    const fn set(&mut self, kind: Kind, instruction: usize) {
        self.0[kind as usize] = instruction as u32 + 1;
    }
}

/// Who used a vector last.
#[derive(Clone, Copy, Default)]
struct Users {
    writer: Needs,
    /// Since it was written.
    readers: Needs,
}

/// What has to come before each instruction: who wrote what it reads, and who reads or wrote what it writes. Those of a kind
/// need none of their own: they stay in their order. That of two transfers of one bank is this, too.
pub fn needs(ops: &[Op], kinds: &[Kind]) -> Vec<Needs> {
    let mut users: HashMap<(Memory, u64), Users> = HashMap::new();
    let mut all = Vec::with_capacity(ops.len());
    for (i, (op, &kind)) in ops.iter().zip(kinds).enumerate() {
        let flow = op.flow();
        let mut needs = Needs::default();
        for place in flow.reads() {
            for at in place.run.addresses(flow.size) {
                let users = users.entry((place.memory, at)).or_default();
                needs.add(&users.writer);
                users.readers.set(kind, i);
            }
        }
        if let Some(place) = flow.target {
            for at in place.run.addresses(flow.size) {
                let users = users.entry((place.memory, at)).or_default();
                needs.add(&users.writer);
                needs.add(&users.readers);
                *users = Users::default();
                users.writer.set(kind, i);
            }
        }
        needs.0[kind as usize] = 0;
        all.push(needs);
    }
    all
}
