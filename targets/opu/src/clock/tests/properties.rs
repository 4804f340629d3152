//! What holds of any program.
//!
//! Where loads and stores share the port, a transfer that comes a cycle earlier may keep out a more urgent
//! one: then a faster machine can be slower. With ports of their own nothing is.

use proptest::prelude::*;

use super::*;
use crate::config::Timing;

/// Programs of small tiles that need not make sense, but have all registers defined.
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

/// More of something.
type Change = fn(&mut Timing);

/// Everything of which there can be more, and whether that makes a machine slower.
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

proptest! {
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
