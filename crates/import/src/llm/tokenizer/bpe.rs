//! [`Merges`]: merging of pairs of tokens, the pair with the lowest rank first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Pairs of tokens that are merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Merges {
    /// Rank and merged token of each pair.
    pairs: HashMap<(usize, usize), (usize, usize)>,
}

/// Token of a word, between its neighbors.
struct Symbol {
    token: usize,
    previous: Option<usize>,
    next: Option<usize>,
    is_merged: bool,
}

impl Merges {
    /// Adds a pair with the next rank. A repeated pair gets the later rank.
    pub(super) fn add(&mut self, pair: (usize, usize), rank: usize, merged: usize) {
        self.pairs.insert(pair, (rank, merged));
    }

    /// Merges the tokens of a word. Of equal pairs, the first is merged first.
    pub(super) fn apply(&self, tokens: &[usize]) -> Vec<usize> {
        let last = tokens.len().saturating_sub(1);
        let symbol = |(index, &token): (usize, &usize)| Symbol {
            token,
            previous: index.checked_sub(1),
            next: Some(index + 1).filter(|_| index < last),
            is_merged: false,
        };
        let mut symbols: Vec<Symbol> = tokens.iter().enumerate().map(symbol).collect();
        let mut queue = BinaryHeap::new();
        for index in 0..last {
            self.queue(&mut queue, &symbols, index);
        }
        while let Some(Reverse((_, index, merged))) = queue.pop() {
            let Some(next) = symbols[index].next.filter(|_| !symbols[index].is_merged) else { continue };
            // One of the tokens may have been merged with another one in the meantime.
            let pair = (symbols[index].token, symbols[next].token);
            if self.pairs.get(&pair).is_none_or(|&(_, own)| own != merged) {
                continue;
            }
            symbols[index].token = merged;
            symbols[index].next = symbols[next].next;
            symbols[next].is_merged = true;
            if let Some(after) = symbols[next].next {
                symbols[after].previous = Some(index);
            }
            if let Some(previous) = symbols[index].previous {
                self.queue(&mut queue, &symbols, previous);
            }
            self.queue(&mut queue, &symbols, index);
        }
        symbols.iter().filter(|symbol| !symbol.is_merged).map(|symbol| symbol.token).collect()
    }

    /// Queues the pair that begins at `index`.
    fn queue(&self, queue: &mut Queue, symbols: &[Symbol], index: usize) {
        let pair = symbols[index].next.map(|next| (symbols[index].token, symbols[next].token));
        if let Some(&(rank, merged)) = pair.and_then(|pair| self.pairs.get(&pair)) {
            queue.push(Reverse((rank, index, merged)));
        }
    }
}

/// Pairs by rank, then by place, with the merged token.
type Queue = BinaryHeap<Reverse<(usize, usize, usize)>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_is_merged_first() {
        let mut merges = Merges::default();
        merges.add((1, 2), 1, 12);
        merges.add((2, 3), 0, 23);
        merges.add((1, 23), 2, 123);
        merges.add((1, 1), 3, 11);
        assert_eq!(merges.apply(&[1, 2, 3]), [123]);
        assert_eq!(merges.apply(&[1, 1, 1]), [11, 1]);
        assert_eq!(merges.apply(&[1, 2, 1, 2, 3, 4]), [12, 123, 4]);
        assert!(merges.apply(&[]).is_empty());
    }
}
