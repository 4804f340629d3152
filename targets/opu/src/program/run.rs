//! Runs of a [`Program`] on the functional simulator: [`Board`] acts like a driver with a board.

use npukit_target::sim::Fault;
use npukit_target::{Phase, UninitMemory};

use crate::isa::codec::{EncodeError, encode};
use crate::isa::fault::FaultKind;
use crate::machine::{AccessError, Loaded, Machine};
use crate::program::layout::Group;
use crate::program::{Binding, Program};

/// Reason why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The words, an input or an output are not inside memory.
    #[error("{what}")]
    Access {
        /// Description of the access.
        what: String,
        /// Error of the access.
        source: AccessError,
    },
    /// An instruction cannot be encoded.
    #[error("{place} cannot be encoded")]
    Encode {
        /// Location of the instruction.
        place: String,
        /// Encoding error.
        source: EncodeError,
    },
    /// An instruction cannot be executed.
    #[error("{place} cannot be executed; {hint}")]
    Fault {
        /// Location of the instruction.
        place: String,
        /// Hint how to correct the fault.
        hint: String,
        /// Index of the instruction, and its fault.
        source: Box<Fault<FaultKind>>,
    },
    /// A part of an output is not written by the program.
    #[error("output `{output}`: the byte at {address:#x} was never written")]
    Unwritten {
        /// Name of the output.
        output: String,
        /// Address of the unwritten byte.
        address: u64,
    },
}

/// Machine with a loaded program, for any number of runs.
#[derive(Debug)]
pub struct Board<'a> {
    program: &'a Program,
    machine: Machine,
    loaded: Loaded,
}

impl<'a> Board<'a> {
    /// Creates a machine after a reset, with the program's words and segments in memory; the rest
    /// of memory is initialized as `unset` specifies.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] if a segment or the program is not inside memory; [`RunError::Encode`]
    /// for an instruction that does not fit its word.
    pub fn new(program: &'a Program, unset: UninitMemory) -> Result<Self, RunError> {
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

    /// Writes the inputs (raw values of each map, row-major, in the program's order) and runs the
    /// program, like a driver. Returns the number of stored values whose partial sums were out of
    /// range, by layer in the program's order; the last entry is for instructions without a layer.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] if an input is not inside memory; [`RunError::Fault`] with the location
    /// of the faulting instruction.
    pub fn run(&mut self, inputs: &[Vec<i32>]) -> Result<Vec<u64>, RunError> {
        self.set_inputs(inputs)?;
        let program = self.program;
        let owner = program.layer_of_each();
        let mut saturated = vec![0; program.layers.len() + 1];
        // Values that were stored before an instruction belong to the previous instruction.
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

    /// Writes the inputs, like [`Board::run`] before it starts the program.
    ///
    /// # Errors
    ///
    /// [`RunError::Access`] if an input is not inside memory.
    pub fn set_inputs(&mut self, inputs: &[Vec<i32>]) -> Result<(), RunError> {
        for (binding, raw) in self.program.inputs.iter().zip(inputs) {
            let written = binding.planes.write(&mut self.machine, raw);
            written.map_err(|source| access(format!("input `{}`", binding.name), source))?;
        }
        Ok(())
    }

    /// Returns the machine in its current state, and the program in its memory.
    pub fn into_parts(self) -> (Machine, Loaded) {
        (self.machine, self.loaded)
    }

    /// Returns the raw values of an output's map, row-major.
    ///
    /// # Errors
    ///
    /// [`RunError::Unwritten`] if the program has not written all of it; [`RunError::Access`] if it
    /// is not inside memory.
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
