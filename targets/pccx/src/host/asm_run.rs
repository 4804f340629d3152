//! [`AsmMachine`]: executes an assembly program. It has named memories and tracks asynchronous
//! instructions.

mod error;
mod memory;
mod product;

use npukit_target::{AsmOptions, Halt, HazardMode, MachineMemory, ProgramText, TargetError, UninitMemory};

use crate::check::{Orders, WrittenData};
use crate::clock;
use crate::config::{Config, Profile, WORD_BYTES, WORD_LANES};
use crate::isa::op::{Cache, Op, Values};
use crate::machine::Machine;

pub use error::AsmRunError;
use memory::memories;
pub use memory::{Kind, floats, memories_of, numbers, put, window_name, windows};
use product::Products;
pub use product::products;

/// Maximum total bytes of a program's windows and weights at the host.
const MAX_HOST_BYTES: u64 = 1 << 30;

/// A machine with a program, its weights and its windows.
#[derive(Clone)]
pub struct AsmMachine {
    machine: Machine,
    ops: Vec<Op>,
    text: ProgramText,
    memories: Vec<(Kind, MachineMemory)>,
    products: Products,
    written: WrittenData,
    orders: Orders,
    /// Whether asynchronous instructions are treated as synchronous.
    is_sequential: bool,
    unset: UninitMemory,
    /// Number of instructions that were checked before execution.
    seen: usize,
}

impl AsmMachine {
    /// Returns a machine after a reset, before the first instruction.
    ///
    /// # Errors
    /// An instance that cannot be simulated; [`AsmRunError::HostMemory`] if the windows are too
    /// large.
    pub fn new(
        config: &Config,
        ops: &[Op],
        text: &ProgramText,
        options: &AsmOptions,
    ) -> Result<Self, TargetError> {
        let mut machine = Machine::with(config, options.unset).map_err(TargetError::failed)?;
        let mut written = WrittenData::new(config.l2_words, None);
        let windows = windows(config, ops);
        let host_bytes: u64 = windows.values().map(|units| units * WORD_BYTES as u64).sum();
        AsmRunError::check(host_bytes).map_err(TargetError::failed)?;
        written.know_windows();
        for (&(direction, number), &units) in &windows {
            let bytes = units as usize * WORD_BYTES;
            machine.open_window(direction, number, bytes).map_err(TargetError::failed)?;
            written.reach((direction, number), 0, units as usize);
        }
        let products = Products::new(ops, host_bytes);
        Ok(Self {
            memories: memories(config, &windows, &products),
            machine,
            ops: ops.to_vec(),
            text: text.clone(),
            products,
            written,
            orders: Orders::default(),
            is_sequential: options.meaning == HazardMode::Sequential,
            unset: options.unset,
            seen: 0,
        })
    }

    /// Checks an instruction before its first execution.
    fn look(&mut self, index: usize, op: &Op) -> Result<(), Halt> {
        if self.text.experiment.is_wait(index) {
            self.orders.host_waits();
        }
        let broken = self.orders.issue(index, op).filter(|_| !self.is_sequential);
        if let Some(order) = broken {
            let place = self.text.places.get(order.earlier).map(|&place| {
                let (file, line, _) = self.text.sources.position_of(place);
                format!("{file}:{line}")
            });
            return Err(Halt::Fault(TargetError::failed(AsmRunError::Order { order, place })));
        }
        let missing = self.missing(index, op);
        match (missing.is_empty(), self.unset) {
            (true, _) => Ok(()),
            (false, UninitMemory::Poison) => Err(Halt::Fault(TargetError::failed(missing))),
            (false, UninitMemory::Zero) => Err(Halt::Unwritten(format!("{missing}; it reads as 0"))),
            (false, UninitMemory::Garbage(_)) => {
                Err(Halt::Unwritten(format!("{missing}; it reads as garbage")))
            }
        }
    }

    /// Describes the unwritten data that an instruction uses. Empty for the circuits' profile,
    /// which has other addresses.
    fn missing(&mut self, index: usize, op: &Op) -> String {
        if self.machine.config().profile == Profile::Upstream {
            return String::new();
        }
        self.written.step_to_host(index, op);
        let found = self.written.take_found();
        let found = found.iter().map(ToString::to_string);
        let of_weights = self.products.missing(index);
        found.chain(of_weights).collect::<Vec<_>>().join("; ")
    }

    /// Executes an instruction. Uses of unwritten data are reported once; the next call executes.
    ///
    /// # Errors
    /// [`Halt::Unwritten`] for uses of unwritten data, [`Halt::Fault`] if execution stops.
    pub fn step(&mut self, index: usize) -> Result<(), Halt> {
        let op = self.ops[index];
        if self.seen <= index {
            self.seen = index + 1;
            self.look(index, &op)?;
        }
        let fault = |error: AsmRunError| Halt::Fault(TargetError::failed(error));
        if let Some(image) = self.products.image(index).map_err(fault)? {
            self.machine.unbind_weights();
            self.machine.bind_weights(image);
        }
        self.machine.step(&op).map_err(|fault| Halt::Fault(TargetError::failed(fault)))
    }

    /// Returns all memories with their kinds.
    pub fn memories(&self) -> &[(Kind, MachineMemory)] {
        &self.memories
    }

    /// Returns the first instruction that is not complete after `limit` cycles of the clock.
    pub fn first_beyond(&self, limit: u64) -> Option<usize> {
        let mut syncs: Vec<usize> = self.text.experiment.waits.iter().map(|wait| wait.position).collect();
        syncs.dedup();
        let timeline = clock::run_with_host(self.machine.config(), &self.ops, &syncs);
        timeline.spans.iter().position(|span| span.end > limit)
    }

    fn kind(&self, memory: usize) -> Kind {
        self.memories[memory].0
    }
}

impl AsmMachine {
    /// Writes numbers to the memory at index `memory`, starting at `address`.
    ///
    /// # Errors
    /// The memory is a constant bank, or the weights exceed host memory.
    pub fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let kind = self.kind(memory);
        match kind {
            Kind::L2 => self.written.fill(Values::new(address as u32, numbers.len())),
            Kind::Maximum => self.written.fill_maximum(),
            Kind::Window(direction, number) => {
                let (unit, units) = (address as u32, numbers.len() / WORD_LANES);
                self.written.fill_window((direction, number), unit, units);
            }
            Kind::Constants(_) => {}
            Kind::Weights(product) => {
                let written = self.products.write_weights(product, address as usize, numbers);
                return written.map_err(TargetError::failed);
            }
            Kind::Scales(product) => {
                self.products.write_scales(product, address as usize, numbers);
                return Ok(());
            }
        }
        put(&mut self.machine, kind, address, numbers)
    }

    /// Reads the numbers at `count` addresses of a memory.
    ///
    /// # Errors
    /// Words after the end of L2.
    pub fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        let (from, length) = (address as usize, count as usize);
        Ok(match self.kind(memory) {
            Kind::Weights(product) => self.products.weights(product, from, length),
            Kind::Scales(product) => self.products.scales(product, from, length),
            kind => {
                let read = numbers(&self.machine, kind, address, count);
                // Default: all others are memories of the machine.
                read.unwrap_or_else(|| Ok(Vec::new())).map_err(TargetError::failed)?
            }
        })
    }
}

/// Returns the memory name of a constant bank.
const fn bank(cache: Cache) -> &'static str {
    match cache {
        Cache::FmapShape => "fmap_shape",
        Cache::WeightShape => "weight_shape",
    }
}
