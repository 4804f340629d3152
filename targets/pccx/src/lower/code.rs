//! [`Code`]: emitted instructions and host steps, with their constant banks and windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::ValueId;

use super::extent::{CVO_LENGTH, Extent, Patch, Patched};
use super::memory::Region;
use crate::config::{CONSTANT_ENTRIES, Reading, WINDOW_UNITS, WORD_BYTES, WORD_LANES};
use crate::isa::fault::{Direction, SHAPE_LIMIT};
use crate::isa::op::{Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use crate::machine::bf16::bf;
use crate::machine::weights::WeightImage;
use crate::program::host::HostStep;
use crate::program::{HostOp, Program, Window};

/// Maximum number of words per transfer: a dimension of a constant entry.
const MAX_WORDS: usize = u16::MAX as usize;

/// Entries of the constant banks that depend on the number of tokens: in the activations' bank the
/// shape of a row of scores, in the weights' bank the sizes of keys and of values. Other shapes
/// do not use these entries.
const TOKENS: u8 = CONSTANT_ENTRIES as u8 - 1;
const KEYS: u8 = CONSTANT_ENTRIES as u8 - 2;
const VALUES: u8 = CONSTANT_ENTRIES as u8 - 1;

/// Whether an instruction is a product with cached keys or values.
pub const fn reads_cache(op: &Op) -> bool {
    matches!(op, Op::Gemv(mac) if mac.size_ptr_addr >= KEYS)
}

/// Range of a host window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub window: u32,
    pub unit: u32,
}

/// A constant bank: content and last use of each entry.
#[derive(Clone, Debug)]
struct Bank {
    entries: Vec<(Shape, usize)>,
    uses: usize,
    /// Number of entries that are used.
    limit: usize,
}

impl Default for Bank {
    fn default() -> Self {
        Self { entries: Vec::new(), uses: 0, limit: CONSTANT_ENTRIES }
    }
}

impl Bank {
    /// Returns the entry for a shape, and whether it must be written first.
    fn entry(&mut self, shape: Shape) -> (u8, bool) {
        self.uses += 1;
        let found = self.entries.iter().position(|(held, _)| *held == shape);
        let free = self.entries.len();
        let place = found.unwrap_or_else(|| {
            if free < self.limit {
                self.entries.push((shape, 0));
                return free;
            }
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, (_, used))| *used);
            oldest.expect("a full bank has entries").0
        });
        self.entries[place] = (shape, self.uses);
        (place as u8, found.is_none())
    }
}

/// Allocator of windows of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Space {
    /// Next free 16-byte unit, counted over all windows.
    next: u64,
}

impl Space {
    /// Allocates space for some values within one window.
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

/// Program under construction, with the state of constant banks and windows.
#[derive(Debug, Default)]
pub struct Code {
    pub ops: Vec<Op>,
    steps: Vec<(u32, HostStep)>,
    bindings: Vec<u32>,
    images: Vec<Arc<WeightImage>>,
    /// For weights without scales, the BF16 factor that MEMSET sets, by image.
    factors: BTreeMap<u32, u16>,
    /// L2 word of the weights that MEMCPY has loaded, by image.
    brought: BTreeMap<u32, u32>,
    /// Banks in the order of [`Cache`].
    banks: [Bank; 2],
    to_l2: Space,
    from_l2: Space,
    /// Number of tokens, first token of a product, and features of a key and of a value, to which
    /// the entries [`TOKENS`], [`KEYS`] and [`VALUES`] are set.
    extent: Option<(Extent, usize, [usize; 2])>,
    /// Fields of instructions that depend on the number of tokens.
    pub patches: Vec<Patch>,
}

impl Code {
    /// Returns empty code in which numbers of tokens may be used ([`Code::select`]).
    pub fn with_tokens() -> Self {
        let bank = Bank { limit: usize::from(KEYS), ..Bank::default() };
        Self { banks: [bank.clone(), bank], ..Self::default() }
    }

    /// Returns the index of the next instruction.
    pub fn position(&self) -> u32 {
        self.ops.len() as u32
    }

    /// Adds a host step after the instructions emitted so far.
    pub fn step(&mut self, step: HostStep) {
        let position = self.position();
        self.steps.push((position, step));
    }

    /// Adds a host step before all instructions.
    fn first(&mut self, step: HostStep) {
        self.steps.push((0, step));
    }

    /// Returns the host steps in order.
    pub fn steps(&self) -> impl Iterator<Item = &HostStep> {
        self.steps.iter().map(|(_, step)| step)
    }

    /// Adds weights and returns their index.
    pub fn image(&mut self, image: Arc<WeightImage>) -> u32 {
        self.images.push(image);
        (self.images.len() - 1) as u32
    }

    /// Adds the same weights again, with scales that the host computes.
    pub fn image_again(&mut self, image: u32) -> u32 {
        let image = WeightImage::clone(&self.images[image as usize]);
        let scales = vec![0.0; image.n()];
        self.image(Arc::new(image.with_scales(scales)))
    }

    fn constant(&mut self, cache: Cache, shape: Shape) -> u8 {
        let (entry, is_new) = self.banks[cache as usize].entry(shape);
        if is_new {
            self.ops.push(Op::Memset(Memset { dest_cache: cache, dest_addr: entry, shape }));
        }
        entry
    }

    /// Emits a product of `m` rows of `k` values, starting at word `src`, and weights of `n` rows.
    ///
    /// Two optional features use slots of the shapes: slot `a` of the size is the factor of the
    /// weights, and slot `b` of the shape is their place in L2, in pairs of words.
    pub fn product(&mut self, image: u32, src: u32, dst: u32, [m, k, n]: [usize; 3], flags: MacFlags) {
        let word = self.brought.get(&image).copied();
        let place = word.map_or(1, |word| (word / 2) as u16);
        // Default: weights with scales have no factor.
        let factor = self.factors.get(&image).copied().unwrap_or(0);
        let shape_ptr_addr = self.constant(Cache::FmapShape, Shape::new(m as u16, place, k as u16));
        let size_ptr_addr = self.constant(Cache::WeightShape, Shape::new(factor, n as u16, k as u16));
        let mac =
            Mac { dest_reg: dst, src_addr: src, flags, size_ptr_addr, shape_ptr_addr, parallel_lane: 0 };
        self.ops.push(if m == 1 { Op::Gemv(mac) } else { Op::Gemm(mac) });
        if word.is_none() {
            self.bindings.push(image);
        }
    }

    /// Sets the constant entries for the tokens of `extent` that the product starting at token
    /// `first` has, and the features of a key and of a value.
    pub fn select(&mut self, extent: Extent, first: usize, features: [usize; 2]) {
        if self.extent == Some((extent, first, features)) {
            return;
        }
        self.extent = Some((extent, first, features));
        let tokens = extent.in_part(first, extent.room) as u16;
        let [key, value] = features.map(|features| features as u16);
        for (cache, entry, shape, patched) in [
            (Cache::FmapShape, TOKENS, Shape::new(1, 1, tokens), Patched::ShapeZ),
            (Cache::WeightShape, KEYS, Shape::new(0, tokens, key), Patched::ShapeY),
            (Cache::WeightShape, VALUES, Shape::new(0, value, tokens), Patched::ShapeZ),
        ] {
            self.patches.push(Patch { instruction: self.ops.len(), patched, extent, first });
            self.ops.push(Op::Memset(Memset { dest_cache: cache, dest_addr: entry, shape }));
        }
    }

    /// Returns the selected extent.
    fn selected(&self) -> Extent {
        self.extent.expect("an extent is selected before it is used").0
    }

    /// Emits the product of a vector and the keys of the selected product's tokens.
    pub fn product_with_keys(&mut self, image: u32, src: u32, dst: u32, features: usize, flags: MacFlags) {
        let shape_ptr_addr = self.constant(Cache::FmapShape, Shape::new(1, 1, features as u16));
        let mac = Mac {
            dest_reg: dst,
            src_addr: src,
            flags,
            size_ptr_addr: KEYS,
            shape_ptr_addr,
            parallel_lane: 0,
        };
        self.ops.push(Op::Gemv(mac));
        self.bindings.push(image);
    }

    /// Emits the product of a row of scores and the values of the selected product's tokens.
    pub fn product_with_values(&mut self, image: u32, src: u32, dst: u32, flags: MacFlags) {
        let (size_ptr_addr, shape_ptr_addr) = (VALUES, TOKENS);
        let mac =
            Mac { dest_reg: dst, src_addr: src, flags, size_ptr_addr, shape_ptr_addr, parallel_lane: 0 };
        self.ops.push(Op::Gemv(mac));
        self.bindings.push(image);
    }

    /// Emits a function of a value for each selected token. Only for functions that [`Code::cvo`]
    /// may split at any value: not for SCALE.
    pub fn cvo_of_tokens(&mut self, cvo_func: CvoFunc, src: u32, dst: u32, flags: CvoFlags) {
        let extent = self.selected();
        self.cvo(cvo_func, src, dst, extent.most(), flags);
        self.patch_length(extent);
    }

    /// Emits one part of SCALE over the selected tokens: the part that starts at value `start`.
    pub fn scale_of_tokens(&mut self, src: u32, dst: u32, start: usize, flags: CvoFlags) {
        let extent = self.selected();
        let length = (extent.most() - start).min(CVO_LENGTH);
        self.cvo(CvoFunc::Scale, src, dst, length, flags);
        if start == extent.last_part() {
            self.patch_length(extent);
        }
    }

    /// Makes the length of the last instruction depend on the number of tokens.
    fn patch_length(&mut self, extent: Extent) {
        let instruction = self.ops.len() - 1;
        let first = extent.last_part();
        self.patches.push(Patch { instruction, patched: Patched::Length, extent, first });
    }

    /// Moves a value for each token of the selected product from a place at the host to L2,
    /// starting at word `first` of both.
    pub fn fetch_tokens(&mut self, place: Place, first: usize, dst: u32) {
        self.ops.push(Op::Memcpy(Memcpy {
            from_device: Device::Host,
            to_device: Device::Npu,
            dest_addr: dst + first as u32,
            src_addr: place.window,
            aux_addr: place.unit + first as u32,
            shape_ptr_addr: TOKENS,
            is_async: true,
        }));
    }

    /// Moves a value for each token of the selected product within L2.
    pub fn copy_tokens(&mut self, src: u32, dst: u32) {
        self.ops.push(Op::Memcpy(Memcpy {
            dest_addr: dst,
            src_addr: src,
            shape_ptr_addr: TOKENS,
            is_async: true,
            ..Memcpy::default()
        }));
    }

    /// Reserves space at the host for values to L2.
    pub fn reserve_to_l2(&mut self, values: usize) -> Place {
        self.to_l2.take(values)
    }

    /// Lets the host write a slot to a reserved place.
    pub fn write(&mut self, slot: ValueId, place: Place) {
        self.step(HostStep::Send { slot, window: place.window, unit: place.unit });
    }

    /// Sets the factor of an image. MEMSET sets the scale of such an image.
    pub fn set_factor(&mut self, image: u32, factor: u16) {
        self.factors.insert(image, factor);
    }

    /// Returns the number of L2 words of an image, rows and scales.
    pub fn words_of(&self, image: u32) -> usize {
        self.images[image as usize].words().len() / WORD_BYTES
    }

    /// Loads an image's weights to L2, starting at an even word. Products read them there until
    /// [`Code::leave`].
    pub fn bring(&mut self, image: u32, word: u32) {
        let values = self.words_of(image) * WORD_LANES;
        let place = self.to_l2.take(values);
        self.step(HostStep::Weights { image, window: place.window, unit: place.unit });
        self.fetch(place, word, values);
        self.brought.insert(image, word);
    }

    /// Marks all weights in L2 as discarded.
    pub fn leave(&mut self) {
        self.brought.clear();
    }

    /// Whether an image's weights are in L2.
    pub fn is_brought(&self, image: u32) -> bool {
        self.brought.contains_key(&image)
    }

    /// Returns the maximum number of rows of `k` values in one product, such that tiles of this
    /// size begin at whole words. A constant entry allows at least 16 rows of its maximum length.
    pub fn most_rows(k: usize) -> usize {
        let most = ((SHAPE_LIMIT as usize - 1) / k.max(1)).min(MAX_WORDS);
        most - most % WORD_LANES
    }

    /// Emits a function of `length` values, split into several instructions if it exceeds the
    /// hardware limit.
    pub fn cvo(&mut self, cvo_func: CvoFunc, src: u32, dst: u32, length: usize, flags: CvoFlags) {
        for start in (0..length).step_by(CVO_LENGTH) {
            let words = (start / WORD_LANES) as u32;
            let (part, sums) = ((length - start).min(CVO_LENGTH), cvo_func == CvoFunc::ReduceSum);
            // The sums of all parts are accumulated in one word.
            let flags = CvoFlags { accm: flags.accm || (sums && start > 0), ..flags };
            let dst_addr = if sums { dst } else { dst + words };
            let (src_addr, length) = (src + words, part as u16);
            self.ops.push(Op::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, flags, is_async: true }));
        }
    }

    /// Returns start and length of the parts into which [`Code::cvo`] splits `length` values.
    pub fn parts(length: usize) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        let parts = length.div_ceil(CVO_LENGTH);
        (0..parts).map(move |part| {
            let start = part * CVO_LENGTH;
            ((start / WORD_LANES) as u32, (length - start).min(CVO_LENGTH))
        })
    }

    /// Emits moves of values within L2.
    pub fn copy(&mut self, src: u32, dst: u32, values: usize) {
        self.transfer(values, |words, shape_ptr_addr| Memcpy {
            dest_addr: dst + words,
            src_addr: src + words,
            shape_ptr_addr,
            is_async: true,
            ..Memcpy::default()
        });
    }

    /// Emits moves of values from the host to L2.
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
        for start in (0..words).step_by(MAX_WORDS) {
            let part = (words - start).min(MAX_WORDS);
            // A short vector's shape is its number of values. A long vector's shape is its number
            // of words.
            let shape = match values {
                ..=MAX_WORDS => Shape::new(1, 1, values as u16),
                _ => Shape::new(1, part as u16, WORD_LANES as u16),
            };
            let entry = self.constant(Cache::FmapShape, shape);
            self.ops.push(Op::Memcpy(memcpy(start as u32, entry)));
        }
    }

    /// Sends a value that is known before the program begins.
    pub fn send_first(&mut self, slot: ValueId, region: Region) {
        let place = self.to_l2.take(region.values);
        self.first(HostStep::Send { slot, window: place.window, unit: place.unit });
        self.fetch(place, region.base, region.values);
    }

    /// Sends a value that a host step has computed.
    pub fn send(&mut self, slot: ValueId, region: Region) {
        let place = self.to_l2.take(region.values);
        self.step(HostStep::Send { slot, window: place.window, unit: place.unit });
        self.fetch(place, region.base, region.values);
    }

    /// Sends part of a value, starting at element `start`, until a region is full.
    pub fn send_part(&mut self, slot: ValueId, start: usize, region: Region) {
        let place = self.to_l2.take(region.values);
        let (start, values) = (start as u32, region.values as u32);
        self.step(HostStep::Part { slot, start, values, window: place.window, unit: place.unit });
        self.fetch(place, region.base, region.values);
    }

    /// Reserves space at the host for values from L2.
    pub fn reserve(&mut self, values: usize) -> Place {
        self.from_l2.take(values)
    }

    /// Moves values to the host; [`Code::receive`] then stores them in a slot.
    pub fn store(&mut self, region: Region) -> Place {
        let place = self.reserve(region.values);
        self.store_at(place, 0, region);
        place
    }

    /// Moves values to a reserved place, starting at its word `first`.
    pub fn store_at(&mut self, place: Place, first: usize, region: Region) {
        let place = Place { unit: place.unit + first as u32, ..place };
        self.transfer(region.values, |words, shape_ptr_addr| Memcpy {
            from_device: Device::Npu,
            to_device: Device::Host,
            dest_addr: place.window,
            src_addr: region.base + words,
            aux_addr: place.unit + words,
            shape_ptr_addr,
            is_async: true,
        });
    }

    /// Emits the host step that receives stored values.
    pub fn receive(&mut self, slot: ValueId, place: Place) {
        self.step(HostStep::Receive { slot, window: place.window, unit: place.unit });
    }

    /// Returns the finished program.
    pub fn finish(mut self, extensions: bool) -> Program {
        self.steps.sort_by_key(|(position, _)| *position);
        let host_ops: Vec<HostOp> =
            self.steps.iter().map(|(position, step)| step.encode(*position)).collect();
        super::fence::fence(&mut self.ops, &host_ops);
        let windows =
            self.to_l2.windows(Direction::HostToL2).chain(self.from_l2.windows(Direction::L2ToHost));
        Program {
            extensions,
            reading: Reading::Documents,
            code: self.ops,
            bindings: self.bindings,
            images: self.images,
            windows: windows.collect(),
            host_ops,
            extras: Vec::new(),
        }
    }
}

/// Returns the content of a word with one value, as the host sends it.
pub fn word(value: f32) -> Vec<f32> {
    let mut lanes = vec![0.0; WORD_LANES];
    lanes[0] = crate::machine::bf16::val(bf(value));
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_that_was_used_longest_ago_gives_way() {
        let mut bank = Bank::default();
        let shape = |k: u16| Shape::new(1, 1, k);
        for k in 0..64 {
            assert_eq!(bank.entry(shape(k)), (k as u8, true));
        }
        assert_eq!(bank.entry(shape(0)), (0, false));
        assert_eq!(bank.entry(shape(2)), (2, false));
        assert_eq!(bank.entry(shape(100)), (1, true));
        assert_eq!(bank.entry(shape(101)), (3, true));
        assert_eq!((bank.entry(shape(0)), bank.entry(shape(100))), ((0, false), (1, false)));
        assert_eq!(bank.entry(shape(1)), (4, true));
    }

    /// A window has 131,072 units of 8 values. A value that does not fit into the rest of one
    /// window begins the next.
    #[test]
    fn windows_fill_up_one_after_the_other() {
        let mut space = Space::default();
        let mut take = |units: usize| {
            let place = space.take(8 * units);
            (place.window, place.unit)
        };
        assert_eq!([take(100_000), take(31_000), take(72)], [(0, 0), (0, 100_000), (0, 131_000)]);
        assert_eq!([take(100_000), take(31_073), take(99_999)], [(1, 0), (2, 0), (2, 31_073)]);
        assert_eq!([take(131_072), take(1)], [(3, 0), (4, 0)]);
        assert_eq!(space.take(9), Place { window: 4, unit: 1 });
        let windows: Vec<_> = space.windows(Direction::L2ToHost).collect();
        let sizes: Vec<_> = windows.iter().map(|window| (window.number, window.size_bytes)).collect();
        assert_eq!(sizes, [(0, 2 << 20), (1, 2 << 20), (2, 2 << 20), (3, 2 << 20), (4, 48)]);
        assert_eq!((windows[1].name.as_str(), windows[1].direction), ("from L2 1", Direction::L2ToHost));
        assert_eq!(Space::default().windows(Direction::HostToL2).count(), 0);
        let mut space = Space::default();
        space.take(1);
        assert!(space.windows(Direction::HostToL2).all(|window| window.name == "to L2 0"));
    }

    /// Returns shape and operands of each MEMCPY; each is asynchronous.
    fn moved(emit: impl FnOnce(&mut Code)) -> Vec<(Shape, Memcpy)> {
        let mut code = Code::default();
        emit(&mut code);
        let mut shapes = [Shape::default(); 64];
        let mut found = Vec::new();
        for op in &code.ops {
            match op {
                Op::Memset(memset) => shapes[usize::from(memset.dest_addr)] = memset.shape,
                Op::Memcpy(memcpy) => {
                    assert!(memcpy.is_async);
                    let plain = Memcpy { shape_ptr_addr: 0, is_async: false, ..*memcpy };
                    found.push((shapes[usize::from(memcpy.shape_ptr_addr)], plain));
                }
                _ => {}
            }
        }
        found
    }

    /// Moves 65,535 words at a time, the maximum of an entry.
    #[test]
    fn long_transfers_go_in_parts_one_after_the_other() {
        let values = 8 * 65_535 + 9;
        let region = Region { base: 300, values };
        let parts =
            |part: Memcpy, next: Memcpy| vec![(Shape::new(1, 65_535, 8), part), (Shape::new(1, 2, 8), next)];
        let within = |at: u32| Memcpy { src_addr: 5 + at, dest_addr: 70_000 + at, ..Memcpy::default() };
        assert_eq!(moved(|code| code.copy(5, 70_000, values)), parts(within(0), within(65_535)));
        let to_l2 = |at: u32| Memcpy {
            from_device: Device::Host,
            dest_addr: 300 + at,
            aux_addr: 10 + at,
            ..Memcpy::default()
        };
        let sent = moved(|code| {
            code.to_l2.take(80);
            code.send(ValueId(0), region);
        });
        assert_eq!(sent, parts(to_l2(0), to_l2(65_535)));
        let to_host = |at: u32| Memcpy {
            to_device: Device::Host,
            src_addr: 300 + at,
            aux_addr: 20 + at,
            ..Memcpy::default()
        };
        let stored = moved(|code| {
            code.from_l2.take(160);
            assert_eq!(code.store(region), Place { window: 0, unit: 20 });
        });
        assert_eq!(stored, parts(to_host(0), to_host(65_535)));
        // A part that fits a window uses only that window. The next part uses another window, which
        // the host-side operand numbers.
        let second = moved(|code| {
            code.from_l2.take(8 * 131_000);
            code.store(Region { base: 1, values: 8 * 100 });
        });
        let to_second = Memcpy { to_device: Device::Host, src_addr: 1, dest_addr: 1, ..Memcpy::default() };
        assert_eq!(second, [(Shape::new(1, 1, 800), to_second)]);
    }

    /// Then they share an entry with products of the same number of values.
    #[test]
    fn short_transfers_are_said_by_their_values() {
        for (values, shape) in [
            (1, Shape::new(1, 1, 1)),
            (20, Shape::new(1, 1, 20)),
            (65_535, Shape::new(1, 1, 65_535)),
            (65_536, Shape::new(1, 8192, 8)),
            (65_537, Shape::new(1, 8193, 8)),
        ] {
            assert_eq!(moved(|code| code.copy(0, 9, values)).first().map(|(shape, _)| *shape), Some(shape));
        }
    }

    /// At most 2^20 - 1 values and 2^16 - 1 rows, in multiples of 8: (k, rows).
    #[test]
    fn rows_of_a_product_are_as_many_as_its_entry_counts() {
        for (k, rows) in [
            (1, 65_528),
            (15, 65_528),
            (16, 65_528),
            (17, 61_680),
            (32, 32_760),
            (100, 10_480),
            (1024, 1016),
            (65_528, 16),
            (65_535, 16),
        ] {
            assert_eq!(Code::most_rows(k), rows, "{k}");
            assert!(rows * k < 1 << 20 && (rows + 8 > 65_535 || (rows + 8) * k >= 1 << 20), "{k}");
        }
    }
}
