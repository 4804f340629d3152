//! [`CellState`]: complete state of a cell.

use crate::config::component::Component;
use crate::config::fabric::{Cell, DIRECTIONS, Direction, Options, Row, SLOTS};
use crate::config::seed::DsuOption;
use crate::isa::op::{DpuMode, Op};
use crate::machine::agu::{Affine, Circuit, Pattern, Registers, Walk};
use crate::machine::exec::word::Word;

/// Number of ports of a cell, the bits `4 * slot + port` of masks.
pub const CELL_PORTS: usize = 64;
/// Number of options of a switch box, and of configurations of a dpu.
pub const OPTIONS: usize = 4;
/// Slot index that means no slot. Its word is always 0.
pub const NO_SLOT: u8 = SLOTS as u8;

/// State of a cell.
#[derive(Clone, Debug)]
pub struct CellState<W: Word = i16> {
    /// First cycle that is not yet computed and in which something may happen.
    pub wake: u64,
    /// Sequencer.
    pub sequencer: Sequencer,
    /// Address generators.
    pub ports: Ports,
    /// Switch box.
    pub swb: Swb,
    /// Register files.
    pub rfs: Vec<Rf<W>>,
    /// Memories.
    pub iosrams: Vec<Iosram<W>>,
    /// Data processing units.
    pub dpus: Vec<Dpu<W>>,
    /// Word that leaves each slot in this cycle, and 0 for [`NO_SLOT`].
    pub words: [W; 2 * SLOTS],
    /// Component that sends bulk rows at each slot.
    pub bulk: [Bulk; SLOTS],
}

/// State of a cell, without data words and times.
#[derive(Clone, Debug)]
pub struct CellSetting {
    regs: [i16; 16],
    flags: u16,
    ports: Ports,
    swb: Swb,
    /// Configurations of each dpu, and the index of the active one.
    dpus: Vec<([DpuConfig; OPTIONS], u8)>,
}

impl<W: Word> CellState<W> {
    pub fn setting(&self) -> CellSetting {
        CellSetting {
            regs: self.sequencer.regs,
            flags: self.sequencer.flags,
            ports: self.ports.clone(),
            swb: self.swb.clone(),
            dpus: self.dpus.iter().map(|dpu| (dpu.configs, dpu.config)).collect(),
        }
    }

    pub fn take_setting(&mut self, setting: &CellSetting) {
        (self.sequencer.regs, self.sequencer.flags) = (setting.regs, setting.flags);
        (self.ports, self.swb) = (setting.ports.clone(), setting.swb.clone());
        for (dpu, (configs, config)) in self.dpus.iter_mut().zip(&setting.dpus) {
            (dpu.configs, dpu.config) = (*configs, *config);
        }
    }
}

/// Component that sends and receives bulk rows at a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bulk {
    /// No component.
    #[default]
    None,
    /// Index in [`CellState::rfs`].
    Rf(u8),
    /// Index in [`CellState::iosrams`].
    Iosram(u8),
}

/// State of the sequencer.
#[derive(Clone, Debug)]
pub struct Sequencer {
    /// Instructions of the program.
    pub ops: Vec<Op>,
    /// Words of the instruction memory.
    pub iram_words: usize,
    /// Index of the next instruction.
    pub pc: usize,
    /// Cycle in which the next instruction is executed; `u64::MAX` if the cell has halted.
    pub next: u64,
    /// Cycle of the halt.
    pub halted: Option<u64>,
    /// Scalar registers.
    pub regs: [i16; 16],
    /// Flag registers as a mask, which only the ISA document has.
    pub flags: u16,
    /// Options that affect its instructions.
    pub options: Options,
    /// Mask of the lines that are raised in this cycle.
    pub raised: u64,
}

/// Address generators. Masks and arrays are indexed by `4 * slot + port`.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Mask of the ports that exist.
    pub exist: u64,
    /// Mask of the ports of memories with a buffer port.
    pub iosram: u64,
    /// Mask of the ports with lanes, whose configuration is erased one cycle longer.
    pub with_lanes: u64,
    /// Mask of the ports that are generating addresses.
    pub active: u64,
    /// Mask of the ports with an address in this cycle.
    pub emitted: u64,
    /// Mask of the ports that had an address beyond their memory in this run.
    pub wrapped: u64,
    /// Addresses since the start of the streak, which do not wrap; valid if the port is in
    /// `emitted`.
    pub addresses: Box<[Addresses; CELL_PORTS]>,
    /// Current streak.
    pub streak: Streak,
    /// Number of addresses of each port.
    pub sizes: Box<[u32; CELL_PORTS]>,
    /// Address sequences of the active ports.
    pub walks: Box<[Walk; CELL_PORTS]>,
    /// Configurations that are not activated, by `4 * number + option`.
    pub patterns: Vec<Pattern>,
    /// Configuration that each port's instructions apply to, selected by the last `dsu`.
    pub option: Box<[u8; CELL_PORTS]>,
    /// Configuration that each port was last started with.
    pub started: Box<[u8; CELL_PORTS]>,
    /// Whether ports have several configurations.
    pub has_options: bool,
    /// Whether hardware erases configurations after the last address.
    pub erases: bool,
    /// Registers that replace the configurations on the released circuit.
    pub released: Option<Released>,
    /// Cycle after the last address of each port; 0 if it never ran.
    pub ended: Box<[u64; CELL_PORTS]>,
}

/// Port configurations of the released circuit, by `4 * slot + port`.
#[derive(Clone, Debug)]
pub struct Released {
    /// Configuration registers of each port.
    pub registers: Vec<Registers>,
    /// Address generator that the circuit has at each port.
    pub circuits: Vec<Circuit>,
    /// Cycle of the last instruction for each port.
    pub touched: Vec<u64>,
    /// Port that the component's last `dsu` or `evt` opened, to which `rep`, `repx` and `trans`
    /// apply. For components that use the instruction's port, it is the port itself.
    pub opened: Vec<usize>,
    /// First slot of the port's component.
    pub first: Vec<u8>,
}

/// Sequence of addresses, like [`Affine`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    first: u32,
    step: u32,
    outer_step: u32,
    phase: u32,
    period_log2: u32,
}

impl Addresses {
    /// Sequence of a single address.
    pub const fn one(first: u32) -> Self {
        Self { first, step: 0, outer_step: 0, phase: 0, period_log2: 0 }
    }

    /// Returns the n-th address.
    #[inline]
    const fn at(&self, n: u32) -> u32 {
        let m = self.phase.wrapping_add(n);
        let (outer, inner) = (m >> self.period_log2, m & ((1 << self.period_log2) - 1));
        let inner = self.step.wrapping_mul(inner);
        self.first.wrapping_add(inner).wrapping_add(self.outer_step.wrapping_mul(outer))
    }
}

impl From<Affine> for Addresses {
    fn from(affine: Affine) -> Self {
        Self {
            first: affine.first as u32,
            step: affine.step as u32,
            outer_step: affine.outer_step as u32,
            phase: affine.phase,
            period_log2: affine.period_log2,
        }
    }
}

/// Cycles in which the same ports have addresses with equal steps, so no port needs to be examined.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streak {
    /// First cycle.
    pub start: u64,
    /// Cycle after the last.
    pub end: u64,
    /// Number of cycles since the first.
    pub done: u32,
}

/// State of the switch box. Tables are indexed by option.
#[derive(Clone, Debug)]
pub struct Swb {
    /// Word links as (source, target), latest last.
    pub links: [Vec<(u8, u8)>; OPTIONS],
    /// Slot that each slot's word comes from, derived from `links`.
    pub word_source: [[u8; SLOTS]; OPTIONS],
    /// Mask of the directions that each slot sends to.
    pub send: [[u16; SLOTS]; OPTIONS],
    /// Mask of the slots that receive from each direction.
    pub receive: [[u16; DIRECTIONS]; OPTIONS],
    /// Direction that each slot's rows come from, derived from `receive`.
    pub bulk_source: [[Option<Direction>; SLOTS]; OPTIONS],
    /// Slot that sends rows in each direction, derived from `send`.
    pub sender: [[Option<u8>; DIRECTIONS]; OPTIONS],
    /// Active option of the word links.
    pub word_option: u8,
    /// Active option of the bulk routes.
    pub bulk_option: u8,
}

/// State of a register file.
#[derive(Clone, Debug)]
pub struct Rf<W = i16> {
    /// Slot of the register file.
    pub slot: u8,
    /// Words of the register file.
    pub rows: Vec<Row<W>>,
}

/// State of a memory.
#[derive(Clone, Debug)]
pub struct Iosram<W = i16> {
    /// First slot of the memory.
    pub slot: u8,
    /// Rows of the memory.
    pub rows: Vec<Row<W>>,
}

/// Configuration of a dpu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DpuConfig {
    /// Operation.
    pub mode: DpuMode,
    /// Constant of some modes.
    pub immediate: i16,
}

/// State of a data processing unit.
#[derive(Clone, Debug)]
pub struct Dpu<W: Word = i16> {
    /// First slot of the dpu.
    pub slot: u8,
    /// Fraction bits of products.
    pub fraction_bits: u32,
    /// Configurations.
    pub configs: [DpuConfig; OPTIONS],
    /// Index of the active configuration.
    pub config: u8,
    /// Output register.
    pub out: W,
    /// Accumulator.
    pub acc: W::Sum,
    /// Internal register, used by extensions only.
    pub ir: W,
    /// Whether the current sum has exceeded the accumulator.
    pub has_saturated: bool,
    /// Number of sums since the last call that exceeded the accumulator.
    pub saturated_sums: u64,
}

/// Mask bit of a port.
#[inline]
pub const fn bit(slot: u8, port: u8) -> u64 {
    1 << (4 * (slot as u32 & 15) + (port as u32 & 3))
}

/// Index of a port.
#[inline]
pub const fn number(slot: u8, port: u8) -> usize {
    4 * (slot as usize & 15) + (port as usize & 3)
}

impl<W: Word> CellState<W> {
    /// Creates the state after reset, with a program.
    pub fn new(cell: &Cell, options: Options, ops: Vec<Op>) -> Self {
        let mut state = Self {
            wake: 0,
            sequencer: Sequencer::new(ops, cell.iram_words, options),
            ports: Ports::new(cell, options),
            swb: Swb::default(),
            rfs: Vec::new(),
            iosrams: Vec::new(),
            dpus: Vec::new(),
            words: [W::default(); 2 * SLOTS],
            bulk: [Bulk::None; SLOTS],
        };
        for part in &cell.resources {
            let (slot, rows) = (part.slot, vec![Row::<W>::default(); part.rows]);
            match part.component {
                Component::Rf => state.rfs.push(Rf { slot, rows }),
                Component::Dpu => state.dpus.push(Dpu::new(slot, part.fraction_bits)),
                component if component.is_iosram() => state.iosrams.push(Iosram { slot, rows }),
                _ => {}
            }
        }
        state.place_bulk();
        state
    }

    /// Describes the instruction that the cell is executing.
    pub fn describe(&self) -> String {
        let Sequencer { ops, pc, next, halted, regs, flags, .. } = &self.sequencer;
        let doing = match halted {
            Some(cycle) => format!("halted in cycle {cycle}"),
            None => {
                // Default: memory after the program is 0, which is `halt`.
                let name = ops.get(*pc).unwrap_or(&Op::Halt).mnemonic();
                format!("at instruction {pc} ({name}), due in cycle {next}")
            }
        };
        let regs = (0..).zip(regs).filter(|(_, value)| **value != 0);
        let regs: String = regs.map(|(index, value)| format!(", r{index} = {value}")).collect();
        let flags: String =
            (0..16).filter(|flag| flags >> flag & 1 == 1).map(|flag| format!(", flag {flag}")).collect();
        format!("{doing}; {} ports run{regs}{flags}", self.ports.active.count_ones())
    }

    fn place_bulk(&mut self) {
        let rfs = (0_u8..).zip(&self.rfs).map(|(index, rf)| (rf.slot, Bulk::Rf(index)));
        let iosrams = (0_u8..).zip(&self.iosrams).map(|(index, part)| (part.slot + 1, Bulk::Iosram(index)));
        for (slot, part) in rfs.chain(iosrams) {
            self.bulk.iter_mut().skip(slot.into()).take(1).for_each(|at| *at = part);
        }
    }
}

impl Sequencer {
    fn new(ops: Vec<Op>, iram_words: usize, options: Options) -> Self {
        let (regs, flags) = ([0; 16], 0);
        Self { ops, iram_words, pc: 0, next: 0, halted: None, regs, flags, options, raised: 0 }
    }
}

impl Ports {
    fn new(cell: &Cell, options: Options) -> Self {
        let revision = options.revision;
        let mut ports = Self {
            exist: 0,
            iosram: 0,
            with_lanes: 0,
            active: 0,
            emitted: 0,
            wrapped: 0,
            addresses: Box::new([Addresses::default(); CELL_PORTS]),
            streak: Streak::default(),
            sizes: Box::new([1; CELL_PORTS]),
            walks: Box::new(std::array::from_fn(|_| Walk::default())),
            patterns: vec![Pattern::default(); CELL_PORTS * OPTIONS],
            option: Box::new([0; CELL_PORTS]),
            started: Box::new([0; CELL_PORTS]),
            has_options: revision.is_seed() && options.seed.dsu_option == DsuOption::Configurations,
            erases: !revision.is_seed(),
            released: revision.is_released().then(|| Released::new(cell)),
            ended: Box::new([0; CELL_PORTS]),
        };
        for part in &cell.resources {
            for (slot, port, size) in part.ports() {
                ports.exist |= bit(slot, port);
                ports.iosram |= if part.component.is_iosram() { bit(slot, port) } else { 0 };
                ports.with_lanes |= if part.component.has_lanes() { bit(slot, port) } else { 0 };
                ports.sizes[number(slot, port)] = size;
            }
        }
        ports
    }

    /// Returns the address of a port, or `None` if it has none in this cycle.
    #[inline]
    pub fn address(&self, slot: u8, port: u8) -> Option<usize> {
        (self.emitted & bit(slot, port) != 0).then(|| self.current(number(slot, port)) as usize)
    }

    /// Returns the address of a port that has one in this cycle.
    #[inline]
    pub fn current(&self, number: usize) -> u32 {
        self.addresses[number & (CELL_PORTS - 1)].at(self.streak.done)
    }
}

impl Released {
    fn new(cell: &Cell) -> Self {
        let mut released = Self {
            registers: vec![Registers::default(); CELL_PORTS],
            circuits: vec![Circuit::new(Component::Rf); CELL_PORTS],
            touched: vec![0; CELL_PORTS],
            opened: (0..CELL_PORTS).collect(),
            first: (0..CELL_PORTS).map(|number| number as u8 / 4).collect(),
        };
        for part in &cell.resources {
            for (slot, port, _) in part.ports() {
                released.circuits[number(slot, port)] = Circuit::new(part.component);
                released.first[number(slot, port)] = part.slot;
            }
        }
        released
    }
}

impl Default for Swb {
    fn default() -> Self {
        Self {
            links: Default::default(),
            word_source: [[NO_SLOT; SLOTS]; OPTIONS],
            send: [[0; SLOTS]; OPTIONS],
            receive: [[0; DIRECTIONS]; OPTIONS],
            bulk_source: [[None; SLOTS]; OPTIONS],
            sender: [[None; DIRECTIONS]; OPTIONS],
            word_option: 0,
            bulk_option: 0,
        }
    }
}

impl<W: Word> Dpu<W> {
    pub(crate) fn new(slot: u8, fraction_bits: u32) -> Self {
        let idle = DpuConfig { mode: DpuMode::Idle, immediate: 0 };
        let (has_saturated, saturated_sums) = (false, 0);
        let (configs, config) = ([idle; OPTIONS], 0);
        let (out, acc, ir) = (W::default(), W::Sum::default(), W::default());
        Self { slot, fraction_bits, configs, config, out, acc, ir, has_saturated, saturated_sums }
    }
}

/// Inputs of a dpu in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs<W = i16> {
    pub in0: W,
    pub in1: W,
    /// Constant of the configuration.
    pub immediate: i16,
    /// Whether the accumulator is reset in this cycle.
    pub reset: bool,
    /// Whether port 0 has an address in this cycle.
    pub counted: bool,
}
