//! [`record`]: timeline of a compiled model, for a trace viewer.
//!
//! The time of a kernel call does not depend on the tensors' contents, so each kernel is run once
//! and shown for each call.

use std::collections::BTreeMap;

use npukit_target::TargetError;
use npukit_trace::{Measures, Recorder, Slice, Value, Work};

use crate::clock::{Played, Timeline, Tracks};
use crate::config::fabric::ROW_WORDS;
use crate::program::call::{Call, Load};
use crate::program::executable::Executable;

/// Bytes per row of a buffer.
const ROW_BYTES: u64 = 2 * ROW_WORDS as u64;

/// Records the calls, one after the other, with the activity of each port and sequencer. Returns
/// the total number of cycles.
///
/// Errors: the machine refuses a kernel or faults.
pub(super) fn record(executable: &Executable, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
    let calls = recorder.unit("calls of kernels", Measures { utilization: false, bytes: true });
    let tracks = Tracks::new(&executable.fabric, recorder);
    let mut played: BTreeMap<usize, Vec<Played>> = BTreeMap::new();
    let mut now = 0;
    for (layer, step) in executable.calls.iter().enumerate() {
        for (call, number) in step.iter().flatten() {
            let Some(ready) = executable.kernels.get(*number) else { continue };
            let (cycles, name) = (ready.cycles(), ready.kernel.kind.name());
            recorder.layer(layer, now, cycles);
            let [read, written] = rows(call);
            let details = [
                ("kernel", Value::Number(*number as u64)),
                ("rows read", Value::Number(read)),
                ("rows written", Value::Number(written)),
            ];
            let bytes = (read + written) * ROW_BYTES;
            let (layer, details) = (Some(layer), &details[..]);
            let slice = Slice {
                name: &name,
                start: now,
                cycles,
                busy: cycles,
                bytes,
                layer,
                details,
                work: Some(Work::Compute),
                ..Slice::default()
            };
            recorder.slice(calls, &slice);
            if recorder.shows(layer) {
                let played = match played.entry(*number) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => {
                        new.insert(play(executable, *number, call)?)
                    }
                };
                played.iter().for_each(|slice| tracks.show(recorder, slice, now, layer));
            }
            now += cycles;
        }
    }
    Ok(now)
}

/// Rows of the input buffer that a call fills, and rows of the output buffer that it takes.
fn rows(call: &Call) -> [u64; 2] {
    let read: usize = call.loads.iter().map(Load::all_rows).sum();
    let written: usize = call.results.iter().map(|results| results.count.div_ceil(ROW_WORDS)).sum();
    [read as u64, written as u64]
}

/// Returns the activity in a kernel call.
fn play(executable: &Executable, number: usize, call: &Call) -> Result<Vec<Played>, TargetError> {
    let mut played = Vec::new();
    let mut timeline = Timeline::new(&executable.fabric, |slice| played.push(slice));
    executable.watch(number, call, &mut timeline).map_err(TargetError::failed)?;
    timeline.finish();
    Ok(played)
}
