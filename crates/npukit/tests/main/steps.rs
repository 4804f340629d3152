//! Machines that execute one instruction at a time.

use std::collections::BTreeMap;

use npukit::{NoFiles, Stepper, TargetError, resolve};

/// The machine of an instance with a program.
fn machine(target: &str, text: &str) -> Result<Stepper, TargetError> {
    let instance = resolve(target, &BTreeMap::new()).unwrap();
    instance.stepper(&instance.assemble("a.s", text, &NoFiles).unwrap().bytes)
}

#[test]
fn a_fault_leaves_the_machine_before_its_instruction() {
    let mut machine = machine("tcu", "noop\ndatamove local[0x0] <- dram0[0xfffff], 2\n").unwrap();
    machine.step().unwrap();
    for _ in 0..2 {
        machine.step().unwrap_err();
        assert_eq!(machine.next(), Some(1));
    }
}

#[test]
fn memories_have_names_and_ends() {
    for (target, text) in [("tcu", "noop"), ("opu", "end"), ("pccx", "kick")] {
        let mut machine = machine(target, text).unwrap();
        let memories = machine.memories();
        for memory in &memories {
            let values: Vec<i32> = (1..).take(memory.lanes).collect();
            let last = memory.depth - 1;
            machine.write(memory.name, last, &values).unwrap();
            assert_eq!(machine.read(memory.name, last, 1).unwrap(), values, "{target} {}", memory.name);
            machine.read(memory.name, last, 2).unwrap_err();
            machine.write(memory.name, last + 1, &values).unwrap_err();
            machine.read(memory.name, u64::MAX, u64::MAX).unwrap_err();
        }
        let names: Vec<&str> = memories.iter().map(|memory| memory.name).collect();
        let told = machine.read("cache", 0, 1).unwrap_err().to_string();
        assert_eq!(told, format!("option `memory=cache`: the memories are {}", names.join(", ")));
        machine.step().unwrap();
        assert_eq!(machine.next(), None);
        machine.step().unwrap();
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
    assert_eq!(machine("opu", "end\nend\n").unwrap().next(), Some(0));
    let mut machine = machine("opu", "end\nend\n").unwrap();
    machine.step().unwrap();
    assert_eq!(machine.next(), None);
}

#[test]
fn machines_that_cannot_step_say_so() {
    let instance = resolve("drra", &BTreeMap::new()).unwrap();
    assert!(matches!(instance.stepper(&[]), Err(TargetError::Unsupported { verb: "step", .. })));
}
