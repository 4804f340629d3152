//! Trace of the engines' work over time, for a viewer: [`record`].

use std::collections::BTreeMap;

use npukit_target::{TargetError, TimeOptions};
use npukit_trace::{Flow, Measures, Recorder, Slice as Shown, Track, Value, Wait, Work};

use super::profile::Profile;
use super::run;
use crate::clock::{Engine, Slice};
use crate::isa::op::{Class, Op, Registers};
use crate::program::Program;

/// Records the work of the engines, with one track per engine, and the layers as the front end
/// reaches them.
///
/// Errors: options that are not legal; an instruction that uses a register before it is set.
pub(in crate::target) fn record(
    program: &Program,
    options: &TimeOptions,
    recorder: &mut Recorder<'_>,
) -> Result<u64, TargetError> {
    let timing = Profile::chosen(program, options)?.timing;
    let units = Engine::ALL.map(|engine| recorder.unit(engine.name(), measures(engine)));
    let uses = uses(program);
    let users = uses.iter().fold(BTreeMap::<usize, Vec<usize>>::new(), |mut users, (load, user)| {
        users.entry(*user).or_default().push(*load);
        users
    });
    let word_bytes = timing.port_bytes_per_cycle.into();
    let layers = program.layer_of_each();
    let mut tracks = Tracks { program, layers, recorder, units, uses, users, word_bytes };
    Ok(run(program, &timing, &mut |slice| tracks.show(slice))?.cycles)
}

/// Trace of a program in progress.
struct Tracks<'a, 'b> {
    program: &'a Program,
    /// Index of each instruction's layer.
    layers: Vec<usize>,
    recorder: &'a mut Recorder<'b>,
    /// Tracks by engine index.
    units: [Track; Engine::ALL.len()],
    /// First user of each load, and the loads of each such user.
    uses: BTreeMap<usize, usize>,
    users: BTreeMap<usize, Vec<usize>>,
    word_bytes: u64,
}

impl Tracks<'_, '_> {
    fn show(&mut self, slice: Slice) {
        let Slice { instruction, engine, start, end, words, wait } = slice;
        let (Some(op), Some(&track)) =
            (self.program.instructions.get(instruction), self.units.get(engine as usize))
        else {
            return;
        };
        let layer = self.layer(instruction);
        if let Some((cause, waited)) = wait {
            // A wait of the front end is attributed to the previous instruction.
            let instruction =
                if engine == Engine::FrontEnd { instruction.saturating_sub(1) } else { instruction };
            let (layer, instruction) = (self.layer(instruction), Some(instruction));
            let (on, start) = (cause.name(), start - waited);
            self.recorder.wait(track, &Wait { on, start, cycles: waited, waited, layer, instruction });
        }
        let cycles = end - start;
        if let (Engine::FrontEnd, Some(layer)) = (engine, layer) {
            self.recorder.layer(layer, start, cycles);
        }
        if cycles == 0 {
            return;
        }
        let details = [("words", Value::Number(words))];
        let flows = self.flows(instruction, engine);
        let bytes = words * self.word_bytes;
        let (name, instruction) = (op.mnemonic(), Some(instruction));
        let (busy, details, flows, work) = (cycles, &details[..], &flows[..], kind_of_work(engine, op));
        let shown = Shown { name, start, cycles, busy, bytes, layer, instruction, details, flows, work };
        self.recorder.slice(track, &shown);
    }

    /// Returns the index of an instruction's layer; `None` if layers are unknown.
    fn layer(&self, instruction: usize) -> Option<usize> {
        self.layers.get(instruction).copied().filter(|_| !self.program.layers.is_empty())
    }

    /// Returns the flow from a load to the first user of its tile, if the trace shows both.
    fn flows(&self, instruction: usize, engine: Engine) -> Vec<Flow> {
        if engine == Engine::FrontEnd {
            return Vec::new();
        }
        let shown = |other: usize| self.recorder.shows(self.layer(other));
        let from = self.uses.get(&instruction).filter(|user| shown(**user));
        let loads = self.users.get(&instruction).into_iter().flatten().filter(|load| shown(**load));
        let from = from.map(|_| Flow::From(instruction as u64));
        from.into_iter().chain(loads.map(|load| Flow::To(*load as u64))).collect()
    }
}

/// Returns the kind of an engine's work for an instruction.
const fn kind_of_work(engine: Engine, op: &Op) -> Option<Work> {
    match (engine, op) {
        (Engine::FrontEnd, _) => None,
        (Engine::Multiply, _) => Some(Work::Compute),
        (Engine::Load, Op::LoadKer { .. }) => Some(Work::Weights),
        (Engine::Load | Engine::Store, _) => Some(Work::Dram),
    }
}

/// Returns the counters of an engine.
const fn measures(engine: Engine) -> Measures {
    match engine {
        Engine::FrontEnd => Measures { utilization: false, bytes: false },
        Engine::Load | Engine::Store => Measures { utilization: false, bytes: true },
        Engine::Multiply => Measures { utilization: true, bytes: false },
    }
}

/// Returns for each load the first instruction that uses its data.
fn uses(program: &Program) -> BTreeMap<usize, usize> {
    let (mut registers, mut loaded, mut uses) = (Registers::default(), [None; 4], BTreeMap::new());
    for (index, op) in program.instructions.iter().enumerate() {
        registers.set(op);
        // The clock itself reports instructions with undefined registers.
        let Ok(effects) = op.effects(&registers, &program.config.types, program.config.validity) else {
            continue;
        };
        for &buffer in effects.reads {
            if let Some(load) = loaded.get_mut(buffer as usize).and_then(Option::take) {
                uses.insert(load, index);
            }
        }
        if let Some(place) = effects.writes.and_then(|buffer| loaded.get_mut(buffer as usize)) {
            *place = (op.class() == Class::Load).then_some(index);
        }
        if *op == Op::End {
            break;
        }
    }
    uses
}
