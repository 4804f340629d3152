//! [`SegmentedMachine`]: a segmented program under a debugger. Segments follow one another, each on
//! its own machine as in a run. Each group of host steps in between is one step.

use std::sync::{Arc, OnceLock};

use npukit_asm::ListingLine;

use super::{Part, SegmentedProgram, values_of};
use crate::config::run_options::RunOptions;
use crate::contract::machine::{
    Accessed, AddressRun, Machine, MachineMemory, MachineOptions, Moment, Operand, Outline, Placed, Scalar,
    StepLayers,
};
use crate::contract::output::Inputs;
use crate::error::TargetError;

/// A part of a program, starting at one of its steps.
struct Piece {
    /// Index of its first step.
    first: usize,
    /// Index of its first memory.
    memory: usize,
    /// Index of the machine; `None` for host steps.
    machine: Option<usize>,
    /// Description of the host steps.
    note: String,
}

/// The immutable part of the state.
struct Program {
    outline: Outline,
    /// Pieces in order; at least one.
    pieces: Vec<Piece>,
    steps: usize,
    /// Machines before their first step, for properties that never change.
    begins: Vec<Arc<dyn Machine>>,
    /// By machine, the number of instructions of the earlier machines; computed on demand.
    instructions: OnceLock<Result<Vec<usize>, String>>,
}

/// A segmented program between two steps.
#[derive(Clone)]
pub(super) struct SegmentedMachine {
    program: Arc<Program>,
    /// Current state of each machine.
    machines: Vec<Arc<dyn Machine>>,
    position: usize,
}

impl SegmentedMachine {
    /// Creates a program before its first step. It can run only once, since segments start with the
    /// results of earlier ones.
    ///
    /// # Errors
    ///
    /// The errors of a run; a target without a debugger.
    pub fn new(
        owner: &SegmentedProgram,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Self, TargetError> {
        let mut values = values_of(owner, inputs)?;
        let run = RunOptions { meaning: options.meaning, ..RunOptions::default() };
        // The graph covers the whole model, not one segment.
        let options = MachineOptions { graph: None, ..*options };
        let (mut begins, mut pieces, mut steps) = (Vec::<Arc<dyn Machine>>::new(), Vec::new(), 0);
        let (mut memories, mut layers, mut placed) = (Vec::new(), StepLayers::default(), Vec::new());
        for part in &owner.parts {
            let (first, memory, layer) = (steps, memories.len(), layers.names.len());
            match part {
                Part::Chip(compiled) => {
                    let machine = compiled.machine(&owner.sample(&**compiled, &values)?, &options)?;
                    let number = begins.len();
                    let named = machine.memories().iter().map(|memory| MachineMemory {
                        name: format!("segment{number}.{}", memory.name),
                        ..memory.clone()
                    });
                    memories.extend(named);
                    let own = machine.placed().iter().map(|placed| Placed {
                        run: AddressRun { memory: placed.run.memory + memory, ..placed.run },
                        ..placed.clone()
                    });
                    placed.extend(own);
                    layers.names.extend(machine.layers().iter().cloned());
                    let of = |step| machine.layer(step).map_or(usize::MAX, |place| place + layer);
                    layers.of.extend((0..machine.steps()).map(of));
                    steps += machine.steps();
                    pieces.push(Piece { first, memory, machine: Some(number), note: String::new() });
                    begins.push(Arc::from(machine));
                }
                Part::Host(graph) => {
                    let nodes: Vec<&str> = graph.nodes.iter().map(|node| &*node.name).collect();
                    let note = format!("the host computes `{}`", nodes.join("`, `"));
                    layers.names.push(nodes.join("+"));
                    layers.of.push(layer);
                    steps += 1;
                    pieces.push(Piece { first, memory, machine: None, note });
                }
            }
            owner.run_part(part, &mut values, &run, &mut crate::report::Saturations::default())?;
        }
        let names = (owner.name.clone(), owner.target.clone());
        let outline = Outline { step_name: "step", layers, placed, ..Outline::new(names, memories) };
        let (machines, instructions) = (begins.clone(), OnceLock::new());
        let program = Program { outline, pieces, steps, begins, instructions };
        Ok(Self { program: Arc::new(program), machines, position: 0 })
    }
}

impl SegmentedMachine {
    /// Modifies a machine; other copies of it are not affected.
    fn change<T>(
        &mut self,
        machine: usize,
        change: impl FnOnce(&mut dyn Machine) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let held = &mut self.machines[machine];
        if let Some(alone) = Arc::get_mut(held) {
            return change(alone);
        }
        let mut own = held.fork();
        let changed = change(&mut *own)?;
        *held = Arc::from(own);
        Ok(changed)
    }
}

impl Program {
    /// Returns the piece that contains a step, and the step's index in it.
    fn piece(&self, step: usize) -> Option<(&Piece, usize)> {
        let place = self.pieces.partition_point(|piece| piece.first <= step).checked_sub(1)?;
        let piece = self.pieces.get(place).filter(|_| step < self.steps)?;
        Some((piece, step - piece.first))
    }

    /// Returns the piece that contains a memory, its machine, and the memory's index there.
    fn memory(&self, memory: usize) -> Option<(&Piece, usize, usize)> {
        let own = self
            .pieces
            .iter()
            .rev()
            .find_map(|piece| Some((piece, piece.machine?)).filter(|_| piece.memory <= memory));
        own.map(|(piece, machine)| (piece, machine, memory - piece.memory))
    }

    fn instructions(&self) -> Result<&[usize], &str> {
        let firsts = self.instructions.get_or_init(|| {
            let mut firsts = vec![0];
            for machine in &self.begins {
                let count = machine.listing().map_err(|error| error.to_string())?.len();
                firsts.extend(firsts.last().map(|first| first + count));
            }
            Ok(firsts)
        });
        firsts.as_ref().map(Vec::as_slice).map_err(String::as_str)
    }
}

/// Converts addresses of one machine's memories to addresses of the whole program.
const fn among(run: AddressRun, piece: &Piece) -> AddressRun {
    AddressRun { memory: run.memory + piece.memory, ..run }
}

impl Machine for SegmentedMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.steps
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        let Some((piece, _)) = self.program.piece(self.position) else { return Ok(Vec::new()) };
        let remarks = match piece.machine {
            Some(machine) => self.change(machine, |machine| machine.step())?,
            None => Vec::new(),
        };
        self.position += 1;
        Ok(remarks)
    }

    fn fork(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        match self.program.memory(memory) {
            Some((_, machine, memory)) => self.machines[machine].read(memory, address, count),
            None => Ok(Vec::new()),
        }
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let Some((_, machine, memory)) = self.program.memory(memory) else { return Ok(()) };
        self.change(machine, |machine| machine.write(memory, address, numbers))
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        let (_, machine, memory) = self.program.memory(memory)?;
        self.machines[machine].real(memory, number)
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        let Some((piece, own)) = self.program.piece(step) else { return Vec::new() };
        let all = piece.machine.map(|machine| self.program.begins[machine].accesses(own));
        let all = all.into_iter().flatten();
        all.map(|accessed| Accessed { run: among(accessed.run, piece), ..accessed }).collect()
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let Some((piece, own)) = self.program.piece(step) else { return Vec::new() };
        let memory = scalar.memory.checked_sub(piece.memory);
        let Some((machine, memory)) = piece.machine.zip(memory) else { return Vec::new() };
        let all = self.program.begins[machine].operands(own, Scalar { memory, ..scalar }).into_iter();
        let later = |since: usize| since + piece.first;
        all.map(|one| Operand { run: among(one.run, piece), since: one.since.map(later), ..one }).collect()
    }

    fn issued(&self, step: usize) -> Vec<usize> {
        let Some((piece, own)) = self.program.piece(step) else { return Vec::new() };
        let Some((machine, firsts)) = piece.machine.zip(self.program.instructions().ok()) else {
            return Vec::new();
        };
        let issued = self.program.begins[machine].issued(own).into_iter();
        issued.map(|instruction| firsts[machine] + instruction).collect()
    }

    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        let Ok(firsts) = self.program.instructions() else { return Vec::new() };
        let number = firsts.partition_point(|&first| first <= instruction).saturating_sub(1);
        let piece = self.program.pieces.iter().find(|piece| piece.machine == Some(number));
        let Some((piece, machine)) = piece.zip(self.program.begins.get(number)) else { return Vec::new() };
        let steps = machine.steps_of(instruction - firsts[number]).into_iter();
        steps.map(|step| piece.first + step).collect()
    }

    fn described(&self, step: usize) -> Option<String> {
        let (piece, own) = self.program.piece(step)?;
        match piece.machine {
            Some(machine) => self.program.begins[machine].described(own),
            None => Some(piece.note.clone()),
        }
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let mut all = Vec::new();
        for machine in &self.program.begins {
            all.extend(machine.listing()?);
        }
        Ok(all)
    }

    fn saturations(&self) -> u64 {
        self.machines.iter().map(|machine| machine.saturations()).sum()
    }

    /// Returns the moments of the segments in sequence; the host takes no time.
    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let (mut all, mut now) = (Vec::new(), 0);
        for piece in &self.program.pieces {
            let Some(machine) = piece.machine else {
                all.push(Moment { start: now, end: now, waits: Vec::new() });
                continue;
            };
            let own = self.program.begins[machine].moments()?;
            let end = own.iter().map(|moment| moment.end).max().unwrap_or(0); // Default: a segment without steps takes no time.
            all.extend(own.into_iter().map(|moment| Moment {
                start: moment.start + now,
                end: moment.end + now,
                ..moment
            }));
            now += end;
        }
        Ok(all)
    }
}
