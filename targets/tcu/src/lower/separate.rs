//! Separation: no addition right behind one to the same accumulator, of which hardware loses the first.
//!
//! [`separate`] puts a command of the accumulators between the two ([`crate::hazard`]): one that stands behind them
//! and may stand there as well, or a SIMD that reads the accumulator and drops what it read. Where it stands is
//! the clock's choice. Every accumulator gets its additions in the order it did, so results stay.

use super::lir::drop_read;
use super::overlap::conflict;
use crate::clock::Meter;
use crate::hazard::{Hazard, Pending};
use crate::op::{DataMoveKind, Op};

/// Instructions behind a pair that are looked at to stand between, and to tell what a repair costs.
const AHEAD: usize = 16;

/// Instructions that follow what left `pending`, in an order and with additions such that hardware loses nothing.
///
/// The cheapest by `meter`, which has run what is before; without it, the fewest instructions.
pub fn separate(mut ops: Vec<Op>, pending: &Pending, meter: Option<&Meter>) -> Vec<Op> {
    let (mut pending, mut meter) = (pending.clone(), meter.cloned());
    // What is done, and the rest backwards: a repair is made at its end, however long it is.
    let mut done = Vec::with_capacity(ops.len());
    ops.reverse();
    while let Some((hazard, behind_first)) = next_hazard(&ops, &mut pending) {
        let passed = ops.split_off(ops.len() - behind_first);
        if let Some(meter) = &mut meter {
            passed.iter().rev().for_each(|op| meter.push(op));
        }
        done.extend(passed.into_iter().rev());
        let second = hazard.second - behind_first;
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
    let (mut state, mut behind_writer) = (pending.clone(), 0);
    for (i, op) in backwards.iter().rev().enumerate() {
        if let Some(hazard) = state.follow(i, op) {
            return Some((hazard, behind_writer));
        }
        if is_write(op) {
            (*pending, behind_writer) = (state.clone(), i + 1);
        }
    }
    None
}

const fn is_write(op: &Op) -> bool {
    crate::hazard::first_written(op).is_some()
}

/// What follows the first instruction of a hazard, whose second one is `second` of them, without it.
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
            ops.iter().for_each(|op| meter.push(op));
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
