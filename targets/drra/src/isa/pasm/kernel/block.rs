//! [`Block`]: instructions of all cells that take the same number of cycles in each.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::fabric::Place;
use crate::config::revision::Revision;
use crate::isa::op::{CalcMode, Op};
use crate::isa::pasm::epoch::{Issued, Ports, load};

/// Most cycles of one `wait`.
const MAX_WAIT: i64 = 1 << 27;

/// Instructions of cells in lockstep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Instructions by cell.
    pub cells: BTreeMap<Place, Vec<Op>>,
    /// Length in cycles, equal in all cells; `None` if unknown.
    pub cycles: Option<i64>,
}

/// State of the ports before a program: all are idle.
pub fn start() -> Ports {
    Ports::default()
}

impl Block {
    /// Block without instructions.
    pub fn empty(places: &BTreeSet<Place>) -> Self {
        Self { cells: places.iter().map(|place| (*place, Vec::new())).collect(), cycles: Some(0) }
    }

    /// Returns instructions in their cycles, with waits in between, up to `cycles`.
    pub fn timed(places: &BTreeSet<Place>, cells: &BTreeMap<Place, Issued>, cycles: i64) -> Self {
        let mut block = Self::empty(places);
        for (place, ops) in &mut block.cells {
            let mut now = 0;
            for &(cycle, op, _) in cells.get(place).into_iter().flatten() {
                wait(ops, cycle - now);
                ops.push(op);
                now = cycle + 1;
            }
            wait(ops, cycles - now);
        }
        block.cycles = Some(cycles);
        block
    }

    /// Appends a block.
    pub fn append(&mut self, next: Self) {
        for (place, ops) in next.cells {
            self.cells.entry(place).or_default().extend(ops);
        }
        self.cycles = self.cycles.zip(next.cycles).map(|(a, b)| a + b);
    }

    /// Ends every cell's program with `halt`.
    pub fn halt(&mut self) {
        self.cells.values_mut().for_each(|ops| ops.push(Op::Halt));
    }

    /// Returns the block repeated `count` times, with a counter register; `None` if `brn` does not
    /// reach the start.
    ///
    /// In revision `Seed`, `brn` tests the flag with the counter's number.
    pub fn repeated(mut self, count: u16, counter: u8, reach: usize, revision: Revision) -> Option<Self> {
        if count <= 1 {
            return Some(self);
        }
        let set = load(counter, count);
        let (before, cycles) = (set.len() as i64, self.cycles?);
        let (mode, reg) = (CalcMode::Ne, counter);
        let test = Op::Calc { mode, operand1: reg, dynamic: false, operand2: 0, result: reg };
        let test: &[Op] = if revision.is_seed() { &[test] } else { &[] };
        let total = before + i64::from(count) * (cycles + 2 + test.len() as i64);
        for ops in self.cells.values_mut() {
            if ops.iter().all(|op| matches!(op, Op::Wait { .. })) {
                ops.clear();
                wait(ops, total);
                continue;
            }
            if ops.len() > reach {
                return None;
            }
            let over = i16::try_from(ops.len() + test.len()).ok()?;
            let back = revision.branch_base() - (over + 2);
            let (mode, reg) = (CalcMode::Sub, counter);
            let step = Op::Calc { mode, operand1: reg, dynamic: false, operand2: 1, result: reg };
            let again = Op::Brn { reg, target_true: back, target_false: revision.branch_base() };
            *ops = set.iter().chain(&*ops).chain(&[step]).chain(test).chain(&[again]).copied().collect();
        }
        self.cycles = Some(total);
        Some(self)
    }

    /// Returns a branch: one block runs if a register is not 0 (in revision `Seed`: if a flag is
    /// set), the other one otherwise. `None` if `brn` does not reach over a block.
    pub fn branch(
        register: u8,
        mut then: Self,
        mut otherwise: Self,
        reach: usize,
        revision: Revision,
    ) -> Option<Self> {
        // The first branch ends with a jump over the second, which takes one instruction.
        let longest = then.cycles?.max(otherwise.cycles? - 1);
        then.pad(longest)?;
        otherwise.pad(longest + 1)?;
        let mut block = Self { cells: BTreeMap::new(), cycles: Some(longest + 2) };
        for (place, first) in then.cells {
            // Default: the cell has no instructions in the other side.
            let second = otherwise.cells.remove(&place).unwrap_or_default();
            let is_idle = first.iter().chain(&second).all(|op| matches!(op, Op::Wait { .. }));
            let mut ops = Vec::new();
            if is_idle {
                wait(&mut ops, longest + 2);
            } else if first.len() >= reach || second.len() > reach {
                return None;
            } else {
                let base = revision.branch_base();
                let over_first = base + i16::try_from(first.len()).ok()? + 1;
                let over_second = base + i16::try_from(second.len()).ok()?;
                ops.push(Op::Brn { reg: register, target_true: base, target_false: over_first });
                ops.extend(first);
                ops.push(Op::Brn { reg: register, target_true: over_second, target_false: over_second });
                ops.extend(second);
            }
            block.cells.insert(place, ops);
        }
        Some(block)
    }

    /// Pads the block with waits to `cycles`; `None` if its own length is unknown.
    fn pad(&mut self, cycles: i64) -> Option<()> {
        let more = cycles - self.cycles?;
        self.cells.values_mut().for_each(|ops| wait(ops, more));
        self.cycles = Some(cycles);
        Some(())
    }
}

/// Appends waits of `cycles` in total; a trailing wait is extended.
pub fn wait(ops: &mut Vec<Op>, mut cycles: i64) {
    if let Some(Op::Wait { events: false, cycle }) = ops.last()
        && cycles > 0
    {
        cycles += i64::from(*cycle) + 1;
        ops.pop();
    }
    while cycles > 0 {
        let part = cycles.min(MAX_WAIT);
        let cycle = u32::try_from(part - 1).expect("at least 1 and at most the longest wait");
        ops.push(Op::Wait { events: false, cycle });
        cycles -= part;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const A: Place = Place { row: 0, col: 0 };
    const B: Place = Place { row: 1, col: 0 };

    fn block(cycle: i64, cycles: i64) -> Block {
        let op = Op::Act { mode: crate::isa::op::ActMode::Contiguous, ports: 1, param: 0 };
        Block::timed(&[A, B].into(), &[(A, vec![(cycle, op, None)])].into(), cycles)
    }

    /// A case in either reading of `brn`.
    fn both<T: Copy>(case: T) -> [(T, Revision); 2] {
        [Revision::Text, Revision::Seed].map(|revision| (case, revision))
    }

    /// Returns the cycles of a program by walking it. Branches are taken as in `is_set`.
    fn walk(ops: &[Op], is_set: bool, revision: Revision) -> i64 {
        let (mut pc, mut cycles, mut registers, mut flags) = (0_i64, 0, [0_i64; 16], [0_i64; 16]);
        (registers[1], flags[1]) = (i64::from(is_set), i64::from(is_set));
        let is_seed = revision == Revision::Seed;
        while let Some(op) = ops.get(usize::try_from(pc).unwrap()) {
            cycles += if let Op::Wait { cycle, .. } = op { i64::from(*cycle) + 1 } else { 1 };
            pc += 1;
            match *op {
                Op::Calc { mode, operand1, operand2, result, .. } => {
                    let (a, b) = (registers[usize::from(operand1)], i64::from(operand2));
                    let value = match mode {
                        CalcMode::Add => a + b,
                        CalcMode::Addh => a + (b << 8),
                        _ => a - b,
                    };
                    match mode {
                        CalcMode::Ne => flags[usize::from(result)] = i64::from(a != b),
                        _ => registers[usize::from(result)] = value,
                    }
                }
                Op::Brn { reg, target_true, target_false } => {
                    let of = if is_seed { flags } else { registers };
                    pc += i64::from(if of[usize::from(reg)] != 0 { target_true } else { target_false });
                    // Under the ISA document, targets are relative to the branch itself.
                    pc -= i64::from(is_seed);
                }
                _ => {}
            }
        }
        cycles
    }

    #[test]
    fn loops_take_the_same_time_in_all_cells() {
        for (count, revision) in [1, 2, 255, 256, 300].into_iter().flat_map(both) {
            let looped = block(3, 7).repeated(count, 15, 254, revision).unwrap();
            for ops in looped.cells.values() {
                assert_eq!(Some(walk(ops, false, revision)), looped.cycles, "{count} {revision:?}");
            }
        }
    }

    #[test]
    fn both_ways_of_a_branch_take_the_same_time() {
        for ((first, second), revision) in [(3, 9), (9, 3), (4, 5), (2, 2)].into_iter().flat_map(both) {
            let branch = Block::branch(1, block(1, first), block(0, second), 254, revision).unwrap();
            for ops in branch.cells.values() {
                assert_eq!(
                    [walk(ops, true, revision), walk(ops, false, revision)].map(Some),
                    [branch.cycles; 2],
                    "{first} {second}"
                );
            }
        }
    }

    #[test]
    fn what_brn_does_not_reach_is_refused() {
        assert!(block(1, 3).repeated(2, 15, 1, Revision::Text).is_none());
        assert!(Block::branch(1, block(1, 3), block(1, 3), 1, Revision::Text).is_none());
    }
}
