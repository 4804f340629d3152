//! Liveness of each memory over time, by the clock: [`maps`].

use npukit_target::{TargetError, TimeReport};
use npukit_trace::{MemoryMap, Moments};

use super::profile::Profile;
use super::run;
use crate::config::Timing;
use crate::program::Program;
use crate::program::liveness;

/// Returns the maps of the program for which `time` was reported; empty if it is another program's.
pub(in crate::target) fn maps(program: &Program, time: &TimeReport) -> Vec<MemoryMap> {
    let timing =
        Profile::all(program).find(|profile| profile.name == time.clock).map(|profile| profile.timing);
    let mapped = timing.map(|timing| Ok(liveness::maps(program, &timing, &moments(program, &timing)?)));
    // Default: a program that the clock rejects has no times either.
    mapped.and_then(Result::<_, TargetError>::ok).unwrap_or_default()
}

/// Returns when the engine of each instruction works on it, and finally when the driver reads the
/// outputs.
fn moments(program: &Program, timing: &Timing) -> Result<Moments, TargetError> {
    let mut spans = vec![0..0; program.instructions.len()];
    let end = run(program, timing, &mut |slice| {
        // The front end, which fetches an instruction, is reported before the engine that executes
        // it.
        if let Some(span) = spans.get_mut(slice.instruction) {
            *span = slice.start..slice.end;
        }
    })?
    .cycles;
    let layers = program.layer_of_each().into_iter();
    let layers = layers.map(|layer| Some(layer).filter(|layer| *layer < program.layers.len()));
    Ok(Moments::spans(layers.zip(spans).chain([(None, end..end)])))
}
