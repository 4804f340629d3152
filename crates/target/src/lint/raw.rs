//! [`raw_numbers`]: integers in a text that represent small real numbers.

use npukit_asm::{Experiment, MemoryRange, SourceLocation};

use crate::contract::machine::Machine;

/// Smallest number that is shown without an exponent.
const SHORT: f64 = 1e-4;

/// Returns the declarations of memory contents whose integers all represent real numbers below 1 in
/// the machine's memory, each with a message: most likely, real numbers were meant. Integers that
/// are marked as `raw(1)` are not among them.
pub fn raw_numbers(experiment: &Experiment, machine: &dyn Machine) -> Vec<(SourceLocation, String)> {
    let message = |range: &MemoryRange, numbers: &[i128]| {
        let is_named = |name: &str| name.eq_ignore_ascii_case(&range.memory);
        let memory = machine.memories().iter().position(|memory| is_named(&memory.name))?;
        let real = |raw: i128| machine.real(memory, i64::try_from(raw).ok()?);
        let first = numbers.iter().copied().find(|&number| number != 0)?;
        let is_small = |&number: &i128| real(number).is_some_and(|real| real.abs() < 1.0);
        let value = real(first).filter(|_| numbers.iter().all(is_small))?;
        let value = if value.abs() < SHORT { format!("{value:.1e}") } else { format!("{value:.4}") };
        Some(format!("raw {first} is {value}; write {first}.0 or raw({first})"))
    };
    let found = |(place, range, numbers)| Some((place, message(range, numbers)?));
    experiment.unmarked().filter_map(found).collect()
}
