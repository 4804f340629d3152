//! [`merged`]: merging of pairs of tokens, the pair with the lowest rank first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Token of a word, between its neighbors.
struct Symbol {
    token: usize,
    previous: Option<usize>,
    next: Option<usize>,
    is_merged: bool,
}

/// Merges the tokens of a word. `find` returns the rank and the merged token of a pair; `None` if
/// the pair is not merged. Of equal ranks, the first pair is merged first.
pub(super) fn merged(tokens: &[usize], find: impl Fn([usize; 2]) -> Option<(usize, usize)>) -> Vec<usize> {
    let last = tokens.len().saturating_sub(1);
    let symbol = |(index, &token): (usize, &usize)| Symbol {
        token,
        previous: index.checked_sub(1),
        next: Some(index + 1).filter(|_| index < last),
        is_merged: false,
    };
    let mut symbols: Vec<Symbol> = tokens.iter().enumerate().map(symbol).collect();
    // Returns the pair that begins at a place: its rank, place and merged token.
    let pair = |symbols: &[Symbol], index: usize| {
        let next = symbols[index].next?;
        let (rank, merged) = find([symbols[index].token, symbols[next].token])?;
        Some(Reverse((rank, index, merged)))
    };
    let mut queue: BinaryHeap<_> = (0..last).filter_map(|index| pair(&symbols, index)).collect();
    while let Some(Reverse((_, index, merged))) = queue.pop() {
        let Some(next) = symbols[index].next.filter(|_| !symbols[index].is_merged) else { continue };
        // One of the tokens may have been merged with another one in the meantime.
        if pair(&symbols, index).is_none_or(|Reverse((.., own))| own != merged) {
            continue;
        }
        symbols[index].token = merged;
        symbols[index].next = symbols[next].next;
        symbols[next].is_merged = true;
        if let Some(after) = symbols[next].next {
            symbols[after].previous = Some(index);
        }
        let before = symbols[index].previous;
        queue.extend(before.into_iter().chain([index]).filter_map(|index| pair(&symbols, index)));
    }
    symbols.iter().filter(|symbol| !symbol.is_merged).map(|symbol| symbol.token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_is_merged_first() {
        let find = |pair: [usize; 2]| match pair {
            [1, 2] => Some((1, 12)),
            [2, 3] => Some((0, 23)),
            [1, 23] => Some((2, 123)),
            [1, 1] => Some((3, 11)),
            _ => None,
        };
        assert_eq!(merged(&[1, 2, 3], find), [123]);
        assert_eq!(merged(&[1, 1, 1], find), [11, 1]);
        assert_eq!(merged(&[1, 2, 1, 2, 3, 4], find), [12, 123, 4]);
        assert!(merged(&[], find).is_empty());
    }
}
