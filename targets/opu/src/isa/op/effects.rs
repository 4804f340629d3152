//! [`Effects`]: the data that an instruction reads and writes. Hazards, lints and poisoned memory
//! are derived from it.

use std::ops::Range;

use crate::isa::fault::Buffer;
use crate::isa::memory::SLOT;
use crate::isa::op::Shape;

/// Data that an instruction reads and writes, with the registers at the time of its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Bytes of memory that are accessed.
    pub memory: Access,
    /// Buffers whose contents are read.
    pub reads: &'static [Buffer],
    /// Buffer that is filled; if it is also in `reads`, it is changed in place.
    pub writes: Option<Buffer>,
}

impl Effects {
    /// Effects of an instruction that touches no memory and no buffer.
    pub const NONE: Self = Self { memory: Access::NONE, reads: &[], writes: None };

    /// Returns the effects of a load.
    pub const fn load(memory: Access, buffer: Buffer) -> Self {
        Self { memory, writes: Some(buffer), ..Self::NONE }
    }
}

/// Direction of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
}

/// Bytes `first .. end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Address of the first byte.
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

/// Bytes of memory in rows of slots. Rows may overlap; a later row is written later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether the bytes are read or written.
    pub direction: Direction,
    /// Address of the first slot.
    pub base: u64,
    /// Number of rows; 0 when no memory is touched.
    pub rows: u32,
    /// Slots per row.
    pub slots: u32,
    /// Distance between rows, in bytes.
    pub pitch: u64,
    /// Distance between slots, in bytes.
    pub slot: u64,
    /// Bytes of a slot that are touched, starting at its first one.
    pub used: u64,
    /// Width of the border in slots, if only the slots of a border are touched.
    pub border: Option<u32>,
}

impl Access {
    /// Access to no memory.
    pub const NONE: Self = Self::dense(0, 0, 0);

    /// Returns a read of `elements` contiguous elements of `size` bytes.
    pub const fn dense(base: u64, elements: u64, size: u32) -> Self {
        let used = elements * size as u64;
        let rows = if used == 0 { 0 } else { 1 };
        Self { direction: Direction::Read, base, rows, slots: 1, pitch: used, slot: used, used, border: None }
    }

    /// Returns a read of a tile of a map. The map's rows are `width` slots apart. Of each slot, the
    /// channels of `shape` are read, in elements of `size` bytes.
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

    /// Returns a read of slices, outputs and inputs `[n, ofm_c, ifm_c]` of a kernel with the
    /// strides that the draft prints: ofm_c * ifm_c, ofm_c and 1, in elements of `size` bytes.
    pub const fn printed_kernel(base: u64, [n, ofm_c, ifm_c]: [u32; 3], size: u32) -> Self {
        let (slot, used) = ((ofm_c * size) as u64, (ifm_c * size) as u64);
        let pitch = ofm_c as u64 * used;
        Self { direction: Direction::Read, base, rows: n, slots: ofm_c, pitch, slot, used, border: None }
    }

    /// Returns an access to the same slots, in rows that are `elements` elements of `size` bytes
    /// apart.
    pub const fn with_pitch(self, elements: u32, size: u32) -> Self {
        Self { pitch: elements as u64 * size as u64, ..self }
    }

    /// Returns a write of the same bytes.
    pub const fn written(self) -> Self {
        Self { direction: Direction::Write, ..self }
    }

    /// Returns an access to the slots that are less than `border` from an edge.
    pub const fn border(self, border: u32) -> Self {
        Self { border: Some(border), ..self }
    }

    /// Returns the range from the first byte to the last; `None` if no byte is touched.
    pub fn extent(&self) -> Option<Extent> {
        if self.rows == 0 || self.border == Some(0) {
            return None;
        }
        // Each row starts after the previous one. The last row therefore ends last, even if rows
        // overlap.
        let last = u64::from(self.rows - 1) * self.pitch + u64::from(self.slots - 1) * self.slot;
        Some(Extent { first: self.base, end: self.base + last + self.used })
    }

    /// Returns the bytes in contiguous runs, in the order of rows.
    pub fn runs(&self) -> impl Iterator<Item = Extent> + use<> {
        let access = *self;
        (0..access.rows).flat_map(move |row| {
            let base = access.base + u64::from(row) * access.pitch;
            access.slots_of(row).into_iter().flat_map(move |slots| access.row_runs(base, slots))
        })
    }

    /// Returns the slots of a row that are touched, as two ranges: the left and the right border,
    /// or all slots and an empty range.
    fn slots_of(&self, row: u32) -> [Range<u32>; 2] {
        match self.border {
            Some(p) if p <= row && row < self.rows - p && 2 * p < self.slots => {
                [0..p, self.slots - p..self.slots]
            }
            _ => [0..self.slots, 0..0],
        }
    }

    /// Returns the slots of the row that begins at `base`: a single run if all of their bytes are
    /// touched, otherwise one run per slot.
    fn row_runs(&self, base: u64, slots: Range<u32>) -> impl Iterator<Item = Extent> + use<> {
        let (slot, first) = (self.slot, base + u64::from(slots.start) * self.slot);
        let count = u64::from(slots.end - slots.start);
        let (runs, bytes) = if self.used == slot { (count.min(1), count * slot) } else { (count, self.used) };
        (0..runs).map(move |run| Extent { first: first + run * slot, end: first + run * slot + bytes })
    }
}
