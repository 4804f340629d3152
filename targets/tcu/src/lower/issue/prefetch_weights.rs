//! Late weight reads: weights come from DRAM while the array works on the previous ones.
//!
//! A move between DRAM and local memory blocks the decoder until its last vector, while the queues
//! before it continue. Tiles request all of their weights at once, before their first product.
//! [`late`] splits such a read into one piece per load of weights, right before that load. The
//! array then multiplies by one set of weights while the next arrives. No piece passes an
//! instruction that touches the same vectors, so results stay the same.

use std::ops::Range;

use super::overlap::conflict;
use crate::isa::op::{DataMoveKind, Op, Strided};

/// A pending read of DRAM1: contiguous vectors to local memory.
#[derive(Clone, Copy)]
struct Read {
    local: u64,
    dram: u64,
    size: u64,
}

impl Read {
    /// Returns the read that `op` performs; `None` unless it reads contiguous vectors of DRAM1.
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

    /// Returns the part of the read whose local addresses are in `range`.
    fn part(self, range: Range<u64>) -> Self {
        let start = range.start.clamp(self.local, self.local + self.size);
        let end = range.end.clamp(start, self.local + self.size);
        Self { local: start, dram: self.dram + (start - self.local), size: end - start }
    }
}

/// Splits the weight reads of a layer into pieces of at least `least` vectors (the last may be
/// smaller), each before the first load that needs it. Returns `None` if nothing changes.
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

/// Issues the pending reads that `op` needs: a piece for the weights that it loads, the whole read
/// for other vectors that it touches.
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
        // With pieces of four, the second set of weights comes together with the first.
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

    /// A product reads vectors that were still pending; a transfer overwrites them.
    #[test]
    fn a_read_is_done_before_anything_else_that_touches_its_vectors() {
        let save = transfer(DataMoveKind::AccumulatorToLocal, 12, 0, 1);
        for other in [product(0, 3), save] {
            let (before, read) = (product(9, 1), read(0, 0, 14));
            assert_eq!(late(&[read, before, other], 1), None, "a product of vectors starting at 0");
            let apart = transfer(DataMoveKind::LocalToDram0, 20, 0, 1);
            assert_eq!(late(&[read, apart, other], 1), Some(vec![apart, read, other]));
        }
    }
}
