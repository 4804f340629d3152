//! MatMuls in motion: sums are the machine's, cycles are the clock's.

use npukit_target::motion::{Motion, PlaceKind, ValueKind};
use npukit_target::{AsmOptions, HazardMode, InstanceSpec, Machine, NoFiles, UninitMemory};
use npukit_tcu::internals::clock::{Clock, Slice, Unit};
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::{Config, TCU, decode_program};

/// Three products; the second one adds to the first, and the third one multiplies zeros.
const TEXT: &str = "
    datamove local[0] <- dram1[0], 5
    loadweights local[0], 5
    datamove local[8] <- dram0[0], 3
    matmul local[8], acc[0], 3
    simd r1 = zero
    matmul.acc local[8 @2^1], acc[0 @2^1], 2
    matmul.zeroes acc[4], 2
";

/// The bias and the rows of the weights.
#[rustfmt::skip]
const WEIGHTS: [f64; 20] = [
    0.5, -0.5, 0.0, 1.0,
    1.0, 0.25, 0.0, -1.0,
    0.0, 1.0, 1.5, -1.0,
    0.125, 0.0, 1.0, -1.0,
    0.0, -2.0, 0.0, -1.0,
];
/// Three input rows. One product saturates.
const INPUT: [f64; 12] = [1.0, 2.0, 3.0, 4.0, -1.0, 0.5, 0.25, -2.0, 100.0, 100.0, 0.0, 0.0078125];

/// Returns the program on its machine, with its memories filled.
fn machine() -> Box<dyn Machine> {
    let instance = TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap();
    let program = instance.asm_program("p.s", TEXT.as_bytes(), &NoFiles).unwrap();
    let options = AsmOptions { meaning: HazardMode::Sequential, unset: UninitMemory::Zero };
    let mut machine = program.machine(&options).unwrap();
    for (bank, values) in [(1, &WEIGHTS[..]), (0, &INPUT)] {
        let numbers: Vec<i64> = values.iter().map(|&value| machine.number(bank, value).unwrap()).collect();
        machine.write(bank, 0, &numbers).unwrap();
    }
    machine
}

/// Returns each sum's value in the last element, and its result, row by row.
fn sums(motion: &Motion) -> (Vec<f64>, Vec<f64>) {
    let sums = motion.values().iter().filter(|value| value.kind == ValueKind::Sum);
    let is_unit = |place: usize| motion.places()[place].kind == PlaceKind::Unit;
    sums.map(|value| {
        let last = value.visits.iter().rfind(|visit| is_unit(visit.place)).unwrap();
        (last.value, value.visits.last().unwrap().value)
    })
    .unzip()
}

/// Returns the accumulators from `address`, as real values.
fn accumulators(machine: &dyn Machine, address: u64, count: u64) -> Vec<f64> {
    let raw = machine.read(3, address, count).unwrap();
    raw.into_iter().map(|number| machine.real(3, number).unwrap()).collect()
}

#[test]
fn final_sums_are_the_results_of_the_machine() {
    let mut machine = machine();
    let mut drawn = Vec::new();
    while machine.position() < machine.steps() {
        let (step, motion) = (machine.position(), machine.motion().unwrap());
        let before = accumulators(&*machine, 0, 6);
        machine.step().unwrap();
        let Some(motion) = motion else { continue };
        drawn.push(step);
        let (last, results) = sums(&motion);
        assert_eq!(last, results, "step {step}");
        let after = accumulators(&*machine, 0, 6);
        match step {
            3 => assert_eq!(results, after[..12]),
            // Numbers range from -128 to 127.99609375.
            5 => {
                let old = before[..4].iter().chain(&before[8..12]);
                let sum = |(old, result): (&f64, &f64)| (old + result).clamp(-128.0, 127.996_093_75);
                let expected: Vec<f64> = old.zip(&results).map(sum).collect();
                assert_eq!(expected, [&after[..4], &after[8..12]].concat());
            }
            _ => assert_eq!(results, after[16..]),
        }
    }
    assert_eq!(drawn, [3, 5, 6]);
}

/// A row's result is complete 2N - 1 cycles after it enters, and rows enter one per cycle.
#[test]
fn cycles_are_the_clocks() {
    let config = Config::preset("cmoda7").unwrap();
    let instance = TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap();
    let ops = decode_program(&config, &instance.assemble("p.s", TEXT, &NoFiles).unwrap().bytes).unwrap();
    let mut slices: Vec<Slice> = Vec::new();
    let memory = ClockParams { axi_bits: 64, ..ClockParams::with_latency(18) };
    Clock::new(&config, memory).unwrap().run_observed(&ops, &mut |slice| slices.push(slice));
    let span = |step: usize, unit: Unit| {
        *slices.iter().find(|slice| slice.instruction == step && slice.unit == unit).unwrap()
    };
    let mut machine = machine();
    for (step, rows) in [(3, 3), (5, 2), (6, 2)] {
        while machine.position() < step {
            machine.step().unwrap();
        }
        let cycles = machine.motion().unwrap().unwrap().cycles().unwrap();
        let (array, results) = (span(step, Unit::Array), span(step, Unit::Accumulator));
        assert_eq!((*cycles.start(), *cycles.end()), (array.start, results.end), "step {step}");
        assert_eq!((array.end - array.start + 1, results.end - array.end), (rows, 7), "step {step}");
    }
}

/// Element (k, j) works on lane k of a row k + j cycles after the row enters, as in the circuit
/// (`rtl/tcu_systolic_array.sv`).
#[test]
fn elements_work_one_cycle_after_their_neighbors() {
    let mut machine = machine();
    (0..3).for_each(|_| assert!(machine.step().unwrap().is_empty()));
    let motion = machine.motion().unwrap().unwrap();
    let start = *motion.cycles().unwrap().start();
    let inputs = motion.values().iter().filter(|value| value.kind == ValueKind::Operand);
    for (index, input) in inputs.enumerate() {
        let (row, lane) = (index as u64 / 4, index as u64 % 4);
        let elements =
            input.visits.iter().filter(|visit| motion.places()[visit.place].kind == PlaceKind::Unit);
        let cycles: Vec<u64> = elements.map(|visit| visit.cycle - start).collect();
        assert_eq!(cycles, (0..4).map(|column| row + lane + column).collect::<Vec<_>>());
        assert!(input.visits.iter().all(|visit| visit.value.to_bits() == INPUT[index].to_bits()));
    }
}

#[test]
fn large_arrays_and_other_instructions_are_not_drawn() {
    assert_eq!(machine().motion().unwrap(), None);
    let program = TCU.instance(InstanceSpec::Preset("zcu104")).unwrap();
    let program = program.asm_program("p.s", b"matmul local[0], acc[0], 1", &NoFiles).unwrap();
    let options = AsmOptions { meaning: HazardMode::Sequential, unset: UninitMemory::Zero };
    let error = program.machine(&options).unwrap().motion().unwrap_err().to_string();
    assert_eq!(error, "the array has 32 x 32 elements; at most 16 x 16 are drawn in motion");
}
