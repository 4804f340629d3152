//! Instruction order for units with queues in front of local memory: [`order`] finds the order in
//! which the accumulators wait least.
//!
//! In such a unit the accumulators take one command per cycle, in instruction order. The results of
//! a row reach them about 2N cycles after the row. A move between accumulators and local memory
//! stops both at the same instruction, so that following rows come 2N cycles late unless the ALUs
//! have work in the meantime. Therefore the times of instructions are estimated, and the next
//! instruction is one for which the accumulators need not wait.
//!
//! Instructions of one [`Kind`] stay in their order, and no instruction passes one that touches the
//! same vectors. All values therefore stay the same.

mod estimate;
mod needs;

use crate::isa::op::{DataMoveKind, Op, Path};
use estimate::Estimate;
use needs::{Needs, needs};

pub use estimate::Shape;

/// Class of instructions that keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Products, and the weight loads before them.
    Array,
    /// ALU operations; they pass values through registers.
    Alus,
    /// Moves from the accumulators to local memory.
    Save,
    /// Moves from local memory to the accumulators.
    Bring,
    /// Transfers to or from DRAM bank 0.
    Bank0,
    Bank1,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Array, Self::Alus, Self::Save, Self::Bring, Self::Bank0, Self::Bank1];
    const BANKS: [Self; 2] = [Self::Bank0, Self::Bank1];

    /// Returns the kind of an instruction; `None` if it reconfigures the unit.
    fn of(op: &Op) -> Option<Self> {
        let flow = op.flow();
        Some(match (flow.path, op) {
            (Path::Array | Path::Weights, _) => Self::Array,
            (Path::Alus(_), _) => Self::Alus,
            (Path::Copy, Op::DataMove { kind: DataMoveKind::AccumulatorToLocal, .. }) => Self::Save,
            (Path::Copy, _) => flow.bank().map_or(Self::Bring, |bank| Self::BANKS[bank]),
            (Path::Decoder | Path::Tables(_), _) => return None,
        })
    }
}

/// Returns the instructions in a new order, or unchanged if one of them reconfigures the unit.
pub fn order(ops: Vec<Op>, shape: Shape) -> Vec<Op> {
    let Some(kinds) = ops.iter().map(Kind::of).collect::<Option<Vec<Kind>>>() else { return ops };
    let needs = needs(&ops, &kinds);
    let mut merge = Merge::new(&ops, &kinds, &needs, shape);
    while let Some(kind) = merge.next() {
        merge.take(kind);
    }
    merge.done
}

/// State of merging the kinds into one order.
struct Merge<'a> {
    ops: &'a [Op],
    needs: &'a [Needs],
    /// Remaining instructions of each kind, in order.
    left: [std::vec::IntoIter<usize>; Kind::ALL.len()],
    estimate: Estimate,
    done: Vec<Op>,
}

impl<'a> Merge<'a> {
    fn new(ops: &'a [Op], kinds: &[Kind], needs: &'a [Needs], shape: Shape) -> Self {
        let left = Kind::ALL.map(|kind| {
            let of_kind = |&i: &usize| kinds[i] == kind;
            (0..ops.len()).filter(of_kind).collect::<Vec<usize>>().into_iter()
        });
        Self {
            ops,
            needs,
            left,
            estimate: Estimate::new(shape, ops.len()),
            done: Vec::with_capacity(ops.len()),
        }
    }

    /// Returns the next instruction of a kind.
    fn head(&self, kind: Kind) -> Option<usize> {
        self.left[kind as usize].as_slice().first().copied()
    }

    /// Whether the next instruction of `kind` depends on a pending instruction of `other`.
    fn waits_for(&self, kind: Kind, other: Kind) -> bool {
        let need = self.head(kind).map_or(0, |i| self.needs[i].of(other));
        kind != other && self.head(other).is_some_and(|head| head < need)
    }

    fn may_come(&self, kind: Kind) -> bool {
        self.head(kind).is_some() && !Kind::ALL.iter().any(|&other| self.waits_for(kind, other))
    }

    /// Returns the kind to issue next; `None` when no instruction is left.
    fn next(&self) -> Option<Kind> {
        let left = Kind::ALL.into_iter().filter_map(|kind| Some((self.head(kind)?, kind)));
        let (_, oldest) = left.min_by_key(|&(head, _)| head)?;
        let chosen = self.transfer(oldest).or_else(|| {
            if self.may_come(Kind::Array) { Some(self.beside_array()) } else { self.instead_of_array() }
        });
        // Default: without a choice, the oldest instruction is next; it depends on no other.
        Some(chosen.unwrap_or(oldest))
    }

    /// Picks a transfer: to DRAM as early as possible, from DRAM at its place in the program.
    fn transfer(&self, oldest: Kind) -> Option<Kind> {
        let writes = |kind| {
            self.head(kind)
                .is_some_and(|i| self.ops[i].flow().target.is_some_and(|to| to.memory.bank().is_some()))
        };
        let needed = |kind| !self.may_come(Kind::Array) && self.waits_for(Kind::Array, kind);
        Kind::BANKS
            .into_iter()
            .find(|&kind| self.may_come(kind) && (kind == oldest || writes(kind) || needed(kind)))
    }

    /// Picks the kind to issue when a product or weights could be next: another kind if the
    /// product's results would be late.
    fn beside_array(&self) -> Kind {
        let is_late = self
            .head(Kind::Array)
            .is_some_and(|i| self.ops[i].flow().path == Path::Array && self.estimate.is_late(&self.needs[i]));
        if !is_late {
            return Kind::Array;
        }
        if self.may_come(Kind::Alus) {
            return Kind::Alus;
        }
        let frees_alus = |&kind: &Kind| self.may_come(kind) && self.waits_for(Kind::Alus, kind);
        [Kind::Bring, Kind::Save].into_iter().find(frees_alus).unwrap_or(Kind::Array)
    }

    /// Picks the kind to issue when the array waits for others.
    fn instead_of_array(&self) -> Option<Kind> {
        [Kind::Save, Kind::Alus, Kind::Bring].into_iter().find(|&kind| self.may_come(kind))
    }

    fn take(&mut self, kind: Kind) {
        if let Some(i) = self.left[kind as usize].next() {
            self.estimate.push(i, &self.ops[i], kind, &self.needs[i]);
            self.done.push(self.ops[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Clock;
    use crate::config::{ClockParams, Config, Overlap};
    use crate::isa::op::{SimdOp, SimdSub, Strided};
    use crate::lower::issue::symbolic::{Symbolic, programs};

    fn shape(size: usize) -> Shape {
        let config = Config {
            array_size: size,
            overlap: Overlap::ALL,
            ..Config::preset("ultra96v2").expect("a preset")
        };
        let params = ClockParams { axi_bits: 16, ..ClockParams::with_latency(18) };
        Shape::new(&config, &Clock::new(&config, params).expect("whole beats").meter())
    }

    const fn at(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    const fn product(local: u64, accumulator: u64) -> Op {
        let (accumulate, zeroes, size) = (false, false, 16);
        Op::MatMul { accumulate, zeroes, local: at(local), accumulator: at(accumulator), size }
    }

    const fn relu(address: u64) -> Op {
        let sub = SimdSub { op: SimdOp::Max, left: 0, right: 1, destination: 0 };
        Op::Simd {
            read: true,
            write: true,
            accumulate: false,
            read_address: address,
            write_address: address,
            sub,
        }
    }

    const fn save(accumulator: u64) -> Op {
        Op::DataMove {
            kind: DataMoveKind::AccumulatorToLocal,
            local: at(100),
            other: at(accumulator),
            size: 16,
        }
    }

    /// The operands of the second product are saved first; while its rows enter, the ALUs work on
    /// the remaining results.
    #[test]
    fn the_alus_work_while_results_are_late() {
        let work: Vec<Op> = (16..48).map(relu).collect();
        let ops =
            [&[product(0, 0), product(20, 16), product(40, 32)][..], &work, &[save(0), product(100, 48)]]
                .concat();
        let ordered = order(ops.clone(), shape(4));
        let place = |wanted: Op| ordered.iter().position(|op| *op == wanted);
        assert!(place(save(0)) < place(work[0]) && place(work[0]) < place(product(100, 48)), "{ordered:?}");
        // The ALUs work only until the results arrive, 12 cycles after the rows.
        assert!(place(product(100, 48)) < place(work[20]), "{ordered:?}");
    }

    #[test]
    fn what_changes_the_unit_stays_where_it_is() {
        let ops = vec![product(0, 0), Op::Configure { register: 0, value: 1 }, save(0), relu(3)];
        assert_eq!(order(ops.clone(), shape(4)), ops);
    }

    proptest! {
        /// In any order, all memories end with the same contents, and every instruction occurs
        /// once.
        #[test]
        fn all_memories_end_the_same(ops in programs(), size in 2..20_usize) {
            let ordered = order(ops.clone(), shape(size));
            prop_assert_eq!(Symbolic::after(&ordered).written(None), Symbolic::after(&ops).written(None));
            let sorted = |ops: &[Op]| {
                let mut all: Vec<String> = ops.iter().map(|op| format!("{op:?}")).collect();
                all.sort();
                all
            };
            prop_assert_eq!(sorted(&ordered), sorted(&ops));
        }
    }
}
