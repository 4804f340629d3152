//! Run of a program on a machine with any values other than numbers: [`SymbolicRun`].

use npukit_target::UninitMemory;

use crate::config::datatype::DataType;
use crate::isa::codec::{EncodeError, encode};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Access, Direction, Effects, Op};
use crate::machine::arith::shadow_memory::{ShadowMemory, Source};
use crate::machine::exec::{Numerics, execute};
use crate::machine::memory::Memory;
use crate::machine::state::State;
use crate::machine::values::{Arithmetic, Values};
use crate::program::{Binding, Program};

/// Returns the addresses of the elements of a type that an access touches, in its order.
pub(crate) fn addresses(access: &Access, data_type: DataType) -> impl Iterator<Item = u64> + use<> {
    access.runs().flat_map(move |run| (run.first..run.end).step_by(data_type.size_bytes() as usize))
}

/// Reason why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SymbolicRunError {
    /// An instruction does not fit its word.
    #[error("{place} cannot be encoded")]
    Encode {
        /// Location of the instruction.
        place: String,
        /// Encoding error.
        source: EncodeError,
    },
    /// An instruction cannot be executed.
    #[error("{place} cannot be executed")]
    Fault {
        /// Location of the instruction.
        place: String,
        /// Kind of the fault.
        source: Box<FaultKind>,
    },
    /// A store overwrites instructions with elements, which have no encoding.
    #[error("{place} overwrites the program's own words: the instructions after that are unknown")]
    OwnWords {
        /// Location of the instruction.
        place: String,
    },
    /// A segment, the words or a map is not inside memory.
    #[error("{what} is not inside the memory")]
    Range {
        /// Description of the data.
        what: String,
    },
}

/// Executed instruction, as the observer of a run sees it.
pub(crate) struct Step<'a, S: Source> {
    /// Index of the instruction.
    pub index: usize,
    /// Instruction that was executed.
    pub op: &'a Op,
    /// Data that the instruction touched.
    pub effects: Effects,
    /// Memory after the instruction.
    pub memory: &'a ShadowMemory<S>,
}

/// Program in execution, on a machine with values `V`.
pub(crate) struct SymbolicRun<'a, V: Values> {
    program: &'a Program,
    pub state: State<V>,
    memory: V::Memory,
}

impl<'a, S: Source, V: Values<Memory = ShadowMemory<S>>> SymbolicRun<'a, V> {
    /// Creates a machine with words, segments and inputs in memory, as a driver leaves them.
    /// `inputs` are maps in the program's order, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// Data is not inside memory, or an instruction does not fit its word.
    pub fn new(
        program: &'a Program,
        state: State<V>,
        source: S,
        inputs: &[Vec<S::Element>],
    ) -> Result<Self, SymbolicRunError> {
        Ok(Self { program, state, memory: loaded(program, source, inputs)? })
    }

    /// Executes the program up to its first `end`; calls `observe` with each executed instruction
    /// and the ledger.
    ///
    /// # Errors
    ///
    /// An instruction cannot be executed, or overwrites words.
    pub fn finish(
        &mut self,
        mut observe: impl FnMut(&Step<'_, S>, &mut V::Ledger),
    ) -> Result<(), SymbolicRunError> {
        let program = self.program;
        let config = &program.config;
        let numerics =
            Numerics { types: &config.types, arithmetic: Arithmetic::Literal, validity: config.validity };
        let end = u64::from(program.address) + program.instructions.len() as u64 * 4;
        for (index, op) in program.instructions.iter().enumerate() {
            if *op == Op::End {
                return Ok(());
            }
            let fault =
                |source| SymbolicRunError::Fault { place: program.place(index), source: Box::new(source) };
            let effects = op.effects(&self.state.registers, &config.types, config.validity).map_err(fault)?;
            execute(&mut self.state, &mut self.memory, numerics, op).map_err(fault)?;
            let written = effects.memory.extent().filter(|_| effects.memory.direction == Direction::Write);
            if written.is_some_and(|extent| extent.first < end && extent.end > program.address.into()) {
                return Err(SymbolicRunError::OwnWords { place: program.place(index) });
            }
            observe(&Step { index, op, effects, memory: &self.memory }, &mut self.state.ledger);
        }
        let (words, index) = (program.instructions.len(), program.instructions.len());
        let source = Box::new(FaultKind::MissingEnd { words });
        Err(SymbolicRunError::Fault { place: program.place(index), source })
    }

    /// Returns the elements of an output's map, row-major, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// The map is not inside memory.
    pub fn output(&self, binding: &Binding) -> Result<Vec<S::Element>, SymbolicRunError> {
        let itype = self.program.config.types.itype;
        let read = |address| self.memory.read(address, itype);
        let elements = map_addresses(binding, itype).map(read).collect::<Result<_, _>>();
        // The artifact's bits are not a number, and no instruction of the program overwrote them.
        elements.map_err(|_| SymbolicRunError::Range { what: format!("output `{}`", binding.name) })
    }
}

/// Creates a memory with words, segments and inputs, as a driver leaves them. `inputs` are maps in
/// the program's order, in units of ITYPE.
///
/// # Errors
///
/// Data is not inside memory, or an instruction does not fit its word.
pub(crate) fn loaded<S: Source>(
    program: &Program,
    source: S,
    inputs: &[Vec<S::Element>],
) -> Result<ShadowMemory<S>, SymbolicRunError> {
    let mut bytes = Memory::new(UninitMemory::Poison);
    let mut put = |what: String, address: u32, data: &[u8]| {
        if !Memory::holds(address.into(), data.len() as u64) {
            return Err(SymbolicRunError::Range { what });
        }
        bytes.write(address.into(), data);
        Ok(())
    };
    for (index, segment) in program.segments.iter().enumerate() {
        put(format!("segment {index}"), segment.address, &segment.bytes)?;
    }
    let (mut words, validity) = (Vec::new(), program.config.validity);
    for (index, op) in program.instructions.iter().enumerate() {
        let word = encode(op, validity)
            .map_err(|source| SymbolicRunError::Encode { place: program.place(index), source })?;
        words.extend(word.to_le_bytes());
    }
    put("the program".to_owned(), program.address, &words)?;
    let mut memory = ShadowMemory::new(bytes, source);
    let itype = program.config.types.itype;
    for (binding, elements) in program.inputs.iter().zip(inputs) {
        write(&mut memory, binding, itype, elements)?;
    }
    Ok(memory)
}

/// Returns the addresses of the elements of a map, row-major.
pub(crate) fn map_addresses(binding: &Binding, itype: DataType) -> impl Iterator<Item = u64> {
    let size = itype.size_bytes();
    let runs = binding.planes.runs(size);
    runs.flat_map(move |(address, group)| {
        (0..u64::from(group.channels)).map(move |c| address + c * u64::from(size))
    })
}

/// Writes a map like [`crate::program::layout::Planes::write`]: lanes after the channels of a group
/// become 0.
fn write<S: Source>(
    memory: &mut ShadowMemory<S>,
    binding: &Binding,
    itype: DataType,
    elements: &[S::Element],
) -> Result<(), SymbolicRunError> {
    let size = itype.size_bytes();
    let mut rest = elements.iter();
    for (address, group) in binding.planes.runs(size) {
        let lanes = group.written();
        if !Memory::holds(address, u64::from(lanes * size)) {
            return Err(SymbolicRunError::Range { what: format!("input `{}`", binding.name) });
        }
        for lane in 0..lanes {
            let channel = (lane < group.channels).then(|| rest.next().cloned()).flatten();
            // Default: lanes after the channels are 0.
            let element = channel.unwrap_or_default();
            memory.write(address + u64::from(lane * size), itype, element);
        }
    }
    Ok(())
}
