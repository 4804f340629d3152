//! Machines that execute one step at a time.

use std::collections::BTreeMap;

use npukit::{Memories, NoFiles, TargetError, resolve};

/// Loads a program on the machine of an instance.
fn machine(target: &str, text: &str) -> Result<Memories, TargetError> {
    let instance = resolve(target, &BTreeMap::new()).unwrap();
    let words = instance.assemble("a.s", text, &NoFiles).unwrap().bytes;
    Memories::of_program(&*instance, "words", &words, &NoFiles)
}

/// Returns the index of the next step.
fn next(memories: &Memories) -> Option<usize> {
    let machine = &memories.machine;
    Some(machine.position()).filter(|&position| position < machine.steps())
}

#[test]
fn a_fault_leaves_the_machine_before_its_instruction() {
    let mut machine = machine("tcu", "noop\ndatamove local[0x0] <- dram0[0xfffff], 2\n").unwrap();
    machine.machine.step().unwrap();
    for _ in 0..2 {
        machine.machine.step().unwrap_err();
        assert_eq!(next(&machine), Some(1));
    }
}

#[test]
fn memories_have_names_and_ends() {
    for (target, text, written) in
        [("tcu", "noop", "dram0 dram1 local acc"), ("opu", "end", "memory"), ("pccx", "kick", "l2")]
    {
        let mut machine = machine(target, text).unwrap();
        for memory in machine.all().to_vec() {
            let (name, last) = (&memory.name, memory.depth - 1);
            if written.split(' ').any(|written| written == name) {
                let values: Vec<i64> = (1..).take(memory.lanes).collect();
                machine.write(name, last, &values).unwrap();
                assert_eq!(machine.read(name, last, 1).unwrap(), values, "{target} {name}");
                machine.write(name, last + 1, &values).unwrap_err();
            }
            machine.read(name, last, 2).unwrap_err();
            machine.read(name, u64::MAX, u64::MAX).unwrap_err();
        }
        let message = machine.read("cache", 0, 1).unwrap_err().to_string();
        assert!(message.starts_with("unknown memory `cache`: "), "{message}");
        machine.machine.step().unwrap();
        assert_eq!(next(&machine), None);
        machine.machine.step().unwrap();
    }
}

#[test]
fn only_what_a_memory_holds_is_written() {
    machine("opu", "end").unwrap().write("memory", 0, &[256]).unwrap_err();
    machine("tcu", "noop").unwrap().write("local", 0, &[1 << 15; 8]).unwrap_err();
    let mut machine = machine("pccx", "kick").unwrap();
    machine.write("l2", 0, &[-1; 8]).unwrap_err();
    machine.write("l2", 0, &[1; 7]).unwrap_err();
}

#[test]
fn a_program_ends_where_it_says() {
    let mut machine = machine("opu", "end\nend\n").unwrap();
    assert_eq!(next(&machine), Some(0));
    machine.machine.step().unwrap();
    assert_eq!(next(&machine), None);
}

#[test]
fn a_step_may_be_a_cycle() {
    let mut machine = machine("drra", "cell (row=1, col=0)\nhalt()\n").unwrap();
    assert_eq!((machine.machine.step_name(), next(&machine)), ("cycle", Some(0)));
    machine.machine.run(npukit::Limits::default()).unwrap();
    assert_eq!(next(&machine), None);
}
