//! Runs compiled programs as a driver does on a board, with arbitrary initial memory.

use npukit_target::UninitMemory;
use npukit_tcu::internals::run::Driver;
use npukit_tcu::{Program, validate};

/// Initial content of memory.
pub const GARBAGE: UninitMemory = UninitMemory::Garbage(7);

/// Returns the raw outputs of a correct program.
///
/// It runs once on poisoned memory, where reads of unwritten vectors fault, and twice in a row on
/// garbage. All runs must have the same outputs.
pub fn outputs(program: &Program, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
    assert_eq!(validate(&program.config, &program.instructions), []);
    let first = run(&mut Driver::new(program, UninitMemory::Poison, &[]).unwrap(), program, inputs);
    let mut driver = Driver::new(program, GARBAGE, &[]).unwrap();
    for time in 1..=2 {
        assert_eq!(run(&mut driver, program, inputs), first, "run {time} on garbage");
    }
    first
}

/// Returns the raw outputs of one more run.
pub fn run(driver: &mut Driver<'_>, program: &Program, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
    let finished = driver.run(inputs).unwrap();
    program.outputs.iter().map(|binding| finished.output(binding).unwrap()).collect()
}
