//! Activity of each engine over time, for trace viewers: [`record`].

use std::collections::BTreeMap;

use npukit_trace::{
    Flow, Liveness, Measures, MemoryMap, MemoryUse, Moments, Recorder, Slice, Track, Value, Wait, Work,
};

use crate::clock::{Span, Timeline};
use crate::config::Config;
use crate::isa::op::{Banks, Device, Engine, Op};
use crate::isa::usage::{Use, Words};

/// Records the activity of each engine on a separate track. `layer_of` returns the layer index of
/// an instruction, if there are layers.
pub fn record(
    config: &Config,
    ops: &[Op],
    timeline: &Timeline,
    layer_of: impl Fn(usize) -> Option<usize>,
    recorder: &mut Recorder<'_>,
) {
    let lanes =
        Engine::ALL.map(|engine| Lane { track: recorder.unit(engine.name(), measures(engine)), free: 0 });
    let found = lives(config, ops);
    let gauge = found.is_some().then(|| recorder.gauge("live words of L2", "words"));
    let MemoryUse { uses, live } = found.unwrap_or_default(); // Default: nothing is known of a memory that is too large.
    let mut users = BTreeMap::<usize, Vec<usize>>::new();
    uses.iter().for_each(|(load, user)| users.entry(*user).or_default().push(*load));
    let mut tracks = Tracks { recorder, lanes, uses, users };
    for (index, (op, span)) in ops.iter().zip(&timeline.spans).enumerate() {
        let layer = layer_of(index);
        if let Some(layer) = layer {
            tracks.recorder.layer(layer, span.start, span.end - span.start);
        }
        if let (Some(gauge), Some(&live)) = (gauge, live.get(index)) {
            tracks.recorder.level(gauge, span.start, live, layer);
        }
        tracks.show(index, op, span, &layer_of);
    }
}

/// Track of an engine, and the cycle at which the engine becomes free.
#[derive(Clone, Copy)]
struct Lane {
    track: Track,
    free: u64,
}

/// State of a trace in progress.
struct Tracks<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    /// Tracks in the order of the engines.
    lanes: [Lane; Engine::ALL.len()],
    /// First user of each load, and the loads of each such user.
    uses: BTreeMap<usize, usize>,
    users: BTreeMap<usize, Vec<usize>>,
}

impl Tracks<'_, '_> {
    fn show(&mut self, index: usize, op: &Op, span: &Span, layer_of: &impl Fn(usize) -> Option<usize>) {
        let Some(lane) = self.lanes.get_mut(span.engine as usize) else { return };
        let Lane { track, free } = *lane;
        lane.free = span.end;
        let (layer, instruction, start) = (layer_of(index), Some(index), span.start);
        let waited = start.saturating_sub(free);
        if waited > 0 {
            let on = span.wait.name();
            self.recorder.wait(track, &Wait { on, start: free, cycles: waited, waited, layer, instruction });
        }
        let cycles = span.end - start;
        if cycles == 0 {
            return;
        }
        let cost = &span.cost;
        let details = [
            ("bound", Value::Text(span.bound.name())),
            ("waited for", Value::Text(span.wait.name())),
            ("load", Value::Number(cost.load)),
            ("compute", Value::Number(cost.compute)),
            ("weights", Value::Number(cost.weights)),
            ("store", Value::Number(cost.store)),
            ("macs", Value::Number(cost.macs)),
        ];
        let flows = self.flows(index, layer_of);
        let (bytes, busy, name) = (cost.weight_bytes + cost.host_bytes, cycles, op.mnemonic());
        let (details, flows, work) = (&details[..], &flows[..], kind_of_work(op));
        let slice = Slice { name, start, cycles, busy, bytes, layer, instruction, details, flows, work };
        self.recorder.slice(track, &slice);
    }

    /// Returns arrows from transfers of the host to their first readers, if both are in the trace.
    fn flows(&self, index: usize, layer_of: &impl Fn(usize) -> Option<usize>) -> Vec<Flow> {
        let shown = |other: usize| self.recorder.shows(layer_of(other));
        let from = self.uses.get(&index).filter(|user| shown(**user)).map(|_| Flow::From(index as u64));
        let loads = self.users.get(&index).into_iter().flatten().filter(|load| shown(**load));
        from.into_iter().chain(loads.map(|load| Flow::To(*load as u64))).collect()
    }
}

/// Returns the counters of an engine.
const fn measures(engine: Engine) -> Measures {
    match engine {
        Engine::Dispatch => Measures { utilization: false, bytes: false },
        Engine::Gemv | Engine::Gemm => Measures { utilization: true, bytes: true },
        Engine::Cvo => Measures { utilization: true, bytes: false },
        Engine::Memcpy => Measures { utilization: false, bytes: true },
    }
}

/// Returns the lifetimes of L2 words and the first readers of host transfers; `None` if L2 has too
/// many words.
fn lives(config: &Config, ops: &[Op]) -> Option<MemoryUse> {
    let mut lives = Liveness::new(config.l2_words.into())?;
    tell(ops, &mut lives);
    Some(lives.finish(ops.len()))
}

/// Returns the users of L2 words over time.
pub fn memory_map(config: &Config, ops: &[Op], moments: &Moments) -> Option<MemoryMap> {
    Liveness::map("L2", "words", config.l2_words.into(), moments, |lives| tell(ops, lives))
}

/// Reports all reads and writes of L2.
fn tell(ops: &[Op], lives: &mut Liveness<'_>) {
    let mut banks = Banks::default();
    for (index, op) in ops.iter().enumerate() {
        let Use { reads, writes } = Use::of(&banks, op);
        let updated = writes.filter(|_| op.access(&banks).updates);
        for Words { first, end } in reads.into_iter().flatten().chain(updated) {
            lives.read(index, first..end);
        }
        if let Some(Words { first, end }) = writes {
            let is_load = matches!(op, Op::Memcpy(memcpy) if memcpy.from_device == Device::Host);
            lives.write(index, first..end, is_load);
        }
        banks.step(op);
    }
}

/// Returns the kind of an instruction's work.
const fn kind_of_work(op: &Op) -> Option<Work> {
    match op {
        Op::Gemv(_) | Op::Gemm(_) => Some(Work::Compute),
        Op::Cvo(_) => Some(Work::Alus),
        Op::Memcpy(_) => Some(Work::Dram),
        _ => None,
    }
}
