//! The arena: the part of local memory that layers load into, kept as a cache of vectors.
//!
//! What a layer loads or saves stays until its place is needed for something else, so that the next
//! tile, or the next layer, finds it there.

use std::collections::BTreeMap;
use std::ops::Range;

use super::memory::{Home, Plan};
use super::object::{ObjectId, VecRef};

/// Consecutive vectors of an object in the arena.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u32,
    local: u64,
    /// When it was last asked for.
    stamp: u64,
}

/// Consecutive vectors of an object that have been given a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// First vector.
    pub first: VecRef,
    /// Number of vectors.
    pub length: u64,
    /// Local address of the first.
    pub local: u64,
}

/// The vectors asked for at once need more than the arena has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Vectors needed at once.
    pub needed: u64,
}

/// A cache of vectors in local memory.
#[derive(Clone, Debug)]
pub struct Arena {
    range: Range<u64>,
    entries: BTreeMap<ObjectId, Vec<Entry>>,
    /// Free ranges, sorted, never adjacent.
    free: Vec<Range<u64>>,
    clock: u64,
    /// Sum of all places given.
    pub aggregate: u64,
    /// End of the highest place given.
    pub highest: u64,
}

impl Arena {
    /// An empty arena over the addresses `range`.
    pub fn new(range: Range<u64>) -> Self {
        let highest = range.start;
        let mut arena =
            Self { range, entries: BTreeMap::new(), free: Vec::new(), clock: 0, aggregate: 0, highest };
        arena.clear();
        arena
    }

    /// Vectors it can hold.
    pub fn capacity(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Forgets everything.
    fn clear(&mut self) {
        self.entries.clear();
        self.free = if self.range.is_empty() { Vec::new() } else { vec![self.range.clone()] };
    }

    /// The local address of a vector that is there.
    pub fn address(&self, vector: VecRef, plan: &Plan) -> Option<u64> {
        if let Home::Local(base) = plan.home(vector.object) {
            return Some(base + u64::from(vector.index));
        }
        let entry = self.find(vector)?;
        Some(entry.local + u64::from(vector.index - entry.start))
    }

    fn find(&self, vector: VecRef) -> Option<&Entry> {
        let entries = self.entries.get(&vector.object)?;
        let after = entries.partition_point(|entry| entry.start <= vector.index);
        entries[..after].last().filter(|entry| vector.index < entry.start + entry.length)
    }

    /// Makes room for `vectors` (sorted, each once), none of which lives in local memory, and says
    /// which have to be loaded, and where to.
    pub fn ensure(&mut self, vectors: &[VecRef]) -> Result<Vec<Placed>, Full> {
        let needed = vectors.len() as u64;
        if needed > self.capacity() {
            return Err(Full { needed });
        }
        self.clock += 1;
        let missing: Vec<VecRef> = vectors.iter().copied().filter(|&vector| !self.touch(vector)).collect();
        if let Some(placed) = self.place(&missing) {
            return Ok(placed);
        }
        // What is free is in pieces too small: start over with nothing but what is needed now.
        self.clear();
        self.place(vectors).ok_or(Full { needed })
    }

    /// Gives new vectors of an object (sorted) a place, without anything to load.
    pub fn reserve(&mut self, vectors: &[VecRef]) -> Result<(), Full> {
        self.clock += 1;
        self.forget(vectors);
        if self.place(vectors).is_none() {
            self.clear();
            self.place(vectors).ok_or(Full { needed: vectors.len() as u64 })?;
        }
        Ok(())
    }

    /// Marks a vector as needed now; `false` when it is not there.
    fn touch(&mut self, vector: VecRef) -> bool {
        let clock = self.clock;
        let Some(entries) = self.entries.get_mut(&vector.object) else { return false };
        let after = entries.partition_point(|entry| entry.start <= vector.index);
        match entries[..after].last_mut() {
            Some(entry) if vector.index < entry.start + entry.length => {
                entry.stamp = clock;
                true
            }
            _ => false,
        }
    }

    /// Drops entries that hold any of `vectors`.
    fn forget(&mut self, vectors: &[VecRef]) {
        let Some((first, last)) = vectors.first().zip(vectors.last()) else { return };
        let Some(entries) = self.entries.get_mut(&first.object) else { return };
        let overlaps = |entry: &Entry| entry.start <= last.index && first.index < entry.start + entry.length;
        let dropped: Vec<Entry> = entries.iter().copied().filter(overlaps).collect();
        entries.retain(|entry| !overlaps(entry));
        for entry in dropped {
            self.release(entry);
        }
    }

    fn place(&mut self, vectors: &[VecRef]) -> Option<Vec<Placed>> {
        let mut placed = Vec::new();
        let consecutive = |a: &VecRef, b: &VecRef| a.object == b.object && b.index == a.index + 1;
        for run in vectors.chunk_by(consecutive) {
            let length = run.len() as u64;
            let local = self.allocate(length)?;
            let entry = Entry { start: run[0].index, length: length as u32, local, stamp: self.clock };
            let entries = self.entries.entry(run[0].object).or_default();
            let at = entries.partition_point(|other| other.start < entry.start);
            entries.insert(at, entry);
            placed.push(Placed { first: run[0], length, local });
        }
        Some(placed)
    }

    /// The lowest free range that is long enough, after giving up what was not needed for longest.
    fn allocate(&mut self, length: u64) -> Option<u64> {
        loop {
            if let Some(i) = self.free.iter().position(|free| free.end - free.start >= length) {
                let local = self.free[i].start;
                self.free[i].start += length;
                if self.free[i].is_empty() {
                    self.free.remove(i);
                }
                self.aggregate += length;
                self.highest = self.highest.max(local + length);
                return Some(local);
            }
            self.evict_oldest()?;
        }
    }

    fn evict_oldest(&mut self) -> Option<()> {
        let stamps = self.entries.values().flatten().map(|entry| entry.stamp);
        let oldest = stamps.min().filter(|&stamp| stamp < self.clock)?;
        let mut dropped = Vec::new();
        self.entries.retain(|_, entries| {
            dropped.extend(entries.iter().copied().filter(|entry| entry.stamp == oldest));
            entries.retain(|entry| entry.stamp != oldest);
            !entries.is_empty()
        });
        for entry in dropped {
            self.release(entry);
        }
        Some(())
    }

    fn release(&mut self, entry: Entry) {
        let freed = entry.local..entry.local + u64::from(entry.length);
        let at = self.free.partition_point(|free| free.start < freed.start);
        self.free.insert(at, freed);
        if at + 1 < self.free.len() && self.free[at].end == self.free[at + 1].start {
            self.free[at].end = self.free.remove(at + 1).end;
        }
        if at > 0 && self.free[at - 1].end == self.free[at].start {
            self.free[at - 1].end = self.free.remove(at).end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(object: u32, indices: Range<u32>) -> Vec<VecRef> {
        indices.map(|index| VecRef { object: ObjectId(object), index }).collect()
    }

    #[test]
    fn what_is_there_is_not_loaded_again() {
        let mut arena = Arena::new(10..30);
        let placed = arena.ensure(&vectors(0, 0..8)).expect("fits");
        assert_eq!(placed, [Placed { first: vectors(0, 0..1)[0], length: 8, local: 10 }]);
        assert_eq!(arena.ensure(&vectors(0, 2..6)), Ok(vec![]));
        assert_eq!(arena.ensure(&vectors(0, 6..10)).expect("fits").len(), 1);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut arena = Arena::new(0..10);
        arena.ensure(&vectors(0, 0..4)).expect("fits");
        arena.ensure(&vectors(1, 0..4)).expect("fits");
        arena.ensure(&vectors(2, 0..4)).expect("fits");
        assert_eq!(arena.ensure(&vectors(1, 0..4)), Ok(vec![]), "object 1 stayed");
        assert_eq!(arena.ensure(&vectors(0, 0..4)).expect("fits").len(), 1, "object 0 went");
    }

    #[test]
    fn too_much_at_once_is_refused() {
        assert_eq!(Arena::new(0..10).ensure(&vectors(0, 0..11)), Err(Full { needed: 11 }));
    }
}
