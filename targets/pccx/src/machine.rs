//! The reference machine: [`Machine`]. Values bit by bit; no notion of time, and so none of `async`.

pub(crate) mod arith;
pub(crate) mod bf16;
pub(crate) mod exec;
pub(crate) mod functions;
pub(crate) mod state;
pub(crate) mod upstream;
pub(crate) mod weights;

use std::ops::Range;
use std::sync::Arc;

use npukit_target::Unset;
use npukit_target::sim::Fault;
use thiserror::Error;

use crate::config::{Config, WINDOW_UNITS, WORD_BYTES};
use crate::machine::arith::{Arithmetic, Bits};

use crate::isa::fault::{Direction, FaultKind};
use crate::isa::op::{Cache, Op, Shape};
use crate::isa::usage::words_of;
use crate::machine::state::{MachineError, State};

/// A read, write or binding from outside that the machine cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Values beyond the end of L2.
    #[error("{values} values from word {address:#x} on end beyond L2, which has {l2_words} words of 8")]
    OutOfRange {
        /// First word.
        address: u32,
        /// Values.
        values: usize,
        /// Words of L2.
        l2_words: u32,
    },
    /// A window beyond what MEMCPY reaches.
    #[error("a host window of {bytes} bytes: legal are multiples of {WORD_BYTES} up to {}", u64::from(WINDOW_UNITS) * WORD_BYTES as u64)]
    Window {
        /// Its bytes.
        bytes: usize,
    },
}

/// A simulated instance.
///
/// Execution is strictly sequential. An instruction at fault has changed nothing; everything before it
/// has been executed. Its numbers are bits unless said otherwise.
#[derive(Clone, Debug)]
pub struct Machine<A: Arithmetic = Bits> {
    config: Config,
    state: State<A>,
    /// What host windows hold before anybody writes them.
    seed: Option<u64>,
}

impl Machine {
    /// An instance after a reset: memories are zero, nothing is bound.
    ///
    /// # Errors
    ///
    /// [`MachineError`] for an L2 larger than the simulator takes.
    pub fn new(config: &Config) -> Result<Self, MachineError> {
        Self::with(config, Unset::Zero)
    }

    /// An instance on which anything may have run: memories, constant banks and e_max hold what `unset` says.
    /// Poison is found in programs before they run ([`crate::check::unwritten`]); here it is garbage.
    ///
    /// # Errors
    ///
    /// [`MachineError`] for an L2 larger than the simulator takes.
    pub fn with(config: &Config, unset: Unset) -> Result<Self, MachineError> {
        let seed = match unset {
            Unset::Zero => None,
            Unset::Garbage(seed) => Some(seed),
            Unset::Poison => Some(0),
        };
        Self::filled(config, seed)
    }

    /// Gives MEMCPY the window `number` of a direction; replaces an earlier one.
    ///
    /// # Errors
    ///
    /// [`AccessError::Window`] for a size that is not a multiple of 16 bytes, or beyond what `aux_addr`
    /// reaches.
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

    /// The content of a window.
    pub fn window(&self, direction: Direction, number: u32) -> Option<&[u8]> {
        self.state.windows.get(&(direction, number)).map(Vec::as_slice)
    }

    /// The content of a window, to write.
    pub fn window_mut(&mut self, direction: Direction, number: u32) -> Option<&mut [u8]> {
        self.state.windows.get_mut(&(direction, number)).map(Vec::as_mut_slice)
    }
}

impl<A: Arithmetic> Machine<A> {
    /// An instance whose memories hold what follows from a seed, or zeros.
    ///
    /// # Errors
    ///
    /// [`MachineError`] for an L2 larger than the simulator takes.
    pub(crate) fn filled(config: &Config, seed: Option<u64>) -> Result<Self, MachineError> {
        let mut state = State::new(config)?;
        seed.into_iter().for_each(|seed| state.fill(seed));
        Ok(Self { config: config.clone(), state, seed })
    }

    /// The instance.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Appends weights to the list of which each GEMV and GEMM takes the next.
    pub fn bind_weights(&mut self, image: Arc<A::Image>) {
        self.state.bindings.push_back(image);
        self.state.bound += 1;
    }

    /// As [`Machine::bind_window`], of `bytes` bytes that nobody has written.
    ///
    /// # Errors
    ///
    /// Those of [`Machine::bind_window`].
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

    /// Scalars of a window; none where some lie beyond its end, or there is no such window.
    pub(crate) fn in_window(
        &self,
        direction: Direction,
        number: u32,
        place: Range<usize>,
    ) -> Option<impl Iterator<Item = A::Scalar>> {
        A::load(self.state.windows.get(&(direction, number))?, place)
    }

    /// A window, for the host.
    pub(crate) fn host_window(&mut self, direction: Direction, number: u32) -> Option<&mut A::Window> {
        self.state.windows.get_mut(&(direction, number))
    }

    /// Takes back weights and windows, as a driver does between two programs; memories stay.
    pub fn unbind(&mut self) {
        self.unbind_weights();
        self.state.windows.clear();
    }

    /// Takes back weights that no product has taken.
    pub fn unbind_weights(&mut self) {
        self.state.bindings.clear();
        (self.state.bound, self.state.taken) = (0, 0);
    }

    /// The first `values` BF16 patterns of L2 from word `address` on.
    ///
    /// # Errors
    ///
    /// [`AccessError::OutOfRange`] for values beyond the end.
    pub fn read_l2(&self, address: u32, values: usize) -> Result<&[A::Scalar], AccessError> {
        self.in_range(address, values)?;
        Ok(self.state.values(address, values))
    }

    /// Writes BF16 patterns to L2 from word `address` on; the rest of the last word stays.
    ///
    /// # Errors
    ///
    /// [`AccessError::OutOfRange`] for values beyond the end.
    pub fn write_l2(&mut self, address: u32, values: &[A::Scalar]) -> Result<(), AccessError> {
        self.in_range(address, values.len())?;
        self.state.values_mut(address, values.len()).copy_from_slice(values);
        Ok(())
    }

    /// An entry of a constant bank; entries beyond 63 are zero.
    pub fn constant(&self, cache: Cache, entry: u8) -> Shape {
        self.state.shape(cache, entry)
    }

    /// The e_max register, a BF16 pattern.
    pub const fn e_max(&self) -> A::Scalar {
        self.state.e_max
    }

    /// Sets the e_max register, as a debugger would.
    pub const fn set_e_max(&mut self, bits: A::Scalar) {
        self.state.e_max = bits;
    }

    /// Executes one instruction.
    ///
    /// # Errors
    ///
    /// [`FaultKind`]: one of those that the specification lists in section 4.8.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        exec::step(&mut self.state, &self.config, op)
    }

    /// Executes instructions in order. `progress` gets the number of instructions done, from time to time.
    ///
    /// # Errors
    ///
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

/// Whether MEMCPY can use a window of so many bytes.
const fn window_size(bytes: usize) -> Result<(), AccessError> {
    if !bytes.is_multiple_of(WORD_BYTES) || bytes / WORD_BYTES > WINDOW_UNITS as usize {
        return Err(AccessError::Window { bytes });
    }
    Ok(())
}
