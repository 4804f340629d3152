//! How tests run compiled programs: as a driver does on a board, whose memory holds anything.

use npukit_target::Unset;
use npukit_tcu::internals::run::Driver;
use npukit_tcu::{Program, validate};

/// What lies in memory before.
pub const GARBAGE: Unset = Unset::Garbage(7);

/// The raw outputs of a program that has nothing wrong with it.
///
/// It runs on memory of which nothing may be read that nobody has written, and twice in a row on garbage: all with
/// the same outputs.
pub fn outputs(program: &Program, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
    assert_eq!(validate(&program.config, &program.instructions), []);
    let first = run(&mut Driver::new(program, Unset::Poison, &[]).unwrap(), program, inputs);
    let mut driver = Driver::new(program, GARBAGE, &[]).unwrap();
    for time in 1..=2 {
        assert_eq!(run(&mut driver, program, inputs), first, "run {time} on garbage");
    }
    first
}

/// The raw outputs of one more run.
pub fn run(driver: &mut Driver<'_>, program: &Program, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
    let finished = driver.run(inputs).unwrap();
    program.outputs.iter().map(|binding| finished.output(binding).unwrap()).collect()
}
