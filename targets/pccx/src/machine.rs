//! Bit-exact reference machine: [`Machine`]. It has no notion of time, and so ignores `async`.

pub(crate) mod arith;
pub(crate) mod bf16;
pub(crate) mod exec;
pub(crate) mod functions;
pub(crate) mod state;
pub(crate) mod upstream;
pub(crate) mod weights;

use std::ops::Range;
use std::sync::Arc;

use npukit_target::UninitMemory;
use npukit_target::sim::Fault;
use thiserror::Error;

use crate::config::{Config, WINDOW_UNITS, WORD_BYTES};
use crate::machine::arith::{Arithmetic, Bits};

use crate::isa::fault::{Direction, FaultKind};
use crate::isa::op::{Cache, Op, Shape};
use crate::isa::usage::words_of;
use crate::machine::state::{MachineError, State};

/// Access from outside that the machine cannot serve: a read, a write or a binding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The values end after the end of L2.
    #[error("{values} values at word {address:#x} end beyond L2, which has {l2_words} words of 8 values")]
    OutOfRange {
        /// L2 word in which the values begin.
        address: u32,
        /// Number of BF16 values.
        values: usize,
        /// Size of L2 in words.
        l2_words: u32,
    },
    /// The size of a window is not supported by MEMCPY.
    #[error("a host window of {bytes} bytes: legal are multiples of {WORD_BYTES} up to {}", u64::from(WINDOW_UNITS) * WORD_BYTES as u64)]
    Window {
        /// Size of the window in bytes.
        bytes: usize,
    },
}

/// Simulated instance.
///
/// Execution is strictly sequential. A faulting instruction changes nothing; everything before it
/// has been executed. Numbers are bit patterns unless `A` is another arithmetic.
#[derive(Clone, Debug)]
pub struct Machine<A: Arithmetic = Bits> {
    config: Config,
    state: State<A>,
    /// Seed of the initial content of host windows; `None` for zeros.
    seed: Option<u64>,
}

impl Machine {
    /// Returns a machine after a reset: memories are zero and nothing is bound.
    ///
    /// # Errors
    /// [`MachineError`] if the simulator does not support so large an L2.
    pub fn new(config: &Config) -> Result<Self, MachineError> {
        Self::with(config, UninitMemory::Zero)
    }

    /// Returns a machine whose memories, constant banks and e_max are initialized as `unset`
    /// specifies. Uses of unwritten data are found before a program runs
    /// ([`crate::check::unwritten`]), so poison acts as garbage here.
    ///
    /// # Errors
    /// [`MachineError`] if the simulator does not support so large an L2.
    pub fn with(config: &Config, unset: UninitMemory) -> Result<Self, MachineError> {
        let seed = match unset {
            UninitMemory::Zero => None,
            UninitMemory::Garbage(seed) => Some(seed),
            UninitMemory::Poison => Some(0),
        };
        Self::filled(config, seed)
    }

    /// Binds window `number` of a direction, which MEMCPY accesses; replaces an earlier one.
    ///
    /// # Errors
    /// [`AccessError::Window`] for a size that is not a multiple of 16 bytes, or exceeds the range
    /// of `aux_addr`.
    pub fn bind_window(
        &mut self,
        direction: Direction,
        number: u32,
        bytes: Vec<u8>,
    ) -> Result<(), AccessError> {
        window_size(bytes.len())?;
        self.state.windows.insert((direction, number), bytes);
        Ok(())
    }

    /// Returns the content of a window; `None` if it is not bound.
    pub fn window(&self, direction: Direction, number: u32) -> Option<&[u8]> {
        self.state.windows.get(&(direction, number)).map(Vec::as_slice)
    }

    /// Returns the mutable content of a window; `None` if it is not bound.
    pub fn window_mut(&mut self, direction: Direction, number: u32) -> Option<&mut [u8]> {
        self.state.windows.get_mut(&(direction, number)).map(Vec::as_mut_slice)
    }
}

impl<A: Arithmetic> Machine<A> {
    /// Returns a machine with memories filled from a seed, or with zeros.
    ///
    /// # Errors
    /// [`MachineError`] if the simulator does not support so large an L2.
    pub fn filled(config: &Config, seed: Option<u64>) -> Result<Self, MachineError> {
        let mut state = State::new(config)?;
        seed.into_iter().for_each(|seed| state.fill(seed));
        Ok(Self { config: config.clone(), state, seed })
    }

    /// Returns the parameters of the instance.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Appends weights to the queue from which each GEMV and GEMM takes the next.
    pub fn bind_weights(&mut self, image: Arc<A::Image>) {
        self.state.bindings.push_back(image);
        self.state.bound += 1;
    }

    /// Binds an uninitialized window of `bytes` bytes, like [`Machine::bind_window`].
    ///
    /// # Errors
    /// The errors of [`Machine::bind_window`].
    pub fn open_window(
        &mut self,
        direction: Direction,
        number: u32,
        bytes: usize,
    ) -> Result<(), AccessError> {
        window_size(bytes)?;
        let seed = self.seed.map(|seed| seed ^ u64::from(number));
        self.state.windows.insert((direction, number), A::window(bytes / 2, seed));
        Ok(())
    }

    /// Returns scalars of a window, or `None` if the range exceeds the window or the window does
    /// not exist.
    pub(crate) fn in_window(
        &self,
        direction: Direction,
        number: u32,
        place: Range<usize>,
    ) -> Option<impl Iterator<Item = A::Scalar>> {
        A::load(self.state.windows.get(&(direction, number))?, place)
    }

    /// Returns a window for access by the host; `None` if it is not bound.
    pub(crate) fn host_window(&mut self, direction: Direction, number: u32) -> Option<&mut A::Window> {
        self.state.windows.get_mut(&(direction, number))
    }

    /// Removes weights and windows, like a driver between two programs; memories keep their
    /// content.
    pub fn unbind(&mut self) {
        self.unbind_weights();
        self.state.windows.clear();
    }

    /// Removes weights that no product has taken.
    pub fn unbind_weights(&mut self) {
        self.state.bindings.clear();
        (self.state.bound, self.state.taken) = (0, 0);
    }

    /// Returns the first `values` BF16 patterns of L2, starting at word `address`.
    ///
    /// # Errors
    /// [`AccessError::OutOfRange`] if the values end after the end of L2.
    pub fn read_l2(&self, address: u32, values: usize) -> Result<&[A::Scalar], AccessError> {
        self.in_range(address, values)?;
        Ok(self.state.values(address, values))
    }

    /// Writes BF16 patterns to L2, starting at word `address`; the rest of the last word is
    /// unchanged.
    ///
    /// # Errors
    /// [`AccessError::OutOfRange`] if the values end after the end of L2.
    pub fn write_l2(&mut self, address: u32, values: &[A::Scalar]) -> Result<(), AccessError> {
        self.in_range(address, values.len())?;
        self.state.values_mut(address, values.len()).copy_from_slice(values);
        Ok(())
    }

    /// Returns an entry of a constant bank; entries after 63 are zero.
    pub fn constant(&self, cache: Cache, entry: u8) -> Shape {
        self.state.shape(cache, entry)
    }

    /// Returns the e_max register, a BF16 pattern.
    pub const fn e_max(&self) -> A::Scalar {
        self.state.e_max
    }

    /// Sets the e_max register, a BF16 pattern.
    pub const fn set_e_max(&mut self, bits: A::Scalar) {
        self.state.e_max = bits;
    }

    /// Executes one instruction.
    ///
    /// # Errors
    /// A [`FaultKind`] that specification 4.8 lists.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        exec::step(&mut self.state, &self.config, op)
    }

    /// Executes instructions in order. `progress` is called from time to time with the number of
    /// executed instructions.
    ///
    /// # Errors
    /// The first [`Fault`], with the index of its instruction.
    pub fn run(&mut self, ops: &[Op], progress: &mut dyn FnMut(usize)) -> Result<(), Fault<FaultKind>> {
        npukit_target::sim::run(ops, progress, |_, op| self.step(op))
    }

    fn in_range(&self, address: u32, values: usize) -> Result<(), AccessError> {
        let l2_words = self.config.l2_words;
        let words = words_of(values);
        if u64::from(address) + words <= u64::from(l2_words) {
            return Ok(());
        }
        Err(AccessError::OutOfRange { address, values, l2_words })
    }
}

/// Checks that MEMCPY supports a window of this many bytes.
const fn window_size(bytes: usize) -> Result<(), AccessError> {
    if !bytes.is_multiple_of(WORD_BYTES) || bytes / WORD_BYTES > WINDOW_UNITS as usize {
        return Err(AccessError::Window { bytes });
    }
    Ok(())
}
