//! Runs a [`Program`] on the functional machine: [`Board`] is what a driver has, without the board.

use npukit_target::sim::Fault;
use npukit_target::{Phase, Unset};

use crate::isa::codec::{EncodeError, encode};
use crate::isa::fault::FaultKind;
use crate::machine::{AccessError, Loaded, Machine};
use crate::program::layout::Group;
use crate::program::{Binding, Program};

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Words, an input or an output do not lie in memory.
    #[error("{what}")]
    Access {
        /// What was read or written.
        what: String,
        /// Range.
        source: AccessError,
    },
    /// An instruction cannot be encoded.
    #[error("{place} cannot be encoded")]
    Encode {
        /// Of the instruction.
        place: String,
        /// Why.
        source: EncodeError,
    },
    /// An instruction cannot be executed.
    #[error("{place} cannot be executed; {hint}")]
    Fault {
        /// Of the instruction.
        place: String,
        /// What to do.
        hint: String,
        /// The instruction and what is wrong with it.
        source: Box<Fault<FaultKind>>,
    },
    /// A part of an output that the program does not write.
    #[error("output `{output}`: the byte at {address:#x} was never written")]
    Unwritten {
        /// Its name.
        output: String,
        /// The byte's address.
        address: u64,
    },
}

/// A machine with a program, for one run after the other.
#[derive(Debug)]
pub struct Board<'a> {
    program: &'a Program,
    machine: Machine,
    loaded: Loaded,
}

impl<'a> Board<'a> {
    /// A machine after a reset, with the program's words and segments in memory; elsewhere it holds what `unset`
    /// says.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] when a segment or the program does not lie in memory; [`RunError::Encode`] for an
    /// instruction that does not fit its word.
    pub fn new(program: &'a Program, unset: Unset) -> Result<Self, RunError> {
        let mut machine =
            Machine::with_memory(program.config.types, unset).with_validity(program.config.validity);
        for (index, segment) in program.segments.iter().enumerate() {
            let written = machine.write(segment.address.into(), &segment.bytes);
            written.map_err(|source| access(format!("segment {index}"), source))?;
        }
        let word = |(index, op)| {
            encode(op, program.config.validity)
                .map_err(|source| RunError::Encode { place: program.place(index), source })
        };
        let words = program.instructions.iter().enumerate().map(word).collect::<Result<Vec<u32>, _>>()?;
        let loaded = machine.load(program.address.into(), &words);
        let loaded = loaded.map_err(|source| access("the program".to_owned(), source))?;
        Ok(Self { program, machine, loaded })
    }

    /// Does what a driver does: writes the inputs (raw values of each map, row-major, in the program's order), and
    /// nothing else, and starts the program. Gives the values stored whose partial sums were too large, by
    /// layer in the program's order; the last entry is for instructions of no layer.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] when an input does not lie in memory; [`RunError::Fault`] with the place of the
    /// instruction that faults.
    pub fn run(&mut self, inputs: &[Vec<i32>]) -> Result<Vec<u64>, RunError> {
        self.set_inputs(inputs)?;
        let program = self.program;
        let owner = program.layer_of_each();
        let mut saturated = vec![0; program.layers.len() + 1];
        // What was stored before an instruction is the work of the one before it.
        let (mut last, mut counted) = (program.layers.len(), self.machine.saturated());
        let phase = Phase::detail("run instructions", program.instructions.len());
        let result = self.machine.run(&mut self.loaded, &mut |machine, index, _| {
            phase.tick(index);
            saturated[last] += machine.saturated() - counted;
            (last, counted) =
                (owner.get(index).copied().unwrap_or(program.layers.len()), machine.saturated());
        });
        result.map_err(|source| RunError::Fault {
            place: program.place(source.instruction),
            hint: source.kind.hint(),
            source: Box::new(source),
        })?;
        Ok(saturated)
    }

    /// Writes the inputs, as [`Board::run`] does before it starts the program.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] when an input does not lie in memory.
    pub fn set_inputs(&mut self, inputs: &[Vec<i32>]) -> Result<(), RunError> {
        for (binding, raw) in self.program.inputs.iter().zip(inputs) {
            let written = binding.planes.write(&mut self.machine, raw);
            written.map_err(|source| access(format!("input `{}`", binding.name), source))?;
        }
        Ok(())
    }

    /// The machine as it is, and the program in its memory.
    pub fn into_parts(self) -> (Machine, Loaded) {
        (self.machine, self.loaded)
    }

    /// The raw values of an output's map, row-major.
    ///
    /// # Errors
    ///
    /// [`RunError::Unwritten`] when the program has not written all of it; [`RunError::Access`] when it does
    /// not lie in memory.
    pub fn output(&self, binding: &Binding) -> Result<Vec<i32>, RunError> {
        let size = self.program.config.types.itype.size_bytes();
        let unwritten = |(address, group): (u64, &Group)| {
            self.machine.unwritten(address, (group.channels * size) as usize)
        };
        if let Some(address) = binding.planes.runs(size).find_map(unwritten) {
            return Err(RunError::Unwritten { output: binding.name.clone(), address });
        }
        let read = binding.planes.read(&self.machine);
        read.map_err(|source| access(format!("output `{}`", binding.name), source))
    }
}

fn access(what: String, source: AccessError) -> RunError {
    RunError::Access { what, source }
}
