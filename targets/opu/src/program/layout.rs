//! Feature maps in memory: [`Planes`]. A slot is a pixel of one plane, 64 elements; a plane holds
//! rows of slots; a map of many channels has several planes.
//!
//! ```
//! use npukit_opu::{Border, Planes};
//!
//! // 80 channels of 6 x 6 pixels with a border of one pixel, at address 0.
//! let planes = Planes::contiguous([6, 6, 80], Border::all(1), 0, 1)?;
//! assert_eq!(planes.groups[1].address, 8 * 8 * 64);
//! assert_eq!(planes.element(0, 0, 70, 1), Some(8 * 8 * 64 + (8 + 1) * 64 + 6));
//! # Ok::<(), npukit_opu::LayoutError>(())
//! ```

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::isa::memory::{MEMORY_BYTES, SLOT};

/// Slots around a map that hold zeros. The program clears them; drivers do not write them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Border {
    /// Rows above the map.
    pub top: u32,
    /// Slots before each row.
    pub left: u32,
    /// Rows below the map.
    pub bottom: u32,
    /// Slots after each row.
    pub right: u32,
}

/// Up to 64 channels of a map: a plane, or the first elements of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Byte address of the plane's first element, including the border.
    pub address: u32,
    /// Number of channels.
    pub channels: u32,
    /// Elements of each slot that a driver writes for an input: the channels, then zeros. If absent
    /// or 0, only the channels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lanes: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(lanes: &u32) -> bool {
    *lanes == 0
}

impl Group {
    /// Returns the number of elements of each slot that a driver writes.
    pub fn written(&self) -> u32 {
        self.channels.max(self.lanes)
    }
}

/// Layout of a feature map in memory.
///
/// Channel `c` of pixel `(y, x)` is in the group that holds it, at `address + (((y + top) * pitch +
/// x + left) * 64 + c - first channel of the group) * size`. Source: specification, 4.2 and 7.6.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planes {
    /// Rows of the map, without the border.
    pub height: u32,
    /// Pixels of a row, without the border.
    pub width: u32,
    /// Slots between the starts of adjacent rows, border included.
    pub pitch: u32,
    /// Width of the zeros around the map.
    #[serde(default)]
    pub border: Border,
    /// Groups of channels, in order.
    pub groups: Vec<Group>,
}

/// Error in a layout of a map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// The map has no pixels or no channels.
    #[error("a map of {height} x {width} pixels and {channels} channels is empty")]
    Empty {
        /// Number of rows.
        height: u32,
        /// Pixels per row.
        width: u32,
        /// Number of channels.
        channels: u64,
    },
    /// A group has no channels, or more than a slot.
    #[error("group {group} has {channels} channels: legal values are 1 to 64")]
    Group {
        /// Index of the group.
        group: usize,
        /// Number of channels of the group.
        channels: u32,
    },
    /// The written elements omit channels, or are more than a slot has.
    #[error(
        "group {group} with {channels} channels has {lanes} written lanes: legal values are {channels} to 64"
    )]
    Lanes {
        /// Index of the group.
        group: usize,
        /// Number of lanes of the group.
        lanes: u32,
        /// Number of channels of the group.
        channels: u32,
    },
    /// Rows overlap.
    #[error("rows are {pitch} slots apart, but {row} slots long with the border")]
    Pitch {
        /// Slots between the starts of adjacent rows.
        pitch: u32,
        /// Slots of a row.
        row: u64,
    },
    /// A plane extends beyond the end of memory.
    #[error("group {group} takes {bytes} bytes at {address:#x}, beyond the memory of 2^32 bytes")]
    Range {
        /// Index of the group.
        group: usize,
        /// Address of the group.
        address: u32,
        /// Bytes of the group's plane.
        bytes: u128,
    },
}

impl Border {
    /// Returns a border with `p` slots on each side.
    pub const fn all(p: u32) -> Self {
        Self { top: p, left: p, bottom: p, right: p }
    }
}

impl Planes {
    /// Returns the layout of a map of `[height, width, channels]`, with contiguous planes starting
    /// at byte `address`: each has 64 channels, the last one may have fewer. `size` is the number
    /// of bytes of an element.
    ///
    /// # Errors
    ///
    /// The errors of [`Planes::check`].
    pub fn contiguous(
        [height, width, channels]: [u32; 3],
        border: Border,
        address: u32,
        size: u32,
    ) -> Result<Self, LayoutError> {
        let pitch = width.saturating_add(border.left).saturating_add(border.right);
        let mut planes = Self { height, width, pitch, border, groups: Vec::new() };
        let bytes = planes.plane_bytes(size);
        let beyond = |group| LayoutError::Range { group, address, bytes: bytes * (group as u128 + 1) };
        // Groups that memory cannot hold are not listed.
        if let Some(most) = u128::from(MEMORY_BYTES).checked_div(bytes)
            && u128::from(channels.div_ceil(SLOT)) > most
        {
            return Err(beyond(most as usize));
        }
        for group in 0..channels.div_ceil(SLOT) {
            let start = u128::from(address) + u128::from(group) * bytes;
            let start = u32::try_from(start).map_err(|_| beyond(group as usize))?;
            let channels = (channels - group * SLOT).min(SLOT);
            planes.groups.push(Group { address: start, channels, lanes: 0 });
        }
        planes.check(size)?;
        Ok(planes)
    }

    /// Returns the number of channels.
    pub fn channels(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.channels)).sum()
    }

    /// Returns the number of elements of the map; `None` if it exceeds the address space.
    pub fn elements(&self) -> Option<usize> {
        let pixels = u64::from(self.height) * u64::from(self.width);
        usize::try_from(pixels.checked_mul(self.channels())?).ok()
    }

    /// Returns the rows of a plane, with the border.
    pub fn rows(&self) -> u64 {
        u64::from(self.height) + u64::from(self.border.top) + u64::from(self.border.bottom)
    }

    /// Returns the bytes of a plane with elements of `size` bytes.
    pub fn plane_bytes(&self, size: u32) -> u128 {
        u128::from(self.rows()) * u128::from(self.pitch) * u128::from(SLOT * size)
    }

    /// Checks that the layout is consistent and inside memory, for elements of `size` bytes.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] for the first violated rule: no element, a pitch shorter than a row, a group
    /// with too many channels or lanes, a plane that is not inside memory.
    pub fn check(&self, size: u32) -> Result<(), LayoutError> {
        let (height, width, channels) = (self.height, self.width, self.channels());
        if height == 0 || width == 0 || channels == 0 {
            return Err(LayoutError::Empty { height, width, channels });
        }
        let row = u64::from(width) + u64::from(self.border.left) + u64::from(self.border.right);
        if u64::from(self.pitch) < row {
            return Err(LayoutError::Pitch { pitch: self.pitch, row });
        }
        let bytes = self.plane_bytes(size);
        for (index, &Group { address, channels, lanes }) in self.groups.iter().enumerate() {
            if !(1..=SLOT).contains(&channels) {
                return Err(LayoutError::Group { group: index, channels });
            }
            if lanes > SLOT || (1..channels).contains(&lanes) {
                return Err(LayoutError::Lanes { group: index, lanes, channels });
            }
            if u128::from(address) + bytes > u128::from(MEMORY_BYTES) {
                return Err(LayoutError::Range { group: index, address, bytes });
            }
        }
        Ok(())
    }

    /// Returns the byte address of the slot of pixel `(y, x)` in group `group`; `None` if there is
    /// no such slot.
    pub fn slot(&self, group: usize, y: u32, x: u32, size: u32) -> Option<u64> {
        let address = self.groups.get(group)?.address;
        if y >= self.height || x >= self.width {
            return None;
        }
        let (row, column) =
            (u64::from(y) + u64::from(self.border.top), u64::from(x) + u64::from(self.border.left));
        Some(u64::from(address) + (row * u64::from(self.pitch) + column) * u64::from(SLOT * size))
    }

    /// Returns the byte address of an element of `size` bytes; `None` if there is no such element.
    pub fn element(&self, y: u32, x: u32, c: u32, size: u32) -> Option<u64> {
        let mut first = 0;
        for (index, group) in self.groups.iter().enumerate() {
            if c - first < group.channels {
                return Some(self.slot(index, y, x, size)? + u64::from((c - first) * size));
            }
            first += group.channels;
        }
        None
    }

    /// Returns the runs of consecutive elements, in the order of the map's elements (row, column,
    /// channel): their byte addresses and groups.
    pub fn runs(&self, size: u32) -> impl Iterator<Item = (u64, &Group)> {
        let pixels = (0..self.height).flat_map(move |y| (0..self.width).map(move |x| (y, x)));
        pixels.flat_map(move |(y, x)| {
            let groups = self.groups.iter().enumerate();
            groups.filter_map(move |(index, group)| Some((self.slot(index, y, x, size)?, group)))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn runs_and_elements_agree() {
        let mut planes =
            Planes::contiguous([3, 2, 100], Border { left: 1, ..Border::default() }, 640, 2).unwrap();
        planes.groups[1].channels = 10;
        planes.groups[0].channels = 48;
        let mut runs = planes.runs(2);
        for (y, x) in (0..3).flat_map(|y| (0..2).map(move |x| (y, x))) {
            for (c, channels) in [(0, 48), (48, 10)] {
                let run = runs.next().map(|(address, group)| (address, group.channels));
                assert_eq!(run, Some((planes.element(y, x, c, 2).unwrap(), channels)));
            }
        }
        assert_eq!(runs.next(), None);
        assert_eq!(planes.element(0, 0, 58, 2), None);
        assert_eq!(planes.element(3, 0, 0, 2), None);
        assert_eq!(planes.elements(), Some(3 * 2 * 58));
    }

    #[test]
    fn what_lies_in_no_memory_is_refused() {
        let contiguous = |shape, address| Planes::contiguous(shape, Border::default(), address, 1);
        assert!(matches!(contiguous([0, 2, 3], 0), Err(LayoutError::Empty { .. })));
        assert!(matches!(contiguous([2, 2, 0], 0), Err(LayoutError::Empty { .. })));
        assert!(matches!(contiguous([u32::MAX; 3], 0), Err(LayoutError::Range { .. })));
        assert!(matches!(contiguous([1, 1, 65], u32::MAX - 63), Err(LayoutError::Range { .. })));
        let planes = contiguous([1, 4, 64], 0).unwrap();
        let overlapping = Planes { pitch: 3, ..planes.clone() };
        assert_eq!(overlapping.check(1), Err(LayoutError::Pitch { pitch: 3, row: 4 }));
        let with = |channels, lanes| {
            Planes { groups: vec![Group { address: 0, channels, lanes }], ..planes.clone() }.check(1)
        };
        assert_eq!(with(65, 0), Err(LayoutError::Group { group: 0, channels: 65 }));
        for lanes in [2, 65] {
            assert_eq!(with(3, lanes), Err(LayoutError::Lanes { group: 0, lanes, channels: 3 }));
        }
        assert_eq!((with(3, 0), with(3, 3), with(3, 64)), (Ok(()), Ok(()), Ok(())));
    }
}
