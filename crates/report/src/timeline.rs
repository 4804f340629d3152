//! [`Timeline`]: activity of each unit, of bounded size. [`Gathering`] collects it from a recorder.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use npukit_trace::{About, Interval, Role, Shown, Sink, Track, Value};
use serde::Serialize;

use crate::causes::{LayerCauses, Worked, causes};

/// Maximum number of slices of a track. Beyond it, short slices that are close to each other are
/// merged.
const MOST: usize = 4000;

/// Activity of each unit over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Cycles of the whole program.
    pub cycles: u64,
    /// Slices that begin and end within one window of this many cycles may be merged.
    pub merged: u64,
    /// Names of slices.
    pub names: Vec<String>,
    /// Names of the layers of the program.
    pub layers: Vec<String>,
    /// Units and their waits, in the order of the machine.
    pub tracks: Vec<Lane>,
    /// Counters over time.
    pub counters: Vec<Counter>,
    /// Cycles of each layer by cause, followed by those outside all layers, if any.
    pub causes: Vec<LayerCauses>,
}

/// Activity or waits of a unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Lane {
    /// Name of the track.
    pub name: String,
    /// Index of the unit, if the lane has its waits.
    pub parent: Option<usize>,
    /// Slices in order.
    #[serde(serialize_with = "flat")]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<i64>"))]
    pub slices: Vec<Slice>,
    /// Length of the windows within which slices are merged, in cycles.
    #[serde(skip)]
    pub(crate) merged: u64,
}

/// Work of a unit. In [`Lane::slices`], it is six numbers in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// First cycle.
    pub start: u64,
    /// Number of cycles.
    pub cycles: u64,
    /// Index of the name; of merged slices, the name of the longest.
    pub name: usize,
    /// Index of the layer.
    pub layer: Option<usize>,
    /// Number of merged slices.
    pub count: u64,
    /// Cycles of work.
    pub busy: u64,
    /// Cycles of the longest merged slice.
    pub(crate) longest: u64,
}

/// Number that changes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Counter {
    /// Name of the counter.
    pub name: String,
    /// Index of the unit that it belongs to.
    pub parent: Option<usize>,
    /// Unit of its values.
    pub unit: String,
    /// Alternating cycles and values; each value starts at its cycle.
    #[serde(serialize_with = "pairs")]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<f64>"))]
    pub points: Vec<(u64, f64)>,
}

fn flat<S: serde::Serializer>(slices: &[Slice], serializer: S) -> Result<S::Ok, S::Error> {
    let numbers = |slice: &Slice| {
        let Slice { start, cycles, name, layer, count, busy, .. } = *slice;
        let layer = layer.map_or(-1, |layer| layer as i64);
        [start as i64, cycles as i64, name as i64, layer, count as i64, busy as i64]
    };
    serializer.collect_seq(slices.iter().flat_map(numbers))
}

fn pairs<S: serde::Serializer>(points: &[(u64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(points.iter().flat_map(|&(cycle, value)| [cycle as f64, value]))
}

impl Lane {
    /// Adds a slice. If there are too many, slices are merged.
    fn push(&mut self, slice: Slice) {
        match self.slices.last_mut().filter(|last| last.joins(&slice, self.merged)) {
            Some(last) => last.join(&slice),
            None => self.slices.push(slice),
        }
        while self.slices.len() > MOST {
            self.merged = (self.merged * 2).max(2);
            self.slices.dedup_by(|next, last| {
                last.joins(next, self.merged) && {
                    last.join(next);
                    true
                }
            });
        }
    }
}

impl Slice {
    /// Whether it and the next slice begin and end within the same window of `merged` cycles.
    const fn joins(&self, next: &Self, merged: u64) -> bool {
        merged > 0 && self.start / merged == (next.start + next.cycles).saturating_sub(1) / merged
    }

    fn join(&mut self, next: &Self) {
        if next.longest > self.longest {
            (self.name, self.layer, self.longest) = (next.name, next.layer, next.longest);
        }
        self.cycles = next.start + next.cycles - self.start;
        self.count += next.count;
        self.busy += next.busy;
    }
}

/// Sink of a recorder that collects a timeline.
#[derive(Clone, Default)]
pub struct Gathering(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    timeline: Timeline,
    names: HashMap<String, usize>,
    layers: HashMap<String, usize>,
    /// Position of each track.
    places: Vec<Place>,
    /// Track of the layers.
    stays: Option<Track>,
    /// Work of all units, and the layers over time.
    worked: Vec<Worked>,
}

/// Destination of a track's events.
#[derive(Clone, Copy)]
enum Place {
    Lane(usize),
    Counter(usize),
}

impl Gathering {
    /// Returns the timeline of a program of `cycles` cycles.
    pub fn timeline(self, cycles: u64) -> Timeline {
        // Default: a panic while a track was added leaves the other tracks intact.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut timeline = std::mem::take(&mut state.timeline);
        let worked = std::mem::take(&mut state.worked);
        // Every trace has a name for work outside all layers; here only if such work exists.
        let slices = timeline.tracks.iter().flat_map(|lane| &lane.slices);
        let used = slices.filter_map(|slice| slice.layer).max().map_or(0, |last| last + 1);
        timeline.layers.truncate(used);
        let merged = timeline.tracks.iter().map(|lane| lane.merged).max();
        let causes = causes(&timeline.layers, cycles, worked);
        Timeline { cycles, causes, merged: merged.map_or(1, |merged| merged.max(1)), ..timeline }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        // Default: as in `timeline`.
        Ok(change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl State {
    fn name(&mut self, name: &str) -> usize {
        if let Some(place) = self.names.get(name) {
            return *place;
        }
        let place = self.timeline.names.len();
        self.timeline.names.push(name.to_owned());
        self.names.insert(name.to_owned(), place);
        place
    }

    fn place(&self, track: Track) -> Option<Place> {
        self.places.get(track.0.checked_sub(1)?).copied()
    }

    fn lane_of(&self, track: Option<Track>) -> Option<usize> {
        match self.place(track?)? {
            Place::Lane(place) => Some(place),
            Place::Counter(_) => None,
        }
    }

    fn slice(&self, interval: &Interval<'_>, name: usize) -> Slice {
        let Interval { start, end, details, .. } = *interval;
        let detail = |wanted: &str| details.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
        let named = |name: &str| self.layers.get(name).copied();
        let layer = match detail("layer") {
            Some(Value::Text(layer)) => named(layer),
            // Slices on the track of layers are named after the layers.
            _ => named(interval.name),
        };
        let cycles = end.saturating_sub(start);
        let busy = match (detail("busy"), detail("waited")) {
            (Some(Value::Number(busy)), _) | (_, Some(Value::Number(busy))) => busy,
            _ => cycles,
        };
        Slice { start, cycles, name, layer, count: 1, busy, longest: cycles }
    }
}

impl Sink for Gathering {
    fn begin(&mut self, about: &About) -> io::Result<()> {
        self.with(|state| {
            state.timeline.layers.clone_from(&about.layers);
            state.layers = about.layers.iter().cloned().zip(0..).collect();
        })
    }

    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()> {
        self.with(|state| {
            let (name, parent) = (shown.name.to_owned(), state.lane_of(shown.parent));
            if shown.role == Role::Layers {
                state.stays = Some(track);
            }
            let Timeline { tracks, counters, .. } = &mut state.timeline;
            state.places.push(match shown.unit {
                Some(unit) => {
                    counters.push(Counter { name, parent, unit: unit.to_owned(), points: Vec::new() });
                    Place::Counter(counters.len() - 1)
                }
                None => {
                    tracks.push(Lane { name, parent, ..Lane::default() });
                    Place::Lane(tracks.len() - 1)
                }
            });
        })
    }

    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()> {
        self.with(|state| {
            let name = state.name(interval.name);
            let slice = state.slice(interval, name);
            if interval.work.is_some() || state.stays == Some(track) {
                let Slice { start, cycles, busy, layer, .. } = slice;
                state.worked.push(Worked { kind: interval.work, start, end: start + cycles, busy, layer });
            }
            if let Some(Place::Lane(place)) = state.place(track) {
                state.timeline.tracks[place].push(slice);
            }
        })
    }

    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()> {
        self.with(|state| {
            if let Some(Place::Counter(place)) = state.place(track) {
                state.timeline.counters[place].points.push((at, value));
            }
        })
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use npukit_trace::{Measures, Recorder, Slice as Work, Wait};

    use super::*;

    fn recorded(slices: u64) -> Timeline {
        let gathering = Gathering::default();
        let layers = ["a", "b"].map(str::to_owned).into();
        let about = About { program: "p".to_owned(), cycles: slices * 10, layers, ..About::default() };
        let mut recorder = Recorder::new(gathering.clone(), about, None);
        let unit = recorder.unit("unit", Measures { utilization: true, bytes: false });
        for index in 0..slices {
            let (start, layer) = (index * 10, Some((index * 2 / slices) as usize));
            recorder.layer((index * 2 / slices) as usize, start, 10);
            let name = if index % 2 == 0 { "even" } else { "odd" };
            recorder.slice(unit, &Work { name, start, cycles: 8, busy: 4, layer, ..Work::default() });
            recorder.wait(
                unit,
                &Wait { on: "room", start: start + 8, cycles: 2, waited: 2, layer, ..Wait::default() },
            );
        }
        recorder.finish(slices * 10).expect("memory takes all");
        gathering.timeline(slices * 10)
    }

    #[test]
    fn few_slices_are_as_they_are() {
        let timeline = recorded(4);
        let names: Vec<_> = timeline.tracks.iter().map(|lane| (lane.name.as_str(), lane.parent)).collect();
        assert_eq!(names, [("layers", None), ("unit", None), ("waits for", Some(1)), ("program", None)]);
        let unit = &timeline.tracks[1];
        let found: Vec<_> =
            unit.slices.iter().map(|s| (s.start, s.cycles, s.layer, s.count, s.busy)).collect();
        assert_eq!(
            found,
            [(0, 8, Some(0), 1, 4), (10, 8, Some(0), 1, 4), (20, 8, Some(1), 1, 4), (30, 8, Some(1), 1, 4)]
        );
        assert_eq!(timeline.tracks[0].slices.iter().map(|s| s.layer).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!((timeline.merged, timeline.counters.len()), (1, 1));
        let json = serde_json::to_value(&timeline).expect("numbers and texts");
        assert_eq!(json["tracks"][1]["slices"].as_array().map(Vec::len), Some(24));
    }

    #[test]
    fn many_slices_become_fewer_and_none_of_the_work_is_lost() {
        let timeline = recorded(50_000);
        let unit = &timeline.tracks[1];
        assert!(unit.slices.len() <= MOST && unit.slices.len() > MOST / 4, "{}", unit.slices.len());
        assert_eq!(unit.slices.iter().map(|slice| slice.busy).sum::<u64>(), 200_000);
        assert_eq!(unit.slices.iter().map(|slice| slice.count).sum::<u64>(), 50_000);
        assert!(unit.slices.is_sorted_by_key(|slice| slice.start));
        assert!(unit.slices.windows(2).all(|pair| pair[0].start + pair[0].cycles <= pair[1].start));
        assert!(timeline.merged > 1);
    }
}
