//! How tests run compiled programs: on memory that nobody wrote, and twice in a row on garbage.

use npukit_drra::internals::driver::{Ran, Runner};
use npukit_drra::internals::executable::Executable;
use npukit_target::Unset;

/// What a program computes: no word is used that was not written, and what memory holds before makes no difference.
pub fn checked(executable: &Executable, inputs: &[Vec<i16>]) -> Ran {
    let revision = executable.fabric.options.revision;
    let ran = Runner::new(executable, revision, Unset::Poison).run(inputs).unwrap();
    let garbage = Runner::new(executable, revision, Unset::Garbage(7));
    for time in 1..=2 {
        assert_eq!(garbage.run(inputs).unwrap(), ran, "run {time} on garbage");
    }
    ran
}
