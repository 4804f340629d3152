//! Runs compiled programs in tests: on unwritten memory, and twice in a row on random contents.

use npukit_drra::internals::driver::{Runner, SampleRun};
use npukit_drra::internals::executable::Executable;
use npukit_target::UninitMemory;

/// Runs a program, and checks that it reads no unwritten word and does not depend on earlier memory
/// contents.
pub fn checked(executable: &Executable, inputs: &[Vec<i16>]) -> SampleRun {
    let revision = executable.fabric.options.revision;
    let ran = Runner::new(executable, revision, UninitMemory::Poison).run(inputs).unwrap();
    let garbage = Runner::new(executable, revision, UninitMemory::Garbage(7));
    for time in 1..=2 {
        assert_eq!(garbage.run(inputs).unwrap(), ran, "run {time} on garbage");
    }
    ran
}
