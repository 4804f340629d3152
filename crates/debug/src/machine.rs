//! Helpers for one-line answers: [`read`] of a machine's memory, and errors by [`chain`].

use npukit_target::{AddressRun, Machine, TargetError};

/// Returns the numbers at some addresses.
pub(crate) fn read(machine: &dyn Machine, run: AddressRun) -> Result<Vec<i64>, String> {
    if run.stride == 1 || run.count <= 1 {
        return machine.read(run.memory, run.first, run.count).map_err(|error| chain(&error));
    }
    let mut all = Vec::new();
    for place in 0..run.count {
        all.extend(machine.read(run.memory, run.at(place), 1).map_err(|error| chain(&error))?);
    }
    Ok(all)
}

/// Formats an error and its causes in one line.
pub(crate) fn chain(error: &TargetError) -> String {
    let all = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut messages: Vec<String> = all.map(ToString::to_string).collect();
    // A transparent error repeats the text of its cause.
    messages.dedup();
    messages.join(": ")
}
