//! What each engine does when, for a viewer: [`record`].

use std::collections::BTreeMap;

use npukit_target::{TargetError, TimeOptions};
use npukit_trace::{Flow, Measures, Recorder, Slice as Shown, Track, Value, Wait};

use super::profile::Profile;
use super::run;
use crate::clock::{Engine, Slice};
use crate::isa::op::{Class, Op, Registers};
use crate::program::Program;

/// Tells what each engine does when: a track for each, and the layers as the front end comes to them.
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

/// A trace of a program under way.
struct Tracks<'a, 'b> {
    program: &'a Program,
    /// By instruction, the place of its layer.
    layers: Vec<usize>,
    recorder: &'a mut Recorder<'b>,
    /// By place of the engine.
    units: [Track; Engine::ALL.len()],
    /// The first user of each load, and the loads of each such user.
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
            // The front end waits with the instruction before.
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
        let (busy, details, flows) = (cycles, &details[..], &flows[..]);
        self.recorder
            .slice(track, &Shown { name, start, cycles, busy, bytes, layer, instruction, details, flows });
    }

    /// The place of an instruction's layer; none when no layers are known.
    fn layer(&self, instruction: usize) -> Option<usize> {
        self.layers.get(instruction).copied().filter(|_| !self.program.layers.is_empty())
    }

    /// From a load to who uses its tile first; where both are shown.
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

/// Which counters go with an engine.
const fn measures(engine: Engine) -> Measures {
    match engine {
        Engine::FrontEnd => Measures { utilisation: false, bytes: false },
        Engine::Load | Engine::Store => Measures { utilisation: false, bytes: true },
        Engine::Multiply => Measures { utilisation: true, bytes: false },
    }
}

/// For each load, the first instruction that uses what it brings.
fn uses(program: &Program) -> BTreeMap<usize, usize> {
    let (mut registers, mut loaded, mut uses) = (Registers::default(), [None; 4], BTreeMap::new());
    for (index, op) in program.instructions.iter().enumerate() {
        registers.set(op);
        // The clock tells of an instruction whose registers are not set.
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
