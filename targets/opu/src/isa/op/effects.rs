//! [`Effects`]: what an instruction reads and writes. Hazards, lints and poisoned memory follow from it.

use std::ops::Range;

use crate::isa::fault::Buffer;
use crate::isa::memory::SLOT;
use crate::isa::op::Shape;

/// What an instruction reads and writes, with the registers of its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The bytes of memory.
    pub memory: Access,
    /// The buffers whose content it reads.
    pub reads: &'static [Buffer],
    /// The buffer that it fills; one that it also reads it changes in place.
    pub writes: Option<Buffer>,
}

impl Effects {
    /// No memory and no buffer.
    pub const NONE: Self = Self { memory: Access::NONE, reads: &[], writes: None };

    /// Those of a load.
    pub const fn load(memory: Access, buffer: Buffer) -> Self {
        Self { memory, writes: Some(buffer), ..Self::NONE }
    }
}

/// Whether bytes are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// They are read.
    Read,
    /// They are written.
    Write,
}

/// Bytes `first .. end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub first: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Extent {
    /// Number of bytes.
    pub const fn bytes(self) -> u64 {
        self.end - self.first
    }
}

/// Bytes of memory in rows of slots. Rows may overlap; a later one is written later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether they are read or written.
    pub direction: Direction,
    /// Address of the first slot.
    pub base: u64,
    /// Number of rows; 0 when no memory is touched.
    pub rows: u32,
    /// Slots of a row.
    pub slots: u32,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slot to slot.
    pub slot: u64,
    /// Bytes of a slot that are touched, from its first one on.
    pub used: u64,
    /// When given, only the slots less than this number from an edge are touched.
    pub border: Option<u32>,
}

impl Access {
    /// No byte.
    pub const NONE: Self = Self::dense(0, 0, 0);

    /// Reads `elements` elements of `size` bytes without a gap.
    pub const fn dense(base: u64, elements: u64, size: u32) -> Self {
        let used = elements * size as u64;
        let rows = if used == 0 { 0 } else { 1 };
        Self { direction: Direction::Read, base, rows, slots: 1, pitch: used, slot: used, used, border: None }
    }

    /// Reads a tile of a map whose rows are `width` slots apart: of each slot the channels of `shape`, in elements
    /// of `size` bytes.
    pub const fn tile(base: u64, shape: Shape, width: u32, size: u32) -> Self {
        let slot = (SLOT * size) as u64;
        Self {
            direction: Direction::Read,
            base,
            rows: shape.h,
            slots: shape.w,
            pitch: width as u64 * slot,
            slot,
            used: (shape.c * size) as u64,
            border: None,
        }
    }

    /// Reads slices, outputs and inputs `[n, ofm_c, ifm_c]` of a kernel with the strides that the draft prints:
    /// ofm_c * ifm_c, ofm_c and 1, in elements of `size` bytes.
    pub const fn printed_kernel(base: u64, [n, ofm_c, ifm_c]: [u32; 3], size: u32) -> Self {
        let (slot, used) = ((ofm_c * size) as u64, (ifm_c * size) as u64);
        let pitch = ofm_c as u64 * used;
        Self { direction: Direction::Read, base, rows: n, slots: ofm_c, pitch, slot, used, border: None }
    }

    /// The same slots in rows that are `elements` elements of `size` bytes apart.
    pub const fn with_pitch(self, elements: u32, size: u32) -> Self {
        Self { pitch: elements as u64 * size as u64, ..self }
    }

    /// The same bytes, written.
    pub const fn written(self) -> Self {
        Self { direction: Direction::Write, ..self }
    }

    /// The slots less than `border` from an edge.
    pub const fn border(self, border: u32) -> Self {
        Self { border: Some(border), ..self }
    }

    /// From the first byte to the last; none when no byte is touched.
    pub fn extent(&self) -> Option<Extent> {
        if self.rows == 0 || self.border == Some(0) {
            return None;
        }
        // Rows begin one after the other, so that the last one ends last, even when they overlap.
        let last = u64::from(self.rows - 1) * self.pitch + u64::from(self.slots - 1) * self.slot;
        Some(Extent { first: self.base, end: self.base + last + self.used })
    }

    /// The bytes in runs without a gap, in the order of rows.
    pub fn runs(&self) -> impl Iterator<Item = Extent> + use<> {
        let access = *self;
        (0..access.rows).flat_map(move |row| {
            let base = access.base + u64::from(row) * access.pitch;
            access.slots_of(row).into_iter().flat_map(move |slots| access.row_runs(base, slots))
        })
    }

    /// The slots of a row that are touched: left and right, or all of them on the left.
    fn slots_of(&self, row: u32) -> [Range<u32>; 2] {
        match self.border {
            Some(p) if p <= row && row < self.rows - p && 2 * p < self.slots => {
                [0..p, self.slots - p..self.slots]
            }
            _ => [0..self.slots, 0..0],
        }
    }

    /// Slots of the row that begins at `base`: one run where all of their bytes are touched, else one each.
    fn row_runs(&self, base: u64, slots: Range<u32>) -> impl Iterator<Item = Extent> + use<> {
        let (slot, first) = (self.slot, base + u64::from(slots.start) * self.slot);
        let count = u64::from(slots.end - slots.start);
        let (runs, bytes) = if self.used == slot { (count.min(1), count * slot) } else { (count, self.used) };
        (0..runs).map(move |run| Extent { first: first + run * slot, end: first + run * slot + bytes })
    }
}
