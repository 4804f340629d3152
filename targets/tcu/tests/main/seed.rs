//! Differences between the instruction set specification and the released hardware, in both
//! readings.

use npukit_target::{
    AsmOptions, HazardMode, Instance, InstanceSpec, Limits, NoFiles, TimeForm, TimeOptions, UninitMemory,
};
use npukit_tcu::internals::clock::{Clock, StuckForm};
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::internals::samples::{self, Sample, SamplesError};
use npukit_tcu::{
    Config, FaultKind, Machine, Op, Reading, TCU, decode_program, encode_program, isa, validate,
};

fn instance(name: &str) -> Box<dyn Instance> {
    TCU.instance(InstanceSpec::Preset(name)).unwrap()
}

fn config(name: &str) -> Config {
    Config::from_value(&instance(name).info().config.clone()).unwrap().0
}

/// Returns a clock with a bus for vectors of four.
fn clock(config: &Config) -> Clock {
    Clock::new(config, ClockParams { axi_bits: 64, ..ClockParams::with_latency(1) }).unwrap()
}

fn ops(config: &Config, text: &str) -> Vec<Op> {
    let words = npukit_asm::assemble(&isa(config), "p.s", text).unwrap().bytes;
    decode_program(config, &words).unwrap()
}

/// Returns the machine after a program, and the remarks.
fn ran(name: &str, text: &str, fill: &[(&str, &[i64])]) -> (Box<dyn npukit_target::Machine>, Vec<String>) {
    let program = instance(name).asm_program("p.s", text.as_bytes(), &NoFiles).unwrap();
    let options = AsmOptions { meaning: HazardMode::Agreed, unset: UninitMemory::Zero };
    let mut machine = program.machine(&options).unwrap();
    for (memory, numbers) in fill {
        let place = place(&*machine, memory);
        machine.write(place, 0, numbers).unwrap();
    }
    let ran = machine.run(Limits::default()).unwrap();
    (machine, ran.remarks.into_iter().map(|remark| remark.message).collect())
}

fn place(machine: &dyn npukit_target::Machine, name: &str) -> usize {
    machine.memories().iter().position(|memory| memory.name == name).unwrap()
}

fn held(machine: &dyn npukit_target::Machine, memory: &str, address: u64) -> Vec<i64> {
    machine.read(place(machine, memory), address, 1).unwrap()
}

/// Bit 16 is the first of operand 1 on pynqz1, bit 24 on ultra96v2; the words are written out, the
/// low byte first.
#[test]
fn the_value_of_a_configure_is_operand_1_by_the_page() {
    let word = |name: &str, text: &str| {
        let bytes = npukit_asm::assemble(&isa(&config(name)), "p.s", text).unwrap().bytes;
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let timeout = "configure timeout, 0x1234\n";
    assert_eq!(word("pynqz1", timeout), "48230100000000f0");
    assert_eq!(word("pynqz1+seed", timeout), "08003412000000f0");
    assert_eq!(word("ultra96v2+seed", timeout), "0800003412000000f0");
    let all = "configure tracepoint, 0xffffffff\n";
    assert_eq!(word("pynqz1+seed", all), "0900ffffffff00f0");
    // Register and value survive encoding and decoding; other bits are reserved.
    for name in ["pynqz1", "pynqz1+seed"] {
        let assembled = instance(name).assemble("p.s", timeout, &NoFiles).unwrap();
        let listing = instance(name).disassemble(&assembled.bytes, "npukit").unwrap();
        assert_eq!(
            (listing.text.as_str(), listing.problems.len()),
            ("configure timeout, 4660\n", 0),
            "{name}"
        );
    }
    let stray = [0x18, 0, 0x34, 0x12, 0, 0, 0, 0xf0];
    assert!(decode_program(&config("pynqz1+seed"), &stray).unwrap_err().to_string().contains("reserved"));
}

/// The forms that hang the released hardware because of the value that they read.
const READS: &str = "simd r1 = move(r1), read acc[0]
simd out = zero, read acc[0], write acc[1]
simd out = max(r1, r1), read acc[0], write.acc acc[2]
";

#[test]
fn what_is_read_need_not_be_taken_by_the_page() {
    let (released, seed) = (config("cmoda7"), config("cmoda7+seed"));
    let reads = ops(&seed, READS);
    for op in &reads {
        assert!(matches!(Machine::new(&released).unwrap().step(op), Err(FaultKind::ReadUnused { .. })));
        assert_eq!(Machine::new(&seed).unwrap().step(op), Ok(()));
    }
    let run = |config: &Config| clock(config).run(&reads.repeat(30));
    assert!(matches!(run(&released).hang.unwrap().stuck, Some((0, StuckForm::InputUnused))));
    // The program takes as many cycles as with the input as source.
    let taken = ops(&seed, &READS.replace("(r1", "(in").replace("zero", "move(in)"));
    let timed = run(&seed);
    assert_eq!((timed.hang, timed.total), (None, clock(&released).run(&taken.repeat(30)).total));
    assert_eq!(validate(&seed, &reads), []);
}

#[test]
fn right_sources_of_unary_operations_are_ignored_by_the_page() {
    let (released, seed) = (config("cmoda7"), config("cmoda7+seed"));
    let unary = ops(&seed, "simd r1 = abs(r1, in)\nsimd out = not(r1, in), write acc[3]\n");
    for op in &unary {
        assert!(matches!(Machine::new(&released).unwrap().step(op), Err(FaultKind::InputMissing { .. })));
        assert_eq!(Machine::new(&seed).unwrap().step(op), Ok(()));
    }
    assert!(matches!(
        clock(&released).run(&unary.repeat(30)).hang.unwrap().stuck,
        Some((0, StuckForm::InputMissing))
    ));
    assert_eq!(clock(&seed).run(&unary.repeat(30)).hang, None);
    let (machine, _) =
        ran("cmoda7+seed", "simd out = abs(r1, in), write acc[3]\n", &[("r1", &[-256, 512, -3, 0])]);
    assert_eq!(held(&*machine, "acc", 3), [256, 512, 3, 0]);
    // A left source is never ignored.
    let missing = ops(&seed, "simd out = abs(in, r1), write acc[3]");
    assert!(matches!(Machine::new(&seed).unwrap().step(&missing[0]), Err(FaultKind::InputMissing { .. })));
}

const MOVES: &str = "matmul local[0], acc[0], 2
simd out = noop, write acc[4]
simd out = noop, write.acc acc[4]
simd local[9] = noop, read acc[0]
simd out = noop, read acc[4], write acc[5]
";

/// The array's output is the last row it computed; a read goes to local memory at the first
/// operand's address.
#[test]
fn a_noop_triggers_external_reads_and_writes_by_the_page() {
    // All weights of the bias and of the first input lane are one; the others are zero.
    let weights: Vec<i64> = [[256; 4], [256; 4], [0; 4], [0; 4], [0; 4]].concat();
    let local = [2 * 256, 0, 0, 0, 3 * 256, 0, 0, 0];
    let (machine, remarks) = ran("cmoda7+seed", MOVES, &[("weights", &weights), ("local", &local)]);
    assert_eq!(remarks, [""; 0]);
    // The rows are 1 + 2 and 1 + 3. The last row is written, increased, and read before it is
    // overwritten.
    let of = |memory, address| held(&*machine, memory, address)[0] / 256;
    assert_eq!((of("acc", 0), of("acc", 1), of("acc", 4), of("acc", 5)), (3, 4, 8, 4));
    assert_eq!((of("local", 9), of("local", 5)), (3, 8));
}

#[test]
fn a_noop_that_moves_is_a_fault_of_the_released_hardware() {
    let (released, seed) = (config("cmoda7"), config("cmoda7+seed"));
    let moves = ops(&seed, "simd out = noop, read acc[0]\nsimd out = noop, write acc[0]\n");
    // Both readings encode the instructions as the same words.
    assert_eq!(encode_program(&released, &moves).unwrap(), encode_program(&seed, &moves).unwrap());
    for op in &moves {
        let fault = Machine::new(&released).unwrap().step(op).unwrap_err();
        assert_eq!(fault, FaultKind::NoOpMoves);
        assert!(fault.hint().contains("`+seed`"), "{}", fault.hint());
        assert_eq!(Machine::new(&seed).unwrap().step(op), Ok(()));
    }
    let many: Vec<Op> = moves.iter().copied().cycle().take(100).collect();
    let run = |config: &Config| clock(config).run(&many).hang;
    assert_eq!(run(&released).unwrap().stuck, Some((0, StuckForm::NoOpMoves)));
    assert_eq!(run(&seed), None);
    assert!(validate(&released, &moves).iter().all(|problem| problem.lint.code == "hanging-simd"));
    assert_eq!(validate(&seed, &moves), []);
}

#[test]
fn what_a_noop_moves_is_checked() {
    let seed = Config { local_depth: 16, ..config("cmoda7+seed") };
    let fault = Machine::new(&seed)
        .unwrap()
        .step(&ops(&config("cmoda7+seed"), "simd local[16] = noop, read acc[0]")[0]);
    assert!(matches!(fault, Err(FaultKind::OutOfRange { address: 16, depth: 16, .. })), "{fault:?}");
    let (machine, remarks) =
        ran("cmoda7+seed", "simd out = noop, write acc[0]\nsimd out = noop, write acc[1]\n", &[]);
    assert_eq!(
        remarks,
        ["takes the output of the array, which has not computed anything yet; it reads as 0"]
    );
    assert_eq!(held(&*machine, "acc", 0), [0; 4]);
}

#[test]
fn the_forms_of_the_page_print_as_they_are_read() {
    for (name, text) in [
        ("cmoda7+seed", "simd local[0x9] = noop, read acc[0x3]\n"),
        ("cmoda7+seed", "simd out = noop, read acc[0x3], write.acc acc[0x4]\n"),
        ("cmoda7+seed+lut", "loadlut local[0x8], table 1\n"),
        ("cmoda7+lut", "loadlut local[0x8], table 1, 1\n"),
    ] {
        let assembled = instance(name).assemble("p.s", text, &NoFiles).unwrap();
        let listing = instance(name).disassemble(&assembled.bytes, "npukit").unwrap();
        assert_eq!((listing.text.as_str(), listing.problems.len()), (text, 0), "{name}");
    }
}

/// In the specification the third operand of LoadLUT is unused. Zeros there mean a size of one
/// vector in npukit's layout, too.
#[test]
fn the_page_loads_tables_without_a_size() {
    let (own, seed) = (config("cmoda7+lut"), config("cmoda7+lut+seed"));
    let page = "loadlut local[0x8], table 1\n";
    let words = |config: &Config, text: &str| npukit_asm::assemble(&isa(config), "p.s", text).unwrap().bytes;
    assert_eq!(words(&own, page), words(&seed, page));
    assert_eq!(words(&own, page), words(&own, "loadlut local[8], table 1, 1"));
    let deep = Config { lookup_depth: 3, ..seed.clone() };
    assert!(matches!(ops(&deep, page)[..], [Op::LoadLut { size: 3, table: 1, .. }]));
    // The specification has no size field, so its bits are reserved.
    let sized = words(&own, "loadlut local[8], table 1, 3");
    assert!(decode_program(&seed, &sized).unwrap_err().to_string().contains("reserved"));
    assert!(npukit_asm::assemble(&isa(&seed), "p.s", "loadlut local[8], table 1, 3").is_err());
}

#[test]
fn only_the_page_wants_a_wait_behind_a_write_of_the_alus() {
    let found = |name: &str, between: &str| {
        let text = format!("simd out = zero, write acc[0]\n{between}datamove local[0] <- acc[0], 1\n");
        let config = config(name);
        let problems = validate(&config, &ops(&config, &text));
        problems.into_iter().map(|problem| (problem.lint.code, problem.instruction)).collect::<Vec<_>>()
    };
    assert_eq!(found("cmoda7", ""), []);
    assert_eq!(found("cmoda7+seed", ""), [("simd-wait", 1)]);
    assert_eq!(found("cmoda7+seed", "noop\n"), [("simd-wait", 2)]);
    assert_eq!(found("cmoda7+seed", "noop\nnoop\n"), []);
}

/// Returns the words of samples of three NoOps.
fn sampled(name: &str, options: &[(&str, &str)]) -> Result<Vec<Sample>, String> {
    let program = instance(name).asm_program("p.s", b"noop\nnoop\nnoop\n", &NoFiles).unwrap();
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let options = TimeOptions { options, ..TimeOptions::default() };
    let mut bytes = Vec::new();
    let compiled = program.compiled().unwrap();
    compiled.write_time(TimeForm::Samples, &options, &mut bytes).map_err(|error| error.to_string())?;
    let words =
        bytes.as_chunks::<8>().0.iter().map(|word| Sample::from_word(u64::from_le_bytes(*word)).unwrap());
    Ok(words.collect())
}

#[test]
fn an_interval_of_0_gives_invalid_samples_by_the_page() {
    let off = ("sample-interval", "0");
    let error = sampled("cmoda7", &[off]).unwrap_err();
    assert!(error.contains("streams no samples") && error.contains("`+seed`"), "{error}");
    assert_eq!(sampled("cmoda7+seed", &[off, ("sample-block", "4")]), Ok(vec![Sample::INVALID; 4]));
    // An invalid sample has all ones in the program counter and zeros in the flags.
    assert_eq!(Sample::INVALID.word(), 0xFFFF_FFFF);
    // A nonzero interval gives the same result in both readings.
    let on = [("sample-interval", "1"), ("sample-block", "4")];
    let samples = sampled("cmoda7", &on).unwrap();
    assert_eq!(samples.len() % 4, 0);
    assert!(samples.iter().all(|sample| !sample.is_invalid()));
    assert_eq!(sampled("cmoda7+seed", &on), Ok(samples));
}

/// If the program switches sampling off, a started block is completed, and TLAST comes.
#[test]
fn invalid_samples_complete_a_block() {
    let config = config("cmoda7+seed");
    let off = Op::Configure { register: 0xB, value: 0 };
    let count = |reading| {
        let clock = clock(&Config { reading, ..config.clone() });
        let mut samples = Vec::new();
        clock.run_sampled(&[Op::NoOp, off, Op::NoOp], 1, 16, &mut |sample| samples.push(sample));
        (samples.len(), samples.iter().filter(|sample| sample.is_invalid()).count())
    };
    let (released, invalid) = count(Reading::Released);
    assert!(released < 16 && invalid == 0, "{released} {invalid}");
    assert_eq!(count(Reading::Seed), (16, 16 - released));
}

#[test]
fn invalid_samples_are_left_out_of_reports() {
    let words = |samples: &[Sample]| {
        samples.iter().flat_map(|sample| sample.word().to_le_bytes()).collect::<Vec<u8>>()
    };
    let found = samples::read(2, &words(&[Sample::new(1), Sample::INVALID, Sample::new(2)])).unwrap();
    assert_eq!((found.instructions, found.invalid, found.outside), (vec![1, 1], 1, 0));
    assert_eq!(samples::read(2, &words(&[Sample::INVALID; 2])), Err(SamplesError::Invalid { samples: 2 }));
}

#[test]
fn the_architecture_says_how_large_a_block_is() {
    let blocked = r#"{"data_type": "FP16BP8", "array_size": 4, "dram0_depth": 64, "dram1_depth": 64, "local_depth": 64,
        "accumulator_depth": 64, "simd_registers_depth": 1, "stride0_depth": 1, "stride1_depth": 1, "sample_block_size": 8}"#;
    let instance = TCU.instance(InstanceSpec::File { name: "b.tarch", bytes: blocked.as_bytes() }).unwrap();
    assert_eq!(instance.info().warnings.clone(), [""; 0]);
    let program = instance.asm_program("p.s", b"noop\n", &NoFiles).unwrap().compiled().unwrap();
    let mut bytes = Vec::new();
    program.write_time(TimeForm::Samples, &TimeOptions::default(), &mut bytes).unwrap();
    assert_eq!(bytes.len(), 8 * 8);
}
