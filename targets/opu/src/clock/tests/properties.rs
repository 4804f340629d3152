//! Properties of arbitrary programs.
//!
//! If loads and stores share the port, a transfer that comes one cycle earlier may delay a more
//! urgent one, so a faster machine can be slower. With separate ports this cannot happen.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::config::Timing;
use crate::isa::fault::Buffer;
use crate::isa::op::{Access, Direction};

/// Programs of small tiles that need not be meaningful, but define all registers.
fn programs() -> impl Strategy<Value = Vec<Op>> {
    let tile = || (1..6u32, 1..6u32, 4..=6u32).prop_map(|(h, w, c)| Shape { h, w, c: 1 << c });
    let op = prop_oneof![
        4 => (0..40u32).prop_map(|addr| Op::LoadIfm { addr }),
        2 => (0..40u32).prop_map(|addr| Op::LoadKer { addr }),
        1 => (0..40u32).prop_map(|addr| Op::LoadBias { addr }),
        4 => prop::sample::select(vec![CONV, WITH_BIAS, ACC]),
        3 => (0..40u32).prop_map(|addr| Op::Store { addr }),
        1 => (0..40u32).prop_map(|addr| Op::Pad { addr, p: 1 }),
        1 => tile().prop_map(Op::ShapeIfm),
        1 => tile().prop_map(Op::ShapeOfm),
        1 => (1..4u32).prop_map(|n| Op::ShapeKer { n }),
        1 => (0..2u32, 1..8u32).prop_map(|(bank, w)| Op::MemIfm { bank, w }),
        1 => (0..2u32, 1..8u32).prop_map(|(bank, w)| Op::MemOfm { bank, h: 3, w }),
        1 => prop::sample::select(Post::ALL.to_vec()).prop_map(Op::Post),
    ];
    prop::collection::vec(op, 1..80).prop_map(|ops| setup().into_iter().chain(ops).collect())
}

fn machines() -> impl Strategy<Value = Config> {
    let preset = prop::sample::select(vec!["ideal", "detailed", "reference"]);
    (preset, 1..4u32, 1..4u32, 1..3u32).prop_map(|(preset, queue, banks, ofm_banks)| {
        let mut config = Config::preset(preset).unwrap();
        (config.timing.queue, config.timing.ifm_banks, config.timing.ker_banks) = (queue, banks, banks);
        config.timing.ofm_banks = ofm_banks;
        config
    })
}

fn cycles(config: &Config, program: &[Op]) -> u64 {
    Clock::cycles(config, program).unwrap()
}

/// Increases a parameter.
type Change = fn(&mut Timing);

/// All parameters that can be increased, and whether that makes a machine slower.
const CHANGES: [(bool, Change); 16] = [
    (true, |timing| timing.ifm_row_latency += 7),
    (true, |timing| timing.ker_latency += 7),
    (true, |timing| timing.ker_tap_latency += 7),
    (true, |timing| timing.bias_latency += 7),
    (true, |timing| timing.conv_pipe += 7),
    (true, |timing| timing.store_latency += 7),
    (true, |timing| timing.pad_cycles_per_slot += 1),
    (true, |timing| timing.fetch_cycles += 1),
    (false, |timing| timing.macs_per_cycle *= 2),
    (false, |timing| timing.port_bytes_per_cycle *= 2),
    (false, |timing| timing.burst_words *= 2),
    (false, |timing| timing.queue += 1),
    (false, |timing| timing.ifm_banks += 1),
    (false, |timing| timing.ker_banks += 1),
    (false, |timing| timing.bias_banks += 1),
    (false, |timing| timing.ofm_banks += 1),
];

/// Executed instruction: the data it touches, and its time.
struct Done {
    op: Op,
    effects: Effects,
    bytes: HashSet<u64>,
    slice: Slice,
    /// Cycle at which it has read the partial sums.
    read: Cycle,
}

fn done(config: &Config, program: &[Op]) -> Vec<Done> {
    let (slices, _) = run(config, program);
    let (costs, mut registers) = (Costs::new(config), Registers::default());
    let mut slices = slices.into_iter().peekable();
    let mut done = Vec::new();
    for (index, op) in program.iter().enumerate() {
        registers.set(op);
        let Some(slice) = slices.next_if(|slice| slice.instruction == index) else { continue };
        let effects = op.effects(&registers, costs.types(), costs.validity()).unwrap();
        let bytes = effects.memory.runs().flat_map(|run| run.first..run.end).collect();
        let read = slice.start + costs.of(op, &registers).unwrap().reads;
        done.push(Done { op: *op, effects, bytes, slice, read });
    }
    done
}

impl Done {
    /// Whether both access the same bytes of memory and one of them writes.
    fn meets(&self, other: &Self) -> bool {
        let writes = |access: &Access| access.direction == Direction::Write;
        (writes(&self.effects.memory) || writes(&other.effects.memory))
            && !self.bytes.is_disjoint(&other.bytes)
    }

    /// Whether it fills the buffer with new contents.
    fn renews(&self, buffer: Buffer) -> bool {
        self.effects.writes == Some(buffer) && !self.effects.reads.contains(&buffer)
    }
}

/// Returns the cycle at which all work is done on which the last element of `done` depends or whose
/// place it takes. This is computed from program order alone: from the bytes of memory, the last
/// instruction that filled each buffer, and the readers of each bank.
fn earliest(done: &[Done], timing: &Timing) -> Cycle {
    let (new, before) = done.split_last().unwrap();
    let others = || before.iter().filter(|old| old.slice.engine != new.slice.engine);
    // Default: an instruction without dependencies may start at once.
    let mut earliest = others().filter(|old| old.meets(new)).map(|old| old.slice.end).max().unwrap_or(0);
    let banks = [
        (Buffer::Ifm, timing.ifm_banks),
        (Buffer::Ker, timing.ker_banks),
        (Buffer::Bias, timing.bias_banks),
        (Buffer::Ofm, timing.ofm_banks),
    ];
    for (buffer, banks) in banks {
        let filled = before.iter().rev().find(|old| old.effects.writes == Some(buffer));
        if let Some(filled) = filled.filter(|_| new.effects.reads.contains(&buffer)) {
            let is_other = filled.slice.engine != new.slice.engine;
            earliest = earliest.max(if is_other { filled.slice.end } else { 0 });
        }
        if new.effects.writes == Some(buffer) {
            let generation = |end: usize| done[..end].iter().filter(|old| old.renews(buffer)).count();
            for (place, old) in
                before.iter().enumerate().filter(|(_, old)| old.effects.reads.contains(&buffer))
            {
                let (own, current) = (generation(place + 1), generation(done.len()));
                // A change in place stays in the current bank.
                let is_over =
                    if new.renews(buffer) { own + banks as usize <= current } else { own == current };
                let free = if buffer == Buffer::Ofm { old.read } else { old.slice.end };
                let is_other = old.slice.engine != new.slice.engine;
                earliest = earliest.max(if is_over && is_other { free } else { 0 });
            }
        }
    }
    earliest
}

proptest! {
    /// No engine reads data that is not yet written, or overwrites data that is still read: values
    /// follow program order.
    #[test]
    fn no_engine_is_ahead_of_what_it_needs(config in machines(), program in programs()) {
        let done = done(&config, &program);
        for last in 1..=done.len() {
            let (new, earliest) = (&done[last - 1], earliest(&done[..last], &config.timing));
            prop_assert!(new.slice.start >= earliest, "{:?} starts at {}, not {}", new.op, new.slice.start, earliest);
        }
    }

    #[test]
    fn every_engine_works_on_one_instruction_at_a_time_in_order(config in machines(), program in programs()) {
        let (slices, totals) = run(&config, &program);
        let imperative = program.iter().filter(|op| Engine::of(op.class()) != Engine::FrontEnd);
        prop_assert_eq!(slices.len(), imperative.count());
        for engine in Engine::ALL {
            let own: Vec<_> = slices.iter().filter(|slice| slice.engine == engine).collect();
            prop_assert!(own.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", own);
            prop_assert!(totals.busy(engine) <= totals.cycles);
            let waits: u64 = totals.waits(engine).iter().map(|(_, cycles)| cycles).sum();
            prop_assert!(totals.busy(engine) + waits <= totals.cycles);
        }
        let [read, write] = totals.port;
        prop_assert!(config.timing.port == Port::Split || read + write <= totals.cycles);
        prop_assert!(slices.iter().all(|slice| slice.end <= totals.cycles));
    }

    #[test]
    fn slower_parts_make_no_machine_faster(mut config in machines(), program in programs()) {
        config.timing.port = Port::Split;
        let before = cycles(&config, &program);
        for (place, (is_slower, change)) in CHANGES.into_iter().enumerate() {
            let mut other = config.clone();
            change(&mut other.timing);
            let after = cycles(&other, &program);
            let is_monotone = if is_slower { after >= before } else { after <= before };
            prop_assert!(is_monotone, "change {}: {} and then {}", place, before, after);
        }
    }

    #[test]
    fn a_shared_port_is_no_faster_than_two(config in machines(), program in programs()) {
        let mut split = config.clone();
        split.timing.port = Port::Split;
        prop_assert!(cycles(&split, &program) <= cycles(&config, &program));
    }
}
