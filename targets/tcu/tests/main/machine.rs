//! Behavior of the machine beyond computing: faults, hanging forms, lookups, configuration
//! registers, layers; and the validator that predicts them.

use npukit_numeric::{NumberFormat, Saturations};
use npukit_target::sim::Fault;
use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{
    AccessError, Config, DataType, FaultKind, Machine, MachineError, Memory, Register, Severity, validate,
};
use proptest::prelude::*;

use crate::numerics::small;

fn at(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

fn config() -> Config {
    small(DataType::Fp16Bp8, 2)
}

fn fault(config: &Config, op: Op) -> Option<FaultKind> {
    let problems = validate(config, &[op]);
    let result = Machine::new(config).unwrap().step(&op);
    let errors: Vec<_> = problems.iter().filter(|p| p.severity == Severity::Error).collect();
    assert_eq!(errors.len(), usize::from(result.is_err()), "{op:?}: {problems:?}");
    if let (Err(kind), [problem]) = (&result, &errors[..]) {
        assert_eq!((problem.instruction, &problem.reason), (0, &kind.to_string()));
        assert!(!problem.hint.is_empty());
    }
    result.err()
}

fn simd_op(flags: &str, op: SimdOp, left: u8, right: u8) -> Op {
    let [read, write] = ['R', 'W'].map(|flag| flags.contains(flag));
    let sub = SimdSub { op, left, right, destination: 0 };
    Op::Simd { read, write, accumulate: false, write_address: 0, read_address: 0, sub }
}

/// The table of specification 4.1 and the forms measured in `cycles.json`.
#[test]
fn forms_that_hang() {
    use SimdOp::{Max, Move, NoOp, Zero};
    let forms = [
        ("W", Move, 1, 0, true),
        ("W", Move, 1, 1, false),
        ("R", Move, 1, 1, true),
        ("RW", Move, 1, 1, true),
        ("R", Zero, 0, 0, true),
        ("RW", Zero, 0, 0, true),
        ("", Max, 0, 1, true),
        ("", NoOp, 0, 0, false),
        ("R", NoOp, 0, 0, true),
        ("W", NoOp, 0, 0, true),
        ("W", Zero, 0, 0, false),
        ("", Zero, 0, 0, false),
        ("RW", Max, 0, 1, false),
        ("RW", Max, 1, 0, false),
        ("W", Max, 1, 2, false),
        ("", Max, 1, 2, false),
    ];
    for (flags, op, left, right, hangs) in forms {
        let kind = fault(&config(), simd_op(flags, op, left, right));
        assert_eq!(kind.is_some(), hangs, "{flags:?} {op:?} {left} {right}: {kind:?}");
    }
}

#[test]
fn ranges_count_strides() {
    let strided = |address, stride_log2| Strided { address, stride_log2 };
    let mat_mul =
        |local, accumulator, size| Op::MatMul { accumulate: false, zeroes: false, local, accumulator, size };
    assert_eq!(fault(&config(), mat_mul(strided(1, 2), at(0), 16)), None);
    let kind = fault(&config(), mat_mul(strided(4, 2), at(0), 16)).unwrap();
    assert_eq!(
        kind.to_string(),
        "16 vectors starting at 4, 4 apart, exceed the local memory, which has 64 vectors"
    );
    let out = |op, expected| match fault(&config(), op) {
        Some(FaultKind::OutOfRange { memory, .. }) => assert_eq!(memory, expected, "{op:?}"),
        other => panic!("{op:?}: {other:?}"),
    };
    out(mat_mul(at(0), at(64), 1), Memory::Accumulators);
    out(mat_mul(strided(u64::MAX, 63), at(0), 2), Memory::Local);
    out(mat_mul(strided(0, 200), at(0), 2), Memory::Local);
    out(mat_mul(at(0), at(0), u64::MAX), Memory::Local);
    for (kind, memory) in [
        (DataMoveKind::LocalToDram0, Memory::Dram0),
        (DataMoveKind::Dram1ToLocal, Memory::Dram1),
        (DataMoveKind::AccumulatorToLocal, Memory::Accumulators),
    ] {
        out(Op::DataMove { kind, local: at(0), other: at(63), size: 2 }, memory);
    }
    out(Op::LoadWeights { zeroes: false, local: at(63), size: 3 }, Memory::Local);
    assert_eq!(fault(&config(), Op::LoadWeights { zeroes: true, local: at(99), size: 3 }), None);
    let zeroes = Op::MatMul { accumulate: false, zeroes: true, local: at(99), accumulator: at(0), size: 3 };
    assert_eq!(fault(&config(), zeroes), None);
    assert_eq!(fault(&config(), mat_mul(at(0), at(0), 0)), Some(FaultKind::SizeZero));
    let far = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 3 };
    let op = Op::Simd {
        read: false,
        write: false,
        accumulate: false,
        write_address: 0,
        read_address: 0,
        sub: far,
    };
    assert_eq!(fault(&config(), op), Some(FaultKind::NoRegister { register: 3, depth: 2 }));
}

#[test]
fn a_fault_names_the_instruction() {
    let bad = Op::LoadWeights { zeroes: false, local: at(64), size: 1 };
    let result = Machine::new(&config()).unwrap().run(&[Op::NoOp, Op::NoOp, bad], &mut |_| ());
    let Fault { instruction, kind } = result.unwrap_err();
    assert_eq!(instruction, 2);
    assert!(matches!(kind, FaultKind::OutOfRange { memory: Memory::Local, address: 64, .. }));
}

#[test]
fn instances_that_do_not_fit_are_refused() {
    let huge = Config { dram0_depth: 1 << 62, dram1_depth: u64::MAX, ..config() };
    let mut machine = Machine::new(&huge).unwrap();
    machine.write(Memory::Dram0, (1 << 62) - 1, &[1, 2]).unwrap();
    assert_eq!(machine.read(Memory::Dram0, (1 << 62) - 1, 1).unwrap(), [1, 2]);
    assert!(matches!(machine.read(Memory::Dram0, 0, 1 << 62), Err(AccessError::TooMuch { .. })));
    let error = Machine::new(&Config { local_depth: 1 << 62, ..config() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the local memory cannot be simulated: 4611686018427387904 vectors of 2 scalars are more than \
         1073741824 bytes; choose a smaller depth"
    );
    assert_eq!(Machine::new(&Config { array_size: 0, ..config() }).unwrap_err(), MachineError::NoLanes);
    for array_size in [1 << 20, usize::MAX] {
        let config = Config { array_size, local_depth: 1, accumulator_depth: 1, ..config() };
        assert!(matches!(Machine::new(&config), Err(MachineError::Array { .. })), "{array_size}");
    }
}

#[test]
fn access_from_outside_is_checked() {
    let mut machine = Machine::new(&config()).unwrap();
    assert_eq!(
        machine.write(Memory::Local, 0, &[1, 2, 3]),
        Err(AccessError::PartialVector { scalars: 3, lanes: 2 })
    );
    assert!(matches!(
        machine.write(Memory::Local, 63, &[0; 4]),
        Err(AccessError::OutOfRange { base: 63, vectors: 2, .. })
    ));
    assert!(matches!(machine.read(Memory::Local, u64::MAX, 2), Err(AccessError::OutOfRange { .. })));
    // Memory stores only the low 16 bits.
    machine.write(Memory::Local, 0, &[0x1_8000, -1]).unwrap();
    assert_eq!(machine.read(Memory::Local, 0, 1).unwrap(), [-32768, -1]);
}

#[test]
fn configuration_registers_keep_their_values() {
    use Register::{Dram0Offset, ProgramCounter, Timeout, Tracepoint};
    let mut machine = Machine::new(&config()).unwrap();
    let get = |machine: &Machine, register| machine.configuration().get(register);
    let all = [Dram0Offset, Timeout, Tracepoint, ProgramCounter];
    assert_eq!(all.map(|register| get(&machine, register)), [0, 100, u32::MAX, 0]);
    let program = [Op::NoOp, Op::Configure { register: 0x0, value: 0x1234 }, Op::NoOp];
    machine.run(&program, &mut |_| ()).unwrap();
    // Offsets are in units of 64 KiB.
    assert_eq!((get(&machine, Dram0Offset), get(&machine, ProgramCounter)), (0x1234, 3));
    // The write to the program counter is not counted.
    machine.run(&[Op::Configure { register: 0xA, value: 10 }, Op::NoOp], &mut |_| ()).unwrap();
    assert_eq!(get(&machine, ProgramCounter), 11);
}

#[test]
fn offsets_move_the_windows_on_the_banks() {
    // 64 KiB is not a whole number of vectors of three.
    for (data_type, lanes) in [(DataType::Fp16Bp8, 2), (DataType::Fp18Bp10, 3), (DataType::Fp32Bp16, 4)] {
        let mut machine = Machine::new(&small(data_type, lanes)).unwrap();
        let offset = |register, value| Op::Configure { register, value };
        let vector: Vec<i32> = (1..=lanes as i32).collect();
        machine.step(&offset(0x4, 1)).unwrap();
        machine.write(Memory::Dram1, 0, &vector).unwrap();
        let to_local = Op::DataMove { kind: DataMoveKind::Dram1ToLocal, local: at(0), other: at(0), size: 1 };
        machine.step(&to_local).unwrap();
        assert_eq!(machine.read(Memory::Local, 0, 1).unwrap(), vector, "through the same window");
        // Neither the other bank nor the old window has changed.
        assert_eq!(machine.read(Memory::Dram0, 0, 1).unwrap(), vec![0; lanes]);
        machine.step(&offset(0x4, 0)).unwrap();
        machine.step(&to_local).unwrap();
        assert_eq!(machine.read(Memory::Local, 0, 1).unwrap(), vec![0; lanes]);
        // If a value is wider than 16 bits, hardware takes the low 16.
        machine.step(&offset(0x4, 0x5_0001)).unwrap();
        assert_eq!(machine.read(Memory::Dram1, 0, 1).unwrap(), vector);
        assert_eq!(machine.configuration().get(Register::Dram1Offset), 1);
    }
}

#[test]
fn an_offset_of_one_is_64_kib() {
    for (data_type, lanes, vectors) in [(DataType::Fp16Bp8, 2, 1 << 14), (DataType::Fp32Bp16, 4, 1 << 12)] {
        let config = Config { dram0_depth: 1 << 16, ..small(data_type, lanes) };
        let mut machine = Machine::new(&config).unwrap();
        let vector: Vec<i32> = (1..=lanes as i32).collect();
        machine.write(Memory::Dram0, 3 * vectors + 5, &vector).unwrap();
        machine.step(&Op::Configure { register: 0x0, value: 3 }).unwrap();
        assert_eq!(machine.read(Memory::Dram0, 5, 1).unwrap(), vector);
        assert_eq!(machine.read(Memory::Dram0, 4, 1).unwrap(), vec![0; lanes]);
    }
}

#[test]
fn a_destination_register_does_not_keep_the_output_from_the_accumulators() {
    let mut machine = Machine::new(&config()).unwrap();
    machine.write(Memory::Accumulators, 0, &[5, -6]).unwrap();
    machine.write(Memory::Accumulators, 1, &[100, 100]).unwrap();
    let sub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: 1 };
    let both = Op::Simd { read: true, write: true, accumulate: true, write_address: 1, read_address: 0, sub };
    machine.step(&both).unwrap();
    assert_eq!(machine.read(Memory::Accumulators, 1, 1).unwrap(), [105, 94]);
    // The register holds the operation's output, not the accumulated sum.
    machine.step(&simd_op("W", SimdOp::Move, 1, 1)).unwrap();
    assert_eq!(machine.read(Memory::Accumulators, 0, 1).unwrap(), [5, -6]);
}

#[test]
fn layers_get_their_own_saturations() {
    let mut machine = Machine::new(&config()).unwrap();
    machine.write(Memory::Accumulators, 0, &[32767, -32768]).unwrap();
    let up = Op::Simd {
        read: true,
        write: false,
        accumulate: false,
        write_address: 0,
        read_address: 0,
        sub: SimdSub { op: SimdOp::Increment, left: 0, right: 0, destination: 0 },
    };
    let layers = [1..3, 4..104, usize::MAX..usize::MAX];
    let layer = |i: usize, _: &Op| layers.iter().position(|layer| layer.contains(&i)).unwrap_or(3);
    let mut groups = [Saturations::default(); 4];
    machine.step(&up).unwrap();
    machine.run_grouped(&[up, Op::NoOp, up, up, up, up], &mut groups, layer, &[], &mut |_| ()).unwrap();
    assert_eq!(groups.map(|group| group.count()), [1, 2, 0, 2]);
    let total = machine.saturations();
    assert_eq!((total.overflow.count, total.overflow.maximum, total.underflow.count), (6, 256, 0));
}

#[test]
fn warnings_name_what_is_odd() {
    let mut odd = simd_op("", SimdOp::Zero, 0, 0);
    if let Op::Simd { accumulate, .. } = &mut odd {
        *accumulate = true;
    }
    let program = [
        Op::LoadWeights { zeroes: false, local: at(0), size: 5 },
        Op::LoadWeights { zeroes: false, local: Strided { address: 0, stride_log2: 4 }, size: 3 },
        Op::Configure { register: 2, value: 1 << 28 },
        odd,
        Op::LoadWeights { zeroes: false, local: at(0), size: 3 },
    ];
    let problems = validate(&config(), &program);
    let warnings: Vec<_> = problems.iter().map(|p| (p.instruction, p.severity)).collect();
    assert_eq!(warnings, [0, 1, 2, 3].map(|i| (i, Severity::Warning)));
    assert_eq!(problems[0].reason, "LoadWeights of 5 vectors into 3 rows: the 2 highest addresses are lost");
    Machine::new(&config()).unwrap().run(&program, &mut |_| ()).unwrap();
}

/// Two tables: squares and cubes of four keys.
fn with_tables() -> (Config, Machine) {
    let config = Config { lookup_tables: 2, simd_registers_depth: 4, ..config() };
    let mut machine = Machine::new(&config).unwrap();
    let q = |f: f32| NumberFormat::raw_from_f32(DataType::Fp16Bp8.format(), f);
    let keys = [-2.0, 0.0, 1.0, 3.0];
    machine.write(Memory::Local, 0, &keys.map(q)).unwrap();
    machine.write(Memory::Local, 2, &keys.map(|k| q(k * k))).unwrap();
    machine.write(Memory::Local, 4, &keys.map(|k| q(k * k * k))).unwrap();
    (config, machine)
}

fn load(table: u64) -> Op {
    Op::LoadLut { local: at(2 * table), table, size: 2 }
}

fn lookup(left: u8, destination: u8) -> Op {
    let sub = SimdSub { op: SimdOp::Lookup, left, right: left, destination };
    let read = left == 0;
    Op::Simd { read, write: true, accumulate: false, write_address: 1, read_address: 0, sub }
}

#[test]
fn lookup_gives_the_difference_and_the_values() {
    let (config, mut machine) = with_tables();
    // 2.0 is equally close to 1.0 and 3.0, so the first key is taken.
    machine.write(Memory::Accumulators, 0, &[-700, 512]).unwrap();
    let program = [load(0), load(1), load(2), lookup(0, 2)];
    assert_eq!(validate(&config, &program), []);
    machine.run(&program, &mut |_| ()).unwrap();
    let mut register = |k| {
        machine.step(&simd_op("W", SimdOp::Move, k, k)).unwrap();
        machine.read(Memory::Accumulators, 0, 1).unwrap()
    };
    assert_eq!(register(1), [0, 0]);
    assert_eq!(register(2), [-700 + 512, 256]);
    assert_eq!(register(3), [4 * 256, 256]);
    assert_eq!(register(4), [-8 * 256, 256]);
    assert_eq!(machine.read(Memory::Accumulators, 1, 1).unwrap(), [-700 + 512, 256]);
    // With destination 0, the difference is only the output; the values go to registers 1 and 2.
    machine.write(Memory::Accumulators, 0, &[768, 0]).unwrap();
    machine.step(&lookup(0, 0)).unwrap();
    machine.step(&simd_op("W", SimdOp::Move, 2, 2)).unwrap();
    assert_eq!(machine.read(Memory::Accumulators, 0, 2).unwrap(), [27 * 256, 0, 0, 0]);
    // The argument may be a register that the values replace.
    machine.step(&lookup(2, 1)).unwrap();
    assert_eq!(machine.read(Memory::Accumulators, 1, 1).unwrap(), [24 * 256, 0]);
}

#[test]
fn a_load_replaces_the_whole_table() {
    let (_, mut machine) = with_tables();
    machine.run(&[load(0), load(1), load(2)], &mut |_| ()).unwrap();
    // One vector of keys is loaded instead of two, so only -2.0 and 0.0 are keys.
    let shorter = Op::LoadLut { local: at(0), table: 0, size: 1 };
    machine.write(Memory::Accumulators, 0, &[768, 768]).unwrap();
    machine.run(&[shorter, lookup(0, 1)], &mut |_| ()).unwrap();
    assert_eq!(machine.read(Memory::Accumulators, 1, 1).unwrap(), [768, 768]);
}

#[test]
fn lookups_without_tables_fault() {
    let (config, mut machine) = with_tables();
    let step = |machine: &mut Machine, op| machine.step(&op).unwrap_err();
    assert_eq!(step(&mut machine, lookup(0, 1)), FaultKind::IndexEmpty);
    assert_eq!(step(&mut machine, lookup(0, 3)), FaultKind::NoRegister { register: 5, depth: 4 });
    assert_eq!(step(&mut machine, load(3)), FaultKind::NoTable { table: 3, tables: 2 });
    machine.run(&[load(0), load(1)], &mut |_| ()).unwrap();
    let missing = FaultKind::EntryMissing { table: 2, entry: 1, entries: 0 };
    assert_eq!(step(&mut machine, lookup(0, 1)), missing);
    let program = [load(0), load(1), lookup(0, 1)];
    assert_eq!(validate(&config, &program).len(), 1);
    assert_eq!(validate(&config, &[lookup(0, 1)]).len(), 1);
    let plain = self::config();
    assert_eq!(fault(&plain, load(0)), Some(FaultKind::NoLookup));
    assert_eq!(fault(&plain, lookup(0, 1)), Some(FaultKind::NoLookup));
    let header = 0x50;
    assert_eq!(
        fault(&plain, Op::Unassigned { header, operands: Default::default() }),
        Some(FaultKind::Unassigned { header })
    );
}

/// Any instruction, legal or not.
fn any_op() -> impl Strategy<Value = Op> {
    let number = || prop_oneof![0..70u64, any::<u64>()];
    let run = move || {
        (number(), prop_oneof![0..8u32, any::<u32>()])
            .prop_map(|(address, stride_log2)| Strided { address, stride_log2 })
    };
    let kinds = vec![
        DataMoveKind::Dram0ToLocal,
        DataMoveKind::LocalToDram1,
        DataMoveKind::AccumulatorToLocal,
        DataMoveKind::LocalToAccumulatorAccumulate,
    ];
    let ops = vec![SimdOp::NoOp, SimdOp::Zero, SimdOp::Move, SimdOp::Multiply, SimdOp::Max, SimdOp::Lookup];
    let sub = (prop::sample::select(ops), 0..5u8, 0..5u8, any::<u8>())
        .prop_map(|(op, left, right, destination)| SimdSub { op, left, right, destination: destination % 7 });
    prop_oneof![
        (any::<[bool; 2]>(), run(), run(), number()).prop_map(
            |([accumulate, zeroes], local, accumulator, size)| {
                // A size that writes zeros is legal up to the accumulators' depth.
                Op::MatMul { accumulate, zeroes, local, accumulator, size }
            }
        ),
        (prop::sample::select(kinds), run(), run(), number())
            .prop_map(|(kind, local, other, size)| Op::DataMove { kind, local, other, size }),
        (any::<bool>(), run(), number()).prop_map(|(zeroes, local, size)| Op::LoadWeights {
            zeroes,
            local,
            size
        }),
        (any::<[bool; 3]>(), number(), number(), sub).prop_map(
            |([read, write, accumulate], write_address, read_address, sub)| {
                Op::Simd { read, write, accumulate, write_address, read_address, sub }
            }
        ),
        (run(), number(), number()).prop_map(|(local, table, size)| Op::LoadLut { local, table, size }),
        (any::<u8>(), any::<u32>()).prop_map(|(register, value)| Op::Configure { register, value }),
    ]
}

proptest! {
    #[test]
    fn no_instruction_panics(ops in prop::collection::vec(any_op(), 1..40), tables in 0..3usize) {
        let config = Config { lookup_tables: tables, simd_registers_depth: 4, ..config() };
        let mut machine = Machine::new(&config).unwrap();
        validate(&config, &ops);
        for op in &ops {
            let found = npukit_tcu::internals::check::check(&config, op).is_err();
            // The machine refuses what the check reports. Only lookups can fault in addition.
            let failed = machine.step(op).is_err();
            let looks_up = matches!(op, Op::Simd { sub, .. } if sub.op == SimdOp::Lookup);
            prop_assert!(failed == found || (failed && looks_up), "{:?}", op);
        }
    }
}
