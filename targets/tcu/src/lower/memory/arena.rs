//! The arena: the part of local memory into which layers load, managed as a cache of vectors.
//!
//! Vectors that a layer loads or saves stay until their place is needed, so that the next tile or
//! layer finds them. Saved vectors are written to DRAM only if they are evicted before their last
//! reader.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use npukit_lower::Free;

use super::next_use::{Again, NextUse};
use super::object::{ObjectId, Span, VecRef};
use super::spares::Spares;
use super::{Home, Plan};

/// A span of an object's vectors in the arena; the map's key is its object and first vector.
#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u32,
    local: u64,
    /// Time of the last request.
    stamp: u64,
    /// Whether DRAM does not hold the vectors yet.
    dirty: bool,
}

/// Vectors with an assigned address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Vectors of the object.
    pub span: Span,
    /// Local address of the first vector.
    pub local: u64,
}

/// Error: the vectors requested at once exceed the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Number of vectors needed at once.
    pub needed: u64,
}

/// A cache of vectors in local memory.
#[derive(Clone, Debug)]
pub struct Arena {
    range: Range<u64>,
    /// Entries by object and first vector.
    entries: BTreeMap<(ObjectId, u32), Entry>,
    /// Requests in chronological order; only the last request of an entry is current.
    asked: VecDeque<(u64, ObjectId, u32)>,
    free: Free,
    clock: u64,
    /// Eviction order by next use; `None` evicts by age.
    spares: Option<Spares>,
    /// Vectors evicted before DRAM held them.
    evicted: Vec<Placed>,
    /// Number of evictions.
    pub gave_up: usize,
    /// Total number of vectors allocated.
    pub aggregate: u64,
    /// End of the highest address allocated.
    pub highest: u64,
}

impl Arena {
    /// Creates an empty arena over the addresses `range`.
    pub fn new(range: Range<u64>) -> Self {
        let highest = range.start;
        let (entries, asked) = (BTreeMap::new(), VecDeque::new());
        let (free, evicted) = (Free::new(range.clone()), Vec::new());
        Self {
            range,
            entries,
            asked,
            free,
            clock: 0,
            spares: None,
            evicted,
            gave_up: 0,
            aggregate: 0,
            highest,
        }
    }

    /// Returns the arena with eviction by next use: the object needed latest is evicted first.
    pub fn by_next_use(self, next_use: NextUse) -> Self {
        Self { spares: Some(Spares::new(next_use)), ..self }
    }

    /// Sets the layer to which the following requests belong.
    pub fn enter(&mut self, layer: usize) {
        if let Some(spares) = &mut self.spares {
            spares.enter(layer);
        }
    }

    /// Sets which objects the following tiles reuse.
    pub fn come_back_to(&mut self, again: Again) {
        if let Some(spares) = &mut self.spares {
            spares.come_back_to(again);
        }
    }

    /// Returns the number of vectors that the arena can hold.
    pub fn capacity(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Evicts all entries.
    fn clear(&mut self) {
        for ((object, start), entry) in std::mem::take(&mut self.entries) {
            self.evict(object, start, entry);
        }
        self.asked.clear();
        if let Some(spares) = &mut self.spares {
            spares.clear();
        }
        self.free = Free::new(self.range.clone());
    }

    /// Drops objects that no layer needs any more, without writing them to DRAM.
    pub fn retire(&mut self, objects: impl IntoIterator<Item = ObjectId>) {
        for object in objects {
            while let Some((&key, entry)) = self.entries.range_mut((object, 0)..=(object, u32::MAX)).next() {
                entry.dirty = false;
                self.drop_entry(key);
            }
        }
    }

    /// Takes the list of evicted vectors that must be written to DRAM before local memory is
    /// reused.
    pub fn take_evicted(&mut self) -> Vec<Placed> {
        std::mem::take(&mut self.evicted)
    }

    fn evict(&mut self, object: ObjectId, start: u32, entry: Entry) {
        if entry.dirty {
            self.evicted.push(Placed { span: Span { object, start, end: entry.end }, local: entry.local });
        }
    }

    /// Returns the local address of a cached vector, with the contiguous cached span around it;
    /// `None` if it is not cached.
    pub fn locate(&self, vector: VecRef, plan: &Plan) -> Option<Placed> {
        let object = vector.object;
        if let Home::Local(local) = plan.home(object) {
            return Some(Placed { span: Span { object, start: 0, end: u32::MAX }, local });
        }
        let before = self.entries.range((object, 0)..=(object, vector.index));
        let (&(_, start), entry) = before.last().filter(|(_, entry)| vector.index < entry.end)?;
        Some(Placed { span: Span { object, start, end: entry.end }, local: entry.local })
    }

    /// Makes room for `spans`, which are sorted, disjoint and not permanently in local memory.
    /// Returns the parts that must be loaded, with their addresses.
    ///
    /// # Errors
    ///
    /// Fails if the spans together exceed the arena.
    pub fn ensure(&mut self, spans: &[Span]) -> Result<Vec<Placed>, Full> {
        let needed = spans.iter().map(Span::length).sum();
        if needed > self.capacity() {
            return Err(Full { needed });
        }
        self.go_on();
        let missing: Vec<Span> = spans.iter().flat_map(|&span| self.touch(span)).collect();
        self.compact();
        if let Some(placed) = self.place(&missing, false) {
            return Ok(placed);
        }
        // Free memory is too fragmented: evict everything and place only what is needed now.
        self.clear();
        self.place(spans, false).ok_or(Full { needed })
    }

    /// Allocates new vectors, given as sorted spans of one object; nothing is loaded. If `dirty`,
    /// they are written to DRAM when they are evicted.
    ///
    /// # Errors
    ///
    /// Fails if the spans together exceed the arena.
    pub fn reserve(&mut self, spans: &[Span], dirty: bool) -> Result<(), Full> {
        let needed = spans.iter().map(Span::length).sum();
        if needed > self.capacity() {
            return Err(Full { needed });
        }
        self.go_on();
        spans.iter().for_each(|&span| self.forget(span));
        if self.place(spans, dirty).is_none() {
            spans.iter().for_each(|&span| self.unplace(span));
            self.clear();
            self.place(spans, dirty).ok_or(Full { needed })?;
        }
        Ok(())
    }

    /// Ends the current request: its entries may be evicted again.
    fn go_on(&mut self) {
        if let Some(spares) = &mut self.spares {
            spares.go_on_from(self.clock);
        }
        self.clock += 1;
    }

    /// Marks the cached parts of a span as requested now and returns the missing parts.
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
            if let Some(spares) = &mut self.spares {
                spares.ask((object, start), Some(entry.stamp));
            }
            entry.stamp = self.clock;
            self.asked.push_back((self.clock, object, start));
        }
        if next < span.end {
            missing.push(Span { start: next, ..span });
        }
        missing
    }

    /// Returns the start of the first entry that overlaps `span`, or the start of `span` if no
    /// earlier entry does.
    fn first_meeting(&self, span: Span) -> u32 {
        let before = self.entries.range((span.object, 0)..(span.object, span.start)).next_back();
        before.filter(|(_, entry)| span.start < entry.end).map_or(span.start, |(&(_, start), _)| start)
    }

    /// Drops the entries that overlap `span`.
    fn forget(&mut self, span: Span) {
        let range = (span.object, self.first_meeting(span))..(span.object, span.end);
        let dropped: Vec<(ObjectId, u32)> = self.entries.range(range).map(|(&key, _)| key).collect();
        dropped.into_iter().for_each(|key| self.drop_entry(key));
    }

    /// Marks an allocation as clean because nothing was stored in it.
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
            let before = self.entries.insert((span.object, span.start), entry);
            if let Some(spares) = &mut self.spares {
                spares.ask((span.object, span.start), before.map(|before| before.stamp));
            }
            self.asked.push_back((self.clock, span.object, span.start));
            placed.push(Placed { span, local });
        }
        Some(placed)
    }

    /// Returns the lowest free range that is long enough, evicting entries until there is one;
    /// `None` if all remaining entries are requested now.
    fn allocate(&mut self, length: u64) -> Option<u64> {
        loop {
            if let Some(local) = self.free.take(length) {
                self.aggregate += length;
                self.highest = self.highest.max(local + length);
                return Some(local);
            }
            self.gave_up += 1;
            match &self.spares {
                Some(spares) => {
                    let least = spares.least_needed()?;
                    self.drop_entry(least);
                }
                None => self.evict_oldest()?,
            }
        }
    }

    /// Evicts all entries of the oldest request; `None` if that is the current request.
    fn evict_oldest(&mut self) -> Option<()> {
        let &(oldest, ..) = self.asked.front().filter(|&&(stamp, ..)| stamp < self.clock)?;
        while let Some((_, object, start)) = self.asked.pop_front_if(|&mut (stamp, ..)| stamp == oldest) {
            if self.is_current(oldest, object, start) {
                self.drop_entry((object, start));
            }
        }
        Some(())
    }

    /// Removes outdated requests when they outnumber the entries.
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
        if let Some(spares) = &mut self.spares {
            spares.lose(key, entry.stamp);
        }
        self.evict(key.0, key.1, entry);
        self.free.give(entry.local..entry.local + u64::from(entry.end - key.1));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::config::Config;
    use crate::lower::layers::hir::Model;
    use crate::lower::memory::Strategy;
    use crate::lower::memory::next_use::tests::next_use;
    use crate::lower::memory::object::{ObjectKind, Objects};

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
        assert_eq!(arena.ensure(&span(0, 0..4)).expect("fits").len(), 1, "object 0 was evicted");
    }

    #[test]
    fn what_no_layer_needs_makes_room_before_the_oldest() {
        let mut arena = Arena::new(0..10).by_next_use(next_use(&[&[1, 2], &[1], &[0, 1]]));
        arena.enter(1);
        arena.reserve(&span(0, 0..3), true).expect("fits");
        arena.ensure(&span(1, 0..3)).expect("fits");
        arena.ensure(&span(2, 0..4)).expect("fits");
        assert_eq!(arena.gave_up, 0);
        arena.ensure(&span(1, 3..6)).expect("fits");
        assert_eq!(arena.take_evicted(), [], "object 2, the youngest, was dropped");
        assert_eq!((find(&arena, 0, 0), find(&arena, 1, 0), find(&arena, 2, 0)), (Some(0), Some(3), None));
        assert!(arena.gave_up > 0);
    }

    #[test]
    fn what_was_saved_is_written_when_it_goes() {
        let mut arena = Arena::new(0..10);
        arena.reserve(&span(0, 0..4), true).expect("fits");
        arena.reserve(&span(1, 0..4), true).expect("fits");
        arena.retire([ObjectId(1)]);
        arena.ensure(&span(2, 0..5)).expect("fits");
        assert_eq!(arena.take_evicted(), [], "object 1 was dropped, as no layer needs it");
        arena.ensure(&span(3, 0..5)).expect("fits");
        assert_eq!(arena.take_evicted(), [Placed { span: span(0, 0..4)[0], local: 0 }]);
    }

    #[test]
    fn too_much_at_once_is_refused() {
        assert_eq!(Arena::new(0..10).ensure(&span(0, 0..11)), Err(Full { needed: 11 }));
    }

    /// Loads a span and returns the placed ranges as `start..end`, without the object.
    fn placed(arena: &mut Arena, object: u32, range: Range<u32>) -> Vec<(Range<u32>, u64)> {
        let placed = arena.ensure(&span(object, range)).expect("fits");
        placed.into_iter().map(|Placed { span, local }| (span.start..span.end, local)).collect()
    }

    #[test]
    fn only_the_gaps_of_a_span_are_loaded() {
        let mut arena = Arena::new(0..20);
        assert_eq!(placed(&mut arena, 0, 2..3), [(2..3, 0)]);
        assert_eq!(placed(&mut arena, 0, 5..6), [(5..6, 1)]);
        assert_eq!(placed(&mut arena, 0, 1..8), [(1..2, 2), (3..5, 3), (6..8, 5)]);
        assert_eq!(placed(&mut arena, 0, 10..12), [(10..12, 7)], "the vectors before it are not part of it");
        assert_eq!(placed(&mut arena, 0, 9..10), [(9..10, 9)], "nor are the vectors after it");
        assert_eq!((arena.aggregate, arena.highest), (10, 10));
    }

    #[test]
    fn all_of_it_can_be_filled_at_once() {
        let mut arena = Arena::new(3..10);
        assert_eq!(placed(&mut arena, 0, 0..7), [(0..7, 3)]);
        assert_eq!(arena.reserve(&span(1, 0..7), false), Ok(()));
        assert_eq!(arena.reserve(&span(2, 0..8), false), Err(Full { needed: 8 }));
        assert_eq!((arena.aggregate, arena.highest), (14, 10));
    }

    #[test]
    fn the_oldest_makes_room_for_new_vectors() {
        let mut arena = Arena::new(0..10);
        for object in 0..3 {
            arena.reserve(&span(object, 0..4), true).expect("fits");
        }
        assert_eq!(arena.take_evicted(), [Placed { span: span(0, 0..4)[0], local: 0 }], "object 1 stayed");
    }

    #[test]
    fn nothing_is_written_from_a_place_that_was_taken_back() {
        let mut arena = Arena::new(0..10);
        arena.ensure(&span(0, 0..2)).expect("fits");
        arena.ensure(&span(1, 0..3)).expect("fits");
        // Four vectors are placed after the five present ones. The remaining gaps are shorter than
        // six vectors.
        arena.reserve(&[span(2, 0..4), span(2, 5..11)].concat(), true).expect("fits");
        assert_eq!(arena.take_evicted(), []);
        assert_eq!((find(&arena, 2, 0), find(&arena, 2, 5)), (Some(0), Some(4)));
    }

    #[test]
    fn new_vectors_leave_those_beside_them_where_they_are() {
        let mut arena = Arena::new(0..10);
        arena.reserve(&span(0, 0..4), true).expect("fits");
        arena.reserve(&span(0, 4..8), true).expect("fits");
        assert_eq!(arena.take_evicted(), []);
        arena.reserve(&span(0, 3..5), true).expect("fits");
        assert_eq!(arena.take_evicted().len(), 2, "now both are overwritten");
    }

    #[test]
    fn a_vector_is_found_where_it_is_and_nowhere_else() {
        let config = Config::preset("speech_robot").expect("a preset");
        let mut objects = Objects::new(config.data_type.format(), config.array_size);
        let object = objects.add("object".to_owned(), ObjectKind::Variable, 20);
        let (layers, inputs, outputs, host_steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let model = Model { objects, layers, inputs, outputs, host_steps };
        let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
        let mut arena = Arena::new(10..30);
        arena.ensure(&[span(0, 2..5), span(0, 7..9)].concat()).expect("fits");
        let at = |index| arena.locate(VecRef { object, index }, &plan);
        let [first, second] =
            [(2..5, 10), (7..9, 13)].map(|(range, local)| Placed { span: span(0, range)[0], local });
        assert_eq!([1, 2, 4, 5].map(at), [None, Some(first), Some(first), None]);
        assert_eq!([6, 7, 8, 9].map(at), [None, Some(second), Some(second), None]);
    }

    /// Repeated requests are dropped from the list when they outnumber the entries.
    #[test]
    fn the_list_of_mentions_stays_short() {
        for (objects, longest) in [(2, 64 + 2 * 2), (7, 64 + 2 * 7 - 1)] {
            let mut arena = Arena::new(0..10);
            let spans: Vec<Span> = (0..objects).flat_map(|object| span(object, 0..1)).collect();
            let lengths = (0..200).map(|_| {
                arena.ensure(&spans).expect("fits");
                arena.asked.len()
            });
            assert_eq!(lengths.max(), Some(longest), "{objects} objects");
        }
    }

    /// Simulated local memory and DRAM: the version of each vector that they hold.
    #[derive(Default)]
    struct Memories {
        local: HashMap<u64, (u32, u32, u32)>,
        dram: HashMap<(u32, u32), u32>,
        newest: HashMap<(u32, u32), u32>,
    }

    impl Memories {
        fn each(span: Span) -> impl Iterator<Item = (u32, u32)> {
            (span.start..span.end).map(move |index| (span.object.0, index))
        }

        fn write_evicted(&mut self, arena: &mut Arena) {
            for Placed { span, local } in arena.take_evicted() {
                for ((object, index), at) in Self::each(span).zip(local..) {
                    let (of, place, version) = self.local[&at];
                    assert_eq!((of, place), (object, index), "the vectors written out are in local memory");
                    self.dram.insert((object, index), version);
                }
            }
        }

        fn load(&mut self, placed: &[Placed]) {
            for &Placed { span, local } in placed {
                for ((object, index), at) in Self::each(span).zip(local..) {
                    let version = self.dram.get(&(object, index)).copied().unwrap_or(0);
                    self.local.insert(at, (object, index, version));
                }
            }
        }
    }

    /// Returns the address of a vector, found by a scan of the entries.
    fn find(arena: &Arena, object: u32, index: u32) -> Option<u64> {
        let mut holding = arena
            .entries
            .iter()
            .filter(|(key, entry)| key.0.0 == object && (key.1..entry.end).contains(&index));
        let found = holding.next().map(|(key, entry)| entry.local + u64::from(index - key.1));
        assert!(holding.next().is_none(), "a vector is in one place");
        found
    }

    /// Returns the entry to evict, found by a scan of the entries.
    fn least_needed(arena: &Arena, next_use: &NextUse) -> Option<(ObjectId, u32)> {
        let spare = arena.entries.iter().filter(|(_, entry)| entry.stamp < arena.clock);
        spare.max_by_key(|((object, _), entry)| next_use.spare(*object, entry.stamp)).map(|(&key, _)| key)
    }

    /// Checks that no two entries share an address, and that addresses without an entry are free.
    fn check_ranges(arena: &Arena) {
        let entry = |((_, start), entry): (&(ObjectId, u32), &Entry)| {
            entry.local..entry.local + u64::from(entry.end - start)
        };
        let mut taken: Vec<Range<u64>> = arena.entries.iter().map(entry).collect();
        taken.push(arena.range.end..arena.range.end);
        taken.sort_by_key(|range| range.start);
        let mut free = Free::new(0..0);
        let end = taken.iter().fold(arena.range.start, |end, range| {
            assert!(end <= range.start, "{arena:?}");
            free.give(end..range.start);
            range.end
        });
        assert_eq!((end, &free), (arena.range.end, &arena.free), "{arena:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Objects that layers need from time to time. Layers advance and, for another attempt, go
        /// back.
        #[test]
        fn what_goes_is_what_matters_least(
            uses in prop::collection::vec(prop::collection::btree_set(0..9_usize, 0..4), 1..7),
            steps in prop::collection::vec((0..8_u32, 0..6_u32, 1..4_u32, 0..9_usize, prop::bool::ANY), 1..80),
        ) {
            let uses: Vec<Vec<usize>> = uses.into_iter().map(|layers| layers.into_iter().collect()).collect();
            let mut seen = next_use(&uses.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut arena = Arena::new(0..9).by_next_use(seen.clone());
            for (object, start, length, layer, flag) in steps {
                match layer {
                    0 => arena.retire([ObjectId(object)]),
                    1..4 => {
                        seen.layer = if flag { seen.layer + layer } else { layer };
                        arena.enter(seen.layer);
                    }
                    4 => {
                        seen.again = if flag { Again::Constants } else { Again::Variables };
                        arena.come_back_to(seen.again);
                    }
                    5 => arena.reserve(&span(object, start..start + length), flag).expect("fits"),
                    _ => _ = arena.ensure(&span(object, start..start + length)).expect("fits"),
                }
                let spares = arena.spares.as_ref().expect("by next use");
                prop_assert_eq!(spares.least_needed(), least_needed(&arena, &seen));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Simulates local memory and DRAM: every requested vector is present in its newest
        /// version.
        #[test]
        fn what_is_needed_is_there(
            steps in prop::collection::vec((0..8_u32, 0..3_u32, 0..12_u32, 1..7_u32, 0..4_u32), 1..60),
            by_next_use in prop::bool::ANY,
        ) {
            let mut arena = Arena::new(5..18);
            if by_next_use {
                arena = arena.by_next_use(next_use(&[&[1, 9], &[0, 3], &[2]]));
                arena.come_back_to(Again::Variables);
            }
            let mut memories = Memories::default();
            let mut retired = Vec::new();
            for (what, object, start, length, gap) in steps {
                if retired.contains(&object) {
                    continue;
                }
                let [first] = span(object, start..start + length);
                let second = Span { start: first.end + 1 + gap, end: first.end + 2 + 2 * gap, ..first };
                let spans = [first, second];
                let needed: u64 = spans.iter().map(Span::length).sum();
                match what {
                    0..5 => {
                        let missing = arena.ensure(&spans);
                        memories.write_evicted(&mut arena);
                        prop_assert_eq!(missing.is_err(), needed > 13);
                        memories.load(&missing.unwrap_or_default());
                    }
                    5..7 => {
                        let reserved = arena.reserve(&spans, true);
                        memories.write_evicted(&mut arena);
                        prop_assert_eq!(reserved.is_err(), needed > 13);
                        if reserved.is_ok() {
                            for (object, index) in spans.into_iter().flat_map(Memories::each) {
                                let version = memories.newest.entry((object, index)).or_default();
                                *version += 1;
                                let at = find(&arena, object, index);
                                prop_assert!(at.is_some());
                                memories.local.insert(at.unwrap_or(0), (object, index, *version));
                            }
                        }
                    }
                    _ => {
                        arena.retire([ObjectId(object)]);
                        prop_assert!(arena.entries.keys().all(|key| key.0 != ObjectId(object)));
                        prop_assert_eq!(arena.take_evicted(), []);
                        retired.push(object);
                    }
                }
                check_ranges(&arena);
                if what < 7 && needed <= 13 {
                    for (object, index) in spans.into_iter().flat_map(Memories::each) {
                        let version = memories.newest.get(&(object, index)).copied().unwrap_or(0);
                        let at = find(&arena, object, index).expect("there");
                        prop_assert_eq!(memories.local.get(&at), Some(&(object, index, version)));
                    }
                }
            }
        }
    }
}
