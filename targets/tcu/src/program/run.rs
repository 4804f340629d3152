//! Runs a [`Program`] on the functional machine: [`Driver`] does the work of a driver, without a
//! board.

use std::collections::BTreeMap;

use npukit_numeric::Saturations;
use npukit_target::sim::Fault;
use npukit_target::{OUTSIDE, Phase, UninitMemory};

use crate::isa::fault::FaultKind;
use crate::isa::kind::kind;
use crate::isa::op::Memory;
use crate::machine::losing::LostWrite;
use crate::machine::state::MachineError;
use crate::machine::{AccessError, Machine};
use crate::program::{Binding, Piece, Program};

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The instance is too large to simulate.
    #[error("the instance cannot be simulated")]
    Machine(#[from] MachineError),
    /// Constants, an input or an output are outside of their memory.
    #[error("{what}")]
    Access {
        /// Description of the data that was read or written.
        what: String,
        /// The range, and the memory that it exceeds.
        source: AccessError,
    },
    /// An input does not fill its vectors.
    #[error("input `{name}`: {actual} scalars instead of {expected} (whole vectors)")]
    Input {
        /// Name of the input.
        name: String,
        /// Number of scalars given.
        actual: usize,
        /// Number of scalars of its pieces.
        expected: u64,
    },
    /// The number of inputs is wrong.
    #[error("{actual} inputs are given, but the program takes {expected}")]
    Inputs {
        /// Number of inputs given.
        actual: usize,
        /// Number of inputs of the program.
        expected: usize,
    },
    /// With poisoned memory: an output that the program did not write.
    #[error("output `{name}`: vector {address} of DRAM0 was never written")]
    OutputUnset {
        /// Name of the output.
        name: String,
        /// Address of the vector.
        address: u64,
    },
    /// An image of DRAM0 that is too short for an input or output.
    #[error("the image of DRAM0 has {actual} bytes, but `{name}` ends at byte {expected}")]
    Image {
        /// Name of the input or output.
        name: String,
        /// Size of the image in bytes.
        actual: usize,
        /// Minimum size in bytes.
        expected: u64,
    },
    /// Over a field: a constant that is not a finite number.
    #[error("constant {index} of the program is not a finite number")]
    NoImage {
        /// Index of the scalar in the constants.
        index: usize,
    },
    /// An instruction cannot be executed.
    #[error("{place}; {hint}")]
    Fault {
        /// Description of the instruction.
        place: String,
        /// Remedy.
        hint: String,
        /// Index and fault of the instruction.
        source: Fault<FaultKind>,
    },
}

/// State of the machine after a program.
#[derive(Debug)]
pub struct RunOutcome {
    /// The machine with all memories as the program left them.
    pub machine: Machine,
    /// Saturated results by layer, in order; by kind of instruction if the artifact has no layers.
    pub saturations: Vec<(String, Saturations)>,
}

impl RunOutcome {
    /// Returns the raw scalars of an output: whole vectors, with its pieces concatenated.
    ///
    /// # Errors
    ///
    /// [`RunError::OutputUnset`] if the program has not written all of it; [`RunError::Access`] if
    /// it is outside DRAM0.
    pub fn output(&self, binding: &Binding) -> Result<Vec<i32>, RunError> {
        let mut raw = Vec::new();
        for &Piece { base, size } in &binding.pieces {
            let error = |source| access(format!("output `{}`", binding.name), source);
            if let Some(address) = self.machine.unset(Memory::Dram0, base, size).map_err(error)? {
                return Err(RunError::OutputUnset { name: binding.name.clone(), address });
            }
            raw.extend(self.machine.read(Memory::Dram0, base, size).map_err(error)?);
        }
        Ok(raw)
    }

    /// Returns the total number of saturated results.
    pub fn saturated(&self) -> u64 {
        self.saturations.iter().map(|(_, s)| s.count()).sum()
    }
}

/// Runs `program` from a reset: loads constants and `inputs` (raw scalars, whole vectors, in
/// program order), then executes all instructions.
///
/// Source: specification 6.4.
///
/// # Errors
///
/// The errors of [`Driver::new`] and [`Driver::run`].
pub fn run(program: &Program, inputs: &[Vec<i32>]) -> Result<RunOutcome, RunError> {
    let mut driver = Driver::new(program, UninitMemory::Zero, &[])?;
    driver.run(inputs)?;
    Ok(driver.finished)
}

/// A machine with a program's constants in memory, for repeated runs.
///
/// Like drivers, it writes the constants once and the inputs before each run. All other memory
/// keeps the state of the previous run.
#[derive(Debug)]
pub struct Driver<'a> {
    program: &'a Program,
    lost: &'a [LostWrite],
    finished: RunOutcome,
}

impl<'a> Driver<'a> {
    /// Creates a machine whose unwritten parts have the content `unset`; the writes `lost` are lost
    /// as in hardware.
    ///
    /// # Errors
    ///
    /// [`RunError::Machine`] if the instance is too large for the simulator; [`RunError::Access`]
    /// if constants are outside of their memory.
    pub fn new(program: &'a Program, unset: UninitMemory, lost: &'a [LostWrite]) -> Result<Self, RunError> {
        let mut machine = Machine::with_unset(&program.config, unset)?;
        load_constants(&mut machine, program)?;
        Ok(Self { program, lost, finished: RunOutcome { machine, saturations: Vec::new() } })
    }

    /// Runs the program on `inputs` (raw scalars, whole vectors, in program order).
    ///
    /// # Errors
    ///
    /// [`RunError::Inputs`] for a wrong number of inputs; [`RunError::Input`] and
    /// [`RunError::Access`] for an input of the wrong size or outside DRAM0; [`RunError::Fault`]
    /// with the place of the faulting instruction.
    pub fn run(&mut self, inputs: &[Vec<i32>]) -> Result<&RunOutcome, RunError> {
        let Self { program, lost, finished: RunOutcome { machine, saturations } } = self;
        write_inputs(machine, program, inputs)?;
        let (names, owner) = groups(program);
        let mut counts = vec![Saturations::default(); names.len()];
        let phase = Phase::detail("run instructions", program.instructions.len());
        machine
            .run_grouped(&program.instructions, &mut counts, |i, _| owner[i], lost, &mut |i| phase.reach(i))
            .map_err(|fault| place(program, fault))?;
        *saturations = names.into_iter().zip(counts).collect();
        Ok(&self.finished)
    }
}

/// Returns a machine with all other memories zero, before the program runs on `inputs`.
///
/// # Errors
///
/// The errors of [`Driver::new`], and of [`Driver::run`] for inputs.
pub(crate) fn loaded(program: &Program, inputs: &[Vec<i32>]) -> Result<Machine, RunError> {
    let mut machine = Machine::new(&program.config)?;
    load_constants(&mut machine, program)?;
    write_inputs(&mut machine, program, inputs)?;
    Ok(machine)
}

pub(crate) fn access(what: String, source: AccessError) -> RunError {
    RunError::Access { what, source }
}

/// Loads the constants to DRAM1, and to local memory if the driver copies them there.
fn load_constants(machine: &mut Machine, program: &Program) -> Result<(), RunError> {
    let error = |source| access("constants".to_owned(), source);
    machine.write(Memory::Dram1, 0, &program.constants).map_err(error)?;
    if program.load_consts_to_local {
        machine.write(Memory::Local, 0, &program.constants).map_err(error)?;
    }
    Ok(())
}

fn write_inputs(machine: &mut Machine, program: &Program, inputs: &[Vec<i32>]) -> Result<(), RunError> {
    if inputs.len() != program.inputs.len() {
        return Err(RunError::Inputs { actual: inputs.len(), expected: program.inputs.len() });
    }
    program.inputs.iter().zip(inputs).try_for_each(|(binding, raw)| write_input(machine, binding, raw))
}

fn write_input(machine: &mut Machine, binding: &Binding, raw: &[i32]) -> Result<(), RunError> {
    let lanes = machine.config().array_size as u64;
    let scalars = |size: u64| size.saturating_mul(lanes);
    let expected = binding.pieces.iter().fold(0u64, |sum, p| sum.saturating_add(scalars(p.size)));
    if expected != raw.len() as u64 {
        return Err(RunError::Input { name: binding.name.clone(), actual: raw.len(), expected });
    }
    let error = |source| access(format!("input `{}`", binding.name), source);
    binding
        .parts(raw, lanes as usize)
        .try_for_each(|(base, part)| machine.write(Memory::Dram0, base, part).map_err(error))
}

/// Returns the names of the groups by which saturations are counted, and the group of each
/// instruction.
fn groups(program: &Program) -> (Vec<String>, Vec<usize>) {
    if program.layers.is_empty() { groups_by_kind(program) } else { groups_by_layer(program) }
}

fn groups_by_kind(program: &Program) -> (Vec<String>, Vec<usize>) {
    let mut places = BTreeMap::new();
    let mut names = Vec::new();
    let owner = program
        .instructions
        .iter()
        .map(|op| {
            *places.entry(kind(op)).or_insert_with(|| {
                names.push(kind(op).to_owned());
                names.len() - 1
            })
        })
        .collect();
    (names, owner)
}

fn groups_by_layer(program: &Program) -> (Vec<String>, Vec<usize>) {
    let layers = program.layers.iter().map(|layer| layer.name.clone());
    (layers.chain([OUTSIDE.to_owned()]).collect(), program.layer_of_each())
}

/// Returns the error of a faulting instruction.
pub(crate) fn place(program: &Program, source: Fault<FaultKind>) -> RunError {
    let place = format!("{} cannot be executed", program.place(source.instruction));
    RunError::Fault { place, hint: source.kind.hint(), source }
}
