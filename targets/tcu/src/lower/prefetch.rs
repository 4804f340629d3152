//! Reads ahead: [`prefetch`] moves reads of DRAM in front of work during which they can be under way.
//!
//! A unit with queues in front of local memory goes on past a read, and past products whose rows are still to enter, but
//! its decoder takes instructions in order: what is read has to be asked for early, and not so early that the decoder has to
//! wait for the bank. So the time of instructions is estimated on the way: each goes on when the work before it and the reads
//! it needs are done. A read goes where its bank becomes free. It never passes an instruction that touches one of its
//! vectors, and reads stay in their order, so all values stay the same.

use std::collections::VecDeque;

use super::overlap::conflict;
use crate::op::{DataMoveKind, Op, Strided};

/// Vectors of a read at most: what needs the first of them need not wait for the last.
const PIECE: u64 = 64;

/// How early reads are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Cycles of a vector on the bus.
    pub beats: u64,
    /// Until the first one is there.
    pub latency: u64,
    /// Cycles that a read may be asked for before its bank is free: it waits in the queues.
    pub lead: u64,
    /// Instructions that a read passes at most.
    pub most: usize,
}

/// The instructions with each read of DRAM in pieces, and each of these where its bank becomes free.
pub fn prefetch(ops: &[Op], pace: Pace) -> Vec<Op> {
    let mut schedule = Schedule { pace, ops: Vec::with_capacity(ops.len()), ..Schedule::default() };
    for op in ops {
        match bank(op) {
            None => schedule.push(*op),
            Some(bank) => pieces(op).into_iter().for_each(|piece| schedule.read(piece, bank)),
        }
    }
    schedule.ops.into_iter().map(|(op, _)| op).collect()
}

/// Instructions in their new order.
#[derive(Default)]
struct Schedule {
    pace: Pace,
    /// Each with when it begins at the earliest.
    ops: Vec<(Op, u64)>,
    /// When the work so far is done.
    now: u64,
    /// When each bank is free.
    free: [u64; 2],
    /// Reads that are under way: what they write, and when they are done.
    reads: VecDeque<(Op, u64)>,
}

impl Schedule {
    fn push(&mut self, op: Op) {
        while self.reads.front().is_some_and(|&(_, done)| done <= self.now) {
            self.reads.pop_front();
        }
        let needed = self.reads.iter().filter(|(read, _)| conflict(read, &op)).map(|&(_, done)| done);
        let from = needed.fold(self.now, u64::max);
        self.ops.push((op, from));
        self.now = from + work(&op);
    }

    fn read(&mut self, op: Op, bank: usize) {
        let at = self.place(&op, bank);
        let asked = self.ops.get(at).map_or(self.now, |&(_, from)| from); // Default: it comes last.
        let begun = asked.max(self.free[bank]);
        let done = begun + vectors(&op) * self.pace.beats;
        self.free[bank] = done;
        self.reads.push_back((op, done + self.pace.latency));
        self.ops.insert(at, (op, asked));
    }

    /// The first place in which a read may stand and need not wait long for its bank.
    fn place(&self, read: &Op, of: usize) -> usize {
        let first = self.ops.len().saturating_sub(self.pace.most);
        let early = self.free[of].saturating_sub(self.pace.lead);
        let mut at = self.ops.len();
        while at > first {
            let (before, from) = &self.ops[at - 1];
            if *from < early || bank(before) == Some(of) || stays(before) || conflict(read, before) {
                break;
            }
            at -= 1;
        }
        at
    }
}

const fn bank(op: &Op) -> Option<usize> {
    match op {
        Op::DataMove { kind: DataMoveKind::Dram0ToLocal, .. } => Some(0),
        Op::DataMove { kind: DataMoveKind::Dram1ToLocal, .. } => Some(1),
        _ => None,
    }
}

const fn vectors(op: &Op) -> u64 {
    match op {
        Op::DataMove { size, .. } => *size,
        _ => 0,
    }
}

/// What changes the unit itself, or is unknown to it.
const fn stays(op: &Op) -> bool {
    !matches!(
        op,
        Op::MatMul { .. } | Op::DataMove { .. } | Op::Simd { .. } | Op::LoadWeights { .. } | Op::NoOp
    )
}

/// Cycles of the array's side.
const fn work(op: &Op) -> u64 {
    match op {
        Op::MatMul { size, .. } => *size,
        Op::DataMove {
            kind:
                DataMoveKind::AccumulatorToLocal
                | DataMoveKind::LocalToAccumulator
                | DataMoveKind::LocalToAccumulatorAccumulate,
            size,
            ..
        } => *size,
        Op::Simd { .. } => 1,
        _ => 0,
    }
}

fn pieces(op: &Op) -> Vec<Op> {
    let Op::DataMove { kind, local, other, size } = *op else { return vec![*op] };
    let on = |run: Strided, first: u64| Strided { address: run.address + (first << run.stride_log2), ..run };
    let piece = |first: u64| Op::DataMove {
        kind,
        local: on(local, first),
        other: on(other, first),
        size: PIECE.min(size - first),
    };
    (0..size).step_by(PIECE as usize).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn run(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    const fn read(local: u64, size: u64) -> Op {
        Op::DataMove { kind: DataMoveKind::Dram1ToLocal, local: run(local), other: run(local), size }
    }

    const fn product(local: u64, size: u64) -> Op {
        let (accumulate, zeroes, accumulator) = (false, false, run(0));
        Op::MatMul { accumulate, zeroes, local: run(local), accumulator, size }
    }

    const PACE: Pace = Pace { beats: 2, latency: 5, lead: 0, most: 100 };

    #[test]
    fn a_read_passes_work_that_touches_other_vectors() {
        let ops = [product(0, 30), product(0, 30), read(100, 8)];
        assert_eq!(prefetch(&ops, PACE), [ops[2], ops[0], ops[1]]);
        assert_eq!(prefetch(&ops, Pace { most: 1, ..PACE }), [ops[0], ops[2], ops[1]]);
        let ops = [product(0, 30), product(100, 1), read(100, 8)];
        assert_eq!(prefetch(&ops, PACE), ops);
    }

    /// The first read has the bus for 40 cycles, in which one product ends and the next begins.
    #[test]
    fn a_read_is_asked_for_when_its_bank_is_free() {
        let ops = [product(0, 30), product(0, 30), product(0, 30), read(100, 20), read(200, 8)];
        assert_eq!(prefetch(&ops, PACE), [ops[3], ops[0], ops[1], ops[4], ops[2]]);
        assert_eq!(prefetch(&ops, Pace { lead: 40, ..PACE }), [ops[3], ops[4], ops[0], ops[1], ops[2]]);
    }

    #[test]
    fn long_reads_come_in_pieces() {
        let ops = prefetch(&[read(10, 150)], PACE);
        assert_eq!(ops, [read(10, 64), read(74, 64), read(138, 22)]);
    }

    proptest! {
        /// Of instructions that touch the same vectors, none changes places with another.
        #[test]
        fn order_stays_where_it_matters(
            kinds in prop::collection::vec((any::<bool>(), 0..60_u64, 1..10_u64), 1..30),
            (beats, lead, most) in (1..9_u64, 0..200_u64, 0..40_usize),
        ) {
            let ops: Vec<Op> =
                kinds.iter().map(|&(reads, at, size)| if reads { read(at, size) } else { product(at, size) }).collect();
            let ordered = prefetch(&ops, Pace { beats, latency: 9, lead, most });
            prop_assert_eq!(ordered.len(), ops.len());
            // Equal instructions are the same.
            let place = |op: &Op, nth: usize| {
                let places = ordered.iter().enumerate().filter(|(_, other)| *other == op);
                places.map(|(place, _)| place).nth(nth)
            };
            let nth = |i: usize| ops[..i].iter().filter(|other| **other == ops[i]).count();
            for i in 0..ops.len() {
                for j in i + 1..ops.len() {
                    if conflict(&ops[i], &ops[j]) {
                        prop_assert!(place(&ops[i], nth(i)) < place(&ops[j], nth(j)));
                    }
                }
            }
        }
    }
}
