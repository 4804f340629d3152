//! Assembly programs on the machine: named memories, warnings, faults, waits.

use npukit_pccx::{PCCX, Profile};
use npukit_target::{
    AsmOptions, AsmProgram, HazardMode, InstanceSpec, Limits, Machine, NoFiles, RunOutcome, TimeOptions,
    UninitMemory,
};

fn program(instance: &str, text: &str) -> Box<dyn AsmProgram> {
    let instance = PCCX.instance(InstanceSpec::Preset(instance)).unwrap();
    instance.asm_program("p.s", text.as_bytes(), &NoFiles).unwrap()
}

fn machine(program: &dyn AsmProgram, meaning: HazardMode, unset: UninitMemory) -> Box<dyn Machine> {
    program.machine(&AsmOptions { meaning, unset }).unwrap()
}

/// Runs a text; returns its warnings, or why it stopped.
fn run(text: &str, meaning: HazardMode, unset: UninitMemory) -> Result<RunOutcome, (Option<usize>, String)> {
    let program = program("reference", text);
    let ran = machine(&*program, meaning, unset).run(Limits::default());
    ran.map_err(|stopped| (stopped.instruction, stopped.error.to_string()))
}

fn place(machine: &dyn Machine, name: &str) -> usize {
    machine.memories().iter().position(|memory| memory.name == name).unwrap()
}

/// fmap[0] is 64 values, 8 words; weight[0] is two rows of them.
const SHAPES: &str = "memset cache=fmap, idx=0, a=1, b=1, c=64\nmemset cache=weight, idx=0, a=0, b=2, c=64\n";
const LOAD: &str = "memcpy host->l2, dst=0x100, src=3, aux=2, shape=0, async\n";
const USE: &str = "cvo exp, src=0x107, dst=0x200, len=8\n";

#[test]
fn memories_have_the_targets_names() {
    let text = format!(
        "{SHAPES}{LOAD}memcpy l2->host, dst=1, src=0x100, shape=0\ngemv dst=0, src=0x100, size=0, shape=0\n"
    );
    let program = program("reference", &text);
    let found = machine(&*program, HazardMode::Agreed, UninitMemory::Zero).memories().to_vec();
    let of = |memory: &npukit_target::MachineMemory| {
        (memory.name.clone(), memory.depth, memory.lanes, memory.bits, memory.is_signed)
    };
    let all: Vec<_> = found.iter().map(of).collect();
    let expected = [
        ("l2", 114_688, 8, 16, false),
        ("fmap_shape", 64, 3, 16, false),
        ("weight_shape", 64, 3, 16, false),
        ("e_max", 1, 1, 16, false),
        // Windows end with their transfers: eight units starting at unit 2, or at unit 0.
        ("host_to_l2.3", 10, 8, 16, false),
        ("l2_to_host.1", 8, 8, 16, false),
        ("weights.0", 2, 64, 4, true),
        ("scales.0", 2, 1, 32, false),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(name, d, l, b, s)| (name.to_owned(), d, l, b, s)).collect();
    assert_eq!(all, expected);
}

#[test]
fn what_is_written_is_read() {
    let text = format!("{SHAPES}{LOAD}gemv dst=0, src=0, size=0, shape=0\n");
    let program = program("reference", &text);
    let mut machine = machine(&*program, HazardMode::Agreed, UninitMemory::Zero);
    for (name, address, numbers) in [
        ("l2", 114_687, (0..8).map(|i| 0x3f80 + i).collect::<Vec<i64>>()),
        ("e_max", 0, vec![0x4000]),
        ("host_to_l2.3", 9, (0..8).collect()),
        ("weights.0", 1, (0..64).map(|i| i % 16 - 8).collect()),
        ("scales.0", 0, vec![0x3f00_0000, 0xbf80_0000]),
    ] {
        let memory = place(&*machine, name);
        let lanes = machine.memories()[memory].lanes;
        machine.write(memory, address, &numbers).unwrap();
        assert_eq!(machine.read(memory, address, (numbers.len() / lanes) as u64).unwrap(), numbers, "{name}");
    }
    let constants = place(&*machine, "fmap_shape");
    assert!(machine.write(constants, 0, &[1, 2, 3]).unwrap_err().to_string().contains("MEMSET"));
    let real = |name: &str, real| machine.number(place(&*machine, name), real);
    assert_eq!((real("l2", 1.0), real("l2", 3.1)), (Some(0x3f80), Some(0x4046)));
    assert_eq!((real("scales.0", 0.5), real("weights.0", 1.0)), (Some(0x3f00_0000), None));
    assert_eq!(machine.real(place(&*machine, "l2"), 0x4049), Some(3.140_625));
}

/// A transfer without a wait has no value yet: the later instruction stops, and the message names
/// both.
#[test]
fn orders_are_kept_by_waiting() {
    let fill = ".data host_to_l2.3[0:10], 1.0\n";
    let stopped = run(&format!("{SHAPES}{LOAD}{USE}"), HazardMode::Agreed, UninitMemory::Zero).unwrap_err();
    assert_eq!(
        stopped,
        (
            Some(3),
            "reads L2 word 0x107, which the async MEMCPY of instruction 2 writes: a synchronous MEMCPY or the host \
             must wait between them, with `.wait`; instruction 2 is at p.s:3"
                .to_owned()
        )
    );
    assert!(run(&format!("{SHAPES}{LOAD}{USE}"), HazardMode::Hardware, UninitMemory::Zero).is_err());
    assert!(
        run(&format!("{fill}{SHAPES}{LOAD}.wait\n{USE}"), HazardMode::Agreed, UninitMemory::Zero).is_ok()
    );
    assert!(run(&format!("{SHAPES}{LOAD}{USE}"), HazardMode::Sequential, UninitMemory::Zero).is_ok());
    let fence = "memcpy l2->l2, dst=0x300, src=0x400, shape=0\n";
    assert!(run(&format!("{SHAPES}{LOAD}{fence}{USE}"), HazardMode::Agreed, UninitMemory::Zero).is_ok());
}

/// A wait is a host step: lint, time and the warnings for words take it into account.
#[test]
fn waits_are_known_before_a_run() {
    let text = format!("{SHAPES}{LOAD}.wait\ncvo exp, src=0x300, dst=0x400, len=8\n");
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    let cycles = |text: &str| {
        let compiled = program("reference", text).compiled().unwrap();
        compiled.time(&TimeOptions::default()).unwrap().cycles["engine"]
    };
    assert!(cycles(&text) > cycles(&text.replace(".wait", "")));
    let unwaited = format!("{SHAPES}{LOAD}{USE}");
    let waited = format!("{SHAPES}{LOAD}.wait\n{USE}");
    let codes = |text: &str| -> Vec<&str> {
        instance.lint_text("p.s", text, &NoFiles).unwrap().findings.iter().map(|found| found.code).collect()
    };
    assert_eq!((codes(&unwaited), codes(&waited)), (vec!["unfenced-access"], vec![]));
    assert_eq!(instance.assemble("p.s", &waited, &NoFiles).unwrap().warnings, Vec::<String>::new());
    assert!(program("reference", &unwaited).text().warnings[0].contains("line 4"));
    // In a repetition, each wait has its own position.
    let repeated = format!("{SHAPES}.rept 3\n{LOAD}.wait\n{USE}.endr\n");
    assert!(
        codes(&repeated).iter().all(|code| *code == "unread-result"),
        "each repetition writes the same words"
    );
}

#[test]
fn reads_of_what_nobody_wrote_are_remarked_once() {
    let text = format!(
        "{SHAPES}cvo exp, src=0x107, dst=0x200, len=9, flags=sub_emax\ncvo sqrt, src=0x107, dst=0x107, len=9\n\
                        memcpy l2->host, dst=0, src=0x300, shape=0\n"
    );
    let ran = run(&text, HazardMode::Agreed, UninitMemory::Zero).unwrap();
    let remarks: Vec<(Option<usize>, &str)> =
        ran.remarks.iter().map(|remark| (remark.instruction, remark.message.as_str())).collect();
    assert_eq!(
        remarks,
        [
            (
                Some(2),
                "subtracts the maximum, e_max, which no product with `findemax` before has written; reads lane 0 of L2 \
                 word 0x107, which nothing before has written; it reads as 0"
            ),
            (Some(4), "reads lane 0 of L2 word 0x300, which nothing before has written; it reads as 0"),
        ]
    );
    assert_eq!(run(&text, HazardMode::Agreed, UninitMemory::Poison).unwrap_err().0, Some(2));
    let filled = ".data l2[0x107:0x109], 1.0\n.data e_max, 1.0\n.data l2[0x300:0x308], 1.0\n";
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    assert_eq!(instance.lint_text("p.s", &text, &NoFiles).unwrap().findings.len(), 2);
    assert_eq!(instance.lint_text("p.s", &format!("{filled}{text}"), &NoFiles).unwrap().findings, []);
}

#[test]
fn weights_are_given_or_named() {
    let text = format!("{SHAPES}gemv dst=0, src=0x100, size=0, shape=0, flags=w_scale\n");
    let program = program("reference", &text);
    let ones = |machine: &mut dyn Machine, name: &str, address, number, count: usize| {
        machine.write(place(machine, name), address, &vec![number; count]).unwrap();
    };
    let mut without = machine(&*program, HazardMode::Agreed, UninitMemory::Zero);
    let stopped = without.run(Limits::default()).unwrap_err();
    assert!(stopped.error.to_string().contains("`weights.0` has 2 rows of 64 to fill"), "{}", stopped.error);
    let filled = || {
        let mut part = machine(&*program, HazardMode::Agreed, UninitMemory::Zero);
        ones(&mut *part, "l2", 0x100, 0x3f80, 64);
        ones(&mut *part, "weights.0", 0, 7, 64);
        part
    };
    assert!(filled().run(Limits::default()).unwrap_err().error.to_string().contains("have no scales"));
    let mut part = filled();
    ones(&mut *part, "scales.0", 0, 0x3f00_0000, 1);
    let ran = part.run(Limits::default()).unwrap();
    assert_eq!(
        ran.remarks[0].message,
        "takes row 1 of `weights.0`, which nothing has filled; takes row 1 of `scales.0`, which nothing has filled; it \
         reads as 0"
    );
    // The result is 64 times 1 times 7, times one half.
    let results = part.read(place(&*part, "l2"), 0, 1).unwrap();
    assert_eq!((part.real(0, results[0]), results[1]), (Some(224.0), 0));
}

#[test]
fn limits_stop_a_run() {
    let program = program("reference", &format!("{SHAPES}cvo exp, src=0, dst=0, len=2048\nkick\n"));
    let run = |instructions, cycles| {
        let mut machine = machine(&*program, HazardMode::Agreed, UninitMemory::Zero);
        machine.run(Limits { instructions, cycles }).map_err(|stopped| stopped.instruction)
    };
    let cycles = program.compiled().unwrap().time(&TimeOptions::default()).unwrap().cycles["engine"];
    assert_eq!(run(Some(3), None), Err(Some(3)));
    assert!(run(Some(4), Some(cycles)).is_ok());
    assert_eq!(run(None, Some(cycles - 1)), Err(Some(2)));
}

/// Words of MEMSET, MEMCPY from a window and EXP, as bytes and as `memh`.
#[test]
fn words_run_without_text() {
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    let bytes = instance.assemble("p.s", &format!("{SHAPES}{LOAD}"), &NoFiles).unwrap().bytes;
    let memh = "3000001000100400\n3400000000200400\n2802000003000101 # the transfer\n";
    for (name, bytes) in [("p.bin", &bytes[..]), ("p.memh", memh.as_bytes())] {
        let program = instance.asm_program(name, bytes, &NoFiles).unwrap();
        let mut machine = program.machine(&AsmOptions::default()).unwrap();
        machine.write(place(&*machine, "host_to_l2.3"), 2, &[0x4040; 64]).unwrap();
        assert_eq!(machine.run(Limits::default()).unwrap().instructions, 3, "{name}");
        assert_eq!(machine.read(0, 0x107, 1).unwrap(), [0x4040; 8], "{name}");
    }
    assert!(instance.asm_program("p.bin", &[0, 0xf0, 1], &NoFiles).is_err());
}

/// The circuits' profile addresses elements, so unwritten data is not reported there.
#[test]
fn the_circuits_profile_runs_too() {
    let program = program("upstream", "cvo scale, src=0, dst=0x100, len=8\n");
    let mut machine = machine(&*program, HazardMode::Agreed, UninitMemory::Zero);
    assert_eq!(npukit_pccx::Config::preset("upstream").unwrap().profile, Profile::Upstream);
    assert_eq!(machine.run(Limits::default()).unwrap().remarks, []);
}

/// 2 MiB per transfer, each with a separate window: the total exceeds the limit of host memory.
#[test]
fn windows_are_bounded() {
    let mut text = "memset cache=fmap, idx=0, a=16, b=256, c=255\n".to_owned();
    for window in 0..600 {
        text += &format!("memcpy l2->host, dst={window}, src=0, shape=0\n");
    }
    let error = program("reference", &text).machine(&AsmOptions::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("1253376000 bytes"), "{error}");
}
