//! Runs a [`Program`] on the functional machine: [`run`] is what a driver does, without the board.

use npukit_sim::Fault;

use crate::codec::{EncodeError, encode};
use crate::fault::FaultKind;
use crate::machine::{AccessError, Machine};
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
    /// An instruction has no word.
    #[error("{place} has no word")]
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
        source: Fault<FaultKind>,
    },
}

/// A machine after a program.
#[derive(Debug)]
pub struct Finished {
    /// Registers, buffers and memory as the program left them.
    pub machine: Machine,
    /// Values stored whose partial sums were too large, by layer in the program's order; the last entry is
    /// for instructions of no layer.
    pub saturated: Vec<u64>,
}

impl Finished {
    /// The raw values of an output's map, row-major.
    ///
    /// Errors: [`RunError::Access`].
    pub fn output(&self, binding: &Binding) -> Result<Vec<i32>, RunError> {
        binding
            .planes
            .read(&self.machine)
            .map_err(|source| access(format!("output `{}`", binding.name), source))
    }
}

/// A machine after a reset, with the program's segments and inputs (raw values of each map, row-major, in the
/// program's order) in memory.
///
/// Errors: [`RunError::Access`].
pub fn machine(program: &Program, inputs: &[Vec<i32>]) -> Result<Machine, RunError> {
    let mut machine = Machine::new(program.config.types);
    for (index, segment) in program.segments.iter().enumerate() {
        let written = machine.write(segment.address.into(), &segment.bytes);
        written.map_err(|source| access(format!("segment {index}"), source))?;
    }
    for (binding, raw) in program.inputs.iter().zip(inputs) {
        let written = binding.planes.write(&mut machine, raw);
        written.map_err(|source| access(format!("input `{}`", binding.name), source))?;
    }
    Ok(machine)
}

/// Runs `program` from a reset, as [`machine`] prepares it.
///
/// Errors: [`RunError`].
pub fn run(program: &Program, inputs: &[Vec<i32>]) -> Result<Finished, RunError> {
    let mut machine = machine(program, inputs)?;
    let word =
        |(index, op)| encode(op).map_err(|source| RunError::Encode { place: program.place(index), source });
    let words = program.instructions.iter().enumerate().map(word).collect::<Result<Vec<u32>, _>>()?;
    let loaded = machine.load(program.address.into(), &words);
    let mut loaded = loaded.map_err(|source| access("the program".to_owned(), source))?;
    let owner = program.layer_of_each();
    let mut saturated = vec![0; program.layers.len() + 1];
    // What was stored before an instruction is the work of the one before it.
    let (mut last, mut counted) = (program.layers.len(), 0);
    let result = machine.run(&mut loaded, &mut |machine, index, _| {
        saturated[last] += machine.saturated() - counted;
        (last, counted) = (owner.get(index).copied().unwrap_or(program.layers.len()), machine.saturated());
    });
    result.map_err(|source| RunError::Fault {
        place: program.place(source.instruction),
        hint: source.kind.hint(),
        source,
    })?;
    Ok(Finished { machine, saturated })
}

fn access(what: String, source: AccessError) -> RunError {
    RunError::Access { what, source }
}
