//! Order: [`order`] puts instructions in the order in which the accumulators wait least, in a unit with queues in front of
//! local memory.
//!
//! There the accumulators take a command a cycle, in the order of instructions, and the results of a row reach them some 2N
//! cycles after it. What moves between them and local memory makes both stand at the same instruction, so that rows behind
//! it come 2N cycles late, unless the ALUs have something to do meanwhile. So the time of instructions is estimated, and of
//! those that may come next that one does for which the accumulators need not wait.
//!
//! Instructions of a [`Kind`] stay in their order, and none passes one that touches the same vectors, so all values stay
//! the same.

mod estimate;
mod needs;

use crate::isa::op::{DataMoveKind, Op, Path};
use estimate::Estimate;
use needs::{Needs, needs};

pub use estimate::Shape;

/// Instructions that stay in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Products, and the weights before them.
    Array,
    /// What the ALUs do: its registers go from one to the next.
    Alus,
    /// From the accumulators to local memory.
    Save,
    /// From local memory to the accumulators.
    Bring,
    /// To or from a bank of DRAM.
    Bank0,
    Bank1,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Array, Self::Alus, Self::Save, Self::Bring, Self::Bank0, Self::Bank1];
    const BANKS: [Self; 2] = [Self::Bank0, Self::Bank1];

    /// The kind of an instruction; none of those that change the unit.
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

/// The instructions in a new order; as they were if one of them changes the unit.
pub fn order(ops: Vec<Op>, shape: Shape) -> Vec<Op> {
    let Some(kinds) = ops.iter().map(Kind::of).collect::<Option<Vec<Kind>>>() else { return ops };
    let needs = needs(&ops, &kinds);
    let mut merge = Merge::new(&ops, &kinds, &needs, shape);
    while let Some(kind) = merge.next() {
        merge.take(kind);
    }
    merge.done
}

/// The kinds while they are merged.
struct Merge<'a> {
    ops: &'a [Op],
    needs: &'a [Needs],
    /// Of each kind what is left, in its order.
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

    /// The next instruction of a kind.
    fn head(&self, kind: Kind) -> Option<usize> {
        self.left[kind as usize].as_slice().first().copied()
    }

    /// Whether it waits for instructions of another kind.
    fn waits_for(&self, kind: Kind, other: Kind) -> bool {
        let need = self.head(kind).map_or(0, |i| self.needs[i].of(other));
        kind != other && self.head(other).is_some_and(|head| head < need)
    }

    fn may_come(&self, kind: Kind) -> bool {
        self.head(kind).is_some() && !Kind::ALL.iter().any(|&other| self.waits_for(kind, other))
    }

    /// The kind that comes next; none in the end.
    fn next(&self) -> Option<Kind> {
        let left = Kind::ALL.into_iter().filter_map(|kind| Some((self.head(kind)?, kind)));
        let (_, oldest) = left.min_by_key(|&(head, _)| head)?;
        let chosen = self.transfer(oldest).or_else(|| {
            if self.may_come(Kind::Array) { Some(self.beside_array()) } else { self.instead_of_array() }
        });
        // Nothing comes before the oldest that it may not pass.
        Some(chosen.unwrap_or(oldest))
    }

    /// A transfer: to DRAM at once, from DRAM where it is in the program.
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

    /// What comes next when that may be a product or weights: others if its results would come late.
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

    /// What comes next when the array waits for others.
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

    /// What the second product waits for is saved first; while its rows enter, the ALUs work on what is left.
    #[test]
    fn the_alus_work_while_results_are_late() {
        let work: Vec<Op> = (16..48).map(relu).collect();
        let ops =
            [&[product(0, 0), product(20, 16), product(40, 32)][..], &work, &[save(0), product(100, 48)]]
                .concat();
        let ordered = order(ops.clone(), shape(4));
        let place = |wanted: Op| ordered.iter().position(|op| *op == wanted);
        assert!(place(save(0)) < place(work[0]) && place(work[0]) < place(product(100, 48)), "{ordered:?}");
        // They work until the results are there, 12 cycles after the rows, and not longer.
        assert!(place(product(100, 48)) < place(work[20]), "{ordered:?}");
    }

    #[test]
    fn what_changes_the_unit_stays_where_it_is() {
        let ops = vec![product(0, 0), Op::Configure { register: 0, value: 1 }, save(0), relu(3)];
        assert_eq!(order(ops.clone(), shape(4)), ops);
    }

    proptest! {
        /// Whatever the order, all memories end as they did, and every instruction is there once.
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
