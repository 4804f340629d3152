//! [`CellState`]: everything a cell remembers.

use crate::config::component::Component;
use crate::config::fabric::{Cell, DIRECTIONS, Direction, Options, Row, SLOTS};
use crate::config::seed::DsuOption;
use crate::isa::op::{DpuMode, Op};
use crate::machine::agu::{Affine, Circuit, Pattern, Registers, Walk};
use crate::machine::exec::word::Word;

/// Ports of a cell: bit `4 * slot + port` of masks.
pub const CELL_PORTS: usize = 64;
/// Options of a switch box, configurations of a dpu.
pub const OPTIONS: usize = 4;
/// In place of a slot: none. Its word is always 0.
pub const NO_SLOT: u8 = SLOTS as u8;

/// A cell.
#[derive(Clone, Debug)]
pub struct CellState<W: Word = i16> {
    /// The first cycle in which something may happen that has not been computed.
    pub wake: u64,
    /// Control.
    pub sequencer: Sequencer,
    /// Address generators.
    pub ports: Ports,
    /// The switch box.
    pub swb: Swb,
    /// Register files.
    pub rfs: Vec<Rf<W>>,
    /// Memories.
    pub iosrams: Vec<Iosram<W>>,
    /// Data processing units.
    pub dpus: Vec<Dpu<W>>,
    /// What leaves each slot in this cycle as a word, and 0 for [`NO_SLOT`].
    pub words: [W; 2 * SLOTS],
    /// What gives bulk rows at each slot.
    pub bulk: [Bulk; SLOTS],
}

/// What gives and takes bulk rows at a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bulk {
    /// Nothing.
    #[default]
    None,
    /// A register file, by index.
    Rf(u8),
    /// A memory, by index.
    Iosram(u8),
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Sequencer {
    /// The program.
    pub ops: Vec<Op>,
    /// Words of the instruction memory.
    pub iram_words: usize,
    /// Index of the next instruction.
    pub pc: usize,
    /// The cycle it is executed in; `u64::MAX` when the cell has halted.
    pub next: u64,
    /// The cycle of the halt.
    pub halted: Option<u64>,
    /// Scalar registers.
    pub regs: [i16; 16],
    /// Flag registers, a bit each, which the seed's text alone has.
    pub flags: u16,
    /// How its instructions are read.
    pub options: Options,
    /// Lines that are raised in this cycle.
    pub raised: u64,
}

/// Address generators, by `4 * slot + port`.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Those that exist.
    pub exist: u64,
    /// Those of memories with an input or output.
    pub iosram: u64,
    /// Those with lanes, whose configuration is erased a cycle longer.
    pub with_lanes: u64,
    /// Those under way.
    pub active: u64,
    /// Those with an address in this cycle.
    pub emitted: u64,
    /// Those that had an address beyond their memory in this run.
    pub wrapped: u64,
    /// Addresses from the first cycle of the streak on, none of which wraps; valid where `emitted` is set.
    pub addresses: Box<[Addresses; CELL_PORTS]>,
    /// The streak under way.
    pub streak: Streak,
    /// Addresses each can have.
    pub sizes: Box<[u32; CELL_PORTS]>,
    /// Those under way.
    pub walks: Box<[Walk; CELL_PORTS]>,
    /// Configurations, not activated yet, by `4 * number + option`.
    pub patterns: Vec<Pattern>,
    /// Which of its configurations each port's instructions go to: that of the last `dsu`.
    pub option: Box<[u8; CELL_PORTS]>,
    /// Which one each port was started with last.
    pub started: Box<[u8; CELL_PORTS]>,
    /// Whether ports have several configurations, rather than one.
    pub has_options: bool,
    /// Whether hardware erases configurations after the last address.
    pub erases: bool,
    /// In place of the configurations, where the fabric is the released circuit.
    pub released: Option<Released>,
    /// Cycle after the last address; 0 for those that never ran.
    pub ended: Box<[u64; CELL_PORTS]>,
}

/// The configurations of the released circuit, by `4 * slot + port`.
#[derive(Clone, Debug)]
pub struct Released {
    /// What configures each port.
    pub registers: Vec<Registers>,
    /// What the circuit built of it.
    pub circuits: Vec<Circuit>,
    /// The cycle of the last instruction for it.
    pub touched: Vec<u64>,
    /// The port that the component's last `dsu` or `evt` opened, which `rep`, `repx` and `trans` are for. Ports of
    /// components that go by the instruction have themselves.
    pub opened: Vec<usize>,
    /// The first slot of the port's component.
    pub first: Vec<u8>,
}

/// A sequence of addresses, as [`Affine`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    first: u32,
    step: u32,
    outer_step: u32,
    phase: u32,
    period_log2: u32,
}

impl Addresses {
    /// A single address.
    pub const fn one(first: u32) -> Self {
        Self { first, step: 0, outer_step: 0, phase: 0, period_log2: 0 }
    }

    /// The n-th address.
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

/// Cycles in which the same ports have addresses, each with equal steps: nothing needs to be done for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streak {
    /// Its first cycle.
    pub start: u64,
    /// The cycle after its last.
    pub end: u64,
    /// Cycles since its first.
    pub done: u32,
}

/// The switch box: tables by option.
#[derive(Clone, Debug)]
pub struct Swb {
    /// Word links as (source, target), the latest last.
    pub links: [Vec<(u8, u8)>; OPTIONS],
    /// The slot each slot's word comes from, as the links have it.
    pub word_source: [[u8; SLOTS]; OPTIONS],
    /// Directions each slot sends to, a bit each.
    pub send: [[u16; SLOTS]; OPTIONS],
    /// Slots that take from each direction, by its index, a bit each.
    pub receive: [[u16; DIRECTIONS]; OPTIONS],
    /// The direction each slot's rows come from, as `receive` has it.
    pub bulk_source: [[Option<Direction>; SLOTS]; OPTIONS],
    /// The slot whose rows leave in each direction, as `send` has it.
    pub sender: [[Option<u8>; DIRECTIONS]; OPTIONS],
    /// Option of the words in force.
    pub word_option: u8,
    /// Option of the bulk rows in force.
    pub bulk_option: u8,
}

/// A register file.
#[derive(Clone, Debug)]
pub struct Rf<W = i16> {
    /// Its slot.
    pub slot: u8,
    /// Its words.
    pub rows: Vec<Row<W>>,
}

/// A memory.
#[derive(Clone, Debug)]
pub struct Iosram<W = i16> {
    /// Its first slot.
    pub slot: u8,
    /// Its rows.
    pub rows: Vec<Row<W>>,
}

/// A configuration of a dpu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DpuConfig {
    /// What is computed.
    pub mode: DpuMode,
    /// Constant of some modes.
    pub immediate: i16,
}

/// A data processing unit.
#[derive(Clone, Debug)]
pub struct Dpu<W: Word = i16> {
    /// Its first slot.
    pub slot: u8,
    /// Fraction bits of products.
    pub fraction_bits: u32,
    /// Configurations.
    pub configs: [DpuConfig; OPTIONS],
    /// Which is in force.
    pub config: u8,
    /// The output register.
    pub out: W,
    /// The accumulator.
    pub acc: W::Sum,
    /// The internal register, of extensions only.
    pub ir: W,
    /// Whether the sum in the accumulator did not fit it at some time.
    pub has_saturated: bool,
    /// Sums since the last call that did not fit the accumulator at some time.
    pub saturated_sums: u64,
}

/// The bit of a port.
#[inline]
pub const fn bit(slot: u8, port: u8) -> u64 {
    1 << (4 * (slot as u32 & 15) + (port as u32 & 3))
}

/// The number of a port.
#[inline]
pub const fn number(slot: u8, port: u8) -> usize {
    4 * (slot as usize & 15) + (port as usize & 3)
}

impl<W: Word> CellState<W> {
    /// A cell after reset, with its program.
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

    /// What it is doing.
    pub fn describe(&self) -> String {
        let Sequencer { ops, pc, next, halted, regs, flags, .. } = &self.sequencer;
        let doing = match halted {
            Some(cycle) => format!("halted in cycle {cycle}"),
            None => {
                // Default: memory beyond the program is 0, which is `halt`.
                let name = ops.get(*pc).unwrap_or(&Op::Halt).mnemonic();
                format!("at instruction {pc} ({name}), which is for cycle {next}")
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

    /// The address of a port, if it has one in this cycle.
    #[inline]
    pub fn address(&self, slot: u8, port: u8) -> Option<usize> {
        (self.emitted & bit(slot, port) != 0).then(|| self.current(number(slot, port)) as usize)
    }

    /// The address of a port that has one in this cycle.
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

/// What a dpu works on in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs<W = i16> {
    pub in0: W,
    pub in1: W,
    /// The constant of the configuration.
    pub immediate: i16,
    /// The accumulator is reset in this cycle.
    pub reset: bool,
    /// Port 0 has an address in this cycle.
    pub counted: bool,
}
