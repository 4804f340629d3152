//! Steady states: [`Steady`] detects when vectors advance in lockstep, and skips the rest of a run.
//!
//! The time of a vector depends on sums and maxima of times stored in the units. Suppose that two
//! consecutive vectors have each advanced every stored time by the same number of cycles, or left
//! it unchanged. Then the unchanged times are in the past: if a time depended on one of them, it
//! would have been delayed one vector earlier. All following vectors therefore advance the other
//! times by the same amount, as long as only times change from vector to vector. An unchanged time
//! in the future that is compared with others would end this; units report whether there is one.

use super::queue::Cycle;

/// Times and counters that a unit stores from vector to vector. Visits always pass the same values
/// in the same order; a visitor may change them.
pub(super) trait StoredTimes {
    /// Visits the times that vectors advance or wait for.
    fn times(&mut self, visit: impl FnMut(&mut Cycle));
    /// Visits the counters, which only grow.
    fn counts(&mut self, visit: impl FnMut(&mut u64));
    /// Whether no stored time that stays unchanged is compared with one that may pass it later.
    fn is_settled(&self) -> bool;
}

/// Maximum number of values that a unit may store. With more, no vector is skipped.
const MOST: usize = 56;

/// Number of the vector after which the first observation is made.
const FIRST: u64 = 3;

/// Minimum number of remaining vectors for which three observations pay.
const WORTH: u64 = 8;

/// Observes a run of vectors: first three consecutive vectors, then later vectors.
pub(super) struct Steady {
    /// Number of the vector to observe next.
    next: u64,
    state: State,
    /// Values at the last observation.
    seen: [u64; MOST],
    /// Differences between the last two observations.
    steps: [u64; MOST],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Seen,
    Stepped,
}

impl Steady {
    /// Length of the shortest run for which observation pays.
    pub(super) const LEAST: u64 = FIRST + WORTH;

    pub(super) const fn new() -> Self {
        Self { next: FIRST, state: State::New, seen: [0; MOST], steps: [0; MOST] }
    }

    /// Called after `done` of `size` vectors. Returns whether the rest has been skipped.
    pub(super) fn leap(&mut self, done: u64, size: u64, kept: &mut impl StoredTimes) -> bool {
        if done != self.next || (self.state == State::New && size - done < WORTH) {
            return false;
        }
        self.next += 1;
        if !kept.is_settled() {
            self.state = State::New;
            return false;
        }
        let (alike, count) = self.look(kept);
        self.state = match self.state {
            State::New => State::Seen,
            State::Seen => State::Stepped,
            State::Stepped if alike && self.is_in_step(kept, count) => {
                self.advance(kept, size - done);
                return true;
            }
            State::Stepped => {
                self.next = 2 * done;
                State::New
            }
        };
        false
    }

    /// Records all values. Returns whether they advanced like between the previous two
    /// observations, and their number.
    fn look(&mut self, kept: &mut impl StoredTimes) -> (bool, usize) {
        let (mut alike, mut i) = (true, 0);
        let Self { seen, steps, .. } = self;
        let mut visit = |value: &mut u64| {
            match (seen.get_mut(i), steps.get_mut(i)) {
                (Some(seen), Some(known)) => {
                    let step = value.wrapping_sub(*seen);
                    alike &= step == *known;
                    (*seen, *known) = (*value, step);
                }
                _ => alike = false,
            }
            i += 1;
        };
        kept.times(&mut visit);
        kept.counts(&mut visit);
        (alike, i)
    }

    /// Whether all times that changed advanced by the same number of cycles.
    fn is_in_step(&self, kept: &mut impl StoredTimes, count: usize) -> bool {
        let mut times = 0;
        kept.times(|_| times += 1);
        let mut moved = self.steps[..times.min(count)].iter().filter(|&&step| step != 0);
        let Some(&first) = moved.next() else { return false };
        // A time that decreased wraps around and gives a huge step.
        first < Cycle::MAX / 2 && moved.all(|&step| step == first)
    }

    /// Advances all values by `vectors` vectors.
    fn advance(&self, kept: &mut impl StoredTimes, vectors: u64) {
        let mut steps = self.steps.iter();
        // Default: every value has a step; otherwise nothing was in lockstep.
        let mut visit = |value: &mut u64| *value += steps.next().map_or(0, |step| step * vectors);
        kept.times(&mut visit);
        kept.counts(&mut visit);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::MOST;
    use crate::clock::Clock;
    use crate::clock::machine::Machine;
    use crate::config::{ClockParams, Config};
    use crate::isa::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
    use crate::lower::Minimize;
    use crate::lower::schedule::search::tests as search;
    use crate::lower::schedule::{Effort, cheapest};

    fn run() -> impl Strategy<Value = Strided> {
        (0..40_u64, 0..3_u32).prop_map(|(address, stride_log2)| Strided { address, stride_log2 })
    }

    /// Sizes from single vectors to runs far longer than it takes to reach lockstep.
    fn size() -> impl Strategy<Value = u64> {
        prop_oneof![1..4_u64, 1..40_u64, 60..400_u64]
    }

    /// Any instruction of the array and the units around it.
    pub fn any_op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (any::<bool>(), 0..5, run(), run(), size()).prop_map(
                |(accumulate, zeroes, local, accumulator, size)| {
                    Op::MatMul { accumulate, zeroes: zeroes == 0, local, accumulator, size }
                }
            ),
            3 => (0..4, run(), 1..18_u64)
                .prop_map(|(zeroes, local, size)| Op::LoadWeights { zeroes: zeroes == 0, local, size }),
            3 => (0..7_usize, run(), run(), size()).prop_map(|(kind, local, other, size)| {
                Op::DataMove { kind: DataMoveKind::ALL[kind], local, other, size }
            }),
            2 => (any::<(bool, bool, bool)>(), 0..40_u64, 0..40_u64).prop_map(
                |((read, write, accumulate), from, to)| Op::Simd {
                    read,
                    write,
                    accumulate,
                    read_address: from,
                    write_address: to,
                    sub: SimdSub { op: SimdOp::Max, left: u8::from(!read), right: 1, destination: u8::from(!write) },
                }
            ),
        ]
    }

    /// Returns the state of the units after `ops`, and when each instruction was accepted.
    fn known(mut machine: Machine, ops: &[Op]) -> (Vec<String>, String) {
        let held = ops.iter().map(|op| format!("{:?}", machine.step(op)));
        let held = held.collect();
        (held, format!("{machine:?}").replace("is_literal: true", "is_literal: false"))
    }

    /// A run of products in lockstep has one window of results; a second one may be open.
    #[test]
    fn all_that_products_move_on_is_seen() {
        let config = Config::preset("ultra96v2").expect("a preset");
        let clock = Clock::new(&config, ClockParams::with_latency(20)).expect("whole beats");
        let mut machine = clock.machine.clone();
        let product = Op::MatMul {
            accumulate: false,
            zeroes: false,
            local: Strided::default(),
            accumulator: Strided::default(),
            size: 100,
        };
        machine.step(&product).expect("it is accepted");
        let kept = machine.kept_by_products();
        assert!((40..=MOST - 2).contains(&kept), "{kept}");
    }

    /// Compiled products: many small arrays of weights in sequence, whose results arrive while the
    /// next rows enter.
    #[test]
    fn leaps_end_where_every_vector_of_a_compiled_network_would() {
        for (accumulator_depth, latency) in [(50, 3), (50, 60), (200, 20)] {
            let config = Config { local_depth: 400, accumulator_depth, ..search::config() };
            let model = search::model(&config);
            let scheduled = cheapest(&model, &config, None, Minimize::Estimator, Effort::Thorough)
                .expect("it can be scheduled");
            let params = ClockParams { axi_bits: 32, ..ClockParams::with_latency(latency) };
            let machine = Clock::new(&config, params).expect("whole beats").machine;
            let mut literal = machine.clone();
            literal.be_literal();
            assert_eq!(known(machine, &scheduled.ops), known(literal, &scheduled.ops));
        }
    }

    proptest! {
        #[test]
        fn a_leap_ends_where_every_vector_would(
            ops in prop::collection::vec(any_op(), 1..40),
            preset in prop::sample::select(vec!["speech_robot", "pynqz1_12x12", "ultra96v2", "zcu104"]),
            latency in 0..60_u64,
        ) {
            let config = Config::preset(preset).expect("a preset");
            let params = ClockParams { axi_bits: 64, ..ClockParams::with_latency(latency) };
            let machine = Clock::new(&config, params).expect("whole beats").machine;
            let mut literal = machine.clone();
            literal.be_literal();
            prop_assert_eq!(known(machine, &ops), known(literal, &ops));
        }
    }
}
