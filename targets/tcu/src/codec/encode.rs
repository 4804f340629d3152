//! [`Op`] to word, with the checks upstream's compiler makes (specification 3.7).

use npukit_base::{BitRange, Word};
use thiserror::Error;

use super::{Codec, opcode};
use crate::configuration::Register;
use crate::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};

/// Why an instruction has no encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A field's value is outside its legal range.
    #[error("{field} of {instruction} is {value}: legal are {min} to {max}")]
    Range {
        /// The instruction.
        instruction: &'static str,
        /// The field.
        field: &'static str,
        /// Its value; sizes in vectors.
        value: u64,
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// The instruction needs `number_of_threads` of 2.
    #[error("{instruction} exists with `number_of_threads` 2 only")]
    NeedsThreads {
        /// The instruction.
        instruction: &'static str,
    },
    /// The instruction has no encoding in two-thread mode.
    #[error("{instruction} has no encoding with `number_of_threads` 2: {hint}")]
    NotWithThreads {
        /// The instruction.
        instruction: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The instruction needs `lookup_tables`.
    #[error("{instruction} needs an architecture with `lookup_tables`")]
    NeedsLookup {
        /// The instruction.
        instruction: &'static str,
    },
    /// An `Unassigned` whose word means something.
    #[error(
        "header {header:#04x} and these operands are an instruction with a meaning, not an unassigned one"
    )]
    Assigned {
        /// Opcode and flags.
        header: u8,
    },
}

/// What operand 1 addresses: the names of its fields and its depth.
struct OtherMemory {
    address: &'static str,
    stride: &'static str,
    depth: u64,
}

/// A word being filled for an instruction.
struct Filling {
    word: Word,
    instruction: &'static str,
}

impl Filling {
    /// Puts `value - min` into `range` when it is in `min..=max`.
    fn put(
        &mut self,
        range: BitRange,
        field: &'static str,
        value: u64,
        (min, max): (u64, u64),
    ) -> Result<(), EncodeError> {
        if !(min..=max).contains(&value) {
            return Err(EncodeError::Range { instruction: self.instruction, field, value, min, max });
        }
        self.word.set(range, value - min);
        Ok(())
    }
}

impl Codec {
    /// The word of `op`, on thread 0.
    ///
    /// Errors: a stride, address or size the instance does not have; an instruction it lacks.
    pub fn encode(&self, op: &Op) -> Result<Word, EncodeError> {
        self.encode_on(0, op)
    }

    /// The word of `op` on `thread`.
    pub fn encode_on(&self, thread: u64, op: &Op) -> Result<Word, EncodeError> {
        let threads = self.config.number_of_threads as u64;
        if thread >= threads {
            let (min, max) = below(threads);
            return Err(EncodeError::Range {
                instruction: name(op),
                field: "thread",
                value: thread,
                min,
                max,
            });
        }
        Ok(self.word(op)?.with(self.fields.tid, thread))
    }

    fn word(&self, op: &Op) -> Result<Word, EncodeError> {
        match *op {
            Op::NoOp => self.no_op(),
            Op::Wait { thread } => self.wait(thread),
            Op::MatMul { accumulate, zeroes, local, accumulator, size } => {
                let flags = u64::from(accumulate) | u64::from(zeroes) << 1;
                let word = self.start("MatMul", opcode::MAT_MUL, flags);
                self.transfer(word, local, accumulator, &self.accumulators(), size)
            }
            Op::DataMove { kind, local, other, size } => {
                let word = self.start("DataMove", opcode::DATA_MOVE, kind.code().into());
                self.transfer(word, local, other, &self.other_memory(kind), size)
            }
            Op::LoadWeights { zeroes, local, size } => self.load_weights(zeroes, local, size),
            Op::Simd { read, write, accumulate, write_address, read_address, sub } => {
                let flags = u64::from(read) | u64::from(write) << 1 | u64::from(accumulate) << 2;
                self.simd(flags, write_address, read_address, sub)
            }
            Op::LoadLut { local, table, size } => self.load_lut(local, table, size),
            Op::Configure { register, value } => self.configure(register, value),
            Op::Unassigned { header, operands } => self.unassigned(header, operands),
        }
    }

    fn start(&self, instruction: &'static str, opcode: u8, flags: u64) -> Filling {
        let word = Word::ZERO.with(self.fields.opcode, u64::from(opcode)).with(self.fields.flags, flags);
        Filling { word, instruction }
    }

    fn no_op(&self) -> Result<Word, EncodeError> {
        if self.has_threads() {
            let hint = "opcode 0 is Wait, use that";
            return Err(EncodeError::NotWithThreads { instruction: "NoOp", hint });
        }
        Ok(Word::ZERO)
    }

    fn wait(&self, thread: u64) -> Result<Word, EncodeError> {
        if !self.has_threads() {
            return Err(EncodeError::NeedsThreads { instruction: "Wait" });
        }
        let mut word = self.start("Wait", opcode::NO_OP, 0);
        word.put(self.fields.wait, "thread", thread, below(self.config.number_of_threads as u64))?;
        Ok(word.word)
    }

    /// MatMul and DataMove: two strided addresses and a size no larger than either memory.
    fn transfer(
        &self,
        mut word: Filling,
        local: Strided,
        other: Strided,
        memory: &OtherMemory,
        size: u64,
    ) -> Result<Word, EncodeError> {
        self.put_local(&mut word, local)?;
        word.put(self.fields.address1, memory.address, other.address, below(memory.depth))?;
        let strides = below(self.config.stride1_depth as u64);
        word.put(self.fields.stride1, memory.stride, other.stride_log2.into(), strides)?;
        word.put(self.fields.size2, "size", size, (1, self.config.local_depth.min(memory.depth)))?;
        Ok(word.word)
    }

    fn put_local(&self, word: &mut Filling, local: Strided) -> Result<(), EncodeError> {
        word.put(self.fields.address0, "local address", local.address, below(self.config.local_depth))?;
        let strides = below(self.config.stride0_depth as u64);
        word.put(self.fields.stride0, "local stride", local.stride_log2.into(), strides)
    }

    fn other_memory(&self, kind: DataMoveKind) -> OtherMemory {
        match kind {
            DataMoveKind::Dram0ToLocal | DataMoveKind::LocalToDram0 => OtherMemory {
                address: "DRAM0 address",
                stride: "DRAM0 stride",
                depth: self.config.dram0_depth,
            },
            DataMoveKind::Dram1ToLocal | DataMoveKind::LocalToDram1 => OtherMemory {
                address: "DRAM1 address",
                stride: "DRAM1 stride",
                depth: self.config.dram1_depth,
            },
            DataMoveKind::AccumulatorToLocal
            | DataMoveKind::LocalToAccumulator
            | DataMoveKind::LocalToAccumulatorAccumulate => self.accumulators(),
        }
    }

    const fn accumulators(&self) -> OtherMemory {
        OtherMemory {
            address: "accumulator address",
            stride: "accumulator stride",
            depth: self.config.accumulator_depth,
        }
    }

    fn load_weights(&self, zeroes: bool, local: Strided, size: u64) -> Result<Word, EncodeError> {
        let mut word = self.start("LoadWeights", opcode::LOAD_WEIGHTS, u64::from(zeroes));
        self.put_local(&mut word, local)?;
        word.put(self.fields.size1, "size", size, (1, self.config.local_depth))?;
        Ok(word.word)
    }

    fn simd(&self, flags: u64, write: u64, read: u64, sub: SimdSub) -> Result<Word, EncodeError> {
        if sub.op == SimdOp::Lookup && !self.config.has_lookup() {
            return Err(EncodeError::NeedsLookup { instruction: "SIMD Lookup" });
        }
        let mut word = self.start("SIMD", opcode::SIMD, flags);
        let (addresses, registers) =
            (below(self.config.accumulator_depth), (0, self.config.simd_registers_depth as u64));
        word.put(self.fields.write_address, "write address", write, addresses)?;
        word.put(self.fields.read_address, "read address", read, addresses)?;
        word.put(self.fields.left, "left source", sub.left.into(), registers)?;
        word.put(self.fields.right, "right source", sub.right.into(), registers)?;
        word.put(self.fields.destination, "destination", sub.destination.into(), registers)?;
        Ok(word.word.with(self.fields.simd_op, sub.op.code().into()))
    }

    fn load_lut(&self, local: Strided, table: u64, size: u64) -> Result<Word, EncodeError> {
        if !self.config.has_lookup() {
            return Err(EncodeError::NeedsLookup { instruction: "LoadLUT" });
        }
        let mut word = self.start("LoadLUT", opcode::LOAD_LUT, 0);
        self.put_local(&mut word, local)?;
        word.put(self.fields.table, "table", table, (0, self.config.lookup_tables as u64))?;
        word.put(self.fields.size2, "size", size, (1, self.largest_lut()))?;
        Ok(word.word)
    }

    /// Vectors a LoadLUT can name: all of local memory, where operand 2 is wide enough.
    fn largest_lut(&self) -> u64 {
        self.config.local_depth.min(self.fields.size2.max().saturating_add(1))
    }

    fn configure(&self, register: u8, value: u32) -> Result<Word, EncodeError> {
        if self.has_threads() {
            let hint = "3 opcode bits are left; configure through the driver";
            return Err(EncodeError::NotWithThreads { instruction: "Configure", hint });
        }
        let mut word = self.start("Configure", opcode::CONFIGURE, 0);
        word.put(self.fields.register, "register", register.into(), (0, self.fields.register.max()))?;
        let largest = Register::from_code(register).map_or(Register::LARGEST, Register::largest);
        word.put(
            self.fields.value,
            "value",
            value.into(),
            (0, u64::from(largest).min(self.fields.value.max())),
        )?;
        Ok(word.word)
    }

    fn unassigned(&self, header: u8, operands: Word) -> Result<Word, EncodeError> {
        let word =
            self.start("Unassigned", header >> 4, u64::from(header)).word | (operands & self.fields.operands);
        match self.decode_lenient(word).op {
            op @ Op::Unassigned { .. } if op == (Op::Unassigned { header, operands }) => Ok(word),
            _ => Err(EncodeError::Assigned { header }),
        }
    }
}

/// The legal values of a field that counts to `n`.
const fn below(n: u64) -> (u64, u64) {
    (0, n.saturating_sub(1))
}

/// The instruction set's name of an instruction.
const fn name(op: &Op) -> &'static str {
    match op {
        Op::NoOp => "NoOp",
        Op::Wait { .. } => "Wait",
        Op::MatMul { .. } => "MatMul",
        Op::DataMove { .. } => "DataMove",
        Op::LoadWeights { .. } => "LoadWeights",
        Op::Simd { .. } => "SIMD",
        Op::LoadLut { .. } => "LoadLUT",
        Op::Configure { .. } => "Configure",
        Op::Unassigned { .. } => "Unassigned",
    }
}
