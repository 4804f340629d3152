//! Who needs which places of each memory when, by the clock: [`maps`].

use npukit_target::{TargetError, TimeReport};
use npukit_trace::{MemoryMap, Moments};

use super::profile::Profile;
use super::run;
use crate::config::Timing;
use crate::program::Program;
use crate::program::lives;

/// The maps of a program whose `time` was reported: none where that is not of this program.
pub(in crate::target) fn maps(program: &Program, time: &TimeReport) -> Vec<MemoryMap> {
    let timing =
        Profile::all(program).find(|profile| profile.name == time.model).map(|profile| profile.timing);
    let mapped = timing.map(|timing| Ok(lives::maps(program, &timing, &moments(program, &timing)?)));
    // Default: what the clock refuses has no time either.
    mapped.and_then(Result::<_, TargetError>::ok).unwrap_or_default()
}

/// When the engine of each instruction is at work on it, and at last when the driver takes the outputs.
fn moments(program: &Program, timing: &Timing) -> Result<Moments, TargetError> {
    let mut spans = vec![0..0; program.instructions.len()];
    let end = run(program, timing, &mut |slice| {
        // The front end, which fetches it, is told of before the engine that it is handed to.
        if let Some(span) = spans.get_mut(slice.instruction) {
            *span = slice.start..slice.end;
        }
    })?
    .cycles;
    let layers = program.layer_of_each().into_iter();
    let layers = layers.map(|layer| Some(layer).filter(|layer| *layer < program.layers.len()));
    Ok(Moments::spans(layers.zip(spans).chain([(None, end..end)])))
}
