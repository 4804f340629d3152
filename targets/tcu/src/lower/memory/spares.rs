//! Which entries of the arena can be spared: [`Spares`].

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::next_use::{Again, NextUse};
use super::object::ObjectId;

/// An entry of the arena: its object and first vector.
pub type Key = (ObjectId, u32);

/// Entries by how little it would matter to lose them: the next layer that needs their object, then how long ago they were
/// asked for.
#[derive(Clone, Debug)]
pub struct Spares {
    next_use: NextUse,
    /// Entries that are not asked for now, with their stamps.
    order: BTreeSet<(usize, Reverse<u64>, Key)>,
    /// Entries that are asked for now.
    now: BTreeSet<Key>,
}

impl Spares {
    /// None yet.
    pub const fn new(next_use: NextUse) -> Self {
        Self { next_use, order: BTreeSet::new(), now: BTreeSet::new() }
    }

    fn rank(&self, key: Key, stamp: u64) -> (usize, Reverse<u64>, Key) {
        (self.next_use.after(key.0), Reverse(stamp), key)
    }

    /// What comes next is of `layer`.
    pub fn enter(&mut self, layer: usize) {
        // The order holds what it was as long as the next layer that needs an object is the same.
        let is_later = layer >= self.next_use.layer;
        let stale = self.order.iter().take_while(|(next, ..)| !is_later || *next <= layer);
        let stale: Vec<_> = stale.copied().collect();
        self.next_use.layer = layer;
        for rank in &stale {
            self.order.remove(rank);
        }
        for (_, Reverse(stamp), key) in stale {
            self.order.insert(self.rank(key, stamp));
        }
    }

    /// The tiles that come next come back to what `again` says.
    pub const fn come_back_to(&mut self, again: Again) {
        self.next_use.again = again;
    }

    /// What was asked for at `stamp` is so no more.
    pub fn go_on_from(&mut self, stamp: u64) {
        for key in std::mem::take(&mut self.now) {
            self.order.insert(self.rank(key, stamp));
        }
    }

    /// An entry is asked for now; before, at `stamp`.
    pub fn ask(&mut self, key: Key, stamp: Option<u64>) {
        if let Some(stamp) = stamp {
            self.order.remove(&self.rank(key, stamp));
        }
        self.now.insert(key);
    }

    /// An entry that was asked for at `stamp` is gone.
    pub fn lose(&mut self, key: Key, stamp: u64) {
        if !self.now.remove(&key) {
            self.order.remove(&self.rank(key, stamp));
        }
    }

    /// All are gone.
    pub fn clear(&mut self) {
        self.order.clear();
        self.now.clear();
    }

    /// The entry that matters least of those that are not asked for now.
    pub fn least_needed(&self) -> Option<Key> {
        let others = self.order.iter().rev().find(|(_, _, (object, _))| self.next_use.distance(*object) > 0);
        // Where the tiles of this layer come back to all of them, age alone decides.
        let least = others.or_else(|| self.order.iter().max_by_key(|(_, stamp, key)| (*stamp, *key)));
        least.map(|&(_, _, key)| key)
    }
}
