//! The arena: the part of local memory that layers load into, kept as a cache of vectors.
//!
//! What a layer loads or saves stays until its place is needed for something else, so that the next
//! tile, or the next layer, finds it there. What was saved goes to DRAM only when it loses its place before
//! its last reader.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::memory::{Home, Plan};
use super::object::{ObjectId, Span, VecRef};

/// Vectors of an object in the arena.
#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u32,
    local: u64,
    /// When it was last asked for.
    stamp: u64,
    /// DRAM does not hold it yet.
    dirty: bool,
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
    /// By object and first vector.
    entries: BTreeMap<(ObjectId, u32), Entry>,
    /// Entries in the order in which they were asked for; the last mention of an entry counts.
    asked: VecDeque<(u64, ObjectId, u32)>,
    /// Free ranges, sorted, never adjacent.
    free: Vec<Range<u64>>,
    clock: u64,
    /// What lost its place before DRAM held it.
    evicted: Vec<Placed>,
    /// Sum of all places given.
    pub aggregate: u64,
    /// End of the highest place given.
    pub highest: u64,
}

impl Arena {
    /// An empty arena over the addresses `range`.
    pub fn new(range: Range<u64>) -> Self {
        let highest = range.start;
        let (entries, asked) = (BTreeMap::new(), VecDeque::new());
        let (free, evicted) = (Vec::new(), Vec::new());
        let mut arena = Self { range, entries, asked, free, clock: 0, evicted, aggregate: 0, highest };
        arena.clear();
        arena
    }

    /// Vectors it can hold.
    pub fn capacity(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Gives up everything.
    fn clear(&mut self) {
        for ((object, start), entry) in std::mem::take(&mut self.entries) {
            self.evict(object, start, entry);
        }
        self.asked.clear();
        self.free = if self.range.is_empty() { Vec::new() } else { vec![self.range.clone()] };
    }

    /// Gives up objects that no layer needs any more.
    pub fn retire(&mut self, objects: &[ObjectId]) {
        for &object in objects {
            while let Some((&key, entry)) = self.entries.range_mut((object, 0)..=(object, u32::MAX)).next() {
                entry.dirty = false;
                self.drop_entry(key);
            }
        }
    }

    /// What has to be written to DRAM before anything else is put into local memory.
    pub fn take_evicted(&mut self) -> Vec<Placed> {
        std::mem::take(&mut self.evicted)
    }

    fn evict(&mut self, object: ObjectId, start: u32, entry: Entry) {
        if entry.dirty {
            self.evicted.push(Placed { span: Span { object, start, end: entry.end }, local: entry.local });
        }
    }

    /// The local address of a vector that is there, with the span around it that is there in one
    /// piece.
    pub fn locate(&self, vector: VecRef, plan: &Plan) -> Option<Placed> {
        let object = vector.object;
        if let Home::Local(local) = plan.home(object) {
            return Some(Placed { span: Span { object, start: 0, end: u32::MAX }, local });
        }
        let before = self.entries.range((object, 0)..=(object, vector.index));
        let (&(_, start), entry) = before.last().filter(|(_, entry)| vector.index < entry.end)?;
        Some(Placed { span: Span { object, start, end: entry.end }, local: entry.local })
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
        self.compact();
        if let Some(placed) = self.place(&missing, false) {
            return Ok(placed);
        }
        // What is free is in pieces too small: start over with nothing but what is needed now.
        self.clear();
        self.place(spans, false).ok_or(Full { needed })
    }

    /// Gives new vectors (sorted spans of one object) a place, without anything to load. With `dirty`
    /// they are written to DRAM when they lose it.
    pub fn reserve(&mut self, spans: &[Span], dirty: bool) -> Result<(), Full> {
        let needed = spans.iter().map(Span::length).sum();
        if needed > self.capacity() {
            return Err(Full { needed });
        }
        self.clock += 1;
        spans.iter().for_each(|&span| self.forget(span));
        if self.place(spans, dirty).is_none() {
            spans.iter().for_each(|&span| self.unplace(span));
            self.clear();
            self.place(spans, dirty).ok_or(Full { needed })?;
        }
        Ok(())
    }

    /// Marks what is there of a span as needed now; gives the rest.
    fn touch(&mut self, span: Span) -> Vec<Span> {
        let mut missing = Vec::new();
        let mut next = span.start;
        let first = self.first_meeting(span);
        for (&(object, start), entry) in self.entries.range_mut((span.object, first)..(span.object, span.end))
        {
            if next < start {
                missing.push(Span { start: next, end: start, ..span });
            }
            next = entry.end;
            entry.stamp = self.clock;
            self.asked.push_back((self.clock, object, start));
        }
        if next < span.end {
            missing.push(Span { start: next, ..span });
        }
        missing
    }

    /// Where the first entry that reaches into `span`, or behind its start, begins.
    fn first_meeting(&self, span: Span) -> u32 {
        let before = self.entries.range((span.object, 0)..(span.object, span.start)).next_back();
        before.filter(|(_, entry)| span.start < entry.end).map_or(span.start, |(&(_, start), _)| start)
    }

    /// Gives up entries that hold any of `span`.
    fn forget(&mut self, span: Span) {
        let range = (span.object, self.first_meeting(span))..(span.object, span.end);
        let dropped: Vec<(ObjectId, u32)> = self.entries.range(range).map(|(&key, _)| key).collect();
        dropped.into_iter().for_each(|key| self.drop_entry(key));
    }

    /// Takes back a place that nothing was put into.
    fn unplace(&mut self, span: Span) {
        if let Some(entry) = self.entries.get_mut(&(span.object, span.start)) {
            entry.dirty = false;
        }
    }

    fn place(&mut self, spans: &[Span], dirty: bool) -> Option<Vec<Placed>> {
        let mut placed = Vec::new();
        for &span in spans {
            let local = self.allocate(span.length())?;
            let entry = Entry { end: span.end, local, stamp: self.clock, dirty };
            self.entries.insert((span.object, span.start), entry);
            self.asked.push_back((self.clock, span.object, span.start));
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

    /// Gives up all that was last asked for longest ago; `None` when that is now.
    fn evict_oldest(&mut self) -> Option<()> {
        self.skip_outdated();
        let &(oldest, ..) = self.asked.front().filter(|&&(stamp, ..)| stamp < self.clock)?;
        while let Some((_, object, start)) = self.asked.pop_front_if(|&mut (stamp, ..)| stamp == oldest) {
            if self.is_current(oldest, object, start) {
                self.drop_entry((object, start));
            }
        }
        Some(())
    }

    /// Drops mentions of entries that are gone or were asked for later again.
    fn skip_outdated(&mut self) {
        while self.asked.front().is_some_and(|&(stamp, object, start)| !self.is_current(stamp, object, start))
        {
            self.asked.pop_front();
        }
    }

    /// Keeps the list of mentions about as long as that of entries.
    fn compact(&mut self) {
        if self.asked.len() > 64 + 2 * self.entries.len() {
            let mut asked = std::mem::take(&mut self.asked);
            asked.retain(|&(stamp, object, start)| self.is_current(stamp, object, start));
            self.asked = asked;
        }
    }

    fn is_current(&self, stamp: u64, object: ObjectId, start: u32) -> bool {
        self.entries.get(&(object, start)).is_some_and(|entry| entry.stamp == stamp)
    }

    fn drop_entry(&mut self, key: (ObjectId, u32)) {
        let Some(entry) = self.entries.remove(&key) else { return };
        self.evict(key.0, key.1, entry);
        let freed = entry.local..entry.local + u64::from(entry.end - key.1);
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
    fn what_was_saved_is_written_when_it_goes() {
        let mut arena = Arena::new(0..10);
        arena.reserve(&span(0, 0..4), true).expect("fits");
        arena.reserve(&span(1, 0..4), true).expect("fits");
        arena.retire(&[ObjectId(1)]);
        arena.ensure(&span(2, 0..5)).expect("fits");
        assert_eq!(arena.take_evicted(), [], "object 1 made room, and nobody needs it");
        arena.ensure(&span(3, 0..5)).expect("fits");
        assert_eq!(arena.take_evicted(), [Placed { span: span(0, 0..4)[0], local: 0 }]);
    }

    #[test]
    fn too_much_at_once_is_refused() {
        assert_eq!(Arena::new(0..10).ensure(&span(0, 0..11)), Err(Full { needed: 11 }));
    }
}
