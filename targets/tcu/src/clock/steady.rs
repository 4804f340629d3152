//! Vectors that come in step: [`Steady`] finds out, and leaps over the rest of a run.
//!
//! What the time of a vector follows from are sums and maxima of times kept by the units. When two vectors after each
//! other have moved every such time on by the same cycles, or left it where it was, then those that stay are behind: a time
//! that followed from one of them would have been as late a vector before. So all vectors to come move the others on by as
//! much again, as long as nothing else but time changes from vector to vector. A time that stays and is ahead, and that
//! others are compared with, would end that: units know whether there is one.

use super::queue::Cycle;

/// Times and counts that units keep from vector to vector; always the same ones, in the same order.
pub(super) trait Kept {
    /// Times: those that vectors move on, and those that they wait for.
    fn times(&mut self, visit: impl FnMut(&mut Cycle));
    /// What only grows.
    fn counts(&mut self, visit: impl FnMut(&mut u64));
    /// Whether nothing else will change on the way: no time that stays is compared with one that may pass it.
    fn is_settled(&self) -> bool;
}

/// More than any unit keeps: what does not fit is seen, and no leap is made.
const MOST: usize = 56;

/// The vector after which the first look is taken.
const FIRST: u64 = 3;

/// Vectors for which three looks pay.
const WORTH: u64 = 8;

/// Looks at a run of vectors, three after each other, then later ones.
pub(super) struct Steady {
    /// The vector to be looked at next.
    next: u64,
    state: State,
    /// Everything as it was at the last look.
    seen: [u64; MOST],
    /// How everything moved on between two looks.
    steps: [u64; MOST],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Seen,
    Stepped,
}

impl Steady {
    /// The shortest run that is worth its looks.
    pub(super) const LEAST: u64 = FIRST + WORTH;

    pub(super) const fn new() -> Self {
        Self { next: FIRST, state: State::New, seen: [0; MOST], steps: [0; MOST] }
    }

    /// To be asked when `done` of `size` vectors are through: whether the rest has been leapt over.
    pub(super) fn leap(&mut self, done: u64, size: u64, kept: &mut impl Kept) -> bool {
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

    /// Takes everything down: whether it moved on as between the looks before, and how much there is.
    fn look(&mut self, kept: &mut impl Kept) -> (bool, usize) {
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

    /// Whether all times that moved did so by the same cycles.
    fn is_in_step(&self, kept: &mut impl Kept, count: usize) -> bool {
        let mut times = 0;
        kept.times(|_| times += 1);
        let mut moved = self.steps[..times.min(count)].iter().filter(|&&step| step != 0);
        let Some(&first) = moved.next() else { return false };
        // A time that went back has a step beyond any that is sensible.
        first < Cycle::MAX / 2 && moved.all(|&step| step == first)
    }

    /// Moves everything on by so many vectors.
    fn advance(&self, kept: &mut impl Kept, vectors: u64) {
        let mut steps = self.steps.iter();
        // Default: there are as many steps as values, or nothing was in step.
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
    use crate::lower::Minimise;
    use crate::lower::schedule::search::tests as search;
    use crate::lower::schedule::{Effort, cheapest};

    fn run() -> impl Strategy<Value = Strided> {
        (0..40_u64, 0..3_u32).prop_map(|(address, stride_log2)| Strided { address, stride_log2 })
    }

    /// Sizes from single vectors to runs far longer than it takes to come in step.
    fn size() -> impl Strategy<Value = u64> {
        prop_oneof![1..4_u64, 1..40_u64, 60..400_u64]
    }

    /// Any instruction of the array and what is around it.
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

    /// All that the units know after `ops`, and when each was accepted.
    fn known(mut machine: Machine, ops: &[Op]) -> (Vec<String>, String) {
        let held = ops.iter().map(|op| format!("{:?}", machine.step(op)));
        let held = held.collect();
        (held, format!("{machine:?}").replace("is_literal: true", "is_literal: false"))
    }

    /// Of a run of products in step there is one window of results; a second one may be open.
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

    /// Of compiled products: those of many small arrays of weights after each other, whose results come while the next rows
    /// enter.
    #[test]
    fn leaps_end_where_every_vector_of_a_compiled_network_would() {
        for (accumulator_depth, latency) in [(50, 3), (50, 60), (200, 20)] {
            let config = Config { local_depth: 400, accumulator_depth, ..search::config() };
            let model = search::model(&config);
            let scheduled = cheapest(&model, &config, None, Minimise::Estimator, Effort::Thorough)
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
