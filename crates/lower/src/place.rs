//! First-fit placement of objects with lifetimes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::free::Free;

/// Size of an object, and the steps during which it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// First step that needs the object.
    pub first: usize,
    /// Last step that needs the object.
    pub last: usize,
    /// Size, in units of the caller's choice.
    pub size: u64,
}

impl Lifetime {
    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Placement of objects in one memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Offset of each object, in the unit of the sizes.
    pub offsets: Vec<u64>,
    /// Size of the memory that holds all objects.
    pub maximum: u64,
}

/// Largest number of objects for which placement by decreasing size is tried as well. That
/// placement compares each object with all those placed before it.
const MAX_BY_SIZE: usize = 4096;

/// Gives each object the lowest offset at which it overlaps no other object with an overlapping
/// lifetime.
///
/// Objects are placed once by first use and once by decreasing size. The order that needs less
/// memory wins; by first use if both need the same. For more than 4,096 objects only the first
/// order is tried, whose run time is nearly linear.
pub fn place(lifetimes: &[Lifetime]) -> Placement {
    let mut by_first_use: Vec<usize> = (0..lifetimes.len()).collect();
    by_first_use.sort_by_key(|&i| lifetimes[i].first);
    let first = place_by_first_use(lifetimes, &by_first_use);
    if lifetimes.len() > MAX_BY_SIZE {
        return first;
    }
    let mut by_size = by_first_use;
    by_size.sort_by_key(|&i| Reverse(lifetimes[i].size));
    let second = place_in_order(lifetimes, &by_size);
    if second.maximum < first.maximum { second } else { first }
}

impl Placement {
    fn at(lifetimes: &[Lifetime], offsets: Vec<u64>) -> Self {
        let ends = lifetimes.iter().zip(&offsets).map(|(lifetime, offset)| offset + lifetime.size);
        // Default: an empty list needs no memory.
        Self { maximum: ends.max().unwrap_or(0), offsets }
    }
}

/// Like [`place_in_order`], for an `order` by first use. Then all placed objects that are still
/// alive overlap in time, so the gaps between them are free.
fn place_by_first_use(lifetimes: &[Lifetime], order: &[usize]) -> Placement {
    let mut offsets = vec![0; lifetimes.len()];
    let (mut free, mut alive) = (Free::new(0..u64::MAX), BinaryHeap::<(Reverse<usize>, usize)>::new());
    for &i in order.iter().filter(|&&i| lifetimes[i].size > 0) {
        while let Some(&(Reverse(last), other)) = alive.peek()
            && last < lifetimes[i].first
        {
            alive.pop();
            free.give(offsets[other]..offsets[other] + lifetimes[other].size);
        }
        offsets[i] = free.take(lifetimes[i].size).expect("an unlimited memory has room");
        alive.push((Reverse(lifetimes[i].last), i));
    }
    Placement::at(lifetimes, offsets)
}

fn place_in_order(lifetimes: &[Lifetime], order: &[usize]) -> Placement {
    let mut offsets = vec![0; lifetimes.len()];
    let mut placed: Vec<usize> = Vec::new();
    for &i in order {
        let neighbors = placed.iter().copied().filter(|&other| lifetimes[other].overlaps(&lifetimes[i]));
        let mut taken: Vec<(u64, u64)> =
            neighbors.map(|other| (offsets[other], offsets[other] + lifetimes[other].size)).collect();
        taken.sort_unstable();
        offsets[i] = lowest_gap(&taken, lifetimes[i].size);
        placed.push(i);
    }
    Placement::at(lifetimes, offsets)
}

/// Returns the lowest offset at which `size` fits between the sorted ranges `taken`.
fn lowest_gap(taken: &[(u64, u64)], size: u64) -> u64 {
    let mut offset = 0;
    for &(start, end) in taken {
        if start >= offset + size {
            break;
        }
        offset = offset.max(end);
    }
    offset
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lifetime() -> impl Strategy<Value = Lifetime> {
        (0usize..20, 0usize..8, 0u64..50).prop_map(|(first, length, size)| Lifetime {
            first,
            last: first + length,
            size,
        })
    }

    #[test]
    fn a_chain_needs_its_two_largest_neighbors() {
        let sizes = [4, 8, 2, 6];
        let chain: Vec<Lifetime> =
            sizes.iter().enumerate().map(|(i, &size)| Lifetime { first: i, last: i + 1, size }).collect();
        assert_eq!(place(&chain).maximum, 12);
    }

    #[test]
    fn as_many_as_a_concatenation_has() {
        let count = 200_000;
        // All parts live until the end. One more object then fits where the parts at odd positions
        // were.
        let parts = (0..count).map(|i| Lifetime {
            first: i,
            last: if i % 2 == 0 { 3 * count } else { count },
            size: 8,
        });
        let wide = (0..count).map(|i| Lifetime {
            first: count + 1 + i,
            last: 3 * count,
            size: 8 + 4 * (i as u64 % 2),
        });
        let all: Vec<Lifetime> = parts.chain(wide).collect();
        let Placement { offsets, maximum } = place(&all);
        assert_eq!((offsets[1], offsets[count], offsets[count + 2]), (8, 8, 24));
        assert_eq!(maximum, 8 * count as u64 + 12 * count as u64 / 2);
    }

    proptest! {
        #[test]
        fn by_first_use_as_one_after_the_other(lifetimes in prop::collection::vec(lifetime(), 0..60)) {
            let mut order: Vec<usize> = (0..lifetimes.len()).collect();
            order.sort_by_key(|&i| lifetimes[i].first);
            prop_assert_eq!(place_by_first_use(&lifetimes, &order), place_in_order(&lifetimes, &order));
        }

        #[test]
        fn objects_that_live_together_do_not_overlap(lifetimes in prop::collection::vec(lifetime(), 0..24)) {
            let Placement { offsets, maximum } = place(&lifetimes);
            for (i, a) in lifetimes.iter().enumerate() {
                prop_assert!(offsets[i] + a.size <= maximum);
                for (j, b) in lifetimes.iter().enumerate().skip(i + 1) {
                    let apart = offsets[i] + a.size <= offsets[j] || offsets[j] + b.size <= offsets[i];
                    prop_assert!(apart || !a.overlaps(b), "{i} and {j}");
                }
            }
        }
    }
}
