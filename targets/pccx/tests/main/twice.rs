//! Runs compiled programs in tests: checks that they read no unwritten data, and runs them twice on
//! garbage.

use std::num::NonZeroU32;

use npukit_numeric::Tensor;
use npukit_pccx::internals::check::findings;
use npukit_pccx::internals::lower::Executable;
use npukit_pccx::internals::runtime::{self, Session};
use npukit_pccx::{Config, Machine};
use npukit_target::{Compiled, Finding, Inputs, RunOptions, RunResult, UninitMemory};

/// Returns the results on a machine after its reset; checks that a machine full of garbage gives
/// the same, twice.
pub(crate) fn run(config: &Config, executable: &Executable, inputs: &[Tensor]) -> Vec<Tensor> {
    let Executable { program, host } = executable;
    let found = findings(config, program, host);
    assert_eq!(
        found.iter().filter(|found| found.is_error()).collect::<Vec<&Finding>>(),
        Vec::<&Finding>::new()
    );
    let plain = runtime::run(config, program, host, inputs).unwrap();
    let mut machine = Machine::with(config, UninitMemory::Garbage(7)).unwrap();
    let mut session = Session::new(&mut machine, program, host).unwrap();
    for time in 1..=2 {
        assert_eq!(session.run(inputs).unwrap(), plain, "run {time} on garbage");
    }
    plain
}

/// Runs a program like [`run`], through the interface of users.
pub(crate) fn run_compiled(program: &dyn Compiled, inputs: &Inputs) -> RunResult {
    let run = |unset, times| {
        let times = NonZeroU32::new(times).unwrap();
        program.run_with(inputs, &RunOptions { unset, times, ..RunOptions::default() }).unwrap()
    };
    let plain = program.run(inputs).unwrap();
    assert_eq!(run(UninitMemory::Garbage(7), 2), plain);
    assert_eq!(run(UninitMemory::Poison, 2), plain);
    plain
}
