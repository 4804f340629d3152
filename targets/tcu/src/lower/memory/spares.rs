//! Eviction order of arena entries: [`Spares`].

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::next_use::{Again, NextUse};
use super::object::ObjectId;

/// Key of an arena entry: its object and first vector.
pub type Key = (ObjectId, u32);

/// Entries ordered by how expendable they are: by the next layer that needs their object, then by
/// the time of the last request.
#[derive(Clone, Debug)]
pub struct Spares {
    next_use: NextUse,
    /// Entries that may be evicted, with the times of their last requests.
    order: BTreeSet<(usize, Reverse<u64>, Key)>,
    /// Entries that are requested now and cannot be evicted.
    now: BTreeSet<Key>,
}

impl Spares {
    /// Creates an empty order.
    pub const fn new(next_use: NextUse) -> Self {
        Self { next_use, order: BTreeSet::new(), now: BTreeSet::new() }
    }

    fn rank(&self, key: Key, stamp: u64) -> (usize, Reverse<u64>, Key) {
        (self.next_use.after(key.0), Reverse(stamp), key)
    }

    /// Sets the layer to which the following requests belong.
    pub fn enter(&mut self, layer: usize) {
        // The rank of an entry stays valid while the next layer that needs its object is the same.
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

    /// Sets which objects the following tiles reuse.
    pub const fn come_back_to(&mut self, again: Again) {
        self.next_use.again = again;
    }

    /// Ends the request made at `stamp`: its entries may be evicted again.
    pub fn go_on_from(&mut self, stamp: u64) {
        for key in std::mem::take(&mut self.now) {
            self.order.insert(self.rank(key, stamp));
        }
    }

    /// Marks an entry as requested now; `stamp` is the time of its previous request.
    pub fn ask(&mut self, key: Key, stamp: Option<u64>) {
        if let Some(stamp) = stamp {
            self.order.remove(&self.rank(key, stamp));
        }
        self.now.insert(key);
    }

    /// Removes an entry that was last requested at `stamp`.
    pub fn lose(&mut self, key: Key, stamp: u64) {
        if !self.now.remove(&key) {
            self.order.remove(&self.rank(key, stamp));
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.order.clear();
        self.now.clear();
    }

    /// Returns the most expendable entry that is not requested now.
    pub fn least_needed(&self) -> Option<Key> {
        let others = self.order.iter().rev().find(|(_, _, (object, _))| self.next_use.distance(*object) > 0);
        // If the tiles of this layer reuse all entries, only age decides which one is evicted.
        let least = others.or_else(|| self.order.iter().max_by_key(|(_, stamp, key)| (*stamp, *key)));
        least.map(|&(_, _, key)| key)
    }
}
