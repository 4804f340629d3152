//! Tests of the clock with formulas from the notes on simulated hardware, and with properties that
//! need no measurement. The measurements themselves are checked by `conform`.

use npukit_tcu::internals::clock::{Clock, Slice, Stall, StuckForm, Timeline, Unit};
use npukit_tcu::internals::config::{ClockError, ClockParams};
use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::internals::samples::{Port, Sample};
use npukit_tcu::{
    Config, Machine, Memory, Reading, Register, Severity, decode_program, encode_program, validate,
};
use proptest::prelude::*;

const AT: Strided = Strided { address: 0, stride_log2: 0 };

fn clock(preset: &str, latency: u64) -> Clock {
    Clock::new(&Config::preset(preset).unwrap(), ClockParams::with_latency(latency)).unwrap()
}

fn moves(kind: DataMoveKind, stride_log2: u32, size: u64) -> Op {
    Op::DataMove { kind, local: AT, other: Strided { address: 0, stride_log2 }, size }
}

fn mat_mul(size: u64) -> Op {
    Op::MatMul { accumulate: false, zeroes: false, local: AT, accumulator: AT, size }
}

fn simd(read: bool, write: bool, op: SimdOp, left: u8, right: u8) -> Op {
    let sub = SimdSub { op, left, right, destination: 0 };
    Op::Simd { read, write, accumulate: false, write_address: 0, read_address: 0, sub }
}

/// Returns the cycles for which the decoder holds the last instruction.
fn held(timeline: &Timeline) -> u64 {
    let [.., before, last] = timeline.accept[..] else { panic!("two instructions") };
    last - before
}

#[test]
fn a_contiguous_read_takes_its_beats_and_the_latency() {
    for (preset, beats, extra) in [("speech_robot", 1, 0), ("ultra96v2", 2, 1), ("zcu104", 4, 1)] {
        for (n, latency) in [(1, 1), (3, 18), (64, 28), (500, 40)] {
            let read = moves(DataMoveKind::Dram1ToLocal, 0, n);
            let timeline = clock(preset, latency).run(&[Op::NoOp, read]);
            assert_eq!(held(&timeline), n * beats + latency + 4 + extra, "{preset}, {n}, {latency}");
        }
    }
}

#[test]
fn a_strided_read_has_three_bursts_under_way() {
    for (preset, beats, extra) in [("speech_robot", 1, 0), ("zcu104", 4, 1)] {
        for (n, latency) in [(1, 1), (3, 18), (64, 28), (125, 40)] {
            let read = moves(DataMoveKind::Dram0ToLocal, 1, n);
            let period = (3 * beats).max(latency + beats);
            let cycles = latency + 4 + extra + beats + period * ((n - 1) / 3) + beats * ((n - 1) % 3);
            let timeline = clock(preset, latency).run(&[Op::NoOp, read]);
            assert_eq!(held(&timeline), cycles, "{preset}, {n}, {latency}");
        }
    }
}

#[test]
fn a_wider_bus_takes_fewer_beats() {
    let config = Config::preset("zcu104").unwrap();
    let params = ClockParams { axi_bits: 512, ..ClockParams::with_latency(18) };
    let timeline = Clock::new(&config, params).unwrap().run(&[moves(DataMoveKind::Dram0ToLocal, 0, 300)]);
    assert_eq!(timeline.traffic[0].read_beats, 300);
    // 64 vectors fill 4 KiB, and no burst may cross a 4 KiB boundary.
    assert_eq!(timeline.traffic[0].read_bursts, 5);
}

#[test]
fn weights_wait_for_the_last_result() {
    let load = Op::LoadWeights { zeroes: true, local: AT, size: 9 };
    let timeline = clock("speech_robot", 1).run(&[mat_mul(16), load, mat_mul(1)]);
    // Rows take cycles 3 to 18, results last until cycle 33, weights take cycles 34 to 42.
    assert_eq!(timeline.last.weight_load, 42);
    assert_eq!(timeline.busy.weight_rows, 9);
    assert!(timeline.stalls.of(Stall::ArrayForResults) >= 15, "{:?}", timeline.stalls);
}

#[test]
fn a_bus_that_is_none_and_a_vector_that_is_longer_than_a_burst_are_refused() {
    let config = |array_size| Config { array_size, ..Config::preset("speech_robot").unwrap() };
    let clock = |array_size, axi_bits| {
        Clock::new(&config(array_size), ClockParams { axi_bits, ..ClockParams::with_latency(1) }).map(|_| ())
    };
    assert_eq!(clock(8, 100), Err(ClockError::Bus { axi_bits: 100 }));
    assert_eq!(clock(256, 8), Err(ClockError::Beats { vector_bits: 4096, axi_bits: 8 }));
    // A 256-bit word holds two vectors of 128 bits.
    assert_eq!(clock(8, 256), Ok(()));
}

#[test]
fn a_hang_names_the_instruction_and_the_form() {
    let stuck = simd(false, true, SimdOp::Move, 1, 0);
    let mut ops = vec![Op::NoOp, stuck];
    ops.extend(vec![simd(true, true, SimdOp::Max, 0, 0); 40]);
    let timeline = clock("speech_robot", 1).run(&ops);
    let hang = timeline.hang.unwrap();
    // The commands are the waiting one, one after it, and 16 in the queue. The next command is
    // never accepted.
    assert_eq!(hang.instruction, 1 + 1 + 1 + 16);
    assert_eq!((hang.unit, hang.stuck), (Unit::Accumulator, Some((1, StuckForm::InputMissing))));
    assert!(hang.to_string().contains("instruction 1 (SIMD) is never completed"), "{hang}");
    assert_eq!(timeline.accept.len(), hang.instruction);
}

/// The forms of specification 4.1, after one that completes.
#[test]
fn each_stuck_form_is_named_with_its_reason() {
    use SimdOp::{Max, Move, NoOp, Zero};
    let completes = simd(true, true, Max, 0, 1);
    for (stuck, form, reason) in [
        (simd(true, true, Move, 1, 1), StuckForm::InputUnused, "reads an input that neither source uses"),
        (simd(true, false, Move, 1, 2), StuckForm::InputUnused, "reads an input that neither source uses"),
        (simd(true, true, Zero, 0, 0), StuckForm::InputUnused, "reads an input that neither source uses"),
        (
            simd(false, true, Move, 1, 0),
            StuckForm::InputMissing,
            "a source is the input, even if the operation ignores it",
        ),
        (
            simd(false, true, Max, 0, 1),
            StuckForm::InputMissing,
            "a source is the input, even if the operation ignores it",
        ),
        (simd(true, false, NoOp, 0, 0), StuckForm::NoOpMoves, "a NoOp with the read or write flag waits"),
        (simd(false, true, NoOp, 0, 0), StuckForm::NoOpMoves, "a NoOp with the read or write flag waits"),
    ] {
        let harmless = [completes, simd(false, false, NoOp, 0, 0), simd(false, true, Zero, 0, 0)];
        let ops = [&harmless[..], &[stuck], &vec![completes; 60]].concat();
        let hang = clock("speech_robot", 1).run(&ops).hang.unwrap_or_else(|| panic!("{stuck:?}"));
        assert_eq!(hang.stuck, Some((3, form)), "{stuck:?}");
        assert!(hang.to_string().contains(reason), "{hang}");
    }
}

/// Work of the units, counted manually.
#[test]
fn work_is_counted_by_unit() {
    let accumulate = Op::MatMul { accumulate: true, zeroes: false, local: AT, accumulator: AT, size: 4 };
    let ops = [
        moves(DataMoveKind::Dram0ToLocal, 0, 5),
        Op::LoadWeights { zeroes: false, local: AT, size: 3 },
        mat_mul(4),
        accumulate,
        moves(DataMoveKind::AccumulatorToLocal, 0, 2),
        moves(DataMoveKind::LocalToAccumulator, 0, 3),
        simd(true, true, SimdOp::Max, 0, 1),
        simd(false, true, SimdOp::Zero, 0, 0),
        moves(DataMoveKind::LocalToDram1, 0, 2),
    ];
    let busy = clock("speech_robot", 18).run(&ops).busy;
    assert_eq!((busy.array_rows, busy.weight_rows), (4 + 4, 3));
    // In order: writes of both products, reads of two vectors, writes of three, a read and a write,
    // a write.
    assert_eq!((busy.accumulator_accesses, busy.simd_operations), (8 + 2 + 3 + 2 + 1, 2));
    assert_eq!(busy.dram_vectors, 5 + 2);
    // In order: weights and inputs are read, two vectors are written, three are read.
    assert_eq!(busy.local_a_accesses, 3 + 8 + 2 + 3);
}

/// Vectors of 16 beats: the converter makes bursts of at most 256 beats, which are split at 4 KiB
/// boundaries.
#[test]
fn bursts_are_of_256_beats_and_within_4_kib() {
    let config = Config::preset("zcu104").unwrap();
    let run = |address: u64, size: u64, kind: DataMoveKind, bits: u32| {
        let params = ClockParams { axi_bits: bits, ..ClockParams::with_latency(18) };
        let op = Op::DataMove { kind, local: AT, other: Strided { address, stride_log2: 0 }, size };
        Clock::new(&config, params).unwrap().run(&[op]).traffic[0]
    };
    // A vector has 64 bytes.
    for (bits, beats) in [(512, 1), (128, 4), (32, 16)] {
        for size in [1, 16, 17, 64, 65, 300] {
            for address in [0, 1, 63, 64, 100] {
                let literal = bursts(address * 64, size * beats, u64::from(bits / 8), beats);
                let read = run(address, size, DataMoveKind::Dram0ToLocal, bits);
                assert_eq!((read.read_beats, read.write_beats), (size * beats, 0));
                assert_eq!(read.read_bursts, literal, "{size} vectors of {beats} beats from {address}");
                let written = run(address, size, DataMoveKind::LocalToDram0, bits);
                assert_eq!((written.read_beats, written.write_beats), (0, size * beats));
                assert_eq!(written.write_bursts, literal, "{size} vectors of {beats} beats to {address}");
            }
        }
    }
}

#[test]
fn a_burst_may_end_a_byte_behind_4_kib() {
    // Vectors have six bytes, and a beat has one byte. The vectors before vector 682 have 4092
    // bytes.
    let config = Config { array_size: 3, ..Config::preset("speech_robot").unwrap() };
    let params = ClockParams { axi_bits: 8, ..ClockParams::with_latency(18) };
    let clock = Clock::new(&config, params).unwrap();
    for kind in [DataMoveKind::Dram0ToLocal, DataMoveKind::LocalToDram0] {
        for (address, size) in [(681, 1), (682, 1), (682, 2), (681, 2)] {
            let op = Op::DataMove { kind, local: AT, other: Strided { address, stride_log2: 0 }, size };
            let [traffic, _] = clock.run(&[op]).traffic;
            let counted = traffic.read_bursts + traffic.write_bursts;
            assert_eq!(counted, bursts(address * 6, size * 6, 1, 6), "{kind:?} {size} from {address}");
            assert_eq!(counted, if address + size == 684 { 2 } else { 1 }, "{kind:?} {size} from {address}");
        }
    }
}

/// Only the released circuit does not split a burst if its last beat begins on the boundary.
#[test]
fn our_bursts_end_at_4_kib() {
    // Vectors have 16 bytes and take one beat each.
    let config = Config::preset("pynqz1").unwrap();
    let bursts = |crosses_by_a_beat: bool, address: u64, size: u64, kind: DataMoveKind| {
        let params = ClockParams { crosses_by_a_beat, ..ClockParams::with_latency(18) };
        let op = Op::DataMove { kind, local: AT, other: Strided { address, stride_log2: 0 }, size };
        let [traffic, _] = Clock::new(&config, params).unwrap().run(&[op]).traffic;
        traffic.read_bursts + traffic.write_bursts
    };
    for kind in [DataMoveKind::Dram0ToLocal, DataMoveKind::LocalToDram0] {
        for (address, size, whole, split) in [(255, 2, 1, 2), (254, 2, 1, 1), (255, 3, 2, 2), (1, 256, 1, 2)]
        {
            assert_eq!(bursts(true, address, size, kind), whole, "{kind:?} {size} from {address}");
            assert_eq!(bursts(false, address, size, kind), split, "{kind:?} {size} from {address}");
        }
    }
}

/// Returns the number of bursts for `beats` beats of `bytes` bytes, starting at byte `from`. The
/// converter makes parts of at most 256 beats of whole vectors. The splitter keeps a part whole if
/// it ends within 4 KiB, or if its last beat begins at the boundary or one byte after it
/// (specification, 9.1).
fn bursts(from: u64, beats: u64, bytes: u64, beats_per_vector: u64) -> u64 {
    let longest = (256 / beats_per_vector).max(1) * beats_per_vector;
    let mut count = 0;
    let mut first = 0;
    while first < beats {
        let length = longest.min(beats - first);
        let start = from + first * bytes;
        let last = start % 4096 + (length - 1) * bytes;
        let is_whole = last <= 4097;
        count += if is_whole { 1 } else { (start + length * bytes).div_ceil(4096) - start / 4096 };
        first += length;
    }
    count
}

/// State after a hang: the flag rises when the decoder has held the instruction for the register's
/// number of cycles, and events that never happen are not counted.
#[test]
fn a_hang_ends_with_what_happened_before_it() {
    use SimdOp::{Max, Move, NoOp};
    let before = [moves(DataMoveKind::Dram0ToLocal, 0, 4), mat_mul(4)];
    let alone = clock("speech_robot", 18).run(&before);
    let timeout = 300;
    for stuck in [simd(false, true, NoOp, 0, 0), simd(true, false, NoOp, 0, 0), simd(true, true, Move, 1, 1)]
    {
        let set = Op::Configure { register: 0x8, value: timeout };
        let behind = vec![moves(DataMoveKind::AccumulatorToLocal, 0, 1); 40];
        let ops = [&before[..], &[set, stuck], &behind, &[simd(true, true, Max, 0, 1)]].concat();
        let timeline = clock("speech_robot", 18).run(&ops);
        assert!(timeline.hang.is_some(), "{stuck:?}");
        let from = timeline.accept[timeline.accept.len() - 1] + 1;
        assert_eq!(timeline.timeout.last, from + u64::from(timeout), "{stuck:?}");
        assert_eq!(timeline.last, alone.last, "{stuck:?}");
    }
}

#[test]
fn a_meter_counts_what_a_run_of_the_same_instructions_takes() {
    let ops = [
        moves(DataMoveKind::Dram0ToLocal, 0, 5),
        mat_mul(4),
        Op::NoOp,
        simd(true, true, SimdOp::Max, 0, 1),
        moves(DataMoveKind::LocalToDram1, 0, 2),
    ];
    let clock = clock("speech_robot", 18);
    let mut meter = clock.meter();
    for count in 1..=ops.len() {
        meter.push(&ops[count - 1]);
        assert_eq!(meter.cycles(), clock.run(&ops[..count]).total, "{count} instructions");
    }
}

/// The accumulators and the ALUs work only for instructions that use them.
#[test]
fn slices_of_simd_instructions() {
    use SimdOp::{Max, NoOp, Zero};
    let (accumulator, alu) = (Unit::Accumulator, Unit::Alu);
    for (op, units) in [
        (simd(false, false, NoOp, 0, 0), vec![]),
        (simd(false, false, Zero, 0, 0), vec![alu]),
        (simd(false, true, Zero, 0, 0), vec![accumulator, alu]),
        (simd(true, false, Max, 0, 1), vec![accumulator, alu]),
        (simd(true, true, Max, 0, 1), vec![accumulator, alu]),
    ] {
        let (_, slices) = slices(&clock("speech_robot", 1), &[op]);
        let found: Vec<_> =
            slices.iter().map(|slice| slice.unit).filter(|unit| *unit != Unit::Decoder).collect();
        assert_eq!(found, units, "{op:?}");
    }
}

/// With a sample in every cycle, a handshake is seen valid and ready as often as a transfer took
/// place.
#[test]
fn samples_of_every_cycle_count_what_passed() {
    let ops = [
        moves(DataMoveKind::Dram0ToLocal, 0, 5),
        moves(DataMoveKind::Dram1ToLocal, 1, 3),
        Op::LoadWeights { zeroes: false, local: AT, size: 3 },
        mat_mul(20),
        simd(true, true, SimdOp::Max, 0, 1),
        moves(DataMoveKind::AccumulatorToLocal, 0, 2),
        moves(DataMoveKind::LocalToDram0, 0, 2),
        Op::NoOp,
    ];
    let mut samples = Vec::new();
    let timeline = clock("speech_robot", 18).run_sampled(&ops, 1, 1, &mut |sample| samples.push(sample));
    let passed =
        |port| samples.iter().filter(|sample| sample.valid(port) && sample.ready(port)).count() as u64;
    assert_eq!(passed(Port::LocalB), timeline.busy.dram_vectors);
    assert_eq!(passed(Port::LocalA), timeline.busy.local_a_accesses);
    assert_eq!((passed(Port::Array), passed(Port::Accumulator)), (3 + 20, 20 + 1 + 2));
    // A contiguous transfer takes one request; a strided transfer takes one per vector.
    assert_eq!((passed(Port::Dram0), passed(Port::Dram1)), (2, 3));
    assert_eq!((passed(Port::Instruction), passed(Port::Dataflow)), (8, 3));
}

/// An instruction without routes finds the router ready, although rows of an earlier MatMul still
/// leave local memory.
#[test]
fn the_router_is_ready_for_what_routes_nothing() {
    let mut ops = vec![simd(true, true, SimdOp::Max, 0, 1); 8];
    ops.extend([mat_mul(2), moves(DataMoveKind::Dram0ToLocal, 0, 1)]);
    let mut samples = Vec::new();
    let timeline = clock("speech_robot", 1).run_sampled(&ops, 1, 1, &mut |sample| samples.push(sample));
    let [.., before, last] = timeline.accept[..] else { panic!("ten instructions") };
    for at in before + 1..=last {
        assert!(samples[at as usize].ready(Port::Dataflow), "cycle {at}");
    }
}

#[test]
fn what_needs_no_accumulators_passes_a_stuck_form() {
    let mut ops = vec![simd(false, true, SimdOp::Move, 1, 0); 18];
    ops.push(moves(DataMoveKind::Dram0ToLocal, 0, 64));
    assert_eq!(clock("speech_robot", 1).run(&ops).hang, None);
}

/// Any instruction that does not hang.
pub fn any_op() -> impl Strategy<Value = Op> {
    let strided =
        || (0_u64..2000, 0_u32..4).prop_map(|(address, stride_log2)| Strided { address, stride_log2 });
    let size = || 1_u64..40;
    let flags = || (any::<bool>(), any::<bool>());
    prop_oneof![
        Just(Op::NoOp),
        (flags(), strided(), strided(), size()).prop_map(
            |((accumulate, zeroes), local, accumulator, size)| {
                Op::MatMul { accumulate, zeroes, local, accumulator, size }
            }
        ),
        (any::<bool>(), strided(), size()).prop_map(|(zeroes, local, size)| Op::LoadWeights {
            zeroes,
            local,
            size
        }),
        (0_usize..7, strided(), strided(), size()).prop_map(|(kind, local, other, size)| Op::DataMove {
            kind: DataMoveKind::ALL[kind],
            local,
            other,
            size
        }),
        (any::<bool>(), any::<bool>(), 1_u8..2).prop_map(|(read, write, register)| {
            simd(read, write, SimdOp::Max, if read { 0 } else { register }, register)
        }),
    ]
}

proptest! {
    #[test]
    fn the_future_does_not_change_the_past(ops in prop::collection::vec(any_op(), 1..60), latency in 1_u64..40) {
        let clock = clock("zcu104", latency);
        let whole = clock.run(&ops);
        let part = clock.run(&ops[..ops.len() / 2]);
        prop_assert_eq!(whole.hang, None);
        prop_assert_eq!(&whole.accept[..part.accept.len()], &part.accept[..]);
        prop_assert!(whole.accept.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn offsets_take_no_time(ops in prop::collection::vec(any_op(), 1..40), offset in 0_u32..1 << 28) {
        let with = |value| {
            let set = [0x0, 0x4].map(|register| Op::Configure { register, value });
            clock("zcu104", 18).run(&[&set[..], &ops].concat())
        };
        prop_assert_eq!(with(0), with(offset));
    }

    #[test]
    fn every_held_cycle_is_charged_to_a_unit(ops in prop::collection::vec(any_op(), 1..60)) {
        let timeline = clock("ultra96v2", 18).run(&ops);
        let waits: u64 = timeline.waits.iter().sum();
        // The first instruction reaches the decoder in cycle 2, and each takes at least one cycle.
        prop_assert_eq!(timeline.accept.last().unwrap() + 1, 2 + ops.len() as u64 + waits);
    }
}

/// Returns all slices of a run.
fn slices(clock: &Clock, ops: &[Op]) -> (Timeline, Vec<Slice>) {
    let mut slices = Vec::new();
    let timeline = clock.run_observed(ops, &mut |slice| slices.push(slice));
    (timeline, slices)
}

#[test]
fn slices_say_who_worked_when() {
    let (_, slices) =
        slices(&clock("speech_robot", 1), &[mat_mul(16), moves(DataMoveKind::Dram0ToLocal, 0, 4)]);
    let shown: Vec<_> = slices.iter().map(|s| (s.instruction, s.unit, s.start, s.end)).collect();
    let expected = [
        (0, Unit::Decoder, 2, 17),
        (0, Unit::LocalA, 2, 17),
        (0, Unit::Array, 3, 18),
        (0, Unit::Accumulator, 18, 33),
        (1, Unit::Decoder, 18, 26),
        (1, Unit::LocalB, 23, 26),
        (1, Unit::Dram0Read, 21, 24),
    ];
    assert_eq!(shown, expected);
}

proptest! {
    #[test]
    fn slices_of_a_unit_do_not_overlap(ops in prop::collection::vec(any_op(), 1..60), latency in 1_u64..40) {
        let (_, slices) = slices(&clock("zcu104", latency), &ops);
        for unit in Unit::ALL {
            let of_unit: Vec<_> = slices.iter().filter(|slice| slice.unit == unit).collect();
            prop_assert!(of_unit.iter().all(|slice| slice.start <= slice.end));
            prop_assert!(of_unit.windows(2).all(|pair| pair[0].end < pair[1].start), "{unit}: {of_unit:?}");
        }
    }
}

/// The router is ready, with nothing offered, if another instruction like the held one could be
/// routed.
#[test]
fn the_routers_ready_is_that_of_the_instruction_held() {
    let matmul = mat_mul(64);
    let ops =
        [moves(DataMoveKind::Dram0ToLocal, 0, 64), matmul, moves(DataMoveKind::AccumulatorToLocal, 0, 16)];
    let mut samples = Vec::new();
    let clock = clock("speech_robot", 18);
    let timeline = clock.run_sampled(&ops, 1, 1, &mut |sample| samples.push(sample));
    let ready = |from: u64, until: u64| {
        let held = &samples[from as usize..=until as usize];
        let idle = held.iter().filter(|sample| !sample.valid(Port::Dataflow));
        idle.map(|sample| sample.ready(Port::Dataflow)).collect::<Vec<_>>()
    };
    let [read, multiplied, moved] = timeline.accept[..] else { panic!("three instructions") };
    assert!(ready(2, read).iter().all(|ready| *ready), "a read of DRAM routes nothing here");
    assert_eq!(ready(read + 1, multiplied), vec![false; 63], "rows still leave local memory");
    let last = ready(multiplied + 1, moved);
    assert_eq!(
        last.iter().position(|ready| *ready),
        Some(last.len() - 1),
        "until the last vector is written"
    );
}

/// Addresses of writes are created after a Configure of the offset, so these bursts go to the new
/// window.
#[test]
fn an_offset_moves_writes_that_are_queued() {
    let write = |stride_log2, size| moves(DataMoveKind::LocalToDram0, stride_log2, size);
    let offset = |value| Op::Configure { register: 0x0, value };
    let read = moves(DataMoveKind::Dram0ToLocal, 0, 1);
    let moved = |ops: &[Op]| {
        let found = [0, 18, 60].map(|latency| clock("speech_robot", latency).run(ops).moved.len());
        (found.into_iter().max().unwrap(), validate(&Config::preset("speech_robot").unwrap(), ops))
    };
    for ops in [vec![write(1, 3), offset(1)], vec![write(0, 1), write(0, 1), write(0, 1), offset(1)]] {
        let (count, problems) = moved(&ops);
        assert_eq!(count, 1, "{ops:?}");
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!((problem.lint.code, problem.instruction), ("moved-writes", ops.len() - 1));
    }
    for ops in [
        vec![write(1, 3), read, offset(1)],
        vec![write(1, 3), offset(0)],
        vec![write(1, 3), Op::Configure { register: 0x4, value: 1 }],
        // The address of a single write is created while the decoder holds the next instruction.
        vec![write(0, 1), offset(1)],
    ] {
        assert_eq!(moved(&ops), (0, vec![]), "{ops:?}");
    }
}

/// The instruction has 28 bits for a value; the registers have 4, 16 and 32. A value that does not
/// fit in the instruction is refused; one that does not fit in the register is truncated to the low
/// bits, with a warning.
#[test]
fn values_that_a_register_cuts_are_warned_of() {
    let config = Config::preset("speech_robot").unwrap();
    for (name, register, largest) in [
        ("dram0_offset", Register::Dram0Offset, 0xFFFF),
        ("dram1_cache", Register::Dram1Cache, 0xF),
        ("sample_interval", Register::SampleInterval, 0xFFFF),
    ] {
        let op = |value| Op::Configure { register: register as u8, value };
        assert_eq!(validate(&config, &[op(largest)]), [], "{name}");
        let [problem] = &validate(&config, &[op(largest + 3)])[..] else { panic!("{name}") };
        assert_eq!((problem.lint.code, problem.severity), ("cut-value", Severity::Warning));
        assert!(
            problem.reason.starts_with(name) && problem.reason.contains("it takes only 0x2 of "),
            "{problem:?}"
        );
        let mut machine = Machine::new(&config).unwrap();
        machine.step(&op(largest + 3)).unwrap();
        assert_eq!(machine.configuration().get(register), 2);
    }
}

#[test]
fn registers_of_the_page_hold_32_bits() {
    let released = Config::preset("speech_robot").unwrap();
    let seed = Config { reading: Reading::Seed, ..released.clone() };
    let op = |register, value| Op::Configure { register: register as u8, value };
    for register in [Register::Dram0Offset, Register::Tracepoint, Register::ProgramCounter] {
        assert!(encode_program(&released, &[op(register, 0x0FFF_FFFF)]).is_ok());
        let error = encode_program(&released, &[op(register, 0x1000_0000)]).unwrap_err().to_string();
        assert!(error.contains("0 to 268435455"), "{error}");
        let ops = [op(register, u32::MAX - 1)];
        assert_eq!(decode_program(&seed, &encode_program(&seed, &ops).unwrap()).unwrap(), ops);
        assert_eq!(validate(&seed, &ops), []);
        let mut machine = Machine::new(&seed).unwrap();
        machine.step(&ops[0]).unwrap();
        assert_eq!(machine.configuration().get(register), u32::MAX - 1);
    }
    // The address of 2^32 units of 64 KiB must not wrap around.
    let mut machine = Machine::new(&seed).unwrap();
    machine.write(Memory::Dram0, 0, &[1; 8]).unwrap();
    machine.step(&op(Register::Dram0Offset, 0x1_0000)).unwrap();
    assert_eq!(machine.read(Memory::Dram0, 0, 1).unwrap(), [0; 8]);
}

/// Measured on `rtl/` with memory that answers after one cycle. In the first program a load does
/// not wait for a lookup, in the second it waits for one that ends as the load comes, and in the
/// last products wait for lookups.
#[test]
fn lookups_take_the_cycles_of_the_circuit() {
    let config = Config::preset("pynqz1").unwrap().with_lookup(2);
    let clock = Clock::new(&config, ClockParams::with_latency(1)).unwrap();
    for (text, cycles) in [
        (
            "loadlut local[0], table 0, 1
             loadlut local[1], table 1, 1
             loadlut local[2], table 2, 1
             simd out = lookup(in), read acc[0], write acc[1]
             datamove local[3] <- acc[1], 1",
            21,
        ),
        (
            "loadlut local[0], table 0, 3
             loadlut local[3], table 1, 3
             loadlut local[6], table 2, 3
             simd r1 = lookup(in), read acc[0]
             simd r1 = add(r1, r2), write.acc acc[1]
             simd r1 = lookup(r1), write acc[2]
             loadlut local[9 @2^1], table 1, 3
             simd out = lookup(r1), write acc[3]
             datamove local[12] <- acc[3], 1",
            108,
        ),
        (
            "loadlut local[0], table 0, 2
             loadlut local[2], table 1, 2
             loadlut local[4], table 2, 2
             matmul local[0], acc[0], 6
             simd out = lookup(in), read acc[0], write acc[0]
             simd out = lookup(in), read acc[1], write acc[1]
             simd out = max(in, r1), read acc[2], write acc[2]
             matmul local[0], acc[8], 4
             simd out = lookup(in), read acc[8], write.acc acc[2]",
            103,
        ),
    ] {
        let words = npukit_asm::assemble(&npukit_tcu::isa(&config), "p.s", text).unwrap().bytes;
        let ops = decode_program(&config, &words).unwrap();
        assert_eq!(clock.run(&ops).total, cycles, "{text}");
        // The comparison also covers a meter with known states of the same instructions.
        let [mut literal, mut known] = [clock.meter(), clock.meter()];
        let twice = ops.repeat(2);
        twice.iter().for_each(|op| literal.push(op));
        for _ in 0..2 {
            known.run(&ops);
        }
        assert_eq!(known.cycles(), literal.cycles(), "{text}");
    }
}

/// A write's first beat comes four cycles after the decoder offers it, then one per cycle, also
/// after a burst of 256. The response comes after the last beat with the latency of the memory.
#[test]
fn writes_are_on_the_bus_when_the_notes_say() {
    for (preset, beats) in [("speech_robot", 1), ("ultra96v2", 2), ("zcu104", 4)] {
        for latency in [1, 18, 28] {
            for n in [1, 2, 5, 255, 256, 257, 513] {
                let write = moves(DataMoveKind::LocalToDram0, 0, n);
                let timeline = clock(preset, latency).run(&[Op::NoOp, write]);
                let last = timeline.accept[0] + 1 + 4 + n * beats - 1;
                let found = (timeline.last.axi_write, timeline.last.write_response);
                assert_eq!(found, (last, last + latency), "{preset}, {n} vectors, latency {latency}");
            }
        }
    }
}

/// Buffers absorb six vectors of four beats.
#[test]
fn a_write_of_four_beats_a_vector_holds_the_decoder_as_measured() {
    for n in [7, 8, 9, 20, 31] {
        let write = moves(DataMoveKind::LocalToDram0, 0, n);
        let cycles = if n % 2 == 0 { 4 * n - 18 } else { 4 * n - 15 };
        assert_eq!(held(&clock("zcu104", 1).run(&[Op::NoOp, write])), cycles, "{n} vectors");
    }
}

/// The responses release the next bursts.
#[test]
fn a_strided_write_has_three_bursts_under_way() {
    for (preset, beats) in [("speech_robot", 1), ("zcu104", 4)] {
        for latency in [1, 8, 20, 28] {
            let last = |n| {
                let write = moves(DataMoveKind::LocalToDram0, 1, n);
                clock(preset, latency).run(&[Op::NoOp, write]).last.axi_write
            };
            for n in [30, 31, 32] {
                let period = (3 * beats).max(latency + beats);
                assert_eq!(last(n + 3) - last(n), period, "{preset}, {n}, {latency}");
            }
        }
    }
}

/// At a latency of one cycle, five cycles for four of them.
#[test]
fn single_vectors_are_written_in_a_row() {
    let last = |n| {
        let ops = vec![moves(DataMoveKind::LocalToDram0, 0, 1); n];
        clock("speech_robot", 1).run(&ops).last.axi_write
    };
    assert_eq!(last(180) - last(80), 125);
}

/// A read comes as long after the response to the previous write as the notes specify, and
/// otherwise waits only for memory.
#[test]
fn a_read_waits_for_the_response_to_the_write_before_it() {
    for (preset, beats, extra) in [("speech_robot", 1, 0), ("zcu104", 4, 1)] {
        for (n, latency) in [(1, 1), (3, 18), (8, 28), (16, 28)] {
            let pair = [moves(DataMoveKind::LocalToDram0, 0, n), moves(DataMoveKind::Dram0ToLocal, 0, n)];
            let timeline = clock(preset, latency).run(&[pair, pair, pair].concat());
            let period = timeline.accept[5] - timeline.accept[3];
            assert_eq!(period, 2 * n * beats + 2 * latency + 9 + extra, "{preset}, {n}, {latency}");
            let waits = [Stall::Latency, Stall::Responses, Stall::ReadsUnderWay, Stall::WritesUnderWay];
            let waits = waits.map(|stall| timeline.dram_stalls[0].of(stall));
            assert_eq!(waits, [3 * latency, 3 * (latency + 3), 0, 0], "{preset}, {n}, {latency}");
        }
    }
}

/// Starting at the first address, until the last beat of a write, or until a read is in local
/// memory.
#[test]
fn every_cycle_of_the_bus_is_a_beat_or_a_wait() {
    use DataMoveKind::{Dram0ToLocal, LocalToDram0};
    // After vector 255 of the smallest instance, a burst continues in the next 4 KiB.
    for (kind, address, stride_log2) in [Dram0ToLocal, LocalToDram0]
        .into_iter()
        .flat_map(|kind| [(kind, 0, 0), (kind, 255, 0), (kind, 0, 1), (kind, 0, 2)])
    {
        for (preset, beats) in [("speech_robot", 1), ("ultra96v2", 2), ("zcu104", 4)] {
            for (latency, n) in
                [0, 1, 4, 18, 40].into_iter().flat_map(|l| [1, 2, 3, 4, 7, 20, 130].map(|n| (l, n)))
            {
                let other = Strided { address, stride_log2 };
                let transfer = Op::DataMove { kind, local: AT, other, size: n };
                let timeline = clock(preset, latency).run(&[Op::NoOp, transfer]);
                let waits = [Stall::Latency, Stall::ReadsUnderWay, Stall::WritesUnderWay];
                let waits: u64 = waits.map(|stall| timeline.dram_stalls[0].of(stall)).iter().sum();
                let (end, around) = match kind {
                    LocalToDram0 => (timeline.last.axi_write, 4),
                    _ => (timeline.accept[1], if beats == 1 { 4 } else { 5 }),
                };
                let all = end - timeline.accept[0];
                assert_eq!(all, around + n * beats + waits, "{kind:?}, {preset}, {address}, {latency}, {n}");
            }
        }
    }
}

/// The address of the second part follows one cycle after the splitter accepts the burst. It
/// accepts a third burst when the first has ended.
#[test]
fn the_second_part_of_a_read_follows_when_there_is_room_for_the_burst() {
    // A vector has 64 beats of 128 bytes, in two parts of 32 beats.
    let config = Config { array_size: 4096, ..Config::preset("speech_robot").unwrap() };
    for latency in [100, 300] {
        let params = ClockParams { axi_bits: 1024, ..ClockParams::with_latency(latency) };
        let clock = Clock::new(&config, params).unwrap();
        let accepted = |n| held(&clock.run(&[Op::NoOp, moves(DataMoveKind::Dram0ToLocal, 1, n)]));
        let first = 64 + latency + 5;
        assert_eq!((accepted(1), accepted(2)), (first, first + 64), "{latency}");
        // By then the first part has passed: address, latency and 32 beats.
        assert_eq!(accepted(3), first + (1 + latency + 32 - 1).max(2 * 64), "{latency}");
    }
}

/// Three strided writes starting in cycle 2 have beats in cycles 6, 7 and 8. The address of the
/// third is accepted with the response to the first. A fourth burst arrives two cycles after the
/// decoder offers it, and its address is accepted one cycle later.
#[test]
fn a_fourth_burst_waits_for_the_address_of_the_third() {
    for latency in [4, 20] {
        for pause in 0..=latency + 2 {
            let mut ops = vec![moves(DataMoveKind::LocalToDram0, 1, 3)];
            ops.extend(vec![Op::NoOp; pause as usize]);
            ops.push(moves(DataMoveKind::LocalToDram0, 0, 1));
            let timeline = clock("speech_robot", latency).run(&ops);
            let (offered, known) = (5 + pause, 6 + latency + 1);
            assert_eq!(timeline.last.axi_write, known.max(offered + 4), "{latency}, {pause}");
            let waits = timeline.dram_stalls[0].of(Stall::WritesUnderWay);
            // The third beat is after it.
            assert_eq!(waits, known.saturating_sub((offered + 2).max(9)), "{latency}, {pause}");
        }
    }
}

/// Data that arrived while the router was busy passes word by word.
#[test]
fn a_read_that_waited_for_the_router_goes_on_at_a_beat_a_cycle() {
    for (preset, beats) in [("speech_robot", 1), ("ultra96v2", 2), ("zcu104", 4)] {
        let accepted = |n| {
            let ops = [moves(DataMoveKind::LocalToDram0, 1, 18), moves(DataMoveKind::Dram1ToLocal, 0, n)];
            let params = ClockParams { read_latency: 2, ..ClockParams::with_latency(16) };
            let clock = Clock::new(&Config::preset(preset).unwrap(), params).unwrap();
            clock.run(&ops).accept[1]
        };
        for n in 2..5 {
            assert_eq!(accepted(n) - accepted(1), beats * (n - 1), "{preset}, {n}");
        }
    }
}

#[test]
fn the_router_hands_on_an_instruction_a_cycle() {
    for size in 1..40 {
        let ops = [
            Op::MatMul { accumulate: true, zeroes: false, local: AT, accumulator: AT, size },
            moves(DataMoveKind::LocalToAccumulator, 0, 1),
            moves(DataMoveKind::AccumulatorToLocal, 0, 25),
        ];
        let mut samples = Vec::new();
        clock("speech_robot", 1).run_sampled(&ops, 1, 1, &mut |sample| samples.push(sample));
        let passed = |sample: &&Sample| sample.valid(Port::Dataflow) && sample.ready(Port::Dataflow);
        assert_eq!(samples.iter().filter(passed).count(), 3, "{size}");
    }
}
