//! Layout of an array in a memory with several numbers per address: [`rows`].
//!
//! A list is stored number by number, an array row by row. Each row along the last axis starts at a
//! new address and takes as many addresses as it needs. The unused rest of its last address does
//! not belong to the array.

/// Size of the rows of an array in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub count: usize,
    pub numbers: usize,
    pub addresses: usize,
}

/// Returns the rows of an array of `shape` in a memory with `lanes` numbers per address.
pub(super) fn rows(shape: &[usize], lanes: usize) -> Rows {
    let all: usize = shape.iter().product();
    let numbers = match shape {
        [.., _, last] => *last,
        _ => all,
    };
    // An array whose rows fill whole addresses is stored like a list.
    let numbers = if lanes == 1 || numbers.is_multiple_of(lanes) { all } else { numbers };
    // Default: an empty array has no rows.
    let count = all.checked_div(numbers).unwrap_or(0);
    Rows { count, numbers, addresses: numbers.div_ceil(lanes) }
}

impl Rows {
    /// Returns the number of addresses of all rows.
    pub fn all_addresses(self) -> usize {
        self.count * self.addresses
    }

    /// Returns the position of each number, in numbers from the first address.
    pub fn places(self, lanes: usize) -> impl Iterator<Item = usize> {
        (0..self.count).flat_map(move |row| {
            let start = row * self.addresses * lanes;
            start..start + self.numbers
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_at_addresses() {
        let places = |shape: &[usize], lanes| rows(shape, lanes).places(lanes).collect::<Vec<_>>();
        assert_eq!(places(&[3], 4), [0, 1, 2]);
        assert_eq!(places(&[2, 3], 4), [0, 1, 2, 4, 5, 6]);
        assert_eq!(places(&[2, 2, 2], 4), [0, 1, 4, 5, 8, 9, 12, 13]);
        assert_eq!(places(&[2, 4], 4), (0..8).collect::<Vec<_>>());
        assert_eq!(places(&[2, 5], 4), [0, 1, 2, 3, 4, 8, 9, 10, 11, 12]);
        assert_eq!(places(&[2, 3], 1), (0..6).collect::<Vec<_>>());
        assert_eq!((places(&[], 4), places(&[0, 3], 4)), (vec![0], vec![]));
        assert_eq!((rows(&[2, 5], 4).all_addresses(), rows(&[9], 4).all_addresses()), (4, 3));
    }
}
