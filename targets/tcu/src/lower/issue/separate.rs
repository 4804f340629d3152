//! Separation: no addition right after one to the same accumulator, of which hardware loses the first.
//!
//! [`separate`] puts a command of the accumulators between the two ([`crate::clock::hazard`]): one that comes after them
//! and may come before as well, or a SIMD that reads the accumulator and drops what it read. Where it stands is
//! the clock's choice. Every accumulator gets its additions in the order it did, so results stay.

use super::lir::drop_read;
use super::overlap::conflict;
use crate::clock::Meter;
use crate::clock::hazard::{Hazard, Pending};
use crate::isa::op::{DataMoveKind, Op};

/// Instructions after a pair that may come between instead, and that tell what a repair costs.
const AHEAD: usize = 16;

/// Instructions that follow what left `pending`, in an order and with additions such that hardware loses nothing.
///
/// The cheapest by `meter`, which has run what is before; without it, the fewest instructions.
pub fn separate(mut ops: Vec<Op>, pending: &Pending, meter: Option<&Meter>) -> Vec<Op> {
    let mut state = pending.clone();
    if ops.iter().enumerate().all(|(i, op)| state.follow(i, op).is_none()) {
        return ops;
    }
    let (mut pending, mut meter) = (pending.clone(), meter.cloned());
    // What is done, and the rest backwards: a repair is made at its end, however long it is.
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

/// The next hazard of instructions that are given backwards, with `pending` as it is before them, and how many of
/// them are up to its first one; leaves `pending` as it is there. None are when the write is older.
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

/// The instructions after the first of a hazard, of which `second` is the second, changed so that it is gone.
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
    // A read in front of the second instruction always helps.
    candidates.min_by_key(|ops| (cost(ops), ops.len())).unwrap_or_else(|| ops.to_vec())
}

/// Whether an instruction is a command of the accumulators that may stand before the instruction `to`.
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

    /// By the notes: any other command of the accumulators between two additions makes both count. None may pass
    /// the weights it needs, nor a SIMD, and what is moved costs no instruction.
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
            // Where it stands makes no difference but to the clock: right after the first.
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
