//! [`Recorder`]: takes events of a machine, and passes them to a [`Sink`] as tracks.

mod counter;

use std::io;

use crate::model::{About, Flow, Interval, Role, Shown, Sink, Track, Value, Work};
use counter::{Counter, Sums};

/// Minimum number of counter windows per program; the maximum is twice that.
const WINDOWS: u64 = 512;
/// Cycles of the smallest window.
const SMALLEST: u64 = 16;

/// Counters of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Whether to show the share of cycles in which it works.
    pub utilization: bool,
    /// Whether to show the bytes that it moves per cycle.
    pub bytes: bool,
}

/// Work of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice<'a> {
    /// Label of the work.
    pub name: &'a str,
    /// First cycle.
    pub start: u64,
    /// Number of cycles.
    pub cycles: u64,
    /// Cycles of actual work: rows, accesses, beats and the like.
    pub busy: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Index of its layer in [`About::layers`].
    pub layer: Option<usize>,
    /// Index of the instruction in the program.
    pub instruction: Option<usize>,
    /// Further details.
    pub details: &'a [(&'a str, Value<'a>)],
    /// Arrows to and from other slices.
    pub flows: &'a [Flow],
    /// Kind of work; `None` for units that control others.
    pub work: Option<Work>,
}

/// Wait of a unit that has work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait<'a> {
    /// Cause of the wait.
    pub on: &'a str,
    /// First cycle.
    pub start: u64,
    /// Number of cycles.
    pub cycles: u64,
    /// Number of cycles in which it actually waits, at most `cycles`.
    pub waited: u64,
    /// Index of its layer in [`About::layers`].
    pub layer: Option<usize>,
    /// Index of the instruction in the program.
    pub instruction: Option<usize>,
}

/// Size of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of tracks, including counters.
    pub tracks: usize,
    /// Number of slices of work and layers.
    pub slices: u64,
    /// Number of slices of waits.
    pub waits: u64,
    /// Number of counter values.
    pub values: u64,
    /// Number of arrows from a load to its first use.
    pub flows: u64,
}

/// Recorder of a trace.
///
/// Its methods do not fail: the first write error ends the trace, and [`Self::finish`] returns it.
pub struct Recorder<'a> {
    sink: Box<dyn Sink + 'a>,
    about: About,
    /// Whether each layer is selected; `None` if all are.
    chosen: Option<Vec<bool>>,
    /// Cycles of a counter window.
    window: u64,
    /// State of each track.
    lanes: Vec<Lane>,
    layers: Option<Track>,
    stay: Option<Stay>,
    counts: Counts,
    /// One past the last recorded cycle.
    end: u64,
    written: io::Result<()>,
}

/// State of a track.
#[derive(Default)]
struct Lane {
    /// One past its last cycle.
    end: u64,
    /// Track of its waits, once it exists.
    waits: Option<Track>,
    counters: Vec<Counter>,
}

/// Current layer.
#[derive(Clone, Copy)]
struct Stay {
    layer: usize,
    start: u64,
    end: u64,
}

impl<'a> Recorder<'a> {
    /// Begins a trace. With `chosen`, only events of the selected layers are recorded.
    pub fn new(sink: impl Sink + 'a, about: About, chosen: Option<Vec<bool>>) -> Self {
        let window = (about.cycles / WINDOWS).max(SMALLEST).next_power_of_two();
        let (lanes, counts) = (Vec::new(), Counts::default());
        let mut recorder = Self {
            sink: Box::new(sink),
            about,
            chosen,
            window,
            lanes,
            layers: None,
            stay: None,
            counts,
            end: 0,
            written: Ok(()),
        };
        recorder.written = recorder.sink.begin(&recorder.about);
        if !recorder.about.layers.is_empty() {
            recorder.layers =
                Some(recorder.track(&Shown { name: "layers", role: Role::Layers, parent: None, unit: None }));
        }
        recorder
    }

    /// Adds the track of a unit, below the previous ones, with its counters.
    pub fn unit(&mut self, name: &str, measures: Measures) -> Track {
        let track = self.track(&Shown { name, role: Role::Unit, parent: None, unit: None });
        if let Some(lane) = self.lane(track) {
            if measures.utilization {
                lane.counters.push(Counter::sum(Sums::Busy));
            }
            if measures.bytes {
                lane.counters.push(Counter::sum(Sums::Bytes));
            }
        }
        track
    }

    /// Adds a gauge, whose maximum in each window is shown.
    pub fn gauge(&mut self, name: &str, unit: &'static str) -> Track {
        let track = self.track(&Shown { name, role: Role::Counter, parent: None, unit: Some(unit) });
        if let Some(lane) = self.lane(track) {
            lane.counters.push(Counter::peak(track));
        }
        track
    }

    /// Records work of a unit. An overlap with the previous slice on the track is cut off.
    pub fn slice(&mut self, track: Track, slice: &Slice<'_>) {
        if !self.shows(slice.layer) {
            return;
        }
        let Slice { start, cycles, busy, bytes, layer, instruction, .. } = *slice;
        self.measure(track, start, start.saturating_add(cycles), [busy, bytes]);
        let name = self.layer_name(layer);
        let mut details: Vec<(&str, Value<'_>)> = Vec::with_capacity(6 + slice.details.len());
        details.extend(name.as_deref().map(|name| ("layer", Value::Text(name))));
        details.extend(instruction.map(|index| ("instruction", Value::Number(index as u64))));
        details.extend([("cycle", start), ("cycles", cycles)].map(|(key, n)| (key, Value::Number(n))));
        details.extend((busy != cycles).then_some(("busy", Value::Number(busy))));
        details.extend((bytes > 0).then_some(("bytes", Value::Number(bytes))));
        details.extend_from_slice(slice.details);
        self.counts.flows += slice.flows.iter().filter(|flow| matches!(flow, Flow::From(_))).count() as u64;
        let (name, end) = (slice.name, start.saturating_add(cycles));
        let (details, flows, work) = (&details[..], slice.flows, slice.work);
        self.draw(track, Interval { name, start, end, details, flows, work });
        self.counts.slices += 1;
    }

    /// Records a wait of a unit, as a slice of the track below the unit's.
    pub fn wait(&mut self, unit: Track, wait: &Wait<'_>) {
        if !self.shows(wait.layer) {
            return;
        }
        let Some(track) = self.waits(unit) else { return };
        let Wait { on, start, cycles, waited, layer, instruction } = *wait;
        let name = self.layer_name(layer);
        let mut details: Vec<(&str, Value<'_>)> = Vec::with_capacity(5);
        details.extend(name.as_deref().map(|name| ("layer", Value::Text(name))));
        details.extend(instruction.map(|index| ("instruction", Value::Number(index as u64))));
        details.extend([("cycle", start), ("cycles", cycles)].map(|(key, n)| (key, Value::Number(n))));
        details.extend((waited != cycles).then_some(("waited", Value::Number(waited))));
        self.draw(track, plain(on, [start, cycles], &details));
        self.counts.waits += 1;
    }

    /// Records the level of a gauge, starting at `cycle`.
    pub fn level(&mut self, gauge: Track, cycle: u64, value: u64, layer: Option<usize>) {
        if self.shows(layer) {
            self.measure(gauge, cycle, cycle.saturating_add(1), [value, value]);
        }
    }

    /// Records that the machine enters a layer, which lasts until the next one begins.
    pub fn layer(&mut self, layer: usize, start: u64, cycles: u64) {
        let end = start.saturating_add(cycles);
        match &mut self.stay {
            Some(stay) if stay.layer == layer => stay.end = end.max(stay.end),
            _ => {
                self.leave(start);
                self.stay = Some(Stay { layer, start, end });
            }
        }
    }

    /// Ends the trace of a program of `cycles` cycles.
    ///
    /// # Errors
    ///
    /// The first write error.
    pub fn finish(mut self, cycles: u64) -> io::Result<Counts> {
        self.leave(u64::MAX);
        self.end_counters(cycles.max(self.end));
        if self.chosen.is_none() {
            self.whole(cycles);
        }
        self.written?;
        self.sink.end()?;
        Ok(Counts { tracks: self.lanes.len(), ..self.counts })
    }

    /// Draws the program from start to end.
    fn whole(&mut self, cycles: u64) {
        let track = self.track(&Shown { name: "program", role: Role::Program, parent: None, unit: None });
        let (name, time) = (self.about.program.clone(), self.about.time());
        let details =
            [("cycle", Value::Number(0)), ("cycles", Value::Number(cycles)), ("time", Value::Text(time))];
        self.draw(track, plain(&name, [0, cycles], &details));
        self.counts.slices += 1;
    }

    /// Whether events of a layer are recorded.
    pub fn shows(&self, layer: Option<usize>) -> bool {
        let Some(chosen) = &self.chosen else { return true };
        layer.and_then(|place| chosen.get(place)).is_some_and(|chosen| *chosen)
    }

    fn layer_name(&self, layer: Option<usize>) -> Option<String> {
        self.about.layers.get(layer?).cloned()
    }

    /// Ends the current layer, at `next` at the latest.
    fn leave(&mut self, next: u64) {
        let Some(Stay { layer, start, end }) = self.stay.take() else { return };
        let (Some(track), Some(name)) = (self.layers, self.layer_name(Some(layer))) else { return };
        // Parallel engines may return to a layer before the one that began last.
        let start = self.lane(track).map_or(start, |lane| start.max(lane.end));
        let cycles = end.min(next).saturating_sub(start);
        if self.shows(Some(layer)) && cycles > 0 {
            let details = [("cycle", start), ("cycles", cycles)].map(|(key, n)| (key, Value::Number(n)));
            self.draw(track, plain(&name, [start, cycles], &details));
            self.counts.slices += 1;
        }
    }

    fn lane(&mut self, track: Track) -> Option<&mut Lane> {
        self.lanes.get_mut(track.0.checked_sub(1)?)
    }

    fn track(&mut self, shown: &Shown<'_>) -> Track {
        self.lanes.push(Lane::default());
        let track = Track(self.lanes.len());
        self.write(|sink| sink.track(track, shown));
        track
    }

    /// Returns the track of a unit's waits, and adds it if needed.
    fn waits(&mut self, unit: Track) -> Option<Track> {
        if let Some(track) = self.lane(unit)?.waits {
            return Some(track);
        }
        let track =
            self.track(&Shown { name: "waits for", role: Role::Waits, parent: Some(unit), unit: None });
        self.lane(unit)?.waits = Some(track);
        Some(track)
    }

    fn draw(&mut self, track: Track, interval: Interval<'_>) {
        let Some(lane) = self.lane(track) else { return };
        let start = interval.start.max(lane.end);
        let end = start.saturating_add(interval.end.saturating_sub(interval.start));
        lane.end = end;
        self.end = self.end.max(end);
        self.write(|sink| sink.slice(track, &Interval { start, end, ..interval }));
    }

    /// Adds work cycles and bytes from `start` to `end` to the counters.
    fn measure(&mut self, track: Track, start: u64, end: u64, amounts: [u64; 2]) {
        let window = self.window;
        let Some(lane) = self.lane(track) else { return };
        let mut counters = std::mem::take(&mut lane.counters);
        for counter in &mut counters {
            let values = counter.add(start, end, amounts, window);
            self.show(track, counter, &values);
        }
        if let Some(lane) = self.lane(track) {
            lane.counters = counters;
        }
    }

    /// Writes values of a counter, whose track is added with the first one.
    fn show(&mut self, unit: Track, counter: &mut Counter, values: &[(u64, f64)]) {
        if values.is_empty() {
            return;
        }
        let track = match counter.track {
            Some(track) => track,
            None => {
                let (name, unit_name) = counter.shown();
                self.track(&Shown { name, role: Role::Counter, parent: Some(unit), unit: Some(unit_name) })
            }
        };
        counter.track = Some(track);
        self.counts.values += values.len() as u64;
        values.iter().for_each(|&(at, value)| self.write(|sink| sink.count(track, at, value)));
    }

    /// Writes the last values of all counters, which are 0 after `end`.
    fn end_counters(&mut self, end: u64) {
        let window = self.window;
        for number in 1..=self.lanes.len() {
            let Some(lane) = self.lane(Track(number)) else { continue };
            for mut counter in std::mem::take(&mut lane.counters) {
                let values = counter.finish(end, window);
                self.show(Track(number), &mut counter, &values);
            }
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut dyn Sink) -> io::Result<()>) {
        if self.written.is_ok() {
            self.written = write(&mut *self.sink);
        }
    }
}

/// Returns a slice that is not work of a unit.
fn plain<'a>(name: &'a str, [start, cycles]: [u64; 2], details: &'a [(&'a str, Value<'a>)]) -> Interval<'a> {
    Interval { name, start, end: start.saturating_add(cycles), details, flows: &[], work: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::Value as Json;

    use super::*;
    use crate::chrome::Chrome;

    /// Two layers with two slices each on a unit; the slices of the second overlap the slices of
    /// the first.
    fn record(chosen: Option<Vec<bool>>) -> (Counts, Vec<Json>) {
        let mut bytes = Vec::new();
        let layers = ["a", "b"].map(str::to_owned).into();
        let about = About { program: "p".to_owned(), cycles: 40, layers, ..About::default() };
        let mut recorder = Recorder::new(Chrome::new(&mut bytes), about, chosen);
        let unit = recorder.unit("unit", Measures { utilization: true, bytes: true });
        for (index, start) in [0, 10, 18, 30].into_iter().enumerate() {
            let (layer, flows) = (index / 2, [Flow::From(index as u64)]);
            recorder.layer(layer, start, 10);
            let slice = Slice { name: "work", start, cycles: 10, busy: 5, bytes: 64, ..Slice::default() };
            recorder
                .slice(unit, &Slice { layer: Some(layer), instruction: Some(index), flows: &flows, ..slice });
            let wait = Wait { on: "room", start, cycles: 3, waited: 2, ..Wait::default() };
            recorder.wait(unit, &Wait { layer: Some(layer), ..wait });
        }
        let counts = recorder.finish(40).unwrap();
        let trace: Json = serde_json::from_slice(&bytes).unwrap();
        (counts, trace["traceEvents"].as_array().unwrap().clone())
    }

    /// Name, start and length of the slices of a track, in nanoseconds.
    fn slices(events: &[Json], track: u64) -> Vec<(String, f64, f64)> {
        let slices = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == track);
        let nanoseconds = |value: &Json| (value.as_f64().unwrap() * 1e3).round();
        let slice = |event: &Json| {
            let name = event["name"].as_str().unwrap().to_owned();
            (name, nanoseconds(&event["ts"]), nanoseconds(&event["dur"]))
        };
        slices.map(slice).collect()
    }

    #[test]
    fn what_overlaps_is_cut_off_and_a_layer_ends_where_the_next_begins() {
        let (counts, events) = record(None);
        let [a, b] = ["a", "b"].map(str::to_owned);
        assert_eq!(slices(&events, 1), [(a, 0.0, 18.0), (b, 18.0, 22.0)]);
        let works: Vec<_> = slices(&events, 2).into_iter().map(|(_, start, long)| (start, long)).collect();
        assert_eq!(works, [(0.0, 10.0), (10.0, 10.0), (20.0, 10.0), (30.0, 10.0)]);
        assert_eq!(slices(&events, 3).len(), 4);
        // The details of the third one have its actual times.
        let third = events.iter().find(|event| event["args"]["instruction"] == 2).unwrap();
        let expected = serde_json::json!({
            "layer": "b", "instruction": 2, "cycle": 18, "cycles": 10, "busy": 5, "bytes": 64
        });
        assert_eq!(third["args"], expected);
        assert_eq!((counts.slices, counts.waits, counts.flows), (4 + 2 + 1, 4, 4));
        assert_eq!(counts.tracks, 6, "layers, unit, waits, two counters, program");
    }

    #[test]
    fn of_chosen_layers_alone() {
        let (counts, events) = record(Some(vec![false, true]));
        assert_eq!(slices(&events, 1), [("b".to_owned(), 18.0, 22.0)]);
        assert_eq!((counts.slices, counts.waits, counts.flows), (2 + 1, 2, 2));
        let layers = events.iter().filter(|event| event["args"]["layer"] == "a").count();
        assert_eq!(layers, 0);
        // 128 bytes over windows of 16 cycles: 18 to 28 and 30 to 40.
        let bytes = events.iter().filter(|event| event["ph"] == "C" && !event["args"]["B"].is_null());
        let values: Vec<_> = bytes.map(|event| event["args"]["B"].as_f64().unwrap()).collect();
        assert!((values[0] * 16.0 + values[1] * 8.0 - 128.0).abs() < 1e-9, "{values:?}");
    }

    /// Writer that accepts a few bytes.
    struct Full(usize);

    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_not_taken_is_said_at_the_end() {
        for room in [0, 50, 200] {
            let mut recorder = Recorder::new(Chrome::new(Full(room)), About::default(), None);
            let unit = recorder.unit("unit", Measures::default());
            recorder.slice(unit, &Slice { name: "work", cycles: 1, ..Slice::default() });
            let error = recorder.finish(1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}");
        }
    }
}
