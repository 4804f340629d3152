//! [`Chrome`]: writes the "JSON object format" of Chrome's trace events, with complete events
//! (`X`), flows (`s`, `f`), counters (`C`) and metadata (`M`).

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

use crate::model::{About, Flow, Interval, Shown, Sink, Track, Value};

/// Writer of a trace as JSON.
#[derive(Debug)]
pub struct Chrome<W> {
    out: W,
    about: About,
    /// Name of each track, and name of the values of a counter.
    names: Vec<(String, Option<String>)>,
}

/// All tracks belong to one process.
const PROCESS: usize = 1;
/// Name of flows. Viewers identify flows by name, category and number.
const FLOW: &str = "use";

impl<W: Write> Chrome<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> Self {
        Self { out, about: About::default(), names: Vec::new() }
    }

    fn metadata(&mut self, name: &str, track: usize, details: Json) -> io::Result<()> {
        let event = json!({ "ph": "M", "pid": PROCESS, "tid": track, "name": name, "args": details });
        write!(self.out, "{event}")
    }

    /// Writes the separator of the event list. [`Self::begin`] writes the first event.
    fn separate(&mut self) -> io::Result<()> {
        self.out.write_all(b",\n")
    }

    fn at(&self, cycle: u64) -> Microseconds {
        Microseconds(self.about.nanoseconds(cycle))
    }

    /// Writes an end of an arrow, in the slice that begins at `cycle`.
    fn flow(&mut self, track: Track, cycle: u64, flow: Flow) -> io::Result<()> {
        self.separate()?;
        let (phase, id, binds) = match flow {
            Flow::From(id) => ("s", id, ""),
            Flow::To(id) => ("f", id, ",\"bp\":\"e\""),
        };
        let at = self.at(cycle);
        write!(
            self.out,
            "{{\"ph\":\"{phase}\"{binds},\"pid\":{PROCESS},\"tid\":{},\"name\":\"{FLOW}\",\"cat\":\"{FLOW}\",\
             \"id\":{id},\"ts\":{at}}}",
            track.0
        )
    }
}

impl<W: Write> Sink for Chrome<W> {
    fn begin(&mut self, about: &About) -> io::Result<()> {
        self.about = about.clone();
        let other = json!({ "clock_mhz": about.clock(), "time": about.time() });
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[")?;
        self.metadata("process_name", 0, json!({ "name": about.program }))
    }

    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()> {
        let Shown { name, parent, unit, .. } = *shown;
        let above = parent.and_then(|parent| self.names.get(parent.0.checked_sub(1)?));
        let name = above.map_or_else(|| name.to_owned(), |(above, _)| format!("{above}: {name}"));
        self.names.push((name.clone(), unit.map(str::to_owned)));
        if unit.is_some() {
            return Ok(());
        }
        self.separate()?;
        self.metadata("thread_name", track.0, json!({ "name": name }))?;
        self.separate()?;
        // A child track is placed directly below its parent.
        let index = parent.map_or((track.0, 0), |parent| (parent.0, 1));
        self.metadata("thread_sort_index", track.0, json!({ "sort_index": 2 * index.0 + index.1 }))
    }

    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()> {
        self.separate()?;
        let (start, end) = (self.at(interval.start), self.at(interval.end));
        let name = serde_json::to_string(interval.name)?;
        let details = serde_json::to_string(&Details(interval.details))?;
        let duration = Microseconds(end.0.saturating_sub(start.0));
        write!(
            self.out,
            "{{\"ph\":\"X\",\"pid\":{PROCESS},\"tid\":{},\"name\":{name},\"ts\":{start},\"dur\":{duration},\
             \"args\":{details}}}",
            track.0,
        )?;
        interval.flows.iter().try_for_each(|flow| self.flow(track, interval.start, *flow))
    }

    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()> {
        self.separate()?;
        let Some((name, unit)) = self.names.get(track.0.saturating_sub(1)) else { return Ok(()) };
        let name = serde_json::to_string(name)?;
        let value = json!({ unit.as_deref().unwrap_or(COUNTED): value });
        let at = self.at(at);
        write!(self.out, "{{\"ph\":\"C\",\"pid\":{PROCESS},\"name\":{name},\"ts\":{at},\"args\":{value}}}")
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}

/// Default: name of a counter's values if it has no unit.
const COUNTED: &str = "number";

/// Serializes pairs as a map.
struct Details<'a>(&'a [(&'a str, Value<'a>)]);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            match value {
                Value::Number(number) => map.serialize_entry(key, number)?,
                Value::Text(text) => map.serialize_entry(key, text)?,
            }
        }
        map.end()
    }
}

/// Nanoseconds, written as microseconds.
#[derive(Clone, Copy)]
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::model::Role;

    fn trace(clock_mhz: Option<f64>, cycles: &[(u64, u64)]) -> Json {
        let mut bytes = Vec::new();
        let mut trace = Chrome::new(&mut bytes);
        let program = "a \"program\"".to_owned();
        trace.begin(&About { program, clock_mhz, ..About::default() }).unwrap();
        trace.track(Track(1), &Shown { name: "unit", role: Role::Unit, parent: None, unit: None }).unwrap();
        trace
            .track(
                Track(2),
                &Shown { name: "bytes", role: Role::Counter, parent: Some(Track(1)), unit: Some("B") },
            )
            .unwrap();
        for &(start, end) in cycles {
            let details = [("layer", Value::Text("conv\n1")), ("n", Value::Number(5))];
            let flows = [Flow::From(7), Flow::To(8)];
            let interval =
                Interval { name: "MatMul", start, end, details: &details, flows: &flows, work: None };
            trace.slice(Track(1), &interval).unwrap();
        }
        trace.count(Track(2), 4, 1.5).unwrap();
        trace.end().unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn slices_flows_and_counters_have_microseconds() {
        let trace = trace(Some(100.0), &[(2, 3), (3, 13)]);
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 10);
        assert_eq!(events[0]["args"]["name"], "a \"program\"");
        assert_eq!((&events[3]["ts"], &events[3]["dur"]), (&json!(0.02), &json!(0.01)));
        assert_eq!((&events[6]["ts"], &events[6]["dur"]), (&json!(0.03), &json!(0.1)));
        assert_eq!(events[6]["args"], json!({ "layer": "conv\n1", "n": 5 }));
        assert_eq!([&events[7]["ph"], &events[7]["id"]], [&json!("s"), &json!(7)]);
        assert_eq!(
            [&events[8]["ph"], &events[8]["id"], &events[8]["bp"]],
            [&json!("f"), &json!(8), &json!("e")]
        );
        let counter = json!({ "ph": "C", "pid": 1, "name": "unit: bytes", "ts": 0.04, "args": { "B": 1.5 } });
        assert_eq!(events[9], counter);
    }

    #[test]
    fn without_a_clock_a_cycle_is_a_nanosecond() {
        let trace = trace(None, &[(7, 10)]);
        let slice = &trace["traceEvents"][3];
        assert_eq!((&slice["ts"], &slice["dur"]), (&json!(0.007), &json!(0.003)));
        assert_eq!(trace["otherData"]["time"], "a cycle is a nanosecond");
    }
}
