//! LIR: instructions built from runs of vectors, with their cost by the published estimator.

use crate::clock::timing::Estimator;
use crate::config::Config;
use crate::isa::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use crate::lower::schedule::cost::Waits;

/// Pairs of vectors merged into one strided operand per memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Strided addresses in local memory.
    pub local: Strided,
    /// Strided addresses in the other memory.
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

/// Evenly spaced pairs of addresses. Local addresses have distance `step`; addresses in the other
/// memory have distance one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    /// First local address.
    pub local: u64,
    /// Distance between adjacent local addresses.
    pub step: u64,
    /// First address in the other memory.
    pub other: u64,
    /// Number of pairs.
    pub count: u64,
}

impl Progression {
    /// Returns the address pairs.
    pub fn pairs(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count).map(move |i| (self.local + i * self.step, self.other + i))
    }
}

/// Merges the pairs of all progressions into runs, like [`roll`].
pub fn roll_progressions(progressions: &[Progression], config: &Config) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for all in progressions {
        for (done, (local, other)) in (1..).zip(all.pairs()) {
            add(&mut runs, local, other, config);
            // A run with equal steps takes the rest of the progression at once, which is faster
            // than one by one.
            let run = runs.last_mut().filter(|run| run.size > 1 && run.steps() == (all.step, 1));
            if let Some(run) = run {
                run.size += all.count - done;
                break;
            }
        }
    }
    runs
}

/// Adds a pair to the last run, or starts a new run.
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
    /// Returns the run with `first` added to the addresses in the other memory.
    pub fn shifted(mut self, first: u64) -> Self {
        self.other.address += first;
        self
    }

    /// Returns the distances between adjacent addresses in both memories.
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

/// Returns the stride code for the distance of two addresses; `None` if no code encodes it.
fn step(from: u64, to: u64, codes: usize) -> Option<u32> {
    let step = to.checked_sub(from)?;
    (step.is_power_of_two() && (step.trailing_zeros() as usize) < codes).then(|| step.trailing_zeros())
}

/// Instruction list that tracks its cost and the contents of the array and the lookup tables.
#[derive(Debug)]
pub struct Lir {
    config: Config,
    /// Number of instructions that precede this list.
    before: usize,
    /// Instructions of this list.
    pub ops: Vec<Op>,
    /// Cycles by the estimator with drained pipelines, plus the waits of transfers.
    pub cycles: u64,
    estimator: Estimator,
    waits: Waits,
    array: Option<u64>,
    tables: Option<u64>,
}

/// Saved state, to which a list can be rewound.
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
    /// Returns the checkpoint with `instructions` more instructions, which take no extra time:
    /// moves split into pieces.
    pub fn longer(self, instructions: usize) -> Self {
        Self { length: self.length + instructions, ..self }
    }
}

impl Lir {
    /// Creates an empty list.
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

    /// Returns an empty list that continues where this one ends.
    pub fn fork(&self) -> Self {
        let Self { cycles, waits, array, tables, .. } = *self;
        let (config, estimator) = (self.config.clone(), self.estimator.clone());
        Self { config, before: self.instructions(), ops: Vec::new(), cycles, estimator, waits, array, tables }
    }

    /// Returns the number of instructions of the program so far.
    pub fn instructions(&self) -> usize {
        self.before + self.ops.len()
    }

    /// Returns a checkpoint of the current state.
    pub fn checkpoint(&self) -> Checkpoint {
        let Self { cycles, estimator, array, tables, .. } = self;
        let (length, estimator) = (self.instructions(), estimator.clone());
        Checkpoint { length, cycles: *cycles, estimator, array: *array, tables: *tables }
    }

    /// Appends the instructions of a fork and adopts its final state. SIMD instructions that were
    /// inserted since cost one cycle each.
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

    /// Appends an instruction and adds its cost.
    pub fn push(&mut self, op: Op) {
        self.cycles += self.estimator.cost(&op).cycles + self.waits.of(&op);
        self.ops.push(op);
    }

    /// Returns the cycles needed to read `vectors` contiguous vectors.
    pub fn read_cycles(&self, vectors: u64) -> u64 {
        self.waits.of_read(vectors) + vectors
    }

    /// Moves pairs of (local, other) addresses.
    pub fn move_pairs(&mut self, kind: DataMoveKind, pairs: impl IntoIterator<Item = (u64, u64)>) {
        for Run { local, other, size } in roll(pairs, &self.config) {
            self.push(Op::DataMove { kind, local, other, size });
        }
    }

    /// Whether the array holds the weights with this `key`.
    pub fn has_weights(&self, key: u64) -> bool {
        self.array == Some(key)
    }

    /// Merges the local addresses of the array's rows, lowest row first, into runs.
    pub fn roll_rows(&self, rows: impl IntoIterator<Item = u64>) -> Vec<Run> {
        roll(rows.into_iter().zip(0..), &self.config)
    }

    /// Loads the rows of `runs` into the array, bias first if `has_bias`. They are the weights with
    /// this `key`.
    pub fn load_weights(&mut self, key: u64, runs: &[Run], has_bias: bool) {
        self.push_rows(runs);
        if !has_bias {
            self.push_zero_rows(1);
        }
        self.array = Some(key);
    }

    /// Loads the rows at `rows` (ascending) into the array, followed by `zeroes` rows of zeros,
    /// without a bias.
    pub fn load_rows(&mut self, rows: impl IntoIterator<Item = u64>, zeroes: u64) {
        if zeroes > 0 {
            self.push_zero_rows(zeroes);
        }
        self.push_rows(&self.roll_rows(rows));
        self.push_zero_rows(1);
        self.array = None;
    }

    fn push_rows(&mut self, runs: &[Run]) {
        // Rows shift through the array, so the highest row enters first.
        for run in runs.iter().rev() {
            self.push(Op::LoadWeights { zeroes: false, local: run.local, size: run.size });
        }
    }

    /// Loads a zero bias into the array; the contents of its other rows are unspecified afterward.
    pub fn load_zero_bias(&mut self) {
        self.push_zero_rows(1);
        self.array = None;
    }

    fn push_zero_rows(&mut self, size: u64) {
        self.push(Op::LoadWeights { zeroes: true, local: Strided::default(), size });
    }

    /// Whether the lookup tables are those with this `key`.
    pub fn has_tables(&self, key: u64) -> bool {
        self.tables == Some(key)
    }

    /// Loads the lookup tables with this `key` from local addresses `places`, keys first. Each
    /// table has `size` vectors.
    pub fn load_tables(&mut self, key: u64, places: Vec<u64>, size: u64) {
        for (table, place) in (0..).zip(places) {
            self.push(Op::LoadLut { local: strided(place), table, size });
        }
        self.tables = Some(key);
    }

    /// Appends a SIMD instruction that optionally reads an accumulator and optionally writes one.
    pub fn simd(&mut self, sub: SimdSub, read_address: Option<u64>, write: Option<(u64, bool)>) {
        // Default: the fields of a missing write are 0.
        let (write_address, accumulate) = write.unwrap_or_default();
        self.push(Op::Simd {
            read: read_address.is_some(),
            write: write.is_some(),
            accumulate,
            write_address,
            // Default: without a read, the address field is 0.
            read_address: read_address.unwrap_or(0),
            sub,
        });
    }
}

/// SIMD operation: register 1 = input.
pub const TO_REGISTER: SimdSub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 1 };
/// SIMD operation: output = register 1.
pub const FROM_REGISTER: SimdSub = SimdSub { op: SimdOp::Move, left: 1, right: 1, destination: 0 };
/// SIMD operation: register 1 = 0.
pub const ZERO_TO_REGISTER: SimdSub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 1 };
/// SIMD operation: output = 0.
pub const ZERO: SimdSub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 0 };
/// SIMD operation: output = input.
pub const THROUGH: SimdSub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 0 };

/// Returns an instruction that reads an accumulator and discards the value: an accumulator command
/// without effect.
pub const fn drop_read(read_address: u64) -> Op {
    Op::Simd { read: true, write: false, accumulate: false, write_address: 0, read_address, sub: THROUGH }
}

/// Returns the SIMD operation output = `op(input, register 1)`, with swapped operands if `swapped`.
pub const fn with_register(op: SimdOp, swapped: bool) -> SimdSub {
    SimdSub { op, left: swapped as u8, right: !swapped as u8, destination: 0 }
}

/// Returns the SIMD operation register 1 = `op(input, register 1)`.
pub const fn into_register(op: SimdOp) -> SimdSub {
    SimdSub { destination: 1, ..with_register(op, false) }
}

/// SIMD lookup: output = difference between the input and its closest key. Registers starting at 1
/// receive the coefficients.
pub const LOOKUP: SimdSub = SimdSub { op: SimdOp::Lookup, left: 0, right: 0, destination: 0 };

/// Returns one step of Horner's rule: register `last` times the input, plus register `next`. The
/// result stays in register `last`, or is the output if `next` is 1.
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

    /// Legal strides: 1, 2 and 4 in local memory, 1 and 2 in the others.
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
            // No stride code exists for steps of 8, 4, 3 and 0, or for negative steps.
            (vec![(0, 0), (8, 1)], vec![run((0, 0), (0, 0), 1), run((8, 0), (1, 0), 1)]),
            (vec![(0, 0), (1, 4)], vec![run((0, 0), (0, 0), 1), run((1, 0), (4, 0), 1)]),
            (vec![(0, 0), (3, 1)], vec![run((0, 0), (0, 0), 1), run((3, 0), (1, 0), 1)]),
            (vec![(0, 0), (0, 1)], vec![run((0, 0), (0, 0), 1), run((0, 0), (1, 0), 1)]),
            (vec![(1, 0), (0, 1)], vec![run((1, 0), (0, 0), 1), run((0, 0), (1, 0), 1)]),
            // The third pair continues the run in only one of the two memories.
            (vec![(0, 0), (1, 1), (2, 3)], vec![run((0, 0), (0, 0), 2), run((2, 0), (3, 0), 1)]),
            (vec![(0, 0), (1, 1), (3, 2)], vec![run((0, 0), (0, 0), 2), run((3, 0), (2, 0), 1)]),
        ] {
            assert_eq!(roll(pairs.clone(), &config()), runs, "{pairs:?}");
        }
    }

    proptest! {
        /// Any steps, and progressions in any relation to each other.
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

    /// Cost by the estimator: one cycle per row; after weights, one extra cycle per row of the
    /// array; one per SIMD.
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
