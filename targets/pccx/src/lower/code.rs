//! [`Code`]: instructions and host steps as they are emitted, with the constant banks and windows they use.

use std::sync::Arc;

use npukit_graph::ValueId;

use super::memory::Region;
use crate::bf16::bf;
use crate::config::{CONSTANT_ENTRIES, WINDOW_UNITS, WORD_BYTES, WORD_LANES};
use crate::fault::{Direction, SHAPE_LIMIT};
use crate::host::HostStep;
use crate::op::{Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use crate::program::{HostOp, Program, Window};
use crate::weights::WeightImage;

/// Most elements of a CVO on hardware (specification 4.6.1).
const CVO_LENGTH: usize = 2048;
/// Most words moved at once: a dimension of a constant entry.
const MOST_WORDS: usize = u16::MAX as usize;

/// A place of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub window: u32,
    pub unit: u32,
}

/// A constant bank: what its entries hold, and when each was used last.
#[derive(Clone, Debug, Default)]
struct Bank {
    entries: Vec<(Shape, usize)>,
    uses: usize,
}

impl Bank {
    /// The entry of a shape, and whether it has to be written first.
    fn entry(&mut self, shape: Shape) -> (u8, bool) {
        self.uses += 1;
        let found = self.entries.iter().position(|(held, _)| *held == shape);
        let free = self.entries.len();
        let place = found.unwrap_or_else(|| {
            if free < CONSTANT_ENTRIES {
                self.entries.push((shape, 0));
                return free;
            }
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, (_, used))| *used);
            oldest.map_or(0, |(place, _)| place)
        });
        if let Some(entry) = self.entries.get_mut(place) {
            *entry = (shape, self.uses);
        }
        (place as u8, found.is_none())
    }
}

/// Space in windows of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Space {
    /// The next free place.
    next: u64,
}

impl Space {
    /// Room for so many values, in one window.
    fn take(&mut self, values: usize) -> Place {
        let (units, size) = (values.div_ceil(WORD_LANES) as u64, u64::from(WINDOW_UNITS));
        if self.next % size + units > size {
            self.next = self.next.next_multiple_of(size);
        }
        let place = Place { window: (self.next / size) as u32, unit: (self.next % size) as u32 };
        self.next += units;
        place
    }

    fn windows(self, direction: Direction) -> impl Iterator<Item = Window> {
        let size = u64::from(WINDOW_UNITS);
        (0..self.next.div_ceil(size)).map(move |number| Window {
            number: number as u32,
            direction,
            size_bytes: (self.next - number * size).min(size) * WORD_BYTES as u64,
            name: format!("{} {number}", if direction == Direction::HostToL2 { "to L2" } else { "from L2" }),
        })
    }
}

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub ops: Vec<Op>,
    steps: Vec<(u32, HostStep)>,
    bindings: Vec<u32>,
    images: Vec<Arc<WeightImage>>,
    fmap: Bank,
    weight: Bank,
    to_l2: Space,
    from_l2: Space,
}

impl Code {
    /// The next instruction's place.
    pub fn position(&self) -> u32 {
        self.ops.len() as u32
    }

    /// A host step between the instructions before and those to come.
    pub fn step(&mut self, step: HostStep) {
        let position = self.position();
        self.steps.push((position, step));
    }

    /// A host step before all instructions.
    fn first(&mut self, step: HostStep) {
        self.steps.push((0, step));
    }

    /// The steps in their order, each before an instruction.
    pub fn steps(&self) -> impl Iterator<Item = &HostStep> {
        self.steps.iter().map(|(_, step)| step)
    }

    /// Adds weights; their number.
    pub fn image(&mut self, image: Arc<WeightImage>) -> u32 {
        self.images.push(image);
        (self.images.len() - 1) as u32
    }

    fn constant(&mut self, cache: Cache, shape: Shape) -> u8 {
        let bank = if cache == Cache::FmapShape { &mut self.fmap } else { &mut self.weight };
        let (entry, is_new) = bank.entry(shape);
        if is_new {
            self.ops.push(Op::Memset(Memset { dest_cache: cache, dest_addr: entry, shape }));
        }
        entry
    }

    /// `m` rows of `k` values from word `src` on, times weights of `n` rows.
    pub fn product(&mut self, image: u32, src: u32, dst: u32, [m, k, n]: [usize; 3], flags: MacFlags) {
        let shape_ptr_addr = self.constant(Cache::FmapShape, Shape::new(m as u16, 1, k as u16));
        let size_ptr_addr = self.constant(Cache::WeightShape, Shape::new(0, n as u16, k as u16));
        let mac =
            Mac { dest_reg: dst, src_addr: src, flags, size_ptr_addr, shape_ptr_addr, parallel_lane: 0 };
        self.ops.push(if m == 1 { Op::Gemv(mac) } else { Op::Gemm(mac) });
        self.bindings.push(image);
    }

    /// Most rows of `k` values in one product, in a number that keeps rows at whole words.
    pub fn most_rows(k: usize) -> usize {
        let most = ((SHAPE_LIMIT as usize - 1) / k.max(1)).min(MOST_WORDS);
        if most >= WORD_LANES { most - most % WORD_LANES } else { most.max(1) }
    }

    /// A function of `length` values, in as many instructions as hardware needs.
    pub fn cvo(&mut self, cvo_func: CvoFunc, src: u32, dst: u32, length: usize, flags: CvoFlags) {
        for start in (0..length).step_by(CVO_LENGTH) {
            let words = (start / WORD_LANES) as u32;
            let (part, sums) = ((length - start).min(CVO_LENGTH), cvo_func == CvoFunc::ReduceSum);
            // Sums of parts add up in one word.
            let flags = CvoFlags { accm: flags.accm || (sums && start > 0), ..flags };
            let dst_addr = if sums { dst } else { dst + words };
            let (src_addr, length) = (src + words, part as u16);
            self.ops.push(Op::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, flags, is_async: true }));
        }
    }

    /// The starts of the parts that [`Code::cvo`] makes of `length` values.
    pub fn parts(length: usize) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        let parts = length.div_ceil(CVO_LENGTH);
        (0..parts).map(move |part| {
            let start = part * CVO_LENGTH;
            ((start / WORD_LANES) as u32, (length - start).min(CVO_LENGTH))
        })
    }

    /// Moves values within L2.
    pub fn copy(&mut self, src: u32, dst: u32, values: usize) {
        self.transfer(values, |words, shape_ptr_addr| Memcpy {
            dest_addr: dst + words,
            src_addr: src + words,
            shape_ptr_addr,
            is_async: true,
            ..Memcpy::default()
        });
    }

    /// Moves values from the host to L2.
    fn fetch(&mut self, place: Place, dst: u32, values: usize) {
        self.transfer(values, |words, shape_ptr_addr| Memcpy {
            from_device: Device::Host,
            to_device: Device::Npu,
            dest_addr: dst + words,
            src_addr: place.window,
            aux_addr: place.unit + words,
            shape_ptr_addr,
            is_async: true,
        });
    }

    fn transfer(&mut self, values: usize, memcpy: impl Fn(u32, u8) -> Memcpy) {
        let words = values.div_ceil(WORD_LANES);
        for start in (0..words).step_by(MOST_WORDS) {
            let part = (words - start).min(MOST_WORDS);
            // A short vector by its values, a long one by its words.
            let shape = match values {
                ..=MOST_WORDS => Shape::new(1, 1, values as u16),
                _ => Shape::new(1, part as u16, WORD_LANES as u16),
            };
            let entry = self.constant(Cache::FmapShape, shape);
            self.ops.push(Op::Memcpy(memcpy(start as u32, entry)));
        }
    }

    /// Sends a slot that is known before the program begins.
    pub fn send_first(&mut self, slot: ValueId, region: Region) {
        let place = self.to_l2.take(region.values);
        self.first(HostStep::Send { slot, window: place.window, unit: place.unit });
        self.fetch(place, region.base, region.values);
    }

    /// Sends a slot that a host step has filled.
    pub fn send(&mut self, slot: ValueId, region: Region) {
        let place = self.to_l2.take(region.values);
        self.step(HostStep::Send { slot, window: place.window, unit: place.unit });
        self.fetch(place, region.base, region.values);
    }

    /// Moves values to the host; [`Code::receive`] makes a slot of them.
    pub fn store(&mut self, region: Region) -> Place {
        let place = self.from_l2.take(region.values);
        self.transfer(region.values, |words, shape_ptr_addr| Memcpy {
            from_device: Device::Npu,
            to_device: Device::Host,
            dest_addr: place.window,
            src_addr: region.base + words,
            aux_addr: place.unit + words,
            shape_ptr_addr,
            is_async: true,
        });
        place
    }

    /// The host takes what was stored.
    pub fn receive(&mut self, slot: ValueId, place: Place) {
        self.step(HostStep::Receive { slot, window: place.window, unit: place.unit });
    }

    /// The program.
    pub fn finish(mut self, extensions: bool) -> Program {
        self.steps.sort_by_key(|(position, _)| *position);
        let host_ops: Vec<HostOp> =
            self.steps.iter().map(|(position, step)| step.encode(*position)).collect();
        super::fence::fence(&mut self.ops, &host_ops);
        let windows =
            self.to_l2.windows(Direction::HostToL2).chain(self.from_l2.windows(Direction::L2ToHost));
        Program {
            extensions,
            code: self.ops,
            bindings: self.bindings,
            images: self.images,
            windows: windows.collect(),
            host_ops,
            extras: Vec::new(),
        }
    }
}

/// A word of one value, as the host sends it.
pub(super) fn word(value: f32) -> Vec<f32> {
    let mut lanes = vec![0.0; WORD_LANES];
    lanes[0] = crate::bf16::val(bf(value));
    lanes
}
