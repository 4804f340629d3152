//! Windows of max pooling along an axis, divided into tiles: [`tiles`].
//!
//! All windows of one store have one size and no padding. Windows that are cut short by padding are
//! smaller: a tile is stored once for each size, the larger later, so that each result is finally
//! that of its own window.

/// Windows along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Number of elements along the axis.
    pub size: usize,
    /// Elements per window.
    pub window: usize,
    /// Elements between the starts of adjacent windows.
    pub stride: usize,
    /// Number of padding elements before the axis.
    pub before: usize,
    /// Number of windows.
    pub count: usize,
}

impl Windows {
    /// Returns windows of one element each.
    pub fn plain(size: usize) -> Self {
        Self { size, window: 1, stride: 1, before: 0, count: size }
    }

    fn start(&self, index: usize) -> usize {
        (index * self.stride).saturating_sub(self.before)
    }

    fn end(&self, index: usize) -> usize {
        (index * self.stride + self.window).saturating_sub(self.before).min(self.size)
    }
}

/// Windows of one length in a tile, which one instruction stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Elements per window.
    pub window: usize,
    /// Index of the first window.
    pub first: usize,
    /// Number of windows.
    pub count: usize,
}

/// Consecutive windows that are computed from one run of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Index of the first element.
    pub start: usize,
    /// Number of elements.
    pub length: usize,
    /// Stores of the tile, in order.
    pub stores: Vec<Stored>,
}

/// Divides the axis into tiles of at most `limit` windows.
pub fn tiles(windows: Windows, limit: usize) -> Vec<Tile> {
    let (mut tiles, mut first) = (Vec::new(), 0);
    while first < windows.count {
        let longest = limit.clamp(1, windows.count - first);
        // Default: a single window is always a tile if it has an element. A window without
        // elements, which no lowered pooling has, is never stored.
        let (count, tile) = (1..=longest)
            .rev()
            .find_map(|count| Some((count, tile(windows, first, count)?)))
            .unwrap_or((1, Tile { start: windows.start(first), length: 1, stores: Vec::new() }));
        tiles.push(tile);
        first += count;
    }
    tiles
}

/// Returns windows `first .. first + count` as one tile; `None` unless each window begins a whole
/// number of strides after the first. A store then writes no window beyond the last. It writes a
/// window of another length only if the store of that length follows.
fn tile(windows: Windows, first: usize, count: usize) -> Option<Tile> {
    let (start, last) = (windows.start(first), first + count - 1);
    let length = windows.end(last).checked_sub(start)?;
    let mut stores: Vec<Stored> = Vec::new();
    for index in first..=last {
        let from = windows.start(index) - start;
        let window = windows.end(index).checked_sub(windows.start(index)).filter(|&window| window > 0)?;
        let place = from
            .is_multiple_of(windows.stride)
            .then(|| index.checked_sub(from / windows.stride))
            .flatten()?;
        let stored =
            Stored { window, first: place, count: (length.checked_sub(window)?) / windows.stride + 1 };
        if !stores.contains(&stored) {
            stores.push(stored);
        }
    }
    stores.sort_by_key(|stored| stored.window);
    Some(Tile { start, length, stores })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    /// Compares the results of storing the tiles in order with windows computed one by one.
    fn check(windows: Windows, limit: usize) -> Result<usize, TestCaseError> {
        let values: Vec<usize> = (0..windows.size).map(|i| (i * 7919 + 13) % 101).collect();
        let mut stored = vec![None; windows.count];
        let mut stores = 0;
        for tile in tiles(windows, limit) {
            let values = &values[tile.start..tile.start + tile.length];
            for store in tile.stores {
                stores += 1;
                let maximum = |i: usize| values[i * windows.stride..][..store.window].iter().max().copied();
                (0..store.count).for_each(|i| stored[store.first + i] = maximum(i));
            }
        }
        for (index, &found) in stored.iter().enumerate() {
            let expected = values[windows.start(index)..windows.end(index)].iter().max().copied();
            prop_assert_eq!(found, expected, "window {} of {:?} in tiles of {}", index, windows, limit);
        }
        Ok(stores)
    }

    #[test]
    fn windows_cut_short_on_both_sides_need_a_store_each() {
        let same = Windows { size: 13, window: 3, stride: 1, before: 1, count: 13 };
        assert_eq!(check(same, 13).unwrap(), 3);
        assert_eq!(tiles(same, 13).len(), 1);
        // With an odd start and a stride of 2, the first window is a separate tile.
        let stem = Windows { size: 112, window: 3, stride: 2, before: 1, count: 56 };
        assert_eq!(tiles(stem, 56).iter().map(|tile| tile.length).collect::<Vec<_>>(), [2, 111]);
    }

    #[test]
    fn small_windows_get_their_own_maxima_in_all_tiles() {
        let ranges = |size| (1..=size).flat_map(|window| (1..=3).map(move |stride| (window, stride)));
        for (size, window, stride) in (1..7).flat_map(|size| ranges(size).map(move |(w, s)| (size, w, s))) {
            for (before, after, limit) in (0..window).flat_map(|before| {
                (0..window).flat_map(move |after| [1, 2, 3, 9].map(|limit| (before, after, limit)))
            }) {
                let count = (size + before + after - window) / stride + 1;
                if (count - 1) * stride < size + before {
                    check(Windows { size, window, stride, before, count }, limit).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_window_without_an_element_is_never_stored() {
        let beyond = Windows { size: 2, window: 1, stride: 2, before: 0, count: 2 };
        let stored: Vec<usize> = tiles(beyond, 2).iter().map(|tile| tile.stores.len()).collect();
        assert_eq!(stored, [1, 0]);
    }

    proptest! {
        #[test]
        fn every_window_gets_its_own_maximum(
            size in 1usize..30, window in 1usize..7, stride in 1usize..5, before in 0usize..6,
            after in 0usize..6, limit in 1usize..12,
        ) {
            let (before, after) = (before.min(window - 1), after.min(window - 1));
            prop_assume!(size + before + after >= window);
            let count = (size + before + after - window) / stride + 1;
            prop_assume!((count - 1) * stride < size + before);
            check(Windows { size, window, stride, before, count }, limit)?;
        }
    }
}
