//! Assembly programs on their machine.

use std::ops::ControlFlow;

use npukit_target::{
    AsmOptions, AsmProgram, CosimOptions, HazardMode, InstanceSpec, Limits, Machine, MachineMemory, NoFiles,
    TargetError, UninitMemory,
};
use npukit_tcu::TCU;

const SPARE: AsmOptions = AsmOptions { meaning: HazardMode::Agreed, unset: UninitMemory::Zero };
const NO_LIMITS: Limits = Limits { instructions: None, cycles: None };

fn written(text: &str) -> Box<dyn AsmProgram> {
    words("p.s", text.as_bytes()).unwrap()
}

fn words(name: &str, bytes: &[u8]) -> Result<Box<dyn AsmProgram>, TargetError> {
    TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap().asm_program(name, bytes, &NoFiles)
}

fn place(machine: &dyn Machine, name: &str) -> usize {
    machine.memories().iter().position(|memory| memory.name == name).unwrap()
}

/// Returns the message of an error, and the byte of the text that it points to.
fn pointed(error: &TargetError) -> (String, usize) {
    let TargetError::Text(fault) = error else { panic!("{error}") };
    (fault.to_string(), fault.labels().unwrap().next().unwrap().offset())
}

#[test]
fn every_memory_is_filled_and_read() {
    let program = written("noop");
    let mut machine = program.machine(&SPARE).unwrap();
    let memories = machine.memories().to_vec();
    let shapes: Vec<(&str, u64, usize, u32)> =
        memories.iter().map(|m| (m.name.as_str(), m.depth, m.lanes, m.bits)).take(7).collect();
    let expected = [
        ("dram0", 4096, 4, 16),
        ("dram1", 32768, 4, 16),
        ("local", 4096, 4, 16),
        ("acc", 4096, 4, 16),
        ("weights", 5, 4, 16),
        ("r1", 1, 4, 16),
        ("dram0_offset", 1, 1, 32),
    ];
    assert_eq!(shapes, expected);
    for (index, MachineMemory { name, depth, lanes, .. }) in memories.iter().enumerate() {
        let numbers: Vec<i64> = (0..*lanes as i64).map(|lane| -5 * lane - 1).collect();
        if *lanes == 1 {
            assert!(
                machine.write(index, 0, &numbers).unwrap_err().to_string().contains("configure"),
                "{name}"
            );
            continue;
        }
        machine.write(index, depth - 1, &numbers).unwrap();
        assert_eq!(machine.read(index, depth - 1, 1).unwrap(), numbers, "{name}");
    }
    assert_eq!((machine.number(0, 0.5), machine.real(0, -256)), (Some(128), Some(-1.0)));
    let tracepoint = place(&*machine, "tracepoint");
    assert_eq!(
        (machine.read(tracepoint, 0, 1).unwrap(), machine.real(tracepoint, 1)),
        (vec![0xFFFF_FFFF], None)
    );
}

/// Before the first instruction, the circuit's machine has the filled memories completely, up to
/// the last vectors.
#[test]
fn memories_on_the_chip_are_filled_for_the_circuit_by_instructions() {
    let program =
        written("matmul.zeroes acc[1], 1\nsimd out = move(r1), write acc[2]\nconfigure dram1_offset, 1\n");
    let mut machine = program.machine(&SPARE).unwrap();
    let filled =
        [("dram1", 7), ("local", 4095), ("local", 0), ("acc", 4090), ("acc", 0), ("weights", 0), ("r1", 0)];
    let numbers = |at: usize| (0..4).map(|lane| (at * 10 + lane) as i64 - 20).collect::<Vec<i64>>();
    for (at, (name, address)) in filled.into_iter().enumerate() {
        let memory = place(&*machine, name);
        machine.write(memory, address, &numbers(at)).unwrap();
    }
    let mut messages = Vec::new();
    let ran = machine.cosim(&CosimOptions::default(), &mut |cosim| {
        messages.push(cosim.run.files["dram1.in"].len());
        ControlFlow::Continue(())
    });
    ran.unwrap().unwrap();
    // After the eight vectors of DRAM1 come five rows, one register, all filled accumulators and
    // all of local memory.
    assert_eq!(messages, [(8 + 5 + 1 + 4091 + 4096) * 8]);
    let held = |name: &str, address| machine.read(place(&*machine, name), address, 1).unwrap();
    for (at, (name, address)) in filled.into_iter().enumerate().skip(1) {
        assert_eq!(held(name, address), numbers(at), "{name} {address}");
    }
    assert_eq!((held("acc", 1), held("acc", 2)), (numbers(5), numbers(6)));
    assert_eq!((held("local", 1), held("acc", 3)), (vec![0; 4], vec![0; 4]));
    // The counter includes only the program's own instructions.
    assert_eq!(held("program_counter", 0), [3]);
}

#[test]
fn what_has_no_room_before_a_program_is_refused() {
    let program = written("datamove local[0] <- dram1[32767], 1\n");
    let mut machine = program.machine(&SPARE).unwrap();
    let (local, dram0) = (place(&*machine, "local"), place(&*machine, "dram0"));
    machine.write(local, 4095, &[1; 4]).unwrap();
    machine.write(dram0, 0, &[1; 4]).unwrap();
    let error =
        machine.cosim(&CosimOptions::default(), &mut |_| panic!("nothing runs")).unwrap().unwrap_err();
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        message += &error.to_string();
        cause = error.source();
    }
    assert!(message.contains("hold 4096 vectors"), "{message}");
}

#[test]
fn filled_weights_and_registers_count_as_written() {
    let program = written("matmul.zeroes acc[0], 1\nsimd out = move(r1, r1), write acc[1]\n");
    let mut machine = program.machine(&SPARE).unwrap();
    let (weights, register) = (place(&*machine, "weights"), place(&*machine, "r1"));
    machine.write(weights, 0, &[1, 2, 3, 4]).unwrap();
    machine.write(register, 0, &[5, 6, 7, 8]).unwrap();
    let ran = machine.run(NO_LIMITS).unwrap();
    assert_eq!((ran.instructions, ran.remarks), (2, vec![]));
    assert_eq!(machine.read(place(&*machine, "acc"), 0, 2).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn reads_of_the_unwritten_are_told_with_their_line() {
    let text =
        "\ndatamove acc[0] <- local[3], 2\nmatmul local[3], acc[8], 1\nsimd out = add(in, r1), read acc[0]\n";
    let program = written(text);
    let ran = program.machine(&SPARE).unwrap().run(NO_LIMITS).unwrap();
    let remarks: Vec<String> = ran.remarks.iter().map(|remark| program.text().remark(remark)).collect();
    let [local, weights, register] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(local.contains("line 2") && local.contains("vector 3 of the local memory"), "{local}");
    assert!(weights.contains("line 3") && weights.contains("but only 0 have been loaded"), "{weights}");
    assert!(register.contains("line 4") && register.contains("register 1"), "{register}");
    let strict = AsmOptions { unset: UninitMemory::Poison, ..SPARE };
    let stopped = program.machine(&strict).unwrap().run(NO_LIMITS).unwrap_err();
    assert_eq!(stopped.instruction, Some(0));
}

#[test]
fn rows_of_weights_are_known_one_by_one() {
    let rows = |load: &str| {
        let program = written(&format!("{load}\nmatmul local[0], acc[0], 1\n"));
        let mut machine = program.machine(&SPARE).unwrap();
        let local = place(&*machine, "local");
        machine.write(local, 0, &[0; 5 * 4]).unwrap();
        machine.run(NO_LIMITS).unwrap().remarks.into_iter().map(|remark| remark.message).collect::<String>()
    };
    assert_eq!(rows("loadweights local[0], 5"), "");
    assert_eq!(rows("loadweights local[0], 4\nloadweights.zeroes 1"), "");
    assert!(rows("loadweights local[0], 4").contains("but only 4 have been loaded"));
}

#[test]
fn faults_name_the_instruction_and_its_line() {
    let program = written("noop\ndatamove local[4095] <- dram0[0], 2 ; beyond\n");
    let stopped = program.machine(&SPARE).unwrap().run(NO_LIMITS).unwrap_err();
    assert_eq!(stopped.instruction, Some(1));
    let (message, at) = pointed(&program.text().stopped(stopped));
    assert!(message.contains("exceed the local memory"), "{message}");
    assert_eq!(at, "noop\n".len());
}

#[test]
fn limits_are_of_instructions_and_of_cycles() {
    let program = written("datamove local[0] <- dram0[0], 64\nnoop\n");
    let run = |limits| program.machine(&SPARE).unwrap().run(limits).map(|ran| ran.instructions);
    let stopped = run(Limits { instructions: Some(1), ..NO_LIMITS }).unwrap_err();
    assert_eq!(stopped.instruction, Some(1));
    // The instruction takes 64 cycles, one beat per vector, after a latency of 18 cycles.
    let stopped = run(Limits { cycles: Some(64), ..NO_LIMITS }).unwrap_err();
    assert_eq!(
        (stopped.instruction, stopped.error.to_string().as_str()),
        (Some(0), "the limit of 64 cycles is reached")
    );
    assert_eq!(run(Limits { cycles: Some(100), ..NO_LIMITS }).unwrap(), 2);
}

#[test]
fn clamped_results_are_told() {
    let program = written("simd out = multiply(in, in), read acc[0], write acc[1]\n".repeat(2).as_str());
    let mut machine = program.machine(&SPARE).unwrap();
    let acc = place(&*machine, "acc");
    machine.write(acc, 0, &[100 * 256, 256, 1, -100 * 256]).unwrap();
    let remarks = machine.run(NO_LIMITS).unwrap().remarks;
    assert_eq!(machine.read(acc, 1, 1).unwrap(), [32767, 256, 0, 32767]);
    assert!(
        remarks[0].message.starts_with("2 of its results")
            && remarks[0].message.contains("4 in the whole run")
    );
    assert_eq!(remarks[0].instruction, Some(0));
}

#[test]
fn words_run_as_their_text_does() {
    let instance = TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap();
    let text = "datamove local[1] <- dram0[2], 3\nnoop\n";
    let assembled = instance.assemble("p.s", text, &NoFiles).unwrap();
    for name in ["p.tprog", "p.bin"] {
        let program = words(name, &assembled.bytes).unwrap();
        let mut machine = program.machine(&SPARE).unwrap();
        let (dram0, local) = (place(&*machine, "dram0"), place(&*machine, "local"));
        machine.write(dram0, 2, &[7; 12]).unwrap();
        assert_eq!(machine.run(NO_LIMITS).unwrap().instructions, 2);
        assert_eq!(machine.read(local, 1, 3).unwrap(), [7; 12]);
        assert_eq!(program.compiled().unwrap().report().instructions, 2);
    }
    let Err(error) = words("p.tprog", &assembled.bytes[1..]) else { panic!("a partial instruction") };
    assert!(error.to_string().contains("p.tprog"), "{error}");
    let Err(error) = words("p.s", b"noop\n.word 0000000000000060\n") else {
        panic!("a word without meaning")
    };
    let (message, at) = pointed(&error);
    assert!(message.contains("opcode 0x6 has no meaning"), "{message}");
    assert_eq!(at, "noop\n".len());
}

/// The smallest program of `../shared/open/tcu/README.md`: its sum is 7, but 5 on the circuit.
#[test]
fn what_the_circuit_loses_is_refused_or_chosen() {
    let program = written(
        ".data dram0[0:1], 1.0\n.data dram0[1:2], 2.0\n.data dram0[2:3], 4.0\ndatamove local[0x0] <- dram0[0x0], 3\n\
         datamove acc[0x0] <- local[0x0], 1\ndatamove.acc acc[0x0] <- local[0x1], 1\n\
         datamove.acc acc[0x0] <- local[0x2], 1\n",
    );
    let sum = |meaning| {
        let mut machine = program.machine(&AsmOptions { meaning, ..SPARE })?;
        let (dram0, acc) = (place(&*machine, "dram0"), place(&*machine, "acc"));
        machine.write(dram0, 0, &[256, 256, 256, 256, 512, 512, 512, 512, 1024, 1024, 1024, 1024]).unwrap();
        machine.run(NO_LIMITS).unwrap();
        Ok::<_, TargetError>(machine.read(acc, 0, 1).unwrap()[0] / 256)
    };
    assert_eq!((sum(HazardMode::Sequential).unwrap(), sum(HazardMode::Hardware).unwrap()), (7, 5));
    let error = sum(HazardMode::Agreed).unwrap_err();
    let TargetError::Differs(findings) = error else { panic!("{error}") };
    assert!(findings[0].message.starts_with("p.s, line 7: "), "{}", findings[0].message);
    assert_eq!(program.text().warnings.len(), 1);
}
