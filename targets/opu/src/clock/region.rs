//! [`Region`]: the bytes that a transfer touches, which keeps memory accesses in program order.

use crate::isa::op::Access;

/// Rows of bytes at a constant distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// Address of the first byte.
    pub base: u64,
    /// Bytes per row.
    pub row: u64,
    /// Number of rows, at least 1.
    pub rows: u64,
    /// Distance between rows, in bytes.
    pub pitch: u64,
}

impl Region {
    /// Creates a contiguous region.
    const fn line(base: u64, bytes: u64) -> Self {
        Self { base, row: bytes, rows: 1, pitch: bytes }
    }

    /// Returns the region in which an access may overlap others; a border is treated as its whole
    /// plane.
    pub fn of(access: &Access) -> Self {
        let rows = access.rows.into();
        if access.border.is_some() {
            return Self::line(access.base, rows * access.pitch);
        }
        let row = u64::from(access.slots - 1) * access.slot + access.used;
        Self { base: access.base, row, rows, pitch: access.pitch }
    }

    /// Returns the address after the last byte.
    const fn end(&self) -> u64 {
        self.base + (self.rows - 1) * self.pitch + self.row
    }

    /// Whether the regions share a byte. If their rows are at different distances, gaps are treated
    /// as touched.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (first, second) = if self.base <= other.base { (self, other) } else { (other, self) };
        if second.base >= first.end() {
            return false;
        }
        let is_regular = second.rows == 1 || second.pitch == first.pitch;
        !is_regular || rows_meet(first, second, first.pitch)
    }
}

/// Whether row `i` of the first region and row `j` of the second share a byte for some `i` and `j`.
/// The second region begins after the first begins and before it ends. The condition is `distance <
/// (i - j) * pitch + first.row` and `(i - j) * pitch < distance + second.row`.
const fn rows_meet(first: &Region, second: &Region, pitch: u64) -> bool {
    let distance = second.base - first.base;
    // Finds the smallest row difference that satisfies the first condition, which holds for the
    // first region. If 0 satisfies the condition, as for a single row or for rows at the same
    // place, the second region begins inside the rows. Negative differences then need no check.
    let smallest = if distance < first.row { 0 } else { (distance - first.row) / pitch + 1 };
    smallest * pitch < distance + second.row
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn touches(region: &Region, byte: u64) -> bool {
        (0..region.rows).any(|row| {
            let start = region.base + row * region.pitch;
            (start..start + region.row).contains(&byte)
        })
    }

    fn region(pitch: u64) -> impl Strategy<Value = Region> {
        (0..60u64, 1..20u64, 1..5u64).prop_map(move |(base, row, rows)| Region { base, row, rows, pitch })
    }

    proptest! {
        #[test]
        fn regions_overlap_where_they_share_a_byte(
            (a, b) in (1..20u64).prop_flat_map(|pitch| (region(pitch), region(pitch)))
        ) {
            let shared = (0..200).any(|byte| touches(&a, byte) && touches(&b, byte));
            prop_assert_eq!(a.overlaps(&b), shared, "{:?} {:?}", a, b);
            prop_assert_eq!(b.overlaps(&a), shared);
        }

        #[test]
        fn at_different_distances_no_overlap_is_missed(
            (a, b) in (0..15u64, 0..15u64).prop_flat_map(|(a, b)| (region(a), region(b)))
        ) {
            let shared = (0..200).any(|byte| touches(&a, byte) && touches(&b, byte));
            prop_assert!(a.overlaps(&b) || !shared);
            prop_assert!(a.overlaps(&Region::line(a.base, a.row)));
        }
    }

    #[test]
    fn columns_beside_each_other_share_nothing() {
        let left = Region { base: 0, row: 10, rows: 4, pitch: 30 };
        let right = Region { base: 10, ..left };
        assert!(!left.overlaps(&right) && left.overlaps(&Region { base: 9, ..left }));
        assert!(!left.overlaps(&Region::line(left.end(), 5)) && left.overlaps(&Region::line(95, 5)));
    }
}
