//! Distribution of cycles: everything adds up, traces are valid, samples are read back, and damage
//! and hangs are reported.

use std::collections::BTreeMap;

use npukit_target::{Compiled, HazardMode, ReadError, TargetError, TimeForm, TimeOptions, TimeReport};
use npukit_tcu::internals::artifact::write;
use npukit_tcu::internals::op::{DataMoveKind, SimdOp, SimdSub, Strided};
use npukit_tcu::internals::program::{Layer, MemoryUse, Program};
use npukit_tcu::internals::samples::{self, Port, Sample, SamplesError};
use npukit_tcu::{Config, Op, TCU};
use proptest::prelude::*;
use serde_json::Value;

use crate::clock::any_op;
use npukit_testing::{needs, shared};

/// Returns options for the times of the hardware, independent of results: random programs may lose
/// additions.
fn options(given: &[(&str, &str)]) -> TimeOptions {
    let options = given.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    TimeOptions { options, meaning: HazardMode::Hardware, ..TimeOptions::default() }
}

/// Returns a program as if read from files. `layers` has the number of instructions of each layer;
/// the remaining instructions are outside all layers.
fn program(preset: &str, instructions: Vec<Op>, layers: &[usize]) -> Box<dyn Compiled> {
    let mut first = 0;
    let layer = |(i, &count): (usize, &usize)| {
        first += count;
        Layer { name: format!("layer \"{i}\""), first: first - count, count, macs: 1000 * i as u64 }
    };
    let program = Program {
        name: format!("net_{preset}"),
        config: Config::preset(preset).unwrap(),
        instructions,
        constants: Vec::new(),
        load_consts_to_local: false,
        inputs: Vec::new(),
        outputs: Vec::new(),
        host_steps: Vec::new(),
        layers: layers.iter().enumerate().map(layer).collect(),
        memory: MemoryUse::default(),
        system: None,
        reading: npukit_target::ModelReading::new(),
    };
    let files: BTreeMap<_, _> = write(&program).unwrap().into_iter().map(|f| (f.name, f.bytes)).collect();
    let manifest = files.keys().find(|name| name.ends_with(".tmodel")).unwrap().clone();
    let reader = move |name: &str| {
        let absent = || ReadError::Absent { path: name.to_owned() };
        files.get(name).cloned().ok_or_else(absent)
    };
    TCU.load(&manifest, &reader).unwrap()
}

/// Returns a published program.
fn published(path: &str) -> Box<dyn Compiled> {
    let path = shared("golden/tcu/programs").join(path);
    let reader = |path: &str| std::fs::read(path).map_err(|error| ReadError::of(path, &error));
    TCU.load(path.to_str().unwrap(), &reader).unwrap()
}

const RESNET20: &str = "resnet20v2_zcu104/resnet20v2_cifar_onnx_zcu104.tmodel";
const SPEECH: &str = "speech_commands/speech_commands_onnx_speech_robot.tmodel";

fn time(program: &dyn Compiled, given: &[(&str, &str)]) -> TimeReport {
    program.time(&options(given)).unwrap()
}

/// Checks that layers, kinds and instructions add up to the total, and the decoder's time does.
fn check_sums(report: &TimeReport) {
    let total = report.cycles[&report.clock];
    assert_eq!(report.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), total);
    assert_eq!(report.instructions.iter().map(|instruction| instruction.cycles).sum::<u64>(), total);
    if !report.layers.is_empty() {
        assert_eq!(report.layers.iter().map(|layer| layer.cycles).sum::<u64>(), total);
        let instructions: usize = report.layers.iter().map(|layer| layer.instructions).sum();
        assert_eq!(instructions, report.instructions.len());
    }
    for unit in &report.units {
        let spent = unit.busy + unit.waits.iter().map(|wait| wait.cycles).sum::<u64>();
        assert!(spent <= total, "{unit:?} of {total}");
        assert!(unit.unit != "decoder" || spent == total || report.clock == "samples", "{unit:?} of {total}");
    }
}

fn few_ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any_op(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everything_adds_up(ops in few_ops(), preset in 0_usize..3, latency in 0_u64..40, clock in any::<bool>()) {
        let preset = ["zcu104", "ultra96v2", "speech_robot"][preset];
        let half = ops.len() / 2;
        let clock = if clock { "hw" } else { "estimator" };
        for layers in [&[][..], &[half], &[half, ops.len() - half]] {
            let report =
                time(&*program(preset, ops.clone(), layers), &[("latency", &latency.to_string()), ("clock", clock)]);
            prop_assert_eq!(&report.clock, clock);
            check_sums(&report);
        }
    }

    #[test]
    fn a_sample_a_cycle_is_the_model(ops in few_ops(), latency in 1_u64..40) {
        let program = program("zcu104", ops, &[]);
        let latency = latency.to_string();
        let given = [("latency", &latency[..]), ("sample-interval", "1")];
        let mut words = Vec::new();
        program.write_time(TimeForm::Samples, &options(&given), &mut words).unwrap();
        let report = program.time_samples("s", &words, &options(&given)).unwrap();
        check_sums(&report);
        let model = time(&*program, &given);
        // The driver's Configure takes one more cycle. Cycles after the program are not part of it.
        let cycles = |report: &TimeReport| report.instructions.iter().map(|i| i.cycles).collect::<Vec<_>>();
        let (from_samples, modeled) = (cycles(&report), cycles(&model));
        let inner = 1..modeled.len().max(2) - 1;
        prop_assert_eq!(&from_samples[inner.clone()], &modeled[inner]);
        if modeled.len() > 1 {
            prop_assert_eq!(from_samples[0] + 2, modeled[0], "two cycles until it is there");
        }
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn the_published_board_result_comes_out() {
    let program = published(RESNET20);
    let report = time(&*program, &[]);
    check_sums(&report);
    assert_eq!((report.clock.as_str(), report.cycles["hw"]), ("hw", 750_526));
    let measured = 7.49;
    let milliseconds = report.milliseconds.unwrap();
    println!(
        "published board result {measured} ms at {} MHz (zcu104): {milliseconds:.3} ms at latency 18",
        report.clock_mhz.unwrap()
    );
    assert!((milliseconds / measured - 1.0).abs() <= 0.01, "{milliseconds}");
    let said = report.assumptions.join("\n");
    assert!(said.contains("18 cycles") && said.contains("128 bits") && said.contains("ZCU104"), "{said}");
    // The latency is a time, so its number of cycles grows with the clock frequency.
    let fast = time(&*program, &[("clock-mhz", "200")]);
    assert_eq!(fast.cycles, time(&*program, &[("latency", "36")]).cycles);
    assert!(fast.assumptions.join("\n").contains("36 cycles"), "{:?}", fast.assumptions);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn latency_and_bus_are_options() {
    let program = published(RESNET20);
    let cycles = |given: &[(&str, &str)]| time(&*program, given).cycles["hw"];
    // Expected cycles at each latency of the simulated hardware, and with write responses after one
    // cycle.
    for (latency, expected) in [("1", 652_140), ("10", 676_150), ("20", 769_120), ("28", 843_496)] {
        assert_eq!(cycles(&[("latency", latency)]), expected);
    }
    assert_eq!(cycles(&[("latency", "28"), ("write-latency", "1")]), 802_618);
    assert!(cycles(&[("axi-bits", "512")]) < cycles(&[]));
    let estimated = time(&*program, &[("clock", "estimator")]);
    assert_eq!((estimated.cycles["estimator"], estimated.cycles["hw"]), (293_590, 750_526));
    assert_eq!(estimated.milliseconds, Some(2.9359));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let program = program("pynqz1", vec![Op::NoOp], &[]);
    for (key, value, message) in [
        ("clock", "sundial", "must be hw or estimator"),
        ("clock-mhz", "0", "from 0.001 to 100000"),
        ("clock-mhz", "NaN", "from 0.001 to 100000"),
        ("latency", "-1", "from 0 to 65535"),
        ("axi-bits", "100", "8 bits times a power of two"),
        ("sample-interval", "65536", "from 0 to 65535"),
        ("sample-block", "0", "from 1"),
        ("color", "red", "unknown option"),
    ] {
        let error = program.time(&options(&[(key, value)])).unwrap_err();
        assert!(matches!(error, TargetError::Option { .. }), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    // A 256-bit word holds two vectors of 128 bits.
    assert!(program.time(&options(&[("axi-bits", "256")])).is_ok());
}

const AT: Strided = Strided { address: 0, stride_log2: 0 };

fn simd(read: bool) -> Op {
    let sub = SimdSub { op: SimdOp::Max, left: 0, right: 1, destination: 0 };
    Op::Simd { read, write: true, accumulate: false, write_address: 0, read_address: 0, sub }
}

#[test]
fn a_hang_is_an_error_with_its_reason() {
    let mut ops = vec![Op::Configure { register: 0x8, value: 7 }, simd(false)];
    ops.extend(vec![simd(true); 40]);
    let program = program("speech_robot", ops, &[42]);
    let failed = |result: Result<(), TargetError>| result.unwrap_err().to_string();
    let message = failed(program.time(&options(&[])).map(|_| ()));
    for part in [
        "instruction 19 (byte 0x98), SIMD, of layer `layer \"0\"`",
        "accumulators",
        "instruction 1 (SIMD)",
        "timeout flag rises in cycle",
        "--clock estimator",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(failed(npukit_target::chrome_trace(&*program, &options(&[]), &mut Vec::new())), message);
    let sampled = failed(program.write_time(TimeForm::Samples, &options(&[]), &mut Vec::new()));
    assert!(sampled.contains("instruction 19") && sampled.contains("instruction 1 (SIMD)"), "{sampled}");
    assert!(!time(&*program, &[("clock", "estimator")]).cycles.contains_key("hw"));
}

#[test]
fn absurd_programs_are_estimated_and_that_is_said() {
    let config = Config::preset("zcu104").unwrap();
    let long = Op::DataMove {
        kind: DataMoveKind::Dram0ToLocal,
        local: AT,
        other: AT,
        size: config.local_depth.min(config.dram0_depth),
    };
    let program = program("zcu104", vec![long; 20_000], &[]);
    let report = time(&*program, &[("clock", "model")]);
    assert_eq!(report.clock, "estimator");
    assert!(report.notes.iter().any(|line| line.contains("327680000 cycles")), "{:?}", report.notes);
    assert!(npukit_target::chrome_trace(&*program, &options(&[]), &mut Vec::new()).is_err());
}

#[test]
fn flags_say_when_they_rise() {
    let long = Op::MatMul { accumulate: false, zeroes: false, local: AT, accumulator: AT, size: 300 };
    let register = |register, value| Op::Configure { register, value };
    let ops = vec![register(0x8, 200), register(0x9, 4), Op::NoOp, long, Op::NoOp, long, Op::NoOp];
    let report = time(&*program("zcu104", ops, &[]), &[]);
    let [timeout, tracepoint] = &report.flags[..] else { panic!("{:?}", report.flags) };
    assert!(
        timeout.flag.starts_with("timeout flag (results are right)")
            && tracepoint.flag.starts_with("tracepoint")
    );
    // Instruction 3 arrives in cycle 5 and is held for 300 cycles.
    assert_eq!((timeout.times, timeout.first_instruction, timeout.first_cycle), (2, 3, 205));
    assert_eq!((tracepoint.times, tracepoint.cycles, tracepoint.first_instruction), (1, 1, 4));
}

/// Slices of each track by its name: start and end in nanoseconds, and the instruction.
type Tracks = BTreeMap<String, Vec<(u64, u64, Option<u64>)>>;

fn tracks(trace: &[u8]) -> Tracks {
    let trace: Value = serde_json::from_slice(trace).unwrap();
    let (mut names, mut tracks) = (BTreeMap::new(), Tracks::new());
    for event in trace["traceEvents"].as_array().unwrap() {
        if matches!(event["ph"].as_str().unwrap(), "C" | "s" | "f") {
            continue;
        }
        let track = event["tid"].as_u64().unwrap();
        let nanoseconds = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
        match (event["ph"].as_str().unwrap(), event["name"].as_str().unwrap()) {
            ("M", "thread_name") => {
                names.insert(track, event["args"]["name"].as_str().unwrap().to_owned());
            }
            ("M", _) => {}
            ("X", _) => {
                let start = nanoseconds("ts");
                let slice = (start, start + nanoseconds("dur"), event["args"]["instruction"].as_u64());
                tracks.entry(names[&track].clone()).or_default().push(slice);
            }
            (kind, _) => panic!("an event `{kind}`"),
        }
    }
    tracks
}

/// Returns the cycles of waits, by unit and reason, and of work by unit.
fn sums(trace: &[u8]) -> (BTreeMap<(String, String), u64>, BTreeMap<String, u64>) {
    let trace: Value = serde_json::from_slice(trace).unwrap();
    let (mut names, mut waits, mut work) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for event in trace["traceEvents"].as_array().unwrap() {
        let args = &event["args"];
        let cycles = |key: &str| args[key].as_u64().or(args["cycles"].as_u64()).unwrap();
        match (event["ph"].as_str().unwrap(), event["name"].as_str().unwrap()) {
            ("M", "thread_name") => drop(names.insert(event["tid"].as_u64().unwrap(), args["name"].clone())),
            ("X", name) => {
                let track = names[&event["tid"].as_u64().unwrap()].as_str().unwrap();
                match track.strip_suffix(": waits for") {
                    Some(unit) => *waits.entry((unit.into(), name.into())).or_default() += cycles("waited"),
                    None => *work.entry(track.to_owned()).or_default() += cycles("busy"),
                }
            }
            _ => {}
        }
    }
    (waits, work)
}

/// Checks that slices of a track are in order and do not overlap; the decoder has one for each
/// instruction.
fn check_tracks(tracks: &Tracks, instructions: u64) {
    for (name, slices) in tracks {
        assert!(slices.iter().all(|slice| slice.0 < slice.1), "{name}");
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{name}");
    }
    let decoded: Vec<_> = tracks["decoder"].iter().map(|slice| slice.2.unwrap()).collect();
    assert!(decoded.into_iter().eq(0..instructions));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn traces_are_valid(ops in few_ops(), mhz in 1_u32..400) {
        let half = ops.len() / 2;
        let program = program("zcu104", ops.clone(), &[half, ops.len() - half]);
        let mut trace = Vec::new();
        let clock = [("clock-mhz", &*mhz.to_string())];
        npukit_target::chrome_trace(&*program, &options(&clock), &mut trace).unwrap();
        let tracks = tracks(&trace);
        check_tracks(&tracks, ops.len() as u64);
        prop_assert_eq!(tracks["layers"].len(), if half == 0 { 1 } else { 2 });
        let (waits, work) = sums(&trace);
        let units = time(&*program, &clock).units;
        let reported = units.iter().flat_map(|unit| {
            unit.waits.iter().map(|wait| ((unit.unit.clone(), wait.on.clone()), wait.cycles))
        });
        prop_assert_eq!(waits, reported.collect::<BTreeMap<_, _>>());
        for unit in units.iter().filter(|unit| unit.unit != "ALUs") {
            // A SIMD without an operation counts for the ALUs, which do not work.
            prop_assert_eq!(work.get(&unit.unit).copied().unwrap_or(0), unit.busy, "{}", unit.unit);
        }
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn a_published_programs_trace_is_valid() {
    let program = published(SPEECH);
    let mut trace = Vec::new();
    npukit_target::chrome_trace(&*program, &options(&[]), &mut trace).unwrap();
    let tracks = tracks(&trace);
    check_tracks(&tracks, program.report().instructions as u64);
    assert!(tracks["array"].len() > 10_000 && tracks["DRAM1 read"].len() == 58, "{:?}", tracks.keys());
}

#[test]
fn slices_carry_their_layers_names() {
    let program = program("zcu104", vec![Op::NoOp, simd(true), simd(true)], &[1, 2]);
    let mut trace = Vec::new();
    npukit_target::chrome_trace(&*program, &options(&[]), &mut trace).unwrap();
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let shown: Vec<_> = slices.map(|event| (event["name"].clone(), event["args"]["layer"].clone())).collect();
    assert!(shown.contains(&("NoOp".into(), "layer \"0\"".into())), "{shown:?}");
    assert!(shown.contains(&("SIMD".into(), "layer \"1\"".into())), "{shown:?}");
    assert!(shown.contains(&("layer \"1\"".into(), Value::Null)), "{shown:?}");
}

fn bytes(samples: &[Sample]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.word().to_le_bytes()).collect()
}

/// A block has samples of the program, not of the time after it.
#[test]
fn a_block_is_bounded_by_the_program() {
    let program = program("speech_robot", vec![Op::NoOp; 70_000], &[]);
    let samples = |interval, block| {
        let mut bytes = Vec::new();
        let given = options(&[("sample-interval", interval), ("sample-block", block)]);
        program.write_time(TimeForm::Samples, &given, &mut bytes).map(|()| bytes.len() / 8)
    };
    assert_eq!(samples("1", "70000").unwrap() % 70_000, 0);
    assert_eq!(samples("1000", "65536").unwrap(), 65_536);
    for (interval, block, message) in [
        ("1", "100000000", "fills at most 70003 samples; a block may have at most 70003"),
        ("1000", "65537", "fills at most 71 samples; a block may have at most 65536"),
        ("1000", "4294967295", "fills at most 71 samples"),
    ] {
        let error = samples(interval, block).unwrap_err();
        assert!(matches!(error, TargetError::Option { .. }), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn words_have_the_documents_bits() {
    let sample = Sample::new(0xDEAD_BEEF).with(Port::Array, true, false).with(Port::Instruction, true, true);
    assert_eq!(sample.word(), 0x0000_C001_DEAD_BEEF);
    for (place, port) in Port::ALL.into_iter().enumerate() {
        assert_eq!(Sample::new(0).with(port, true, false).word(), 1 << (32 + 2 * place), "{}", port.name());
        assert_eq!(Sample::new(0).with(port, false, true).word(), 2 << (32 + 2 * place), "{}", port.name());
    }
    assert_eq!(Sample::from_word(1 << 48), None);
}

#[test]
fn samples_of_a_program_are_what_its_decoder_does() {
    let ops =
        vec![Op::NoOp, Op::MatMul { accumulate: false, zeroes: false, local: AT, accumulator: AT, size: 4 }];
    let program = program("speech_robot", ops, &[]);
    let mut words = Vec::new();
    let given = options(&[("sample-interval", "1"), ("sample-block", "8")]);
    program.write_time(TimeForm::Samples, &given, &mut words).unwrap();
    assert_eq!(words.len() % (8 * 8), 0, "whole blocks");
    let samples: Vec<_> = words
        .chunks(8)
        .map(|word| Sample::from_word(u64::from_le_bytes(word.try_into().unwrap())).unwrap())
        .collect();
    // Two cycles are empty. The driver's Configure, the NoOp and the MatMul of four rows follow.
    let counters: Vec<_> = samples.iter().take(9).map(|sample| sample.program_counter()).collect();
    assert_eq!(counters, [0, 0, 0, 1, 2, 2, 2, 2, 3]);
    let shown = |port| {
        let flag = |sample: &Sample| (u8::from(sample.valid(port)), u8::from(sample.ready(port)));
        samples.iter().take(9).map(flag).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(Port::Instruction),
        [(0, 1), (0, 1), (1, 1), (1, 1), (1, 0), (1, 0), (1, 0), (1, 1), (0, 1)]
    );
    assert_eq!(shown(Port::LocalA)[4..8], [(1, 1); 4], "an address a cycle");
    assert_eq!(shown(Port::Array)[4..8], [(1, 1); 4], "a row a cycle");
    assert_eq!(shown(Port::Dram0), vec![(0, 1); 9], "idle");
}

#[test]
fn the_program_may_set_the_interval() {
    let interval = |value| vec![Op::Configure { register: 0xB, value }];
    let pause = vec![Op::NoOp; 9];
    let counters = |ops: Vec<Op>| -> Vec<u32> {
        let mut words = Vec::new();
        let given = options(&[("sample-interval", "1000")]);
        program("speech_robot", ops, &[]).write_time(TimeForm::Samples, &given, &mut words).unwrap();
        words.chunks(8).map(|word| u32::from_le_bytes(word[..4].try_into().unwrap())).collect()
    };
    // The only sample is at the start. The hardware then counts to the thousandth cycle, which the
    // program does not reach.
    assert_eq!(counters([interval(3), pause.clone()].concat()), [0]);
    // Sampling is switched off and on: the first sample is in the next cycle, and the program
    // counter counts from 1.
    assert_eq!(counters([interval(0), interval(3), pause].concat()), [0, 3, 6, 9, 12]);
}

#[test]
fn a_buffer_begins_where_the_counter_falls() {
    let counters = |counters: &[u32]| bytes(&counters.iter().map(|at| Sample::new(*at)).collect::<Vec<_>>());
    let found = samples::read(3, &counters(&[7, 9, 0, 1, 1, 3, 4, 9])).unwrap();
    assert_eq!((found.instructions, found.outside), (vec![2, 0, 1], 5));
    let found = samples::read(3, &counters(&[1, 2, 2])).unwrap();
    assert_eq!((found.instructions, found.outside), (vec![1, 2, 0], 0));
}

#[test]
fn damaged_buffers_are_refused_with_the_place() {
    let good = bytes(&[Sample::new(1), Sample::new(2)]);
    assert_eq!(samples::read(2, &good[..13]), Err(SamplesError::Partial { offset: 8, bytes: 5 }));
    assert_eq!(samples::read(2, &[]), Err(SamplesError::Empty));
    let mut bad = good.clone();
    bad[15] = 0xFF;
    assert_eq!(
        samples::read(2, &bad),
        Err(SamplesError::NoSample { offset: 8, word: 0xFF00_0000_0000_0002 })
    );
    let elsewhere = bytes(&[Sample::new(9), Sample::new(8)]);
    let expected = SamplesError::Elsewhere { offset: 8, samples: 1, instructions: 2 };
    assert_eq!(samples::read(2, &elsewhere), Err(expected));
    let program = program("pynqz1", vec![Op::NoOp; 2], &[]);
    let message = program.time_samples("x.bin", &bad, &options(&[])).unwrap_err().to_string();
    assert!(message.starts_with("x.bin: byte 0x8: 0xff00000000000002 is not a sample"), "{message}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(found) = samples::read(5, &bytes) {
            prop_assert_eq!(found.inside() + found.outside, bytes.len() as u64 / 8);
        }
    }
}
