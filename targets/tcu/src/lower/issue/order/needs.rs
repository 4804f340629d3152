//! Dependencies of instructions.

use std::collections::HashMap;

use super::Kind;
use crate::isa::op::{Memory, Op};

/// For each kind, how many of its first instructions must precede an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs([u32; Kind::ALL.len()]);

impl Needs {
    /// Returns the number of instructions of `kind` that must come first.
    pub const fn of(&self, kind: Kind) -> usize {
        self.0[kind as usize] as usize
    }

    /// Returns the last instruction of `kind` that must come first.
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

/// Last users of a vector.
#[derive(Clone, Copy, Default)]
struct Users {
    writer: Needs,
    /// Instructions that read the vector since it was last written.
    readers: Needs,
}

/// Returns the dependencies of each instruction: the writers of vectors that it reads, and the
/// readers and writers of vectors that it writes. Instructions of one kind need no dependencies on
/// each other, as they keep their order; this includes two transfers of one bank.
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
