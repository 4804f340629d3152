//! Functional simulator: [`Machine`]. Computes values bit for bit as the specification defines
//! them, without timing.

pub(crate) mod arith;
pub(crate) mod array;
pub(crate) mod exact_sum;
pub(crate) mod exec;
pub(crate) mod memory;
pub(crate) mod rounding;
pub(crate) mod state;
pub(crate) mod values;

use npukit_target::UninitMemory;
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

/// Error of an access to memory from outside the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// The access extends beyond the end of memory.
    #[error("{bytes} bytes at {address:#x} end beyond the memory of 2^32 bytes")]
    Range {
        /// Address of the first byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// The start address of a program is not aligned.
    #[error("a program begins at {address:#x}: legal addresses are multiples of {}", PROGRAM_ALIGNMENT)]
    Alignment {
        /// Address of the program's first byte.
        address: u64,
    },
}

/// Simulated machine: registers, buffers and memory.
///
/// After a fault, all instructions before the faulting one have been executed, and no part of the
/// faulting one.
#[derive(Clone, Debug)]
pub struct Machine {
    types: Types,
    arithmetic: Arithmetic,
    validity: Validity,
    state: State,
    memory: Memory,
}

/// Program in memory: the address of its words and the decoded instructions.
#[derive(Clone, Debug)]
pub struct Loaded {
    address: u64,
    ops: Vec<Result<Op, FaultKind>>,
}

impl Machine {
    /// Creates a machine after a reset: registers and buffers are undefined, memory is 0.
    pub fn new(types: Types) -> Self {
        Self::with_arithmetic(types, Arithmetic::Fast)
    }

    /// Like [`Machine::new`], with the given implementation of the arithmetic.
    pub fn with_arithmetic(types: Types, arithmetic: Arithmetic) -> Self {
        let (validity, state, memory) = (Validity::default(), State::default(), Memory::default());
        Self { types, arithmetic, validity, state, memory }
    }

    /// Like [`Machine::new`], with memory initialized as `unset` specifies.
    pub fn with_memory(types: Types, unset: UninitMemory) -> Self {
        Self { memory: Memory::new(unset), ..Self::new(types) }
    }

    /// Returns the machine with the given reading of the draft specification.
    #[must_use]
    pub fn with_validity(self, validity: Validity) -> Self {
        Self { validity, ..self }
    }

    const fn numerics(&self) -> Numerics<'_> {
        Numerics { types: &self.types, arithmetic: self.arithmetic, validity: self.validity }
    }

    /// Returns the element types of the buffers.
    pub const fn types(&self) -> &Types {
        &self.types
    }

    /// Returns the registers.
    pub const fn registers(&self) -> &Registers {
        &self.state.registers
    }

    /// Returns the contents of a buffer.
    ///
    /// # Errors
    ///
    /// [`FaultKind::BufferInvalid`] if nothing valid was loaded or computed into it.
    pub const fn buffer(&self, buffer: Buffer) -> Result<&Array, FaultKind> {
        self.state.held(buffer).get()
    }

    /// Overwrites rows of a buffer along its last axis, starting at row `first`. Each row takes
    /// `lanes` numbers. Numbers after the buffer's channels are ignored. Does nothing if the
    /// buffer has no such rows.
    pub(crate) fn set_rows(&mut self, buffer: Buffer, first: usize, lanes: usize, numbers: &[i64]) {
        let held = match buffer {
            Buffer::Ifm => &mut self.state.ifm,
            Buffer::Ker => &mut self.state.ker,
            Buffer::Bias => &mut self.state.bias,
            Buffer::Ofm => &mut self.state.ofm,
        };
        let Some(mut array) = held.get().is_ok().then(|| held.take()).flatten() else { return };
        let channels = array.shape.last().copied().unwrap_or(0); // Default: an empty array has no channels.
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

    /// Returns the number of stored values for which the partial sum was at a limit of OTYPE or
    /// exceeded the range of ITYPE.
    pub const fn saturated(&self) -> u64 {
        self.state.saturated
    }

    /// Returns the values that a `store` would write now.
    ///
    /// # Errors
    ///
    /// The errors of `store`: [`FaultKind::UndefinedRegister`] and [`FaultKind::BufferInvalid`].
    pub fn store_result(&self) -> Result<Array, FaultKind> {
        store_result(&self.state, self.numerics())
    }

    /// Reads bytes of memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] if the range extends beyond the end of memory.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        in_memory(address, out.len())?;
        self.memory.read(address, out);
        Ok(())
    }

    /// Returns the address of the first byte of a range that was never written; `None` if there is
    /// none or memory does not track writes.
    pub fn unwritten(&self, address: u64, bytes: usize) -> Option<u64> {
        self.memory.unwritten(address, bytes)
    }

    /// Writes bytes to memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] if the range extends beyond the end of memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        in_memory(address, bytes.len())?;
        self.memory.write(address, bytes);
        Ok(())
    }

    /// Whether both machines' memories hold the same bytes.
    pub fn has_the_memory_of(&self, other: &Self) -> bool {
        self.memory == other.memory
    }

    /// Executes one instruction; `end` does nothing.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] of the instruction; the machine is unchanged.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        let Self { types, arithmetic, validity, .. } = self;
        let numerics = Numerics { types, arithmetic: *arithmetic, validity: *validity };
        exec::step(&mut self.state, &mut self.memory, numerics, op)
    }

    /// Executes an instruction of a loaded program, and updates `program` if the instruction
    /// overwrites its words.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] of the instruction; the machine is unchanged.
    pub fn execute(&mut self, program: &mut Loaded, op: &Op) -> Result<(), FaultKind> {
        self.step(op)?;
        program.refresh(self, op);
        Ok(())
    }

    /// Marks the unwritten bytes that `op` would read now as written, with value 0. Does nothing if
    /// a register that `op` needs is undefined.
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

    /// Copies a program's words into memory.
    ///
    /// # Errors
    ///
    /// [`AccessError::Alignment`] if `address` is not a multiple of 64;
    /// [`AccessError::Range`] if the words extend beyond the end of memory.
    pub fn load(&mut self, address: u64, words: &[u32]) -> Result<Loaded, AccessError> {
        if !address.is_multiple_of(u64::from(PROGRAM_ALIGNMENT)) {
            return Err(AccessError::Alignment { address });
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(address, &bytes)?;
        Ok(Loaded { address, ops: words.iter().map(|&word| decode(word, self.validity)).collect() })
    }

    /// Executes a loaded program from its first word up to `end` and returns the index of `end`.
    /// Before each instruction, calls `before` with the machine, the fetched instruction and its
    /// index.
    ///
    /// Words that the program overwrites are fetched with their new contents (R17).
    ///
    /// # Errors
    ///
    /// The first [`Fault`], with the index of its instruction: a word that cannot be fetched or
    /// executed.
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
    /// Returns the byte address of the program's first word.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of words of the program.
    pub const fn words(&self) -> usize {
        self.ops.len()
    }

    /// Whether the program's words overlap the `bytes` bytes starting at `first`.
    pub const fn meets(&self, first: u64, bytes: u64) -> bool {
        let end = self.address + (self.ops.len() * WORD_BYTES) as u64;
        first < end && self.address < first.saturating_add(bytes)
    }

    /// Returns the instruction at an index, as memory contains it now.
    ///
    /// # Errors
    ///
    /// The decoding fault of a word that is not an instruction; [`FaultKind::MissingEnd`] after the
    /// last word.
    pub fn fetch(&self, instruction: usize) -> Result<Op, FaultKind> {
        match self.ops.get(instruction) {
            Some(op) => op.clone(),
            None => Err(FaultKind::MissingEnd { words: self.ops.len() }),
        }
    }

    /// Decodes the words again that `op`, just executed, may have overwritten.
    fn refresh(&mut self, machine: &Machine, op: &Op) {
        // Every register that an executed instruction needs is defined, so effects exist.
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
