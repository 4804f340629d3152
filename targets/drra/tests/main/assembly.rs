//! Assembly programs on the machine: memories by name, and unwritten reads.

use npukit_drra::DRRA;
use npukit_target::{
    AsmOptions, HazardMode, InstanceSpec, Limits, Machine, NoFiles, TargetError, UninitMemory,
};

/// Copies eight words of file 1 to file 2, one every four cycles, and after `wait` to file 3, one
/// per cycle. The last word of the first copy arrives in cycle 39.
fn copy(wait: u32) -> String {
    format!(
        "cell (row=1, col=0)
swb(slot=0, channel=2, source=1, target=2)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=8, delay=3)
dsu(slot=2, port=word_write)
rep(slot=2, port=word_write, iter=8, delay=3)
dsu(slot=2, port=word_read, init_addr=0)
rep(slot=2, port=word_read, iter=8)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=8)
act(param=1, ports=0b00010010)
swb(slot=0, channel=3, source=2, target=3)
wait(cycle={wait})
act(param=2, ports=0b00010010)
wait(cycle=9)
halt()
"
    )
}

fn machine(name: &str, file: &str, text: &[u8]) -> Box<dyn Machine> {
    let instance = DRRA.instance(InstanceSpec::Preset(name)).unwrap();
    let program = instance.asm_program(file, text, &NoFiles).unwrap();
    program.machine(&AsmOptions { meaning: HazardMode::Hardware, unset: UninitMemory::Zero }).unwrap()
}

fn memory(machine: &dyn Machine, name: &str) -> usize {
    machine.memories().iter().position(|memory| memory.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn remarks(text: &str, fill: bool) -> Vec<(Option<usize>, String)> {
    let mut machine = machine("3x1", "k.s", text.as_bytes());
    if fill {
        let file = memory(&*machine, "rf.1.0.1");
        machine.write(file, 0, &[3, -1, 4, 1, -5, 9, 2, -6]).unwrap();
    }
    let ran = machine.run(Limits::default()).unwrap_or_else(|stopped| panic!("{}", stopped.error));
    ran.remarks.into_iter().map(|remark| (remark.instruction, remark.message)).collect()
}

#[test]
fn a_program_that_waits_long_enough_has_no_remarks() {
    assert_eq!(remarks(&copy(27), true), []);
    let mut machine = machine("3x1", "k.s", copy(27).as_bytes());
    let (from, to) = (memory(&*machine, "rf.1.0.1"), memory(&*machine, "rf.1.0.3"));
    let numbers = [3, -1, 4, 1, -5, 9, 2, -6];
    machine.write(from, 0, &numbers).unwrap();
    let ran = machine.run(Limits::default()).unwrap_or_else(|stopped| panic!("{}", stopped.error));
    assert_eq!(ran.instructions, 15);
    assert_eq!(machine.read(to, 0, 8).unwrap(), numbers);
}

/// An unwritten read is reported with the `act` that started it.
#[test]
fn a_wait_too_short_is_told() {
    // Word i is written in cycle 10 + 4 i and read in cycle 23 + i.
    let messages = remarks(&copy(10), true);
    let (instruction, message) = &messages[0];
    assert_eq!(*instruction, Some(12), "{messages:?}");
    assert!(
        message.contains("slot 2, port 1: register 5 is read before it is written; it reads as 0"),
        "{message}"
    );
}

/// Every port is reported once.
#[test]
fn memories_that_nobody_filled_are_told_of() {
    let messages = remarks(&copy(27), false);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(
        messages[0].1.contains("slot 1, port 1: register 0 is read before it is written"),
        "{messages:?}"
    );
    assert_eq!(messages[0].0, Some(9));
}

/// An unwritten word that was passed on is reported at its origin.
#[test]
fn the_first_read_of_what_nobody_wrote_is_told() {
    let text = "cell (row=0, col=0)
dsu(slot=1, port=input_buffer)
dsu(slot=1, port=sram_write)
act(param=1, ports=0b0101)
route(slot=0, sr=send, source=2, target=0b010000000)
dsu(slot=2, port=sram_read)
act(param=2, ports=0b1000)
wait()
halt()
cell (row=1, col=0)
route(slot=0, sr=receive, source=1, target=0b0010)
swb(slot=0, channel=2, source=1, target=2)
dsu(slot=1, port=bulk_write)
dsu(slot=1, port=word_read)
dsu(slot=2, port=word_write)
act(param=1, ports=0b0100)
wait()
act(param=1, ports=0b00010010)
wait()
halt()
";
    let messages = remarks(text, false);
    assert!(messages[0].1.contains("row 0 of the input buffer is read before it is written"), "{messages:?}");
    assert_eq!((messages.len(), messages[0].0), (1, Some(2)), "{messages:?}");
}

/// PASM and words behave like assembly.
#[test]
fn pasm_and_words_run_as_assembly() {
    let pasm = "epoch {
  rop<link> (row=1, col=0, slot=0, port=0) { swb (channel=2, source=1, target=2) }
  rop<read> (row=1, col=0, slot=1, port=1) { dsu (init_addr=0) rep (iter=4) }
  rop<write> (row=1, col=0, slot=2, port=0) { dsu (init_addr=0) rep (iter=4) }
  cstr(\"link < read\")
  cstr(\"read == write\")
}
";
    let words =
        DRRA.instance(InstanceSpec::Preset("3x1")).unwrap().assemble("k.pasm", pasm, &NoFiles).unwrap().bytes;
    for (file, text) in [("k.pasm", pasm.as_bytes()), ("instr.bin", &words[..])] {
        let mut machine = machine("3x1", file, text);
        let (from, to) = (memory(&*machine, "rf.1.0.1"), memory(&*machine, "rf.1.0.2"));
        machine.write(from, 0, &[7, 8, 9, -10]).unwrap();
        machine.run(Limits::default()).unwrap_or_else(|stopped| panic!("{}", stopped.error));
        assert_eq!(machine.read(to, 0, 5).unwrap(), [7, 8, 9, -10, 0], "{file}");
    }
}

/// Only the reading of the ISA document has a memory of flags.
#[test]
fn flags_are_filled_and_read() {
    let text = "cell (row=1, col=0)\nbrn(reg=4, target_true=2, target_false=1)\nhalt()\ncalc(mode=eq, operand2=0, result=7)\nhalt()\n";
    for (flag, expected) in [(0, 0), (1, 1)] {
        let mut machine = machine("3x1+seed", "k.s", text.as_bytes());
        let flags = memory(&*machine, "flag.1.0");
        machine.write(flags, 4, &[flag]).unwrap();
        machine.run(Limits::default()).unwrap_or_else(|stopped| panic!("{}", stopped.error));
        assert_eq!(machine.read(flags, 7, 1).unwrap(), [expected]);
    }
    assert!(
        !machine("3x1", "k.s", b"cell (row=1, col=0)\nhalt()\n")
            .memories()
            .iter()
            .any(|one| one.name.contains("flag"))
    );
}

/// Limits stop a run with a message.
#[test]
fn limits_stop_a_run() {
    let mut one = machine("3x1+seed", "k.s", b"cell (row=1, col=0)\nbrn()\n");
    let limits = Limits { cycles: Some(50), ..Limits::default() };
    let stopped = one.run(limits).err().unwrap();
    assert!(stopped.error.to_string().contains("50"), "{}", stopped.error);
}

/// Programs according to the ISA document, with the start of the statement that the released fabric
/// ignores.
const OF_THE_SEED: [(&str, &str); 4] = [
    (
        "cell (row=1, col=0)\ncalc(mode=eq, operand1=0, operand2=0, result=3)\n\
         brn(reg=3, target_true=2, target_false=1)\nhalt()\ncalc(mode=add, operand2=7, result=1)\nhalt()\n",
        "brn(",
    ),
    ("cell (row=1, col=0)\nwait(mode=events, cycle=2)\nhalt()\n", "wait("),
    (
        "cell (row=1, col=0)\ndsu(slot=1, port=word_read, init_addr=3)\nrep(slot=1, port=word_read, iter=2)\n\
         act(ports=2, param=1)\nwait(cycle=3)\nhalt()\n",
        "dsu(",
    ),
    (
        "cell (row=1, col=0)\ncalc(mode=add, operand2=9, result=2)\n\
         dsu(slot=1, port=word_read, init_addr_sd=d, init_addr=2)\nrep(slot=1, port=word_read, iter=2)\n\
         act(ports=2, param=1)\nwait(cycle=3)\nhalt()\n",
        "dsu(",
    ),
];

fn agreed(fabric: &str, text: &str) -> Result<Box<dyn Machine>, TargetError> {
    let instance = DRRA.instance(InstanceSpec::Preset(fabric)).unwrap();
    let program = instance.asm_program("k.s", text.as_bytes(), &NoFiles).unwrap();
    program.machine(&AsmOptions { meaning: HazardMode::Agreed, unset: UninitMemory::Zero })
}

#[test]
fn what_the_released_fabric_ignores_is_refused_at_its_place_with_where_it_runs() {
    for (text, begins) in OF_THE_SEED {
        for (fabric, elsewhere) in [
            ("3x1", "`drra:3x1+seed`"),
            ("3x4+f11", "`drra:3x4+f11+seed`"),
            ("3x1,cols=2", "`drra:3x1+seed,cols=2`"),
            ("1x1:[swb,rf,iosram_both,dpu]", "`drra:1x1:[swb,rf,iosram_both,dpu]+seed`"),
        ] {
            let text = &text.replace("row=1", if fabric.starts_with("1x1") { "row=0" } else { "row=1" });
            let Err(TargetError::Text(fault)) = agreed(fabric, text) else { panic!("{fabric}: {text}") };
            let message = fault.to_string();
            let expected = format!("the released fabric ignores it; use {elsewhere}");
            assert!(message.contains(&expected), "{fabric}: {message}");
            let label = fault.labels().unwrap().next().unwrap();
            assert_eq!(label.offset(), text.find(begins).unwrap(), "{message}");
            let written = &text[label.offset()..label.offset() + label.len()];
            assert!(written.ends_with(')') && !written.contains('\n'), "{written}");
        }
        for fabric in ["seed", "3x1+seed"] {
            agreed(fabric, text)
                .unwrap()
                .run(Limits::default())
                .unwrap_or_else(|stopped| panic!("{}", stopped.error));
        }
    }
}

/// The flag is set, so the branch goes to the addition: 0 + 7.
#[test]
fn the_fabric_of_the_seed_branches_by_flags() {
    let (text, _) = OF_THE_SEED[0];
    let register = |fabric: &str, meaning| {
        let instance = DRRA.instance(InstanceSpec::Preset(fabric)).unwrap();
        let program = instance.asm_program("k.s", text.as_bytes(), &NoFiles).unwrap();
        let mut machine = program.machine(&AsmOptions { meaning, unset: UninitMemory::Zero }).unwrap();
        machine.run(Limits::default()).unwrap_or_else(|stopped| panic!("{}", stopped.error));
        machine.read(memory(&*machine, "reg.1.0"), 1, 1).unwrap()
    };
    assert_eq!(register("seed", HazardMode::Agreed), [7]);
    assert_eq!(register("3x1", HazardMode::Hardware), [0]);
}
