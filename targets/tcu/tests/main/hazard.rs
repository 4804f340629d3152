//! Lost additions apart from the golden vectors: the table of `shared/open/tcu`, the lock, and the
//! property that the order of the commands shows all losses.

use npukit_tcu::internals::board;
use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::config::{ClockParams, System};
use npukit_tcu::internals::hazard::{Hazard, Pattern, Verdict, hazards, judge, lost};
use npukit_tcu::internals::losing::LostWrite;
use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{Config, Machine, Memory, Severity, validate};
use proptest::prelude::*;

const PRESETS: [&str; 2] = ["speech_robot", "zcu104"];

fn at(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

fn moves(kind: DataMoveKind, local: u64, other: u64, size: u64) -> Op {
    Op::DataMove { kind, local: at(local), other: at(other), size }
}

fn add(local: u64, accumulator: u64) -> Op {
    moves(DataMoveKind::LocalToAccumulatorAccumulate, local, accumulator, 1)
}

fn put(local: u64, accumulator: u64) -> Op {
    moves(DataMoveKind::LocalToAccumulator, local, accumulator, 1)
}

fn product(accumulator: u64, size: u64) -> Op {
    Op::MatMul { accumulate: true, zeroes: false, local: at(0), accumulator: at(accumulator), size }
}

fn weights(zeroes: bool, size: u64) -> Op {
    Op::LoadWeights { zeroes, local: at(0), size }
}

fn lost_at(preset: &str, latency: u64, ops: &[Op]) -> Vec<LostWrite> {
    let config = Config::preset(preset).unwrap();
    Clock::new(&config, ClockParams::with_latency(latency)).unwrap().run(ops).lost
}

/// Returns whether hardware loses the first of two instructions with `between` between them.
fn loses(preset: &str, first: Op, between: &[Op], second: Op) -> bool {
    let start = [moves(DataMoveKind::Dram0ToLocal, 0, 0, 64), weights(false, 9), put(0, 0), put(1, 1)];
    // The accumulators are idle when the first addition arrives.
    let idle = vec![Op::NoOp; 200];
    let ops = [&start[..], &idle, &[first], between, &[second]].concat();
    let found = lost_at(preset, 18, &ops);
    let expected =
        LostWrite { first: 204, second: ops.len() - 1, address: found.first().map_or(0, |l| l.address) };
    assert!(found.is_empty() || found == [expected], "{found:?}");
    !found.is_empty()
}

#[test]
fn the_table_of_the_measurements() {
    for (preset, n) in [("speech_robot", 8), ("zcu104", 32)] {
        for (k, is_lost) in [(0, true), (2 * n - 1, true), (2 * n, false)] {
            let noops = vec![Op::NoOp; k];
            assert_eq!(loses(preset, product(0, 1), &noops, product(0, 1)), is_lost, "{preset}, {k} NoOps");
            assert_eq!(loses(preset, product(0, 1), &noops, add(2, 0)), is_lost, "{preset}, {k} NoOps");
        }
        for (rows, is_lost) in [(1, true), (3, true), (4, false), (9, false)] {
            let between = [weights(false, rows)];
            assert_eq!(loses(preset, product(0, 1), &between, product(0, 1)), is_lost, "{preset}, {rows}");
        }
        for rows in [1, n as u64 + 1] {
            assert!(loses(preset, product(0, 1), &[weights(true, rows)], product(0, 1)), "{preset}");
        }
        assert!(loses(preset, add(2, 0), &[], add(3, 0)), "{preset}");
        for k in 1..4 {
            assert!(loses(preset, product(3, k), &[], product(2 + k, k)), "{preset}");
        }
        assert!(!loses(preset, product(3, 2), &[], product(3, 2)), "{preset}");
        let sub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 0 };
        let (read, write, accumulate) = (true, false, false);
        let read = Op::Simd { read, write, accumulate, write_address: 0, read_address: 1, sub };
        for between in [add(2, 1), put(2, 1), read, moves(DataMoveKind::AccumulatorToLocal, 40, 1, 1)] {
            assert!(!loses(preset, add(2, 0), &[between], add(3, 0)), "{preset}, {between:?}");
        }
    }
}

/// The smallest program of the measurements: 1, 2 and 4 are added, and the circuit computes 5.
fn smallest() -> Vec<Op> {
    vec![
        moves(DataMoveKind::Dram0ToLocal, 0, 0, 3),
        put(0, 0),
        add(1, 0),
        add(2, 0),
        moves(DataMoveKind::AccumulatorToLocal, 3, 0, 1),
        moves(DataMoveKind::LocalToDram0, 3, 3, 1),
    ]
}

#[test]
fn the_smallest_program_gives_five() {
    for preset in PRESETS {
        let config = Config::preset(preset).unwrap();
        let result = |lost: &[LostWrite]| {
            let mut machine = Machine::new(&config).unwrap();
            for (address, value) in [(0, 1), (1, 2), (2, 4)] {
                machine.write(Memory::Dram0, address, &vec![value * 256; config.array_size]).unwrap();
            }
            machine.run_losing(&smallest(), lost).unwrap();
            machine.read(Memory::Dram0, 3, 1).unwrap()[0] / 256
        };
        let found = lost(&config, &smallest(), board::memory(&config, &System::OPEN, None)).unwrap();
        assert_eq!(found, [LostWrite { first: 2, second: 3, address: 0 }]);
        assert_eq!((result(&[]), result(&found)), (7, 5), "{preset}");
    }
}

#[test]
fn validate_names_the_pattern() {
    let config = Config::preset("zcu104").unwrap();
    let [problem] = &validate(&config, &smallest())[..] else { panic!("one problem") };
    assert_eq!(
        (problem.instruction, problem.severity, problem.lint.code),
        (3, Severity::Error, "lost-addition")
    );
    assert_eq!(
        problem.reason,
        "the second addition reads acc[0x0] before the first has written it; the released hardware loses the \
         first (instruction 2)"
    );
}

#[test]
fn a_write_behind_a_write_gives_up_its_lock() {
    let ops = [product(0, 7), add(1, 6), put(2, 6), add(3, 6)];
    let hazard = |first, second, pattern| Hazard { first, second, address: 6, pattern };
    let expected = [hazard(0, 1, Pattern::Addition), hazard(2, 3, Pattern::Overwrite)];
    assert_eq!(hazards(&ops), expected);
    assert_eq!(hazards(&[put(1, 6), put(2, 6), add(3, 6)]), [hazard(1, 2, Pattern::Overwrite)]);
    assert_eq!(hazards(&[put(1, 5), put(2, 6), add(3, 6)]), []);
}

/// The products before the overwriting move release its lock, at the same vector.
#[test]
fn an_early_release_of_the_lock_is_in_the_cycles() {
    let zeroes = Op::MatMul { accumulate: true, zeroes: true, local: at(0), accumulator: at(0), size: 7 };
    let ops = [moves(DataMoveKind::Dram0ToLocal, 0, 0, 64), zeroes, put(1, 6), add(2, 32)];
    for (preset, cycles) in [("speech_robot", 113), ("zcu104", 354)] {
        let clock = Clock::new(&Config::preset(preset).unwrap(), ClockParams::with_latency(18)).unwrap();
        assert_eq!(clock.run(&ops).total, cycles, "{preset}");
    }
}

#[test]
fn what_the_memory_decides_is_said() {
    let config = Config::preset("speech_robot").unwrap();
    // With a slower DRAM, the second addition reaches the decoder later.
    let ops = [
        moves(DataMoveKind::Dram0ToLocal, 0, 0, 3),
        product(0, 1),
        moves(DataMoveKind::Dram0ToLocal, 8, 8, 1),
        product(0, 1),
    ];
    let [judged] = judge(&config, &ops, board::memory(&config, &System::OPEN, None))[..] else {
        panic!("one hazard")
    };
    let Verdict::Depends { lost_at, kept_at } = judged.verdict else { panic!("{judged:?}") };
    assert!(lost_at < kept_at, "{judged:?}");
    assert!(judged.reason().contains("the board's memory"), "{}", judged.reason());
    let far = [&ops[..2], &vec![Op::NoOp; 100], &ops[3..]].concat();
    let [judged] = judge(&config, &far, board::memory(&config, &System::OPEN, None))[..] else {
        panic!("one hazard")
    };
    assert!(!judged.differs(), "{judged:?}");
}

/// Commands of the accumulators on few addresses, and instructions that may be between them.
fn any_op() -> impl Strategy<Value = Op> {
    let address = || prop_oneof![4 => 0_u64..3, 1 => 0_u64..12];
    let size = || prop_oneof![4 => Just(1_u64), 1 => 1_u64..6];
    let sub = |op, left, right| SimdSub { op, left, right, destination: 0 };
    prop_oneof![
        4 => (any::<bool>(), any::<bool>(), address(), size()).prop_map(|(accumulate, zeroes, address, size)| {
            Op::MatMul { accumulate, zeroes, local: at(0), accumulator: at(address), size }
        }),
        3 => (0_usize..3, address(), size()).prop_map(|(kind, address, size)| {
            moves(DataMoveKind::ALL[4 + kind], 16, address, size)
        }),
        3 => (0_usize..4, any::<bool>(), address(), address()).prop_map(move |(form, accumulate, from, to)| {
            let (read, write) = (form & 1 == 1, form & 2 == 2);
            let sub = if read { sub(SimdOp::Max, 0, 1) } else { sub(SimdOp::Max, 1, 1) };
            Op::Simd { read, write, accumulate, write_address: to, read_address: from, sub }
        }),
        2 => (any::<bool>(), 1_u64..12).prop_map(|(zeroes, rows)| weights(zeroes, rows)),
        1 => (0_usize..4, 1_u64..5).prop_map(|(kind, size)| moves(DataMoveKind::ALL[kind], 32, 32, size)),
        1 => Just(Op::NoOp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// With any memory, the order of the commands shows every lost write.
    #[test]
    fn nothing_else_is_lost(ops in prop::collection::vec(any_op(), 1..120), latency in 0_u64..40, preset in 0_usize..4) {
        let preset = ["speech_robot", "zcu104", "cmoda7", "ultra96v2"][preset];
        let config = Config::preset(preset).unwrap();
        let params = ClockParams { axi_bits: 64, ..ClockParams::with_latency(latency) };
        let found = Clock::new(&config, params).unwrap().run(&ops).lost;
        let shown = hazards(&ops);
        for lost in found {
            let same = |hazard: &&Hazard| hazard.second == lost.second;
            let hazard = shown.iter().find(same);
            prop_assert_eq!(hazard.map(|h| (h.first, h.address)), Some((lost.first, lost.address)), "{:?}", lost);
        }
    }
}
