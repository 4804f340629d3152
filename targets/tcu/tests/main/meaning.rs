//! Programs on which hardware deviates, in `npu lint`, `run` and `time`; and the initial content of
//! memory.

use std::collections::HashMap;
use std::num::NonZeroU32;

use npukit_numeric::Tensor;
use npukit_target::{
    Compiled, HazardMode, InstanceSpec, ReadError, Reader, RunOptions, Severity, TargetError, TimeOptions,
    UninitMemory,
};
use npukit_tcu::internals::artifact;
use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::internals::program::{Binding, Layer, Layout, MemoryUse, Piece, Program};
use npukit_tcu::internals::run::{Driver, RunError};
use npukit_tcu::{Config, FaultKind, Machine, Memory, TCU};

struct Files(HashMap<String, Vec<u8>>);

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let absent = || ReadError::Absent { path: path.to_owned() };
        self.0.get(path).cloned().ok_or_else(absent)
    }

    fn list(&self, _path: &str) -> Result<Vec<String>, ReadError> {
        Ok(self.0.keys().cloned().collect())
    }
}

fn at(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

fn moves(kind: DataMoveKind, local: u64, other: u64, size: u64) -> Op {
    Op::DataMove { kind, local: at(local), other: at(other), size }
}

/// Returns a program that adds three vectors, with `between` between the additions.
fn sum(between: &[Op]) -> Program {
    let add = |local| moves(DataMoveKind::LocalToAccumulatorAccumulate, local, 0, 1);
    let start = [
        moves(DataMoveKind::Dram0ToLocal, 0, 0, 3),
        moves(DataMoveKind::LocalToAccumulator, 0, 0, 1),
        add(1),
    ];
    let end = [
        add(2),
        moves(DataMoveKind::AccumulatorToLocal, 3, 0, 1),
        moves(DataMoveKind::LocalToDram0, 3, 3, 1),
    ];
    let instructions = [&start[..], between, &end].concat();
    let binding = |name: &str, base, size: u64| {
        let layout =
            Layout { model_shape: vec![size as usize, 8], perm: vec![0, 1], channels: 8, exponent: 0 };
        Binding { name: name.into(), pieces: vec![Piece { base, size }], layout: Some(layout) }
    };
    let count = instructions.len();
    Program {
        name: "sum_speech_robot".into(),
        config: Config::preset("speech_robot").unwrap(),
        instructions,
        constants: Vec::new(),
        load_consts_to_local: false,
        inputs: vec![binding("x", 0, 3)],
        outputs: vec![binding("y", 3, 1)],
        host_steps: Vec::new(),
        layers: vec![Layer { name: "add".into(), first: 0, count, macs: 0 }],
        memory: MemoryUse::default(),
        system: None,
        reading: npukit_target::ModelReading::new(),
    }
}

fn loaded(program: &Program) -> Box<dyn Compiled> {
    let files = artifact::write(program).unwrap().into_iter().map(|file| (file.name, file.bytes));
    let files = Files(files.collect());
    let manifest = files.0.keys().find(|name| name.ends_with(".tmodel")).unwrap().clone();
    TCU.load(&manifest, &files).unwrap()
}

fn run(program: &Program, meaning: HazardMode, unset: UninitMemory) -> Result<f32, TargetError> {
    let ones = [1.0, 2.0, 4.0].into_iter().flat_map(|x| [x; 8]).collect();
    let inputs = [("x".to_owned(), Tensor::from_f32(vec![3, 8], ones).unwrap())];
    let options = RunOptions { meaning, unset, times: NonZeroU32::new(2).unwrap(), ..RunOptions::default() };
    let result = loaded(program).run_with(&inputs, &options)?;
    Ok(result.outputs[0].values.as_f32().unwrap()[0])
}

#[test]
fn what_the_hardware_loses_is_refused_or_chosen() {
    let program = sum(&[]);
    let compiled = loaded(&program);
    let findings = compiled.lint().unwrap();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code, finding.severity), ("lost-addition", Severity::Error));
    assert_eq!((finding.instruction, finding.layer.as_deref()), (Some(3), Some("add")));
    let Err(TargetError::Differs(refused)) = run(&program, HazardMode::Agreed, UninitMemory::Zero) else {
        panic!("refused")
    };
    assert_eq!(refused, findings);
    assert_eq!(run(&program, HazardMode::Sequential, UninitMemory::Poison).unwrap(), 7.0);
    assert_eq!(run(&program, HazardMode::Hardware, UninitMemory::Garbage(3)).unwrap(), 5.0);
    let time = |meaning| compiled.time(&TimeOptions { meaning, ..TimeOptions::default() });
    assert!(matches!(time(HazardMode::Agreed), Err(TargetError::Differs(_))));
    let [sequential, hardware] = [HazardMode::Sequential, HazardMode::Hardware].map(|m| time(m).unwrap());
    assert_eq!(sequential.cycles, hardware.cycles);
}

#[test]
fn what_the_hardware_does_in_time_is_a_warning() {
    let program = sum(&[Op::NoOp; 100]);
    let findings = loaded(&program).lint().unwrap();
    assert_eq!(findings.iter().map(|found| found.severity).collect::<Vec<_>>(), [Severity::Warning]);
    for meaning in [HazardMode::Agreed, HazardMode::Sequential, HazardMode::Hardware] {
        assert_eq!(run(&program, meaning, UninitMemory::Garbage(1)).unwrap(), 7.0);
    }
}

#[test]
fn text_and_words_are_linted() {
    let text = "\
datamove acc[0x0] <- local[0x0], 1
; the first is lost
datamove.acc acc[0x0] <- local[0x1], 1
datamove.acc acc[0x0] <- local[0x2], 1
";
    let instance = TCU.instance(InstanceSpec::Preset("zcu104")).unwrap();
    let assembled = instance.assemble("p.s", text, &npukit_target::NoFiles).unwrap();
    assert_eq!(
        assembled.warnings,
        [
            "line 4: the second addition reads acc[0x0] before the first has written it; the released hardware loses \
          the first (instruction 1); put another command of the accumulators between them, such as a SIMD that \
          only reads; NoOps do not help [lost-addition]\n    datamove.acc acc[0x0] <- local[0x2], 1\n    \
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
        ]
    );
    let findings = instance.lint("p.bin", &assembled.bytes, None).unwrap();
    // None of these instructions writes the vectors that they move.
    let moves = (0..3).map(|index| ("unwritten-read", Some(index)));
    let found: Vec<_> = findings.iter().map(|f| (f.code, f.instruction)).collect();
    assert!(
        moves.chain([("lost-addition", Some(2))]).all(|one| found.contains(&one)) && found.len() == 4,
        "{found:?}"
    );
    assert!(instance.lint("p.bin", &assembled.bytes[1..], None).is_err(), "no whole words");
}

#[test]
fn a_program_that_reads_what_it_left_behind_is_found() {
    // The second run adds to the result of the first.
    let mut program = sum(&[]);
    program.instructions[1] = Op::NoOp;
    program.instructions[3] = Op::NoOp;
    assert!(matches!(
        run(&program, HazardMode::Agreed, UninitMemory::Garbage(2)),
        Err(TargetError::Unrepeatable { time: 2, .. })
    ));
    let error = run(&program, HazardMode::Agreed, UninitMemory::Poison).unwrap_err();
    assert!(format!("{error}").contains("instruction 2"), "{error}");
    let driven = Driver::new(&program, UninitMemory::Poison, &[]).unwrap().run(&[vec![256; 24]]).map(|_| ());
    let Err(RunError::Fault { source, .. }) = driven else { panic!("{driven:?}") };
    assert_eq!(source.kind, FaultKind::Unset { memory: Memory::Accumulators, address: 0 });
}

#[test]
fn an_output_that_nobody_wrote_is_not_read() {
    let mut program = sum(&[]);
    program.instructions.truncate(1);
    let mut driver = Driver::new(&program, UninitMemory::Poison, &[]).unwrap();
    let finished = driver.run(&[vec![256; 24]]).unwrap();
    let error = finished.output(&program.outputs[0]).unwrap_err();
    assert!(matches!(error, RunError::OutputUnset { address: 3, .. }), "{error}");
}

/// Each kind of instruction faults on poison, and continues once its operands are written.
#[test]
fn poison_is_found_wherever_it_is_read() {
    let config = Config { stride0_depth: 8, ..Config::preset("speech_robot").unwrap() };
    let simd = |read, write, accumulate, left, right, destination| {
        let sub = SimdSub { op: SimdOp::Max, left, right, destination };
        Op::Simd { read, write, accumulate, write_address: 5, read_address: 4, sub }
    };
    let product = |accumulate, zeroes| {
        let local = Strided { address: 8, stride_log2: 2 };
        Op::MatMul { accumulate, zeroes, local, accumulator: at(20), size: 3 }
    };
    let load = |zeroes, size| Op::LoadWeights { zeroes, local: at(100), size };
    let unset = |memory, address| Some(FaultKind::Unset { memory, address });
    let steps = [
        (moves(DataMoveKind::Dram0ToLocal, 0, 60, 10), unset(Memory::Dram0, 64)),
        (moves(DataMoveKind::Dram0ToLocal, 8, 60, 3), None),
        (moves(DataMoveKind::LocalToDram1, 8, 0, 4), unset(Memory::Local, 11)),
        (load(false, 9), unset(Memory::Local, 100)),
        (product(false, true), Some(FaultKind::WeightsUnset { rows: 0, needed: 1 })),
        (load(true, 8), None),
        (product(false, false), Some(FaultKind::WeightsUnset { rows: 8, needed: 9 })),
        (load(true, 1), None),
        (product(false, false), unset(Memory::Local, 12)),
        (product(true, true), unset(Memory::Accumulators, 20)),
        (product(false, true), None),
        (product(true, true), None),
        (moves(DataMoveKind::AccumulatorToLocal, 0, 23, 1), unset(Memory::Accumulators, 23)),
        (simd(true, true, false, 0, 1, 0), unset(Memory::Accumulators, 4)),
        (moves(DataMoveKind::LocalToAccumulator, 8, 4, 1), None),
        (simd(true, true, false, 0, 1, 0), Some(FaultKind::RegisterUnset { register: 1 })),
        (simd(true, false, false, 0, 0, 1), None),
        (simd(true, true, true, 0, 1, 0), unset(Memory::Accumulators, 5)),
        (simd(true, true, false, 0, 1, 0), None),
        (simd(true, true, true, 0, 1, 0), None),
    ];
    let mut machine = Machine::with_unset(&config, UninitMemory::Poison).unwrap();
    machine.write(Memory::Dram0, 60, &vec![1; 4 * config.array_size]).unwrap();
    for (op, expected) in steps {
        assert_eq!(machine.step(&op).err(), expected, "{op:?}");
    }
    assert_eq!(machine.unset(Memory::Accumulators, 20, 4).unwrap(), Some(23));
}
