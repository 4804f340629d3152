//! Windows of max pooling along an axis, cut into tiles: [`tiles`].
//!
//! The machine's windows all have one size and no padding. Windows that padding cuts short are
//! smaller: a tile is stored once for each size, the larger later, so that every result is at last
//! the one of its own window.

/// Windows along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Elements along the axis.
    pub size: usize,
    /// Length of a window.
    pub window: usize,
    /// Elements from a window to the next.
    pub stride: usize,
    /// Elements by which the first window begins before the axis does.
    pub before: usize,
    /// Number of windows.
    pub count: usize,
}

impl Windows {
    /// Windows of one element.
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

/// Windows of one length in a tile, which are stored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Length of the windows.
    pub window: usize,
    /// Index of the first.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

/// Neighbouring windows that are made from one run of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// First element.
    pub start: usize,
    /// Number of elements.
    pub length: usize,
    /// The stores, in order.
    pub stores: Vec<Stored>,
}

/// Cuts the axis into tiles of at limit `limit` windows.
pub fn tiles(windows: Windows, limit: usize) -> Vec<Tile> {
    let (mut tiles, mut first) = (Vec::new(), 0);
    while first < windows.count {
        let longest = limit.clamp(1, windows.count - first);
        // Default: one window alone always is a tile, as long as it has an element; without one, which no
        // pooling that is lowered has, it is never stored.
        let (count, tile) = (1..=longest)
            .rev()
            .find_map(|count| Some((count, tile(windows, first, count)?)))
            .unwrap_or((1, Tile { start: windows.start(first), length: 1, stores: Vec::new() }));
        tiles.push(tile);
        first += count;
    }
    tiles
}

/// Windows `first .. first + count` as one tile, when its stores can give them all: when each begins a whole number of
/// strides after the first. A store then gives no window beyond the last, nor one that is of another length, unless
/// the store of that length follows.
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

    /// What storing the tiles one after the other leaves, against windows taken one by one.
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
        // An odd start with a stride of 2: the first window is a tile of its own.
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
