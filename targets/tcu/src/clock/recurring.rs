//! Cache of recurring states: [`run`] gets the timing of instructions from earlier occurrences.
//!
//! The effect of an instruction on the units' times depends only on its shape ([`Machine::shape`])
//! and on these times relative to the decoder's head. Both recur thousands of times in a program,
//! and from one tiling of a layer to the next. Each state is stored once, with the next state and
//! the duration for every shape seen there. A machine in a known state advances without simulating
//! a vector.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::machine::{Design, Machine};
use super::queue::Cycle;
use crate::isa::op::Op;

/// Maximum number of words that a thread caches per design.
const MAX_WORDS: usize = 8 << 20;

/// Maximum number of designs for which a thread caches states.
const DESIGNS: usize = 4;

thread_local! {
    /// Cached states by design, least recently used first.
    static KNOWN: RefCell<Vec<States>> = const { RefCell::new(Vec::new()) };
}

/// Runs instructions for timing only, like [`Machine::step`] for each. Returns whether one hangs;
/// an instruction that hangs adds nothing.
pub(super) fn run(machine: &mut Machine, ops: &[Op]) -> bool {
    if machine.overlaps() {
        // No early return: instructions after one that hangs must also be added.
        return ops.iter().filter(|op| machine.step(op).is_err()).count() > 0;
    }
    KNOWN.with_borrow_mut(|known| {
        let design = machine.design();
        let at = known.iter().position(|states| states.design == design);
        if at.is_none() && known.len() == DESIGNS {
            known.remove(0);
        }
        let mut states = at.map_or_else(|| States::new(machine), |at| known.remove(at));
        let (done, hangs) = states.run(machine, ops);
        known.push(states);
        // Without a cached result, every vector is simulated.
        ops[done..].iter().fold(hangs, |hangs, op| machine.step(op).is_err() || hangs)
    })
}

/// Cached states of a design.
struct States {
    design: Design,
    list: Vec<State>,
    /// Indices in the list of states, by recorded times.
    places: HashMap<Arc<[u32]>, u32>,
    words: usize,
    /// Buffer for recorded times.
    taken: Vec<u32>,
}

/// A state: recorded times of the units, relative to the next instruction at the decoder.
struct State {
    times: Arc<[u32]>,
    next: Vec<Step>,
}

/// Transition from one state to the next.
#[derive(Clone, Copy)]
struct Step {
    shape: u64,
    to: u32,
    cycles: u32,
}

impl State {
    /// Returns the transition for an instruction of this shape, if it is cached. The shape
    /// requested last is found first.
    fn step(&mut self, shape: u64) -> Option<Step> {
        let at = self.next.iter().position(|step| step.shape == shape)?;
        self.next.swap(0, at);
        self.next.first().copied()
    }
}

impl States {
    fn new(machine: &Machine) -> Self {
        let (list, places, taken) = (Vec::new(), HashMap::new(), Vec::new());
        Self { design: machine.design(), list, places, words: 0, taken }
    }

    /// Runs instructions up to the first one that hangs, or after which times are too far apart to
    /// be recorded. Returns their number, and whether the last one hangs.
    fn run(&mut self, machine: &mut Machine, ops: &[Op]) -> (usize, bool) {
        if self.words > MAX_WORDS {
            *self = Self::new(machine);
        }
        let Some(mut at) = self.place(machine) else { return (0, false) };
        let (mut head, mut address, mut is_there) = (machine.head(), machine.last_address(), true);
        for (i, op) in ops.iter().enumerate() {
            let shape = machine.shape(op, address);
            if let Some(step) = shape.and_then(|shape| self.list[at as usize].step(shape)) {
                (at, head, is_there) = (step.to, head + Cycle::from(step.cycles), false);
                // Default: an instruction without accumulator writes keeps the address.
                address = machine.last_written(op).unwrap_or(address);
                continue;
            }
            if !is_there {
                machine.go_on(head, address, &self.list[at as usize].times);
            }
            if machine.step(op).is_err() {
                return (i + 1, true);
            }
            let Some(to) = self.place(machine) else { return (i + 1, false) };
            if let (Some(shape), Ok(cycles)) = (shape, u32::try_from(machine.head() - head)) {
                self.list[at as usize].next.push(Step { shape, to, cycles });
                self.words += size_of::<Step>() / size_of::<u32>();
            }
            (at, head, address, is_there) = (to, machine.head(), machine.last_address(), true);
        }
        if !is_there {
            machine.go_on(head, address, &self.list[at as usize].times);
        }
        (ops.len(), false)
    }

    /// Returns the index of the machine's current state; `None` if it cannot be recorded.
    fn place(&mut self, machine: &mut Machine) -> Option<u32> {
        if !machine.take_down(&mut self.taken) {
            return None;
        }
        if let Some(&known) = self.places.get(&self.taken[..]) {
            return Some(known);
        }
        let times: Arc<[u32]> = self.taken[..].into();
        let place = u32::try_from(self.list.len()).ok()?;
        self.words += times.len();
        self.places.insert(Arc::clone(&times), place);
        self.list.push(State { times, next: Vec::new() });
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::steady::tests::any_op;
    use crate::clock::{Clock, Meter};
    use crate::config::{ClockParams, Config};
    use crate::lower::Minimize;
    use crate::lower::schedule::search::tests as search;
    use crate::lower::schedule::{Effort, cheapest};

    /// Returns when each piece of the instructions ends: simulated one by one, and with the cache.
    fn both(clock: &Clock, pieces: &[&[Op]]) -> [Vec<u64>; 2] {
        let times = |add: fn(&mut Meter, &[Op])| {
            let mut meter = clock.meter();
            let time = |piece: &&[Op]| {
                add(&mut meter, piece);
                meter.cycles()
            };
            pieces.iter().map(time).collect()
        };
        [times(|meter, piece| piece.iter().for_each(|op| meter.push(op))), times(Meter::run)]
    }

    #[test]
    fn compiled_programs_take_as_long_by_what_is_known() {
        for (accumulator_depth, latency) in [(50, 3), (50, 60), (200, 20), (200, 200)] {
            let config = Config { local_depth: 400, accumulator_depth, ..search::config() };
            let model = search::model(&config);
            for minimize in [Minimize::Estimator, Minimize::Clock(ClockParams::with_latency(latency))] {
                let ops = cheapest(&model, &config, None, minimize, Effort::Quick)
                    .expect("it can be scheduled")
                    .ops;
                let params = ClockParams { axi_bits: 32, ..ClockParams::with_latency(latency) };
                let clock = Clock::new(&config, params).expect("whole beats");
                let again = ops.repeat(3);
                for length in [1, 2, 7, 64, again.len()] {
                    let pieces: Vec<&[Op]> = again.chunks(length).collect();
                    let [literal, known] = both(&clock, &pieces);
                    assert_eq!(literal, known, "pieces of {length}");
                }
            }
        }
    }

    proptest! {
        /// Any instructions, repeated in another order: transitions cached for some hold for
        /// others.
        #[test]
        fn any_instructions_take_as_long_by_what_is_known(
            ops in prop::collection::vec(any_op(), 1..12),
            order in prop::collection::vec((0..12_usize, 1..5_usize), 1..120),
            preset in prop::sample::select(vec!["speech_robot", "pynqz1_12x12", "ultra96v2", "zcu104"]),
            (latency, axi_bits) in (0..60_u64, prop::sample::select(vec![16, 32, 64])),
            local_depth in prop::sample::select(vec![48, 4096]),
            length in 1..40_usize,
        ) {
            // Sizes above the local depth are included because units use only the low bits of a
            // size.
            let config = Config { local_depth, ..Config::preset(preset).expect("a preset") };
            let params = ClockParams { axi_bits, ..ClockParams::with_latency(latency) };
            let clock = Clock::new(&config, params).expect("whole beats");
            let ops: Vec<Op> =
                order.iter().flat_map(|&(at, times)| vec![ops[at % ops.len()]; times]).collect();
            let pieces: Vec<&[Op]> = ops.chunks(length).collect();
            let [literal, known] = both(&clock, &pieces);
            prop_assert_eq!(literal, known);
        }
    }
}
