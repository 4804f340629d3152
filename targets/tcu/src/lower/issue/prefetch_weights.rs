//! Late reads: weights come from DRAM while the array works on those before them.
//!
//! A move between DRAM and local memory holds the decoder until its last vector; what the queues hold before it goes on
//! meanwhile. Tiles ask for all of their weights at once, before their first product. [`late`] cuts such a read
//! into what each load of weights takes, and puts every piece right before that: the array multiplies by
//! one set of weights while the next comes. No instruction is passed that touches the same vectors, so that results
//! stay the same.

use std::ops::Range;

use super::overlap::conflict;
use crate::isa::op::{DataMoveKind, Op, Strided};

/// A read of DRAM1 that is yet to be done: so many vectors to local memory.
#[derive(Clone, Copy)]
struct Read {
    local: u64,
    dram: u64,
    size: u64,
}

impl Read {
    /// The read that an instruction is, when it is of vectors side by side.
    fn of(op: &Op) -> Option<Self> {
        match *op {
            Op::DataMove {
                kind: DataMoveKind::Dram1ToLocal,
                local: Strided { address: local, stride_log2: 0 },
                other: Strided { address: dram, stride_log2: 0 },
                size,
            } => Some(Self { local, dram, size }),
            _ => None,
        }
    }

    fn op(self) -> Op {
        let strided = |address| Strided { address, stride_log2: 0 };
        let (local, other) = (strided(self.local), strided(self.dram));
        Op::DataMove { kind: DataMoveKind::Dram1ToLocal, local, other, size: self.size }
    }

    /// The vectors of the read whose local addresses are in `range`.
    fn part(self, range: Range<u64>) -> Self {
        let start = range.start.clamp(self.local, self.local + self.size);
        let end = range.end.clamp(start, self.local + self.size);
        Self { local: start, dram: self.dram + (start - self.local), size: end - start }
    }
}

/// The instructions of a layer with reads of weights in pieces of `least` vectors, where there are as many, or more: each before
/// the first load that needs it. `None` when that changes nothing.
pub fn late(ops: &[Op], least: u64) -> Option<Vec<Op>> {
    let mut ordered = Vec::with_capacity(ops.len() + ops.len() / 4);
    let mut waiting: Vec<Read> = Vec::new();
    for op in ops {
        settle(&mut ordered, &mut waiting, op, least);
        match Read::of(op) {
            Some(read) => waiting.push(read),
            None => ordered.push(*op),
        }
    }
    ordered.extend(waiting.into_iter().map(Read::op));
    (ordered != ops).then_some(ordered)
}

/// Does what `op` needs of the reads that wait: of the weights that it loads a piece, of all else that it touches the
/// whole.
fn settle(ordered: &mut Vec<Op>, waiting: &mut Vec<Read>, op: &Op, least: u64) {
    let mut left = Vec::with_capacity(waiting.len() + 1);
    for read in waiting.drain(..) {
        if !conflict(&read.op(), op) {
            left.push(read);
            continue;
        }
        let part = match *op {
            Op::LoadWeights { zeroes: false, local, size } => {
                read.part(local.address..local.span(size).end.max(local.address + least))
            }
            _ => read,
        };
        ordered.push(part.op());
        let rest = [read.part(0..part.local), read.part(part.local + part.size..u64::MAX)];
        left.extend(rest.into_iter().filter(|rest| rest.size > 0));
    }
    *waiting = left;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lower::issue::overlap::tests::{any_op, at, memories, product, transfer};

    proptest! {
        #[test]
        fn memories_end_the_same(ops in prop::collection::vec(any_op(), 1..80), least in 1..6_u64) {
            if let Some(late) = late(&ops, least) {
                prop_assert_eq!(memories(&late), memories(&ops));
            }
        }
    }

    fn weights(local: u64) -> Op {
        Op::LoadWeights { zeroes: false, local: at(local), size: 2 }
    }

    fn read(local: u64, dram: u64, size: u64) -> Op {
        transfer(DataMoveKind::Dram1ToLocal, local, dram, size)
    }

    #[test]
    fn each_set_of_weights_is_read_before_it_is_loaded() {
        let ops = [read(10, 0, 6), weights(10), product(0, 3), weights(12), product(0, 3), weights(14)];
        let pieces = [
            read(10, 0, 2),
            weights(10),
            product(0, 3),
            read(12, 2, 2),
            weights(12),
            product(0, 3),
            read(14, 4, 2),
            weights(14),
        ];
        assert_eq!(late(&ops, 1), Some(pieces.to_vec()));
        // In pieces of four the second set comes with the first.
        let fours = [
            read(10, 0, 4),
            weights(10),
            product(0, 3),
            weights(12),
            product(0, 3),
            read(14, 4, 2),
            weights(14),
        ];
        assert_eq!(late(&ops, 4), Some(fours.to_vec()));
        assert_eq!(late(&ops, 6), None, "all of it at once");
    }

    /// A product reads what was to come; a transfer writes over it.
    #[test]
    fn a_read_is_done_before_anything_else_that_touches_its_vectors() {
        let save = transfer(DataMoveKind::AccumulatorToLocal, 12, 0, 1);
        for other in [product(0, 3), save] {
            let (before, read) = (product(9, 1), read(0, 0, 14));
            assert_eq!(late(&[read, before, other], 1), None, "a product of vectors from 0 on");
            let apart = transfer(DataMoveKind::LocalToDram0, 20, 0, 1);
            assert_eq!(late(&[read, apart, other], 1), Some(vec![apart, read, other]));
        }
    }
}
