//! A program on a machine of any values but numbers: [`AnyRun`].

use npukit_target::Unset;

use crate::config::datatype::DataType;
use crate::isa::codec::{EncodeError, encode};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Access, Direction, Effects, Op};
use crate::machine::arith::element_memory::{ElementMemory, Source};
use crate::machine::exec::{Numerics, execute};
use crate::machine::memory::Memory;
use crate::machine::state::State;
use crate::machine::values::{Arithmetic, Values};
use crate::program::{Binding, Program};

/// The addresses of the elements of a type that an access touches, in its order.
pub(crate) fn addresses(access: &Access, data_type: DataType) -> impl Iterator<Item = u64> + use<> {
    access.runs().flat_map(move |run| (run.first..run.end).step_by(data_type.size_bytes() as usize))
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnyRunError {
    /// An instruction that does not fit its word.
    #[error("{place} cannot be encoded")]
    Encode {
        /// Of the instruction.
        place: String,
        /// Why.
        source: EncodeError,
    },
    /// An instruction cannot be executed.
    #[error("{place} cannot be executed")]
    Fault {
        /// Of the instruction.
        place: String,
        /// Why.
        source: Box<FaultKind>,
    },
    /// Elements are no instructions.
    #[error("{place} writes over the program's own words: what runs then is not known")]
    OwnWords {
        /// Of the instruction.
        place: String,
    },
    /// A segment, the words or a map that memory does not hold.
    #[error("{what} does not lie in memory")]
    Range {
        /// What it is.
        what: String,
    },
}

/// What a run shows before each instruction: registers are those of its moment.
pub(crate) struct Step<'a, S: Source> {
    /// Index of the instruction.
    pub index: usize,
    /// The instruction, which was executed.
    pub op: &'a Op,
    /// What it touched.
    pub effects: Effects,
    /// Memory after it.
    pub memory: &'a ElementMemory<S>,
}

/// A program on its way, on a machine of values `V`.
pub(crate) struct AnyRun<'a, V: Values> {
    program: &'a Program,
    pub state: State<V>,
    memory: V::Memory,
}

impl<'a, S: Source, V: Values<Memory = ElementMemory<S>>> AnyRun<'a, V> {
    /// The machine with words, segments and inputs in place: as numbers' driver leaves it. `inputs` are maps in the
    /// program's order, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// What does not lie in memory, or fit its word.
    pub fn new(
        program: &'a Program,
        state: State<V>,
        source: S,
        inputs: &[Vec<S::Element>],
    ) -> Result<Self, AnyRunError> {
        Ok(Self { program, state, memory: loaded(program, source, inputs)? })
    }

    /// Executes the program up to its first `end`; `observe` sees each instruction after it was executed, and the ledger.
    ///
    /// # Errors
    ///
    /// An instruction that cannot be executed, or that overwrites words.
    pub fn finish(
        &mut self,
        mut observe: impl FnMut(&Step<'_, S>, &mut V::Ledger),
    ) -> Result<(), AnyRunError> {
        let program = self.program;
        let config = &program.config;
        let numerics =
            Numerics { types: &config.types, arithmetic: Arithmetic::Literal, validity: config.validity };
        let end = u64::from(program.address) + program.instructions.len() as u64 * 4;
        for (index, op) in program.instructions.iter().enumerate() {
            if *op == Op::End {
                return Ok(());
            }
            let fault = |source| AnyRunError::Fault { place: program.place(index), source: Box::new(source) };
            let effects = op.effects(&self.state.registers, &config.types, config.validity).map_err(fault)?;
            execute(&mut self.state, &mut self.memory, numerics, op).map_err(fault)?;
            let written = effects.memory.extent().filter(|_| effects.memory.direction == Direction::Write);
            if written.is_some_and(|extent| extent.first < end && extent.end > program.address.into()) {
                return Err(AnyRunError::OwnWords { place: program.place(index) });
            }
            observe(&Step { index, op, effects, memory: &self.memory }, &mut self.state.ledger);
        }
        let (words, index) = (program.instructions.len(), program.instructions.len());
        let source = Box::new(FaultKind::MissingEnd { words });
        Err(AnyRunError::Fault { place: program.place(index), source })
    }

    /// The elements of an output's map, row-major, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// It does not lie in memory.
    pub fn output(&self, binding: &Binding) -> Result<Vec<S::Element>, AnyRunError> {
        let itype = self.program.config.types.itype;
        let read = |address| self.memory.read(address, itype);
        let elements = map_addresses(binding, itype).map(read).collect::<Result<_, _>>();
        // Bits of the artifact that are no number, where the program wrote nothing.
        elements.map_err(|_| AnyRunError::Range { what: format!("output `{}`", binding.name) })
    }
}

/// Memory with words, segments and inputs in place: as numbers' driver leaves it. `inputs` are maps in the program's order, in
/// units of ITYPE.
///
/// # Errors
///
/// What does not lie in memory, or fit its word.
pub(crate) fn loaded<S: Source>(
    program: &Program,
    source: S,
    inputs: &[Vec<S::Element>],
) -> Result<ElementMemory<S>, AnyRunError> {
    let mut bytes = Memory::new(Unset::Poison);
    let mut put = |what: String, address: u32, data: &[u8]| {
        if !Memory::holds(address.into(), data.len() as u64) {
            return Err(AnyRunError::Range { what });
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
            .map_err(|source| AnyRunError::Encode { place: program.place(index), source })?;
        words.extend(word.to_le_bytes());
    }
    put("the program".to_owned(), program.address, &words)?;
    let mut memory = ElementMemory::new(bytes, source);
    let itype = program.config.types.itype;
    for (binding, elements) in program.inputs.iter().zip(inputs) {
        write(&mut memory, binding, itype, elements)?;
    }
    Ok(memory)
}

/// The addresses of the elements of a map, row-major.
pub(crate) fn map_addresses(binding: &Binding, itype: DataType) -> impl Iterator<Item = u64> {
    let size = itype.size_bytes();
    let runs = binding.planes.runs(size);
    runs.flat_map(move |(address, group)| {
        (0..u64::from(group.channels)).map(move |c| address + c * u64::from(size))
    })
}

/// Writes a map as [`crate::program::layout::Planes::write`] does: lanes after the channels of a group become 0.
fn write<S: Source>(
    memory: &mut ElementMemory<S>,
    binding: &Binding,
    itype: DataType,
    elements: &[S::Element],
) -> Result<(), AnyRunError> {
    let size = itype.size_bytes();
    let mut rest = elements.iter();
    for (address, group) in binding.planes.runs(size) {
        let lanes = group.written();
        if !Memory::holds(address, u64::from(lanes * size)) {
            return Err(AnyRunError::Range { what: format!("input `{}`", binding.name) });
        }
        for lane in 0..lanes {
            let channel = (lane < group.channels).then(|| rest.next().cloned()).flatten();
            // Default: lanes beyond the channels are 0.
            let element = channel.unwrap_or_default();
            memory.write(address + u64::from(lane * size), itype, element);
        }
    }
    Ok(())
}
