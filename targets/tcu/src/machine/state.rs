//! `State`: the architectural state that instructions read and change.
//!
//! It is generic over the number format, so that memories hold scalars of their own size and the
//! compiler can optimize the arithmetic. Everything is zero at the start.

use npukit_target::sim::{Flat, Paged, TooLarge};
use thiserror::Error;

use crate::config::{Config, Reading};
use crate::isa::op::Memory;
use crate::machine::arith::{Arithmetic, Weights};
use crate::machine::configuration::Configuration;
use crate::machine::lut::Tables;

/// Rows of an array product that are computed at a time.
pub(crate) const CHUNK: u64 = 64;

/// Maximum number of scalars of the weight array, the register file and the intermediate results.
const LIMIT: usize = 1 << 28;

/// An instance that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The array size is 0, so vectors have no scalars.
    #[error("array_size is 0: a vector needs at least one scalar")]
    NoLanes,
    /// An on-chip memory that is too large for the simulator.
    #[error("the {memory} cannot be simulated: {size}; choose a smaller depth")]
    Memory {
        /// Name of the memory.
        memory: Memory,
        /// Size of the memory.
        size: TooLarge,
    },
    /// A weight array or register file that is too large for the simulator.
    #[error("{rows} rows of {lanes} {what} are more than {limit} scalars; choose a smaller array_size")]
    Array {
        /// Name of the array.
        what: &'static str,
        /// Number of rows.
        rows: usize,
        /// Scalars per row.
        lanes: usize,
        /// Maximum number of scalars.
        limit: usize,
    },
}

/// The state of an instance.
#[derive(Clone)]
pub(crate) struct State<A: Arithmetic> {
    pub lanes: usize,
    pub dram0: Paged<A::Scalar>,
    pub dram1: Paged<A::Scalar>,
    pub local: Flat<A::Scalar>,
    pub accumulators: Flat<A::Scalar>,
    pub weights: A::Weights,
    /// Register `k` is vector `k - 1`.
    pub registers: Vec<A::Scalar>,
    pub configuration: Configuration,
    pub tables: Tables<A::Scalar>,
    /// Record of operations, for example saturations.
    pub ledger: A::Ledger,
    /// Record of writes since memory was poisoned; `None` if it was not poisoned.
    pub poison: Option<Set>,
    /// The last row computed by the array; empty if no instruction can read it.
    pub output: Vec<A::Scalar>,
    /// Intermediate results: `CHUNK` vectors.
    pub results: Vec<A::Scalar>,
    /// A vector between reading an accumulator and writing it.
    pub sum: Vec<A::Scalar>,
}

impl<A: Arithmetic> State<A> {
    /// Creates the state after a reset.
    ///
    /// # Errors
    ///
    /// [`MachineError`] if the instance is too large for the simulator, or has no lanes.
    pub fn new(config: &Config) -> Result<Self, MachineError>
    where
        A::Ledger: Default,
    {
        Self::with_ledger(config, A::Ledger::default())
    }

    /// Creates the state after a reset, with a record of operations.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn with_ledger(config: &Config, ledger: A::Ledger) -> Result<Self, MachineError> {
        let lanes = config.array_size;
        if lanes == 0 {
            return Err(MachineError::NoLanes);
        }
        bounded("weights", lanes.saturating_add(1), lanes)?;
        bounded("registers", config.simd_registers_depth, lanes)?;
        bounded("results", CHUNK as usize, lanes)?;
        let zero = A::Scalar::default();
        Ok(Self {
            lanes,
            dram0: Paged::new(lanes),
            dram1: Paged::new(lanes),
            local: flat::<A>(Memory::Local, config.local_depth, lanes)?,
            accumulators: flat::<A>(Memory::Accumulators, config.accumulator_depth, lanes)?,
            weights: A::Weights::zeros(lanes),
            registers: vec![zero.clone(); config.simd_registers_depth * lanes],
            configuration: Configuration::new(config.reading),
            tables: Tables::default(),
            ledger,
            poison: None,
            output: if config.reading == Reading::Seed { vec![zero.clone(); lanes] } else { Vec::new() },
            results: vec![zero.clone(); CHUNK as usize * lanes],
            sum: vec![zero; lanes],
        })
    }

    /// Copies vectors, starting at `address`, out of `memory`; the range must have been checked.
    pub fn read(&self, memory: Memory, address: u64, out: &mut [A::Scalar]) {
        let count = (out.len() / self.lanes) as u64;
        match memory {
            Memory::Dram0 => self.dram0.read(address, out),
            Memory::Dram1 => self.dram1.read(address, out),
            Memory::Local => out.clone_from_slice(self.local.vectors(address, count)),
            Memory::Accumulators => out.clone_from_slice(self.accumulators.vectors(address, count)),
        }
    }

    /// Copies vectors into `memory`, starting at `address`; the range must have been checked.
    pub fn write(&mut self, memory: Memory, address: u64, values: &[A::Scalar]) {
        let count = (values.len() / self.lanes) as u64;
        match memory {
            Memory::Dram0 => self.dram0.write(address, values),
            Memory::Dram1 => self.dram1.write(address, values),
            Memory::Local => self.local.vectors_mut(address, count).clone_from_slice(values),
            Memory::Accumulators => self.accumulators.vectors_mut(address, count).clone_from_slice(values),
        }
    }
}

fn flat<A: Arithmetic>(memory: Memory, depth: u64, lanes: usize) -> Result<Flat<A::Scalar>, MachineError> {
    Flat::new(depth, lanes).map_err(|size| MachineError::Memory { memory, size })
}

fn bounded(what: &'static str, rows: usize, lanes: usize) -> Result<(), MachineError> {
    match rows.checked_mul(lanes) {
        Some(scalars) if scalars <= LIMIT => Ok(()),
        _ => Err(MachineError::Array { what, rows, lanes, limit: LIMIT }),
    }
}

/// Record of writes since memory was poisoned, apart from memories of vectors.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// Whether each row of the array was written.
    pub(super) rows: Vec<bool>,
    /// Whether each register was written.
    pub(super) registers: Vec<bool>,
    /// Whether the array has computed a row.
    pub(super) output: bool,
}

impl Set {
    /// Records that `count` rows are shifted into the array, before the existing ones.
    pub(super) fn shift(&mut self, count: u64) {
        let count = self.rows.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        self.rows.rotate_right(count);
        self.rows[..count].fill(true);
    }
}
