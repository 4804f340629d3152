//! Allocator for the free ranges of a memory: [`Free`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Free ranges of a memory, indexed by start and by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// End of each free range by its start; ranges do not touch.
    ends: BTreeMap<u64, u64>,
    /// Starts of the free ranges by size; there are few different sizes.
    starts: BTreeMap<u64, BTreeSet<u64>>,
}

impl Free {
    /// Creates the allocator of a memory in which `range` is free.
    pub fn new(range: Range<u64>) -> Self {
        let mut free = Self { ends: BTreeMap::new(), starts: BTreeMap::new() };
        free.add(range.start, range.end);
        free
    }

    /// Allocates `size` units (at least 1) at the lowest start where they fit, and returns that
    /// start. `None` if no free range is large enough.
    pub fn take(&mut self, size: u64) -> Option<u64> {
        let lowest = self.starts.range(size..).filter_map(|(_, starts)| starts.first());
        let start = *lowest.min()?;
        let end = self.remove(start).expect("a range found by its size has a start entry");
        self.add(start + size, end);
        Some(start)
    }

    /// Frees a range that was allocated.
    pub fn give(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if let Some((&before, &touching)) = self.ends.range(..start).next_back()
            && touching == start
        {
            self.remove(before);
            start = before;
        }
        if let Some(further) = self.remove(end) {
            end = further;
        }
        self.add(start, end);
    }

    /// Returns the size of the largest free range.
    pub fn largest(&self) -> u64 {
        // Default: nothing is free.
        self.starts.last_key_value().map_or(0, |(&size, _)| size)
    }

    fn add(&mut self, start: u64, end: u64) {
        if start < end {
            self.ends.insert(start, end);
            self.starts.entry(end - start).or_default().insert(start);
        }
    }

    fn remove(&mut self, start: u64) -> Option<u64> {
        let end = self.ends.remove(&start)?;
        let size = end - start;
        let alike = self.starts.get_mut(&size).expect("each range is indexed by its size");
        alike.remove(&start);
        if alike.is_empty() {
            self.starts.remove(&size);
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_room_is_taken_and_what_touches_is_one_again() {
        let mut free = Free::new(2..20);
        assert_eq!([4, 6, 3].map(|size| free.take(size)), [Some(2), Some(6), Some(12)]);
        free.give(2..6);
        assert_eq!((free.largest(), free.take(5), free.take(3)), (5, Some(15), Some(2)));
        assert_eq!((free.largest(), free.take(2)), (1, None));
        free.give(6..12);
        assert_eq!(free.largest(), 7);
        [2..5, 12..15, 15..20].into_iter().for_each(|range| free.give(range));
        assert_eq!(free, Free::new(2..20));
    }
}
