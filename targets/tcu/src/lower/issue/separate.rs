//! Separation of additions: hardware loses the first of two adjacent additions to the same
//! accumulator.
//!
//! [`separate`] puts an accumulator command between the two ([`crate::clock::hazard`]): a later one
//! that may come earlier, or a SIMD that reads the accumulator and discards the value. The clock
//! decides where it is put. Every accumulator receives its additions in the same order, so results
//! stay the same.

use super::lir::drop_read;
use super::overlap::conflict;
use crate::clock::Meter;
use crate::clock::hazard::{Hazard, Pending};
use crate::isa::op::{DataMoveKind, Op};

/// Number of instructions after a pair that may be moved between its two additions, and over which
/// the cost of a repair is measured.
const AHEAD: usize = 16;

/// Reorders instructions that follow the writes in `pending`, and inserts reads, so that hardware
/// loses no addition.
///
/// Picks the cheapest repair by `meter`, which has run the preceding instructions. Without a meter,
/// picks the one with the fewest instructions.
pub fn separate(mut ops: Vec<Op>, pending: &Pending, meter: Option<&Meter>) -> Vec<Op> {
    let mut state = pending.clone();
    if ops.iter().enumerate().all(|(i, op)| state.follow(i, op).is_none()) {
        return ops;
    }
    let (mut pending, mut meter) = (pending.clone(), meter.cloned());
    // The remaining instructions are in reverse order, so a repair changes only their end, in
    // constant time.
    let mut done = Vec::with_capacity(ops.len());
    ops.reverse();
    while let Some((hazard, after_first)) = next_hazard(&ops, &mut pending) {
        let mut passed = ops.split_off(ops.len() - after_first);
        passed.reverse();
        if let Some(meter) = &mut meter {
            meter.run(&passed);
        }
        done.extend(passed);
        let second = hazard.second - after_first;
        let mut looked_at = ops.split_off(ops.len().saturating_sub(second + AHEAD));
        looked_at.reverse();
        let repaired = repair(&looked_at, second, hazard, &pending, meter.as_ref());
        ops.extend(repaired.into_iter().rev());
    }
    done.extend(ops.into_iter().rev());
    done
}

/// Returns the next hazard of the reversed instructions, and the number of instructions up to its
/// first one. That number is 0 if the first write precedes them. `pending` is updated to the state
/// at that point.
fn next_hazard(backwards: &[Op], pending: &mut Pending) -> Option<(Hazard, usize)> {
    let (mut state, mut after_writer) = (pending.clone(), 0);
    for (i, op) in backwards.iter().rev().enumerate() {
        if let Some(hazard) = state.follow(i, op) {
            return Some((hazard, after_writer));
        }
        if is_write(op) {
            (*pending, after_writer) = (state.clone(), i + 1);
        }
    }
    None
}

fn is_write(op: &Op) -> bool {
    crate::clock::hazard::first_written(op).is_some()
}

/// Removes a hazard from the instructions after its first one; `second` is the index of its second
/// one.
fn repair(ops: &[Op], second: usize, hazard: Hazard, pending: &Pending, meter: Option<&Meter>) -> Vec<Op> {
    let moved = (second + 1..ops.len()).filter(|&from| may_stand(ops, from, second)).map(|from| {
        let mut moved = ops.to_vec();
        moved[second..=from].rotate_right(1);
        moved
    });
    let read = drop_read(hazard.address);
    let inserted = [0, second].into_iter().map(|at| [&ops[..at], &[read], &ops[at..]].concat());
    let helps = |ops: &Vec<Op>| {
        let mut state = pending.clone();
        ops[..second + 2].iter().enumerate().all(|(i, op)| state.follow(i, op).is_none())
    };
    let candidates = moved.chain(inserted).filter(helps);
    let cost = |ops: &Vec<Op>| {
        let mut meter = meter.cloned();
        meter.as_mut().map_or(0, |meter| {
            meter.run(ops);
            meter.cycles()
        })
    };
    // Default: unchanged. At least one candidate exists, since a read before the second instruction
    // always helps.
    candidates.min_by_key(|ops| (cost(ops), ops.len())).unwrap_or_else(|| ops.to_vec())
}

/// Whether an instruction is an accumulator command that may be moved before the instruction `to`.
fn may_stand(ops: &[Op], from: usize, to: usize) -> bool {
    use DataMoveKind::{AccumulatorToLocal, LocalToAccumulator, LocalToAccumulatorAccumulate};
    let passed = &ops[to..from];
    let moves = matches!(
        ops[from],
        Op::DataMove { kind: AccumulatorToLocal | LocalToAccumulator | LocalToAccumulatorAccumulate, .. }
    );
    let product = matches!(ops[from], Op::MatMul { .. })
        && !passed.iter().any(|op| matches!(op, Op::LoadWeights { .. }));
    let known = |op: &Op| matches!(op, Op::MatMul { .. } | Op::LoadWeights { .. } | Op::DataMove { .. });
    (moves || product) && passed.iter().all(|op| known(op) && !conflict(&ops[from], op))
}

#[cfg(test)]
mod tests {
    use super::{Op, Pending, drop_read, separate};
    use crate::isa::op::DataMoveKind::{Dram0ToLocal, LocalToAccumulatorAccumulate};
    use crate::isa::op::{SimdOp, SimdSub, Strided};

    const fn at(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    const fn add(address: u64) -> Op {
        Op::DataMove { kind: LocalToAccumulatorAccumulate, local: at(0), other: at(address), size: 1 }
    }

    const fn product(address: u64) -> Op {
        Op::MatMul { accumulate: true, zeroes: false, local: at(0), accumulator: at(address), size: 1 }
    }

    /// By the notes on simulated hardware, any other accumulator command between two additions
    /// makes both take effect. The command may not pass the weights it needs, nor a SIMD; moving a
    /// command adds no instruction.
    #[test]
    fn additions_to_one_accumulator_get_a_command_between() {
        let load = Op::LoadWeights { zeroes: false, local: at(4), size: 1 };
        let sub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 1 };
        let simd =
            Op::Simd { read: false, write: false, accumulate: false, write_address: 0, read_address: 0, sub };
        let transfer = Op::DataMove { kind: Dram0ToLocal, local: at(9), other: at(0), size: 1 };
        let read = drop_read(3);
        for (ops, expected) in [
            (vec![add(3), add(5)], vec![add(3), add(5)]),
            (vec![add(3), add(3)], vec![add(3), read, add(3)]),
            (vec![add(3), add(3), add(3)], vec![add(3), read, add(3), read, add(3)]),
            // The position of the read matters only to the clock, which needs it directly after the
            // first instruction.
            (vec![add(3), transfer, add(3)], vec![add(3), read, transfer, add(3)]),
            (vec![add(3), add(3), add(5)], vec![add(3), add(5), add(3)]),
            (vec![transfer, add(3), add(3), add(5)], vec![transfer, add(3), add(5), add(3)]),
            (vec![product(3), product(3), product(5)], vec![product(3), product(5), product(3)]),
            (
                vec![product(3), product(3), load, product(5)],
                vec![product(3), read, product(3), load, product(5)],
            ),
            (vec![product(3), product(3), load, add(5)], vec![product(3), add(5), product(3), load]),
            (vec![add(3), add(3), simd, add(5)], vec![add(3), read, add(3), simd, add(5)]),
        ] {
            assert_eq!(separate(ops.clone(), &Pending::default(), None), expected, "{ops:?}");
        }
    }
}
