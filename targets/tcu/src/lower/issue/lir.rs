//! LIR: instructions, made from runs of vectors, with their cost by the published estimator.

use crate::clock::timing::Estimator;
use crate::config::Config;
use crate::isa::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use crate::lower::schedule::cost::Waits;

/// Pairs of vectors merged into one strided operand each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Local addresses.
    pub local: Strided,
    /// Addresses of the other memory.
    pub other: Strided,
    /// Number of pairs.
    pub size: u64,
}

/// Merges pairs of addresses, in order, into runs with legal strides.
pub fn roll(pairs: impl IntoIterator<Item = (u64, u64)>, config: &Config) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    pairs.into_iter().for_each(|(local, other)| add(&mut runs, local, other, config));
    runs
}

/// Pairs of addresses that are evenly apart: local ones by `step`, others by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    /// First local address.
    pub local: u64,
    /// From one local address to the next.
    pub step: u64,
    /// First other address.
    pub other: u64,
    /// Number of pairs.
    pub count: u64,
}

impl Progression {
    /// The pairs.
    pub fn pairs(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count).map(move |i| (self.local + i * self.step, self.other + i))
    }
}

/// As [`roll`], of the pairs of all progressions.
pub fn roll_progressions(progressions: &[Progression], config: &Config) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for all in progressions {
        for (done, (local, other)) in (1..).zip(all.pairs()) {
            add(&mut runs, local, other, config);
            // A run that takes the same steps takes the rest.
            let run = runs.last_mut().filter(|run| run.size > 1 && run.steps() == (all.step, 1));
            if let Some(run) = run {
                run.size += all.count - done;
                break;
            }
        }
    }
    runs
}

/// Adds a pair to the last run, or as a new one.
fn add(runs: &mut Vec<Run>, local: u64, other: u64, config: &Config) {
    match runs.last_mut().and_then(|run| run.extended(local, other, config).map(|longer| (run, longer))) {
        Some((run, longer)) => *run = longer,
        None => runs.push(Run { local: strided(local), other: strided(other), size: 1 }),
    }
}

fn strided(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

impl Run {
    /// The same run with `first` added to its other addresses.
    pub fn shifted(mut self, first: u64) -> Self {
        self.other.address += first;
        self
    }

    /// From one address to the next, of both memories.
    const fn steps(&self) -> (u64, u64) {
        (1 << self.local.stride_log2, 1 << self.other.stride_log2)
    }

    fn extended(&self, local: u64, other: u64, config: &Config) -> Option<Self> {
        let mut longer = Self { size: self.size + 1, ..*self };
        if self.size == 1 {
            longer.local.stride_log2 = step(self.local.address, local, config.stride0_depth)?;
            longer.other.stride_log2 = step(self.other.address, other, config.stride1_depth)?;
            return Some(longer);
        }
        let next = |operand: Strided| operand.address + (self.size << operand.stride_log2);
        (next(self.local) == local && next(self.other) == other).then_some(longer)
    }
}

/// The stride code that leads from one address to the next.
fn step(from: u64, to: u64, codes: usize) -> Option<u32> {
    let step = to.checked_sub(from)?;
    (step.is_power_of_two() && (step.trailing_zeros() as usize) < codes).then(|| step.trailing_zeros())
}

/// A list of instructions that knows its cost, and what the array and the lookup tables hold.
#[derive(Debug)]
pub struct Lir {
    config: Config,
    /// Instructions before those of this list.
    before: usize,
    /// The instructions.
    pub ops: Vec<Op>,
    /// Cycles by the estimator, drained, and what transfers wait for.
    pub cycles: u64,
    estimator: Estimator,
    waits: Waits,
    array: Option<u64>,
    tables: Option<u64>,
}

/// A state to return to.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    length: usize,
    /// Cycles so far.
    pub cycles: u64,
    estimator: Estimator,
    array: Option<u64>,
    tables: Option<u64>,
}

impl Checkpoint {
    /// The same with so many instructions more, which take no time of their own: moves in pieces.
    pub fn longer(self, instructions: usize) -> Self {
        Self { length: self.length + instructions, ..self }
    }
}

impl Lir {
    /// An empty list.
    pub fn new(config: &Config, waits: Waits) -> Self {
        Self {
            waits,
            config: config.clone(),
            before: 0,
            ops: Vec::new(),
            cycles: 0,
            estimator: Estimator::new(config),
            array: None,
            tables: None,
        }
    }

    /// A list that goes on where this one ends, without its instructions.
    pub fn fork(&self) -> Self {
        let Self { cycles, waits, array, tables, .. } = *self;
        let (config, estimator) = (self.config.clone(), self.estimator.clone());
        Self { config, before: self.instructions(), ops: Vec::new(), cycles, estimator, waits, array, tables }
    }

    /// Instructions of the program so far.
    pub fn instructions(&self) -> usize {
        self.before + self.ops.len()
    }

    /// The present state.
    pub fn checkpoint(&self) -> Checkpoint {
        let Self { cycles, estimator, array, tables, .. } = self;
        let (length, estimator) = (self.instructions(), estimator.clone());
        Checkpoint { length, cycles: *cycles, estimator, array: *array, tables: *tables }
    }

    /// Adds the instructions of a fork, and takes over the state after them; some SIMD may have been added, which cost a
    /// cycle each.
    pub fn replay(&mut self, ops: Vec<Op>, after: &Checkpoint) {
        self.ops.extend(ops);
        self.restore(after);
        self.cycles += self.instructions().saturating_sub(after.length) as u64;
    }

    fn restore(&mut self, state: &Checkpoint) {
        let Checkpoint { cycles, array, tables, .. } = *state;
        (self.cycles, self.estimator, self.array, self.tables) =
            (cycles, state.estimator.clone(), array, tables);
    }

    /// Adds an instruction.
    pub fn push(&mut self, op: Op) {
        self.cycles += self.estimator.cost(&op).cycles + self.waits.of(&op);
        self.ops.push(op);
    }

    /// What it takes to read so many vectors that lie side by side.
    pub fn read_cycles(&self, vectors: u64) -> u64 {
        self.waits.of_read(vectors) + vectors
    }

    /// Moves pairs of (local, other) addresses.
    pub fn move_pairs(&mut self, kind: DataMoveKind, pairs: impl IntoIterator<Item = (u64, u64)>) {
        for Run { local, other, size } in roll(pairs, &self.config) {
            self.push(Op::DataMove { kind, local, other, size });
        }
    }

    /// Whether the array holds the weights named `key`.
    pub fn has_weights(&self, key: u64) -> bool {
        self.array == Some(key)
    }

    /// Local addresses of the array's rows, from the lowest row on, as runs.
    pub fn roll_rows(&self, rows: impl IntoIterator<Item = u64>) -> Vec<Run> {
        roll(rows.into_iter().zip(0..), &self.config)
    }

    /// Fills the array with the rows of `runs` (the bias first when `has_bias`), which are the weights named `key`.
    pub fn load_weights(&mut self, key: u64, runs: &[Run], has_bias: bool) {
        self.push_rows(runs);
        if !has_bias {
            self.push_zero_rows(1);
        }
        self.array = Some(key);
    }

    /// Fills the array with the rows at `rows` (ascending), `zeroes` rows of zeros after them, and no bias.
    pub fn load_rows(&mut self, rows: impl IntoIterator<Item = u64>, zeroes: u64) {
        if zeroes > 0 {
            self.push_zero_rows(zeroes);
        }
        self.push_rows(&self.roll_rows(rows));
        self.push_zero_rows(1);
        self.array = None;
    }

    fn push_rows(&mut self, runs: &[Run]) {
        // The highest row goes in first.
        for run in runs.iter().rev() {
            self.push(Op::LoadWeights { zeroes: false, local: run.local, size: run.size });
        }
    }

    /// Puts a zero bias into the array; nothing can be said of its other rows.
    pub fn load_zero_bias(&mut self) {
        self.push_zero_rows(1);
        self.array = None;
    }

    fn push_zero_rows(&mut self, size: u64) {
        self.push(Op::LoadWeights { zeroes: true, local: Strided::default(), size });
    }

    /// Whether the lookup tables are those named `key`.
    pub fn has_tables(&self, key: u64) -> bool {
        self.tables == Some(key)
    }

    /// Loads lookup tables named `key` from their places, the keys' first, each of `size` vectors.
    pub fn load_tables(&mut self, key: u64, places: Vec<u64>, size: u64) {
        for (table, place) in (0..).zip(places) {
            self.push(Op::LoadLut { local: strided(place), table, size });
        }
        self.tables = Some(key);
    }

    /// One SIMD instruction in place or not.
    pub fn simd(&mut self, sub: SimdSub, read_address: Option<u64>, write: Option<(u64, bool)>) {
        // Default: fields of what an instruction does not do are 0.
        let (write_address, accumulate) = write.unwrap_or_default();
        self.push(Op::Simd {
            read: read_address.is_some(),
            write: write.is_some(),
            accumulate,
            write_address,
            // Default: an instruction that does not read has 0 in the field (`read` above says which).
            read_address: read_address.unwrap_or(0),
            sub,
        });
    }
}

/// Register 1 takes the input.
pub const TO_REGISTER: SimdSub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 1 };
/// The output is register 1.
pub const FROM_REGISTER: SimdSub = SimdSub { op: SimdOp::Move, left: 1, right: 1, destination: 0 };
/// Register 1 becomes zero.
pub const ZERO_TO_REGISTER: SimdSub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 1 };
/// The output is zero.
pub const ZERO: SimdSub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 0 };
/// The input goes through.
pub const THROUGH: SimdSub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 0 };

/// Reads an accumulator and drops it: a command of the accumulators without effect.
pub const fn drop_read(read_address: u64) -> Op {
    Op::Simd { read: true, write: false, accumulate: false, write_address: 0, read_address, sub: THROUGH }
}

/// `op(input, register 1)`, or with the operands swapped, to the output.
pub const fn with_register(op: SimdOp, swapped: bool) -> SimdSub {
    SimdSub { op, left: swapped as u8, right: !swapped as u8, destination: 0 }
}

/// `op(input, register 1)` to register 1.
pub const fn into_register(op: SimdOp) -> SimdSub {
    SimdSub { destination: 1, ..with_register(op, false) }
}

/// The output is the input's difference to the closest key; registers from 1 on take the values.
pub const LOOKUP: SimdSub = SimdSub { op: SimdOp::Lookup, left: 0, right: 0, destination: 0 };

/// A step of Horner's rule: register `last` times the input, then plus register `next`. The result stays in
/// register `last`; when `next` is 1 it is the output.
pub const fn horner(next: usize, last: usize) -> [SimdSub; 2] {
    let (next, last) = (next as u8, last as u8);
    let destination = if next == 1 { 0 } else { last };
    [
        SimdSub { op: SimdOp::Multiply, left: 0, right: last, destination: last },
        SimdSub { op: SimdOp::Add, left: next, right: last, destination },
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config() -> Config {
        let config = Config::preset("speech_robot").expect("a preset");
        Config { array_size: 8, stride0_depth: 3, stride1_depth: 2, ..config }
    }

    /// Local strides are 1, 2 and 4, the others 1 and 2.
    #[test]
    fn pairs_that_step_alike_are_one_run() {
        let run = |local: (u64, u32), other: (u64, u32), size| {
            let strided = |(address, stride_log2)| Strided { address, stride_log2 };
            Run { local: strided(local), other: strided(other), size }
        };
        for (pairs, runs) in [
            (vec![], vec![]),
            (vec![(3, 7)], vec![run((3, 0), (7, 0), 1)]),
            (vec![(3, 7), (4, 8), (5, 9)], vec![run((3, 0), (7, 0), 3)]),
            (vec![(3, 7), (7, 9), (11, 11), (15, 13)], vec![run((3, 2), (7, 1), 4)]),
            (vec![(3, 7), (5, 8), (7, 9), (8, 10)], vec![run((3, 1), (7, 0), 3), run((8, 0), (10, 0), 1)]),
            // Steps of 8 and of 4 have no code, nor have 3, 0 and those back.
            (vec![(0, 0), (8, 1)], vec![run((0, 0), (0, 0), 1), run((8, 0), (1, 0), 1)]),
            (vec![(0, 0), (1, 4)], vec![run((0, 0), (0, 0), 1), run((1, 0), (4, 0), 1)]),
            (vec![(0, 0), (3, 1)], vec![run((0, 0), (0, 0), 1), run((3, 0), (1, 0), 1)]),
            (vec![(0, 0), (0, 1)], vec![run((0, 0), (0, 0), 1), run((0, 0), (1, 0), 1)]),
            (vec![(1, 0), (0, 1)], vec![run((1, 0), (0, 0), 1), run((0, 0), (1, 0), 1)]),
            // The third goes on in one memory only.
            (vec![(0, 0), (1, 1), (2, 3)], vec![run((0, 0), (0, 0), 2), run((2, 0), (3, 0), 1)]),
            (vec![(0, 0), (1, 1), (3, 2)], vec![run((0, 0), (0, 0), 2), run((3, 0), (2, 0), 1)]),
        ] {
            assert_eq!(roll(pairs.clone(), &config()), runs, "{pairs:?}");
        }
    }

    proptest! {
        /// Whatever the steps are, and however one progression follows the other.
        #[test]
        fn progressions_are_rolled_as_their_pairs_are(
            all in prop::collection::vec((0_u64..9, 0_u64..6, 0_u64..9, 1_u64..6), 0..6)
        ) {
            let progression = |(local, step, other, count)| Progression { local, step, other, count };
            let all: Vec<Progression> = all.into_iter().map(progression).collect();
            let pairs = all.iter().flat_map(|all| all.pairs());
            prop_assert_eq!(roll_progressions(&all, &config()), roll(pairs, &config()));
        }
    }

    /// By the estimator: a cycle for each row, after weights as many more as the array has rows, and one for each SIMD.
    #[test]
    fn the_cost_is_known_of_a_fork_and_after_taking_it_over() {
        let mut lir = Lir::new(&config(), Waits::default());
        lir.load_zero_bias();
        let mut fork = lir.fork();
        fork.load_rows([20, 21], 6);
        fork.push(Op::MatMul {
            accumulate: false,
            zeroes: false,
            local: strided(0),
            accumulator: strided(0),
            size: 5,
        });
        fork.simd(THROUGH, Some(0), Some((0, false)));
        assert_eq!((fork.cycles, fork.instructions()), (1 + (6 + 2 + 1) + (8 + 5) + 1, 6));
        let after = fork.checkpoint();
        assert_eq!((lir.cycles, lir.ops.len(), fork.ops.len()), (1, 1, 5));
        let mut ops = fork.ops;
        ops.extend([drop_read(0), drop_read(1)]);
        lir.replay(ops, &after);
        assert_eq!((lir.cycles, lir.ops.len()), (24 + 2, 8));
    }
}
