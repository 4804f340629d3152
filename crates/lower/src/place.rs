//! First-fit placement of objects with lifetimes.

/// When an object is in use, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// First step that needs it.
    pub first: usize,
    /// Last step that needs it.
    pub last: usize,
    /// Size, in units of the caller's choice.
    pub size: u64,
}

impl Lifetime {
    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Where objects lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Offset of each object.
    pub offsets: Vec<u64>,
    /// Size of the memory that holds them all.
    pub maximum: u64,
}

/// Gives each object the lowest offset at which it meets no other that lives at the same time.
///
/// Objects are placed by first use, and by falling size; the order that needs less memory counts
/// (first use, when both need the same).
pub fn place(lifetimes: &[Lifetime]) -> Placement {
    let mut by_first_use: Vec<usize> = (0..lifetimes.len()).collect();
    by_first_use.sort_by_key(|&i| lifetimes[i].first);
    let mut by_size = by_first_use.clone();
    by_size.sort_by_key(|&i| std::cmp::Reverse(lifetimes[i].size));
    let first = place_in_order(lifetimes, &by_first_use);
    let second = place_in_order(lifetimes, &by_size);
    if second.maximum < first.maximum { second } else { first }
}

fn place_in_order(lifetimes: &[Lifetime], order: &[usize]) -> Placement {
    let mut offsets = vec![0; lifetimes.len()];
    let mut placed: Vec<usize> = Vec::new();
    for &i in order {
        let neighbours = placed.iter().copied().filter(|&other| lifetimes[other].overlaps(&lifetimes[i]));
        let mut taken: Vec<(u64, u64)> =
            neighbours.map(|other| (offsets[other], offsets[other] + lifetimes[other].size)).collect();
        taken.sort_unstable();
        offsets[i] = lowest_gap(&taken, lifetimes[i].size);
        placed.push(i);
    }
    let maximum = (0..lifetimes.len()).map(|i| offsets[i] + lifetimes[i].size).max().unwrap_or(0);
    Placement { offsets, maximum }
}

/// The lowest offset where `size` fits between the sorted ranges `taken`.
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
    fn a_chain_needs_its_two_largest_neighbours() {
        let sizes = [4, 8, 2, 6];
        let chain: Vec<Lifetime> =
            sizes.iter().enumerate().map(|(i, &size)| Lifetime { first: i, last: i + 1, size }).collect();
        assert_eq!(place(&chain).maximum, 12);
    }

    proptest! {
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
