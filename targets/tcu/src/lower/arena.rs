//! The arena: the part of local memory that layers load into, kept as a cache of vectors.
//!
//! What a layer loads or saves stays until its place is needed for something else, so that the next
//! tile, or the next layer, finds it there.

use std::collections::BTreeMap;
use std::ops::Range;

use super::memory::{Home, Plan};
use super::object::{ObjectId, Span, VecRef};

/// Vectors of an object in the arena.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    local: u64,
    /// When it was last asked for.
    stamp: u64,
}

/// Vectors that have been given a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The vectors.
    pub span: Span,
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

    /// The local address of a vector that is there, with the span around it that is there in one
    /// piece.
    pub fn locate(&self, vector: VecRef, plan: &Plan) -> Option<Placed> {
        let object = vector.object;
        if let Home::Local(local) = plan.home(object) {
            return Some(Placed { span: Span { object, start: 0, end: u32::MAX }, local });
        }
        let entries = self.entries.get(&object)?;
        let after = entries.partition_point(|entry| entry.start <= vector.index);
        let entry = entries[..after].last().filter(|entry| vector.index < entry.end)?;
        Some(Placed { span: Span { object, start: entry.start, end: entry.end }, local: entry.local })
    }

    /// Makes room for `spans` (sorted, apart), none of which lives in local memory, and says which
    /// parts have to be loaded, and where to.
    pub fn ensure(&mut self, spans: &[Span]) -> Result<Vec<Placed>, Full> {
        let needed = spans.iter().map(Span::length).sum();
        if needed > self.capacity() {
            return Err(Full { needed });
        }
        self.clock += 1;
        let missing: Vec<Span> = spans.iter().flat_map(|&span| self.touch(span)).collect();
        if let Some(placed) = self.place(&missing) {
            return Ok(placed);
        }
        // What is free is in pieces too small: start over with nothing but what is needed now.
        self.clear();
        self.place(spans).ok_or(Full { needed })
    }

    /// Gives new vectors (sorted spans of one object) a place, without anything to load.
    pub fn reserve(&mut self, spans: &[Span]) -> Result<(), Full> {
        self.clock += 1;
        self.forget(spans);
        if self.place(spans).is_none() {
            self.clear();
            self.place(spans).ok_or_else(|| Full { needed: spans.iter().map(Span::length).sum() })?;
        }
        Ok(())
    }

    /// Marks what is there of a span as needed now; gives the rest.
    fn touch(&mut self, span: Span) -> Vec<Span> {
        let clock = self.clock;
        let mut missing = Vec::new();
        let mut next = span.start;
        let entries = self.entries.get_mut(&span.object).map(Vec::as_mut_slice).unwrap_or_default();
        let first = entries.partition_point(|entry| entry.end <= span.start);
        for entry in entries[first..].iter_mut().take_while(|entry| entry.start < span.end) {
            if next < entry.start {
                missing.push(Span { start: next, end: entry.start, ..span });
            }
            next = entry.end;
            entry.stamp = clock;
        }
        if next < span.end {
            missing.push(Span { start: next, ..span });
        }
        missing
    }

    /// Drops entries that hold any of `spans`, which are of one object.
    fn forget(&mut self, spans: &[Span]) {
        let Some((first, last)) = spans.first().zip(spans.last()) else { return };
        let Some(entries) = self.entries.get_mut(&first.object) else { return };
        let (keep, dropped) =
            entries.iter().partition(|entry| entry.end <= first.start || last.end <= entry.start);
        *entries = keep;
        let dropped: Vec<Entry> = dropped;
        dropped.into_iter().for_each(|entry| self.release(entry));
    }

    fn place(&mut self, spans: &[Span]) -> Option<Vec<Placed>> {
        let mut placed = Vec::new();
        for &span in spans {
            let local = self.allocate(span.length())?;
            let entry = Entry { start: span.start, end: span.end, local, stamp: self.clock };
            let entries = self.entries.entry(span.object).or_default();
            let at = entries.partition_point(|other| other.start < entry.start);
            entries.insert(at, entry);
            placed.push(Placed { span, local });
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
        let freed = entry.local..entry.local + u64::from(entry.end - entry.start);
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

    fn span(object: u32, range: Range<u32>) -> [Span; 1] {
        [Span { object: ObjectId(object), start: range.start, end: range.end }]
    }

    #[test]
    fn what_is_there_is_not_loaded_again() {
        let mut arena = Arena::new(10..30);
        let placed = arena.ensure(&span(0, 0..8)).expect("fits");
        assert_eq!(placed, [Placed { span: span(0, 0..8)[0], local: 10 }]);
        assert_eq!(arena.ensure(&span(0, 2..6)), Ok(vec![]));
        assert_eq!(
            arena.ensure(&span(0, 6..10)).expect("fits"),
            [Placed { span: span(0, 8..10)[0], local: 18 }]
        );
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut arena = Arena::new(0..10);
        arena.ensure(&span(0, 0..4)).expect("fits");
        arena.ensure(&span(1, 0..4)).expect("fits");
        arena.ensure(&span(2, 0..4)).expect("fits");
        assert_eq!(arena.ensure(&span(1, 0..4)), Ok(vec![]), "object 1 stayed");
        assert_eq!(arena.ensure(&span(0, 0..4)).expect("fits").len(), 1, "object 0 went");
    }

    #[test]
    fn too_much_at_once_is_refused() {
        assert_eq!(Arena::new(0..10).ensure(&span(0, 0..11)), Err(Full { needed: 11 }));
    }
}
