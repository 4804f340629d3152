//! Overlap: the ALUs work on a tile's results while the weights of the next product are loaded.
//!
//! Weights can enter the array only after its last results have left it, and the first results of
//! new weights come late. For 3 N cycles per weight set the accumulators are idle (specification
//! 9.2 and 9.4). [`overlap`] divides a layer into instructions that feed the array and instructions
//! that work on its results. It keeps the order of each group and moves the latter into these gaps.
//! No instruction passes one that touches the same vectors, so all results stay the same. The
//! estimator's cycles also stay, except for its charge for refilling the array.

use std::ops::Range;

use crate::config::Config;
use crate::isa::op::{DataMoveKind, Flow, Memory, Op, Path, Place};

/// Reorders the instructions of a layer so that the accumulators are idle less.
pub fn overlap(ops: Vec<Op>, config: &Config) -> Vec<Op> {
    let any = |wanted: fn(Path) -> bool| ops.iter().any(|op| wanted(op.flow().path));
    if any(|path| matches!(path, Path::Decoder | Path::Tables(_)))
        || !any(|path| path == Path::Array)
        || !any(|path| matches!(path, Path::Alus(_)))
    {
        return ops;
    }
    let (feeding, working) = split(hoist_operands(ops));
    merge(&feeding, &working, config)
}

/// Moves instructions that fetch ALU operands in front of the preceding product, where possible.
fn hoist_operands(ops: Vec<Op>) -> Vec<Op> {
    let mut ordered: Vec<Op> = Vec::with_capacity(ops.len());
    // Positions at which the current product begins and ends.
    let (mut product, mut after) = (None, 0);
    for op in ops {
        match op {
            Op::MatMul { .. } | Op::LoadWeights { .. } => {
                product.get_or_insert(ordered.len());
                ordered.push(op);
                after = ordered.len();
            }
            Op::DataMove { kind, .. } if brings(kind) => ordered.push(op),
            _ => {
                if let Some(product) = product.take().filter(|_| works(&op)) {
                    hoist(&mut ordered, product, after);
                }
                ordered.push(op);
            }
        }
    }
    ordered
}

const fn brings(kind: DataMoveKind) -> bool {
    matches!(kind, DataMoveKind::Dram0ToLocal | DataMoveKind::Dram1ToLocal | DataMoveKind::LocalToAccumulator)
}

/// Moves the instructions starting at `after` to `product`, except instructions that conflict with
/// one they would pass.
fn hoist(ops: &mut Vec<Op>, product: usize, after: usize) {
    let mut to = product;
    for op in ops.split_off(after) {
        if ops[to..].iter().any(|other| conflict(&op, other)) {
            ops.push(op);
        } else {
            ops.insert(to, op);
            to += 1;
        }
    }
}

/// Vectors that an instruction reads, or also writes.
struct Touch {
    memory: Memory,
    range: Range<u64>,
    writes: bool,
}

fn touches(op: &Op) -> [Option<Touch>; 2] {
    let Flow { size, source, target, .. } = op.flow();
    let touch = |Place { memory, run }: Place, writes| Touch { memory, range: run.span(size), writes };
    [source.map(|place| touch(place, false)), target.map(|place| touch(place, true))]
}

/// Whether two instructions must keep their order.
pub(in crate::lower) fn conflict(one: &Op, other: &Op) -> bool {
    let (one, other) = (touches(one), touches(other));
    let meet = |a: &Touch, b: &Touch| {
        let apart = a.range.end <= b.range.start || b.range.end <= a.range.start;
        a.memory == b.memory && (a.writes || b.writes) && !apart
    };
    one.iter().flatten().any(|a| other.iter().flatten().any(|b| meet(a, b)))
}

/// An instruction that works on results. `places` are the feeding instructions before which it may
/// be put.
struct Working {
    op: Op,
    places: Range<usize>,
}

/// Splits a layer into instructions that feed the array and instructions that work on its results.
fn split(ops: Vec<Op>) -> (Vec<Op>, Vec<Working>) {
    let used = ops.iter().flat_map(accumulators).map(|run| run.end()).max();
    // Default: if no accumulator is touched, the table is empty.
    let mut touched = Touched(vec![0; used.unwrap_or(0)]);
    let (mut feeding, mut working) = (Vec::new(), Vec::<Working>::new());
    let mut first = 0;
    for op in ops {
        if !works(&op) {
            touched.set(&op, feeding.len() + 1);
            feeding.push(op);
            continue;
        }
        first = match op {
            Op::Simd { .. } => touched.of(&op).fold(first, usize::max),
            _ => feeding.len(),
        };
        working.push(Working { op, places: first..feeding.len() });
    }
    set_ends(&feeding, &mut working, touched);
    (feeding, working)
}

/// Whether an instruction works on results of the array.
const fn works(op: &Op) -> bool {
    use DataMoveKind::{AccumulatorToLocal, LocalToAccumulatorAccumulate};
    matches!(
        op,
        Op::Simd { .. } | Op::DataMove { kind: AccumulatorToLocal | LocalToAccumulatorAccumulate, .. }
    )
}

/// Extends the places of every working instruction as far down as it may move.
fn set_ends(feeding: &[Op], working: &mut [Working], mut touched: Touched) {
    touched.0.fill(feeding.len());
    let (mut next, mut last) = (feeding.len(), feeding.len());
    for Working { op, places } in working.iter_mut().rev() {
        for at in (places.end..next).rev() {
            touched.set(&feeding[at], at);
        }
        next = next.min(places.end);
        last = touched.of(op).fold(last, usize::min);
        if let Op::DataMove { .. } = op {
            let conflicting = feeding[places.end..last].iter().position(|other| conflict(op, other));
            last = conflicting.map_or(last, |distance| places.end + distance);
        }
        places.end = last;
    }
}

/// Inserts the working instructions into the gaps.
fn merge(feeding: &[Op], working: &[Working], config: &Config) -> Vec<Op> {
    let mut ordered = Vec::with_capacity(feeding.len() + working.len());
    let mut waiting = working.iter().peekable();
    let mut multiplied = false;
    for (i, op) in feeding.iter().enumerate() {
        while let Some(due) = waiting.next_if(|next| next.places.end <= i) {
            ordered.push(due.op);
        }
        match op {
            Op::MatMul { .. } => multiplied = true,
            Op::LoadWeights { .. } if std::mem::take(&mut multiplied) => {
                let mut left = 2 * (config.array_size as u64 + 1);
                let fits = |next: &Working, left| next.places.start <= i && half_cycles(&next.op) <= left;
                while let Some(next) = waiting.next_if(|next| fits(next, left)) {
                    left -= half_cycles(&next.op);
                    ordered.push(next.op);
                }
            }
            _ => {}
        }
        ordered.push(*op);
    }
    ordered.extend(waiting.map(|rest| rest.op));
    ordered
}

/// Returns twice the cycles for which a working instruction occupies the accumulators
/// (specification 9.2).
const fn half_cycles(op: &Op) -> u64 {
    match *op {
        Op::Simd { read: false, .. } => 3,
        Op::Simd { write: false, .. } => 4,
        Op::Simd { .. } => 8,
        Op::DataMove { size, .. } => 2 * (size + 2),
        _ => 0,
    }
}

/// For each accumulator, the last visited instruction that touches it.
struct Touched(Vec<usize>);

impl Touched {
    /// Records `instruction` for the accumulators that `op` touches.
    fn set(&mut self, op: &Op, instruction: usize) {
        for run in accumulators(op) {
            let all = &mut self.0[run.first..run.end()];
            if run.step == 1 {
                // Most ranges are contiguous and long, and `fill` is fast for them.
                all.fill(instruction);
            } else {
                all.iter_mut().step_by(run.step).for_each(|touched| *touched = instruction);
            }
        }
    }

    /// Returns the recorded instructions for the accumulators of `op`.
    fn of(&self, op: &Op) -> impl Iterator<Item = usize> {
        accumulators(op).flat_map(|run| self.0[run.first..run.end()].iter().step_by(run.step)).copied()
    }
}

/// Evenly spaced accumulators.
struct Evenly {
    first: usize,
    step: usize,
    count: usize,
}

impl Evenly {
    /// Returns one past the last accumulator.
    const fn end(&self) -> usize {
        self.first + self.count.saturating_sub(1) * self.step + if self.count > 0 { 1 } else { 0 }
    }
}

/// Returns the accumulators that an instruction touches.
fn accumulators(op: &Op) -> impl Iterator<Item = Evenly> + use<> {
    let flow = op.flow();
    let places = flow.places().into_iter().flatten().filter(|place| place.memory == Memory::Accumulators);
    places.map(move |Place { run, .. }| Evenly {
        first: run.address as usize,
        step: 1 << run.stride_log2,
        count: flow.size as usize,
    })
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;
    use crate::isa::op::{SimdOp, SimdSub, Strided};
    use crate::machine::Machine;

    fn config() -> Config {
        let mut config = Config::preset("speech_robot").unwrap();
        (config.dram0_depth, config.dram1_depth, config.local_depth, config.accumulator_depth) =
            (32, 32, 32, 32);
        config
    }

    fn run() -> impl Strategy<Value = (Strided, u64)> {
        (0..24_u64, 0..2_u32, 1..5_u64)
            .prop_map(|(address, stride_log2, size)| (Strided { address, stride_log2 }, size))
    }

    /// Any instruction on small memories.
    pub fn any_op() -> impl Strategy<Value = Op> {
        let simd =
            (any::<(bool, bool)>(), 0..8_u64, 0..8_u64).prop_map(|((write, max), from, to)| Op::Simd {
                read: true,
                write,
                accumulate: false,
                read_address: from,
                write_address: to,
                sub: SimdSub {
                    op: if max { SimdOp::Max } else { SimdOp::Add },
                    left: 0,
                    right: 1,
                    destination: u8::from(!write),
                },
            });
        prop_oneof![
            3 => (any::<bool>(), run(), run()).prop_map(|(accumulate, (local, size), (accumulator, _))| {
                Op::MatMul { accumulate, zeroes: false, local, accumulator, size }
            }),
            3 => run().prop_map(|(local, size)| Op::LoadWeights { zeroes: false, local, size }),
            2 => (0..7_usize, run(), run()).prop_map(|(kind, (local, size), (other, _))| {
                Op::DataMove { kind: DataMoveKind::ALL[kind], local, other, size }
            }),
            4 => simd,
        ]
    }

    /// Contents of all memories after `ops`, starting from nonzero contents.
    pub fn memories(ops: &[Op]) -> Vec<Vec<i32>> {
        let config = config();
        let vectors = 32 * config.array_size as i32;
        let mut machine = Machine::new(&config).unwrap();
        let content = |step: i32| (0..vectors).map(|i| i * step % 501 - 250).collect::<Vec<i32>>();
        machine.write(Memory::Dram0, 0, &content(7)).unwrap();
        machine.write(Memory::Dram1, 0, &content(11)).unwrap();
        machine.write(Memory::Local, 0, &content(13)).unwrap();
        machine.run(ops, &mut |_| ()).unwrap();
        let all = [Memory::Dram0, Memory::Dram1, Memory::Local, Memory::Accumulators];
        all.into_iter().map(|memory| machine.read(memory, 0, 32).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn memories_end_the_same(ops in prop::collection::vec(any_op(), 1..80)) {
            let overlapped = overlap(ops.clone(), &config());
            prop_assert_eq!(overlapped.len(), ops.len());
            prop_assert_eq!(memories(&overlapped), memories(&ops));
        }
    }

    #[test]
    fn results_are_worked_on_while_weights_are_loaded() {
        let weights = Op::LoadWeights { zeroes: false, local: Strided::default(), size: 9 };
        let product = |address| Op::MatMul {
            accumulate: false,
            zeroes: false,
            local: Strided::default(),
            accumulator: Strided { address, stride_log2: 0 },
            size: 1,
        };
        let relu = |address| Op::Simd {
            read: true,
            write: true,
            accumulate: false,
            read_address: address,
            write_address: address,
            sub: SimdSub { op: SimdOp::Max, left: 0, right: 1, destination: 0 },
        };
        let ops = vec![weights, product(0), weights, product(1), relu(0), relu(1)];
        assert_eq!(
            overlap(ops, &config()),
            [weights, product(0), relu(0), weights, product(1), relu(1)],
            "the first result is there when the second weights are loaded"
        );
    }

    /// An address with stride 1.
    pub fn at(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    fn weights() -> Op {
        Op::LoadWeights { zeroes: false, local: at(0), size: 9 }
    }

    /// A product of the first vectors of local memory.
    pub fn product(address: u64, size: u64) -> Op {
        Op::MatMul { accumulate: false, zeroes: false, local: at(0), accumulator: at(address), size }
    }

    /// A move without strides.
    pub fn transfer(kind: DataMoveKind, local: u64, other: u64, size: u64) -> Op {
        Op::DataMove { kind, local: at(local), other: at(other), size }
    }

    fn simd(read: bool, write: bool, address: u64) -> Op {
        let sub = SimdSub { op: SimdOp::Max, left: 0, right: 1, destination: u8::from(!write) };
        Op::Simd { read, write, accumulate: false, read_address: address, write_address: address, sub }
    }

    /// Weights wait nine cycles until the results of eight rows have left. By specification 9.2 the
    /// accumulators are busy for 4 cycles with a SIMD that reads and writes, 2 with one that reads,
    /// 1.5 with one that writes. A move takes 2 plus one per vector. Instructions that do not fit
    /// wait for the next gap; two consecutive weight loads have one gap.
    #[test]
    fn as_many_as_fit_are_done_in_a_gap() {
        let save = |size| move |i: u64| transfer(DataMoveKind::AccumulatorToLocal, 20 + size * i, i, size);
        let kinds: [(&dyn Fn(u64) -> Op, usize); 6] = [
            (&|i| simd(true, true, i), 2),
            (&|i| simd(true, false, i), 4),
            (&|i| simd(false, true, i), 6),
            (&save(1), 3),
            (&save(2), 2),
            (&save(5), 1),
        ];
        for (kind, fit) in kinds {
            let working: Vec<Op> = (0..7).map(kind).collect();
            let (first, rest) = working.split_at(fit);
            let (second, rest) = rest.split_at(fit.min(rest.len()));
            let [feed, more] = [[weights(), product(0, 12)], [weights(), product(30, 1)]];
            // A final SIMD ensures that the list contains at least one.
            let end = [simd(true, true, 30)];
            let ops = [&feed[..], &working, &[weights()], &more, &more, &end].concat();
            let expected = [&feed[..], first, &[weights()], &more, second, &more, rest, &end].concat();
            assert_eq!(overlap(ops, &config()), expected, "{:?}", working[0]);
        }
    }

    /// The load of an operand, and its move to the accumulators, both go in front of the product.
    #[test]
    fn operands_are_brought_before_the_product() {
        let load = transfer(DataMoveKind::Dram0ToLocal, 20, 3, 1);
        let bring = transfer(DataMoveKind::LocalToAccumulator, 20, 9, 1);
        let (first, second) = (simd(true, false, 9), simd(true, true, 0));
        let feed = [weights(), product(0, 1)];
        let ops = [&feed[..], &[load, bring, first, second]].concat();
        assert_eq!(overlap(ops, &config()), [&[load, bring], &feed[..], &[first, second]].concat());
        // The load must not overwrite what the product reads.
        let load = transfer(DataMoveKind::Dram1ToLocal, 5, 3, 1);
        let ops = [&feed[..], &[load, first, second]].concat();
        assert_eq!(overlap(ops.clone(), &config()), ops);
    }

    #[test]
    fn an_address_of_dram_is_none_of_the_accumulators() {
        let load = transfer(DataMoveKind::Dram0ToLocal, 20, 0, 1);
        let relu = simd(true, true, 0);
        let ops = vec![weights(), product(0, 1), weights(), load, product(1, 1), relu];
        let expected = [weights(), product(0, 1), relu, weights(), load, product(1, 1)];
        assert_eq!(overlap(ops, &config()), expected);
    }

    #[test]
    fn what_has_no_product_no_simd_or_something_else_stays_as_it_is() {
        let (load, relu) = (transfer(DataMoveKind::Dram0ToLocal, 20, 0, 1), simd(true, true, 0));
        let save = transfer(DataMoveKind::AccumulatorToLocal, 20, 0, 1);
        for ops in [
            vec![relu, load],
            vec![product(0, 1), save, weights()],
            vec![product(0, 1), relu, Op::NoOp, load],
        ] {
            assert_eq!(overlap(ops.clone(), &config()), ops);
        }
    }

    #[test]
    fn instructions_conflict_when_one_writes_what_the_other_touches() {
        use DataMoveKind::{
            AccumulatorToLocal, Dram0ToLocal, Dram1ToLocal, LocalToAccumulator, LocalToDram0, LocalToDram1,
        };
        let zeroes = Op::LoadWeights { zeroes: true, local: at(0), size: 9 };
        let strided = Op::DataMove {
            kind: Dram0ToLocal,
            local: Strided { address: 0, stride_log2: 2 },
            other: at(0),
            size: 3,
        };
        for (one, other, expected) in [
            (transfer(Dram0ToLocal, 20, 5, 1), product(5, 1), false),
            (transfer(Dram1ToLocal, 20, 5, 1), product(5, 1), false),
            (transfer(Dram0ToLocal, 20, 5, 1), transfer(LocalToDram0, 30, 5, 1), true),
            (transfer(Dram0ToLocal, 20, 5, 1), transfer(LocalToDram1, 30, 5, 1), false),
            (transfer(Dram1ToLocal, 20, 5, 1), transfer(LocalToDram1, 30, 5, 1), true),
            (transfer(LocalToAccumulator, 20, 5, 1), product(5, 1), true),
            (transfer(AccumulatorToLocal, 20, 5, 1), product(5, 1), true),
            (transfer(AccumulatorToLocal, 20, 5, 1), transfer(AccumulatorToLocal, 21, 5, 1), false),
            (transfer(Dram0ToLocal, 8, 5, 1), weights(), true),
            (transfer(Dram0ToLocal, 9, 5, 1), weights(), false),
            (transfer(Dram0ToLocal, 8, 5, 1), zeroes, false),
            (strided, transfer(LocalToAccumulator, 8, 5, 1), true),
            (strided, transfer(LocalToAccumulator, 9, 5, 1), false),
            (weights(), product(0, 9), false),
        ] {
            assert_eq!([conflict(&one, &other), conflict(&other, &one)], [expected; 2], "{one:?} {other:?}");
        }
    }
}
