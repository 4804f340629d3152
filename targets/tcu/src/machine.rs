//! [`Machine`]: the functional machine. Values are bit-exact; time is not modeled.

pub(crate) mod alu;
pub(crate) mod arith;
pub(crate) mod columns;
pub(crate) mod configuration;
pub(crate) mod exec;
pub(crate) mod losing;
pub(crate) mod lut;
mod parts;
pub(crate) mod poison;
pub(crate) mod state;

use npukit_numeric::{Fixed, Float, Number, Saturations};
use npukit_target::UninitMemory;
use npukit_target::sim::Fault;
use thiserror::Error;

pub(crate) use parts::Part;

use crate::config::{Config, DataType};
use crate::isa::check::{check, depth};
use crate::machine::configuration::Configuration;

use crate::isa::fault::FaultKind;
use crate::isa::op::{Memory, Op};
use crate::machine::losing::{Losing, LostWrite};

use crate::machine::state::{MachineError, State};

/// A read or write from outside that exceeds a memory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Vectors beyond the end of a memory.
    #[error("{vectors} vectors starting at {base} exceed the {memory}, which has {depth} vectors")]
    OutOfRange {
        /// Name of the memory.
        memory: Memory,
        /// Address of the first vector.
        base: u64,
        /// Number of vectors.
        vectors: u64,
        /// Depth of the memory in vectors.
        depth: u64,
    },
    /// Scalars that end inside a vector.
    #[error("{scalars} scalars are not a whole number of vectors of {lanes}; pad the last one with zeros")]
    PartialVector {
        /// Number of scalars given.
        scalars: usize,
        /// Scalars per vector.
        lanes: usize,
    },
    /// More scalars than one read can return.
    #[error("{vectors} vectors of {lanes} scalars are more than {limit} scalars in one read; read in parts")]
    TooMuch {
        /// Number of vectors.
        vectors: u64,
        /// Scalars per vector.
        lanes: usize,
        /// Maximum scalars of one read.
        limit: u64,
    },
}

/// A simulated instance.
///
/// Raw scalars are passed as `i32`: the sign-extended integer of a fixed-point format (only its low
/// bits are used), or the bits of a float. After a fault, all instructions before the faulting one
/// have been executed. A faulting Lookup may have written some of its registers.
///
/// A DRAM bank is accessed through a window of its depth that begins at the bank's offset register.
/// This holds for the program and from outside, as for drivers and hardware. The banks never
/// overlap.
pub struct Machine {
    config: Config,
    core: Box<dyn Core + Send + Sync>,
}

impl Clone for Machine {
    fn clone(&self) -> Self {
        Self { config: self.config.clone(), core: self.core.copy() }
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The part of the machine that depends on the number format, selected once and not per
/// instruction.
trait Core {
    fn copy(&self) -> Box<dyn Core + Send + Sync>;
    fn step(&mut self, config: &Config, op: &Op) -> Result<(), FaultKind>;
    fn read(&self, memory: Memory, base: u64, scalars: usize) -> Vec<i32>;
    fn write(&mut self, memory: Memory, base: u64, raw: &[i32]);
    fn bank(&self, memory: Memory, scalars: usize) -> Vec<i32>;
    fn table(&self, table: u64) -> Vec<i32>;
    fn saturations(&self) -> Saturations;
    fn replace_saturations(&mut self, with: Saturations) -> Saturations;
    fn configuration(&self) -> &Configuration;
    fn leave_unset(&mut self, data_type: DataType, unset: UninitMemory);
    fn unset(&self, memory: Memory, address: u64, vectors: u64) -> Option<u64>;
    fn settle(&mut self, op: &Op);
    fn row(&self, row: usize) -> Vec<i32>;
    fn set_row(&mut self, row: usize, raw: &[i32]);
    fn register(&self, register: u8) -> Vec<i32>;
    fn set_register(&mut self, register: u8, raw: &[i32]);
}

impl<F: Number> Core for State<F> {
    fn copy(&self) -> Box<dyn Core + Send + Sync> {
        Box::new(self.clone())
    }
    fn step(&mut self, config: &Config, op: &Op) -> Result<(), FaultKind> {
        check(config, op)?;
        if self.poison.is_some() {
            poison::check(self, config.lookup_tables, op)?;
        }
        exec::step(self, config, op)
    }
    fn read(&self, memory: Memory, base: u64, scalars: usize) -> Vec<i32> {
        exec::read_raw(self, memory, base, scalars)
    }
    fn write(&mut self, memory: Memory, base: u64, raw: &[i32]) {
        exec::write_raw(self, memory, base, raw);
    }
    fn bank(&self, memory: Memory, scalars: usize) -> Vec<i32> {
        let mut values = vec![F::Raw::default(); scalars];
        // The copy is cheap because it shares all existing pages.
        let mut bank = if memory == Memory::Dram1 { self.dram1.clone() } else { self.dram0.clone() };
        bank.set_origin(0);
        bank.read(0, &mut values);
        exec::raw_of::<F>(&values)
    }
    fn table(&self, table: u64) -> Vec<i32> {
        exec::raw_of::<F>(self.tables.entries(table))
    }
    fn saturations(&self) -> Saturations {
        self.ledger
    }
    fn replace_saturations(&mut self, with: Saturations) -> Saturations {
        std::mem::replace(&mut self.ledger, with)
    }
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }
    fn leave_unset(&mut self, data_type: DataType, unset: UninitMemory) {
        match unset {
            UninitMemory::Zero => {}
            UninitMemory::Garbage(seed) => poison::fill(self, seed, |bits| match data_type {
                DataType::Float32 => F::from_raw((f32::from(bits) / 256.0).to_bits() as i32),
                _ => F::from_raw(bits.into()),
            }),
            UninitMemory::Poison => poison::poison(self),
        }
    }
    fn unset(&self, memory: Memory, address: u64, vectors: u64) -> Option<u64> {
        self.unset(memory, address, vectors)
    }
    fn settle(&mut self, op: &Op) {
        self.settle(op);
    }
    fn row(&self, row: usize) -> Vec<i32> {
        exec::raw_of::<F>(self.weights.row(row))
    }
    fn set_row(&mut self, row: usize, raw: &[i32]) {
        self.weights.set_row(row, &exec::scalars_of::<F>(raw));
        self.note_row(row);
    }
    fn register(&self, register: u8) -> Vec<i32> {
        exec::raw_of::<F>(exec::register(&self.registers, register, self.lanes))
    }
    fn set_register(&mut self, register: u8, raw: &[i32]) {
        let scalars = exec::scalars_of::<F>(raw);
        exec::register_mut(&mut self.registers, register, self.lanes).copy_from_slice(&scalars);
        self.note_register(register);
    }
}

impl Machine {
    /// Maximum scalars of one read (1 GiB of them).
    const READ_LIMIT: u64 = 1 << 28;

    /// Creates an instance after a reset: memories, weights and registers are zero.
    ///
    /// # Errors
    ///
    /// [`MachineError`] if the on-chip memories are too large for the simulator. DRAM may have any
    /// depth, since only written pages are stored.
    pub fn new(config: &Config) -> Result<Self, MachineError> {
        let core: Box<dyn Core + Send + Sync> = match config.data_type {
            DataType::Fp8Bp4 => Box::new(State::<Fixed<i8, 8, 4>>::new(config)?),
            DataType::Fp16Bp8 => Box::new(State::<Fixed<i16, 16, 8>>::new(config)?),
            DataType::Fp18Bp10 => Box::new(State::<Fixed<i32, 18, 10>>::new(config)?),
            DataType::Fp32Bp16 => Box::new(State::<Fixed<i32, 32, 16>>::new(config)?),
            DataType::Float32 => Box::new(State::<Float>::new(config)?),
        };
        Ok(Self { config: config.clone(), core })
    }

    /// Creates an instance whose unwritten memories, weights and registers have the content
    /// `unset`.
    ///
    /// # Errors
    ///
    /// The errors of [`Machine::new`].
    pub fn with_unset(config: &Config, unset: UninitMemory) -> Result<Self, MachineError> {
        let mut machine = Self::new(config)?;
        machine.core.leave_unset(config.data_type, unset);
        Ok(machine)
    }

    /// Starts tracking writes, without changing any content: an instruction that reads an unwritten
    /// vector faults until [`Machine::settle`] allows it.
    pub(crate) fn watching_reads(mut self) -> Self {
        self.core.leave_unset(self.config.data_type, UninitMemory::Poison);
        self
    }

    /// Marks everything that an instruction reads as written, after it faulted for reading it. The
    /// content is not changed.
    pub(crate) fn settle(&mut self, op: &Op) {
        self.core.settle(op);
    }

    /// Returns the first of `vectors` vectors, starting at `base`, that was never written; `None`
    /// if memory was not poisoned.
    ///
    /// # Errors
    ///
    /// [`AccessError::OutOfRange`] beyond the end of the memory.
    pub fn unset(&self, memory: Memory, base: u64, vectors: u64) -> Result<Option<u64>, AccessError> {
        self.in_range(memory, base, vectors)?;
        Ok(self.core.unset(memory, base, vectors))
    }

    /// Returns the simulated instance.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Executes one instruction.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] if hardware would hang or have undefined behavior.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        self.core.step(&self.config, op)
    }

    /// Executes a program. Calls `progress` with the number of completed instructions at intervals.
    ///
    /// # Errors
    ///
    /// The first [`Fault`], with the index of its instruction.
    pub fn run(&mut self, ops: &[Op], progress: &mut dyn FnMut(usize)) -> Result<(), Fault<FaultKind>> {
        npukit_target::sim::run(ops, progress, |_, op| self.step(op))
    }

    /// Like [`Machine::run`], but loses the writes `lost` as the released hardware does; they must
    /// be in program order.
    ///
    /// # Errors
    ///
    /// The errors of [`Machine::run`].
    pub fn run_losing(&mut self, ops: &[Op], lost: &[LostWrite]) -> Result<(), Fault<FaultKind>> {
        let mut losing = Losing::new(lost);
        npukit_target::sim::run(ops, &mut |_| (), |i, op| {
            losing.before(self, i);
            self.step(op)
        })
    }

    /// Like [`Machine::run`], and counts saturated results by group: the results of instruction `i`
    /// are added to `groups[group(i, op)]`, if that group exists. The writes `lost`, in program
    /// order, are lost as in hardware.
    ///
    /// # Errors
    ///
    /// The errors of [`Machine::run`]; `groups` then has the counts up to the fault.
    pub fn run_grouped(
        &mut self,
        ops: &[Op],
        groups: &mut [Saturations],
        group: impl Fn(usize, &Op) -> usize,
        lost: &[LostWrite],
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), Fault<FaultKind>> {
        let mut losing = Losing::new(lost);
        let mut total = self.core.replace_saturations(Saturations::default());
        let result = npukit_target::sim::run(ops, progress, |i, op| {
            losing.before(self, i);
            let result = self.step(op);
            if !self.core.saturations().is_empty() {
                let new = self.core.replace_saturations(Saturations::default());
                total.merge(&new);
                if let Some(group) = groups.get_mut(group(i, op)) {
                    group.merge(&new);
                }
            }
            result
        });
        self.core.replace_saturations(total);
        result
    }

    /// Returns the number of results saturated since the reset.
    pub fn saturations(&self) -> Saturations {
        self.core.saturations()
    }

    /// Returns the configuration registers.
    pub fn configuration(&self) -> &Configuration {
        self.core.configuration()
    }

    /// Reads `vectors` vectors, starting at `base`.
    ///
    /// # Errors
    ///
    /// [`AccessError::OutOfRange`] beyond the end of the memory; [`AccessError::TooMuch`] above
    /// 2^28 scalars.
    pub fn read(&self, memory: Memory, base: u64, vectors: u64) -> Result<Vec<i32>, AccessError> {
        let lanes = self.config.array_size;
        self.in_range(memory, base, vectors)?;
        match vectors.checked_mul(lanes as u64) {
            Some(scalars) if scalars <= Self::READ_LIMIT => {
                Ok(self.core.read(memory, base, scalars as usize))
            }
            _ => Err(AccessError::TooMuch { vectors, lanes, limit: Self::READ_LIMIT }),
        }
    }

    /// Returns the first `vectors` vectors of a DRAM bank, independent of its window.
    ///
    /// # Errors
    ///
    /// [`AccessError::TooMuch`] above 2^28 scalars.
    pub(crate) fn bank(&self, bank: Memory, vectors: u64) -> Result<Vec<i32>, AccessError> {
        let lanes = self.config.array_size;
        match vectors.checked_mul(lanes as u64) {
            Some(scalars) if scalars <= Self::READ_LIMIT => Ok(self.core.bank(bank, scalars as usize)),
            _ => Err(AccessError::TooMuch { vectors, lanes, limit: Self::READ_LIMIT }),
        }
    }

    /// Returns the raw scalars of a lookup table; empty if it was never loaded.
    pub(crate) fn table(&self, table: u64) -> Vec<i32> {
        self.core.table(table)
    }

    /// Writes whole vectors, starting at `base`.
    ///
    /// # Errors
    ///
    /// [`AccessError::OutOfRange`] beyond the end of the memory; [`AccessError::PartialVector`] if
    /// `raw` ends inside a vector.
    pub fn write(&mut self, memory: Memory, base: u64, raw: &[i32]) -> Result<(), AccessError> {
        let lanes = self.config.array_size;
        if !raw.len().is_multiple_of(lanes) {
            return Err(AccessError::PartialVector { scalars: raw.len(), lanes });
        }
        self.in_range(memory, base, (raw.len() / lanes) as u64)?;
        self.core.write(memory, base, raw);
        Ok(())
    }

    fn in_range(&self, memory: Memory, base: u64, vectors: u64) -> Result<(), AccessError> {
        in_range(&self.config, memory, base, vectors)
    }
}

/// Checks that vectors are inside a memory.
///
/// # Errors
///
/// [`AccessError::OutOfRange`] beyond the end of the memory.
pub(crate) fn in_range(config: &Config, memory: Memory, base: u64, vectors: u64) -> Result<(), AccessError> {
    let depth = depth(config, memory);
    match base.checked_add(vectors) {
        Some(end) if end <= depth => Ok(()),
        _ => Err(AccessError::OutOfRange { memory, base, vectors, depth }),
    }
}
