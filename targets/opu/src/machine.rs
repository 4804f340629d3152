//! The functional machine: [`Machine`]. Values as the specification has them, bit by bit; no notion of time.

pub(crate) mod arith;
pub(crate) mod array;
pub(crate) mod exact;
pub(crate) mod exec;
pub(crate) mod memory;
pub(crate) mod state;
pub(crate) mod value;
pub(crate) mod values;

use npukit_target::Unset;
use npukit_target::sim::Fault;
use thiserror::Error;

use crate::config::{Types, Validity};
use crate::isa::codec::decode;
use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::memory::{MEMORY_BYTES, PROGRAM_ALIGNMENT};
use crate::isa::op::{Direction, Effects, Op, Registers, WORD_BYTES};
use crate::machine::array::Array;
use crate::machine::exec::{Numerics, store_result};
use crate::machine::memory::Memory;
use crate::machine::state::State;
use crate::machine::values::Arithmetic;

/// What cannot be put into memory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// Bytes beyond the end.
    #[error("{bytes} bytes from {address:#x} on end beyond the memory of 2^32 bytes")]
    Range {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// A program whose start is not aligned.
    #[error("a program begins at {address:#x}: legal are multiples of {}", PROGRAM_ALIGNMENT)]
    Alignment {
        /// Its first byte.
        address: u64,
    },
}

/// A simulated machine: registers, buffers and memory.
///
/// After a fault everything before the instruction at fault has been executed, and nothing of it.
#[derive(Clone, Debug)]
pub struct Machine {
    types: Types,
    arithmetic: Arithmetic,
    validity: Validity,
    state: State,
    memory: Memory,
}

/// A program in memory: where its words are, and what they mean.
#[derive(Clone, Debug)]
pub struct Loaded {
    address: u64,
    ops: Vec<Result<Op, FaultKind>>,
}

impl Machine {
    /// A machine after a reset: registers and buffers are undefined, memory is 0.
    pub fn new(types: Types) -> Self {
        Self::with_arithmetic(types, Arithmetic::Fast)
    }

    /// As [`Machine::new`], with a choice of the code that computes.
    pub fn with_arithmetic(types: Types, arithmetic: Arithmetic) -> Self {
        let (validity, state, memory) = (Validity::default(), State::default(), Memory::default());
        Self { types, arithmetic, validity, state, memory }
    }

    /// As [`Machine::new`], with memory that holds what `unset` says.
    pub fn with_memory(types: Types, unset: Unset) -> Self {
        Self { memory: Memory::new(unset), ..Self::new(types) }
    }

    /// The same machine, in which the draft's letter counts as far as that.
    #[must_use]
    pub fn with_validity(self, validity: Validity) -> Self {
        Self { validity, ..self }
    }

    const fn numerics(&self) -> Numerics<'_> {
        Numerics { types: &self.types, arithmetic: self.arithmetic, validity: self.validity }
    }

    /// Element types of the buffers.
    pub const fn types(&self) -> &Types {
        &self.types
    }

    /// The registers.
    pub const fn registers(&self) -> &Registers {
        &self.state.registers
    }

    /// The content of a buffer.
    ///
    /// # Errors
    ///
    /// [`FaultKind::BufferInvalid`] when nothing valid was loaded or computed into it.
    pub const fn buffer(&self, buffer: Buffer) -> Result<&Array, FaultKind> {
        self.state.held(buffer).get()
    }

    /// Changes rows of a buffer along its last axis, from row `first` on: `lanes` numbers each, of which those behind the
    /// channels count for nothing. Nothing where the buffer holds no such rows.
    pub(crate) fn set_rows(&mut self, buffer: Buffer, first: usize, lanes: usize, numbers: &[i64]) {
        let held = match buffer {
            Buffer::Ifm => &mut self.state.ifm,
            Buffer::Ker => &mut self.state.ker,
            Buffer::Bias => &mut self.state.bias,
            Buffer::Ofm => &mut self.state.ofm,
        };
        let Some(mut array) = held.get().is_ok().then(|| held.take()).flatten() else { return };
        let channels = array.shape.last().copied().unwrap_or(0); // Default: nothing is held.
        for (row, numbers) in (first..).zip(numbers.chunks(lanes)) {
            for (lane, &number) in numbers.iter().enumerate().take(channels) {
                let index = row * channels + lane;
                if index < array.elements.len() {
                    array.elements.set(index, number as i32);
                }
            }
        }
        held.fill(array);
    }

    /// Values stored so far whose partial sum was at an end of OTYPE, or beyond what ITYPE can hold.
    pub const fn saturated(&self) -> u64 {
        self.state.saturated
    }

    /// What a `store` would write now.
    ///
    /// # Errors
    ///
    /// Those of `store`: [`FaultKind::UndefinedRegister`] and [`FaultKind::BufferInvalid`].
    pub fn store_result(&self) -> Result<Array, FaultKind> {
        store_result(&self.state, self.numerics())
    }

    /// Reads bytes of memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] beyond the end of memory.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        in_memory(address, out.len())?;
        self.memory.read(address, out);
        Ok(())
    }

    /// The first byte of a range that was never written, where memory keeps track of that.
    pub fn unwritten(&self, address: u64, bytes: usize) -> Option<u64> {
        self.memory.unwritten(address, bytes)
    }

    /// Writes bytes to memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] beyond the end of memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        in_memory(address, bytes.len())?;
        self.memory.write(address, bytes);
        Ok(())
    }

    /// Whether both memories hold the same bytes.
    pub fn has_the_memory_of(&self, other: &Self) -> bool {
        self.memory == other.memory
    }

    /// Executes one instruction; `end` does nothing.
    ///
    /// # Errors
    ///
    /// [`FaultKind`], with the machine as it was.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        let Self { types, arithmetic, validity, .. } = self;
        let numerics = Numerics { types, arithmetic: *arithmetic, validity: *validity };
        exec::step(&mut self.state, &mut self.memory, numerics, op)
    }

    /// Executes an instruction of a loaded program, whose words it may overwrite.
    ///
    /// # Errors
    ///
    /// [`FaultKind`], with the machine as it was.
    pub fn execute(&mut self, program: &mut Loaded, op: &Op) -> Result<(), FaultKind> {
        self.step(op)?;
        program.refresh(self, op);
        Ok(())
    }

    /// Takes what `op` would read now, and nobody has written, as written: zeros. Without effect where a register that
    /// it needs is undefined.
    pub fn settle(&mut self, op: &Op) {
        let Ok(Effects { memory, .. }) = op.effects(&self.state.registers, &self.types, self.validity) else {
            return;
        };
        for run in memory.runs() {
            let mut at = run.first;
            while let Some(unwritten) = self.memory.unwritten(at, (run.end - at) as usize) {
                self.memory.write(unwritten, &[0]);
                at = unwritten + 1;
            }
        }
    }

    /// Puts a program's words into memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Alignment`] when `address` is not that of a word that programs may begin at;
    /// [`AccessError::Range`] beyond the end of memory.
    pub fn load(&mut self, address: u64, words: &[u32]) -> Result<Loaded, AccessError> {
        if !address.is_multiple_of(u64::from(PROGRAM_ALIGNMENT)) {
            return Err(AccessError::Alignment { address });
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(address, &bytes)?;
        Ok(Loaded { address, ops: words.iter().map(|&word| decode(word, self.validity)).collect() })
    }

    /// Executes a loaded program from its first word up to `end`; gives the index of that. `before` is called with
    /// the machine before each instruction, which has been fetched, and its index.
    ///
    /// Words that the program overwrites are fetched as they are then (R17).
    ///
    /// # Errors
    ///
    /// The first [`Fault`], with the index of its instruction: a word that cannot be fetched or executed.
    pub fn run(
        &mut self,
        program: &mut Loaded,
        before: &mut dyn FnMut(&Self, usize, &Op),
    ) -> Result<usize, Fault<FaultKind>> {
        let mut instruction = 0;
        loop {
            let fetched = program.fetch(instruction).map_err(|kind| Fault { instruction, kind })?;
            before(self, instruction, &fetched);
            if fetched == Op::End {
                return Ok(instruction);
            }
            self.execute(program, &fetched).map_err(|kind| Fault { instruction, kind })?;
            instruction += 1;
        }
    }
}

impl Loaded {
    /// Byte address of its first word.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Words it has.
    pub const fn words(&self) -> usize {
        self.ops.len()
    }

    /// Whether some of its words lie among `bytes` bytes from `first` on.
    pub const fn meets(&self, first: u64, bytes: u64) -> bool {
        let end = self.address + (self.ops.len() * WORD_BYTES) as u64;
        first < end && self.address < first.saturating_add(bytes)
    }

    /// The instruction at an index, as memory has it now.
    ///
    /// # Errors
    ///
    /// A word that is no instruction; [`FaultKind::MissingEnd`] behind the last.
    pub fn fetch(&self, instruction: usize) -> Result<Op, FaultKind> {
        match self.ops.get(instruction) {
            Some(op) => op.clone(),
            None => Err(FaultKind::MissingEnd { words: self.ops.len() }),
        }
    }

    /// Decodes again what `op`, just done, may have overwritten.
    fn refresh(&mut self, machine: &Machine, op: &Op) {
        // An instruction that was executed has all registers it needs.
        let Ok(Effects { memory, .. }) = op.effects(machine.registers(), &machine.types, machine.validity)
        else {
            return;
        };
        let Some(written) = memory.extent().filter(|_| memory.direction == Direction::Write) else { return };
        let first = written.first.max(self.address);
        if written.end <= first {
            return;
        }
        let indices = (first - self.address) / WORD_BYTES as u64
            ..(written.end - self.address).div_ceil(WORD_BYTES as u64);
        for (index, op) in (0u64..).zip(&mut self.ops).skip(indices.start as usize) {
            if index >= indices.end {
                return;
            }
            let mut word = [0; WORD_BYTES];
            machine.memory.read(self.address + index * WORD_BYTES as u64, &mut word);
            *op = decode(u32::from_le_bytes(word), machine.validity);
        }
    }
}

fn in_memory(address: u64, bytes: usize) -> Result<(), AccessError> {
    let bytes = bytes as u64;
    if address <= MEMORY_BYTES && bytes <= MEMORY_BYTES - address {
        return Ok(());
    }
    Err(AccessError::Range { address, bytes })
}
