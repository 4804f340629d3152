//! [`ChromeTrace`]: the "JSON object format" of Chrome's trace events, of which complete events (`X`)
//! and metadata (`M`) are used.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

/// A line of slices in the viewer, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Track(usize);

/// Something that went on for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice<'a, A> {
    /// What the viewer writes on it.
    pub name: &'a str,
    /// The first cycle.
    pub start: u64,
    /// The last cycle.
    pub end: u64,
    /// What the viewer shows when it is selected: a map.
    pub details: A,
}

/// A trace under way.
///
/// Time is in whole nanoseconds, as viewers have it, and rounded where cycles are, not where they
/// are long: slices that do not overlap in cycles do not overlap in the file.
#[derive(Debug)]
pub struct ChromeTrace<W> {
    out: W,
    /// None: a cycle is shown as a microsecond.
    clock_mhz: Option<f64>,
    tracks: usize,
}

/// All tracks belong to one process.
const PROCESS: usize = 1;

impl<W: Write> ChromeTrace<W> {
    /// Begins a trace of `process`, whose cycles are of a clock of `clock_mhz`; if that is not known, a
    /// cycle takes a microsecond.
    ///
    /// # Errors
    ///
    /// When `out` does not take the beginning of the trace.
    pub fn new(mut out: W, process: &str, clock_mhz: Option<f64>) -> io::Result<Self> {
        let clock_mhz = clock_mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0);
        let time = if clock_mhz.is_some() { "microseconds" } else { "a cycle is a microsecond" };
        let about = json!({ "clock_mhz": clock_mhz, "time": time });
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
        let mut trace = Self { out, clock_mhz, tracks: 0 };
        trace.metadata("process_name", 0, json!({ "name": process }))?;
        Ok(trace)
    }

    /// A track, below those before it.
    ///
    /// # Errors
    ///
    /// When `out` does not take it.
    pub fn track(&mut self, name: &str) -> io::Result<Track> {
        self.tracks += 1;
        let track = self.tracks;
        self.separate()?;
        self.metadata("thread_name", track, json!({ "name": name }))?;
        self.separate()?;
        self.metadata("thread_sort_index", track, json!({ "sort_index": track }))?;
        Ok(Track(track))
    }

    /// A slice of a track.
    ///
    /// # Errors
    ///
    /// When `out` does not take it, or `details` cannot be written as JSON.
    pub fn slice<A: Serialize>(&mut self, track: Track, slice: &Slice<'_, A>) -> io::Result<()> {
        self.separate()?;
        let start = self.nanoseconds(slice.start);
        let end = self.nanoseconds(slice.end.saturating_add(1));
        let name = serde_json::to_string(slice.name)?;
        let details = serde_json::to_string(&slice.details)?;
        write!(
            self.out,
            "{{\"ph\":\"X\",\"pid\":{PROCESS},\"tid\":{},\"name\":{name},\"ts\":{},\"dur\":{},\"args\":{details}}}",
            track.0,
            Microseconds(start),
            Microseconds(end.saturating_sub(start)),
        )
    }

    /// Ends the trace.
    ///
    /// # Errors
    ///
    /// When `out` does not take the end of the trace, or what it still held.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }

    fn metadata(&mut self, name: &str, track: usize, details: Value) -> io::Result<()> {
        let event = json!({ "ph": "M", "pid": PROCESS, "tid": track, "name": name, "args": details });
        write!(self.out, "{event}")
    }

    /// The events are a list; the first one is written by [`Self::new`].
    fn separate(&mut self) -> io::Result<()> {
        self.out.write_all(b",\n")
    }

    /// When a cycle begins.
    fn nanoseconds(&self, cycle: u64) -> u64 {
        match self.clock_mhz {
            // Rounded; beyond the largest number it stops there.
            Some(mhz) => (cycle as f64 * (1e3 / mhz)).round() as u64,
            None => cycle.saturating_mul(1000),
        }
    }
}

/// Nanoseconds, written as microseconds.
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

    fn trace(clock_mhz: Option<f64>, cycles: &[(u64, u64)]) -> Value {
        let mut bytes = Vec::new();
        let mut trace = ChromeTrace::new(&mut bytes, "a \"program\"", clock_mhz).unwrap();
        let track = trace.track("unit").unwrap();
        for &(start, end) in cycles {
            let details = json!({ "layer": "conv\n1" });
            trace.slice(track, &Slice { name: "MatMul", start, end, details }).unwrap();
        }
        trace.finish().unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn slices_have_microseconds() {
        let trace = trace(Some(100.0), &[(2, 2), (3, 12)]);
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 5);
        assert_eq!(events[0]["args"]["name"], "a \"program\"");
        assert_eq!((&events[3]["ts"], &events[3]["dur"]), (&json!(0.02), &json!(0.01)));
        assert_eq!((&events[4]["ts"], &events[4]["dur"]), (&json!(0.03), &json!(0.1)));
        assert_eq!(events[4]["args"]["layer"], "conv\n1");
    }

    #[test]
    fn without_a_clock_a_cycle_is_a_microsecond() {
        let trace = trace(None, &[(7, 9)]);
        let slice = &trace["traceEvents"][3];
        assert_eq!((&slice["ts"], &slice["dur"]), (&json!(7.0), &json!(3.0)));
    }

    #[test]
    fn neighbours_do_not_overlap_at_any_clock() {
        for mhz in [33.333, 66.0, 150.0, 300.0, 999.9] {
            let trace = trace(Some(mhz), &(0..1000).map(|i| (i, i)).collect::<Vec<_>>());
            let slices = &trace["traceEvents"].as_array().unwrap()[3..];
            let nanoseconds = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
            let overlap = |pair: &&[Value]| {
                nanoseconds(&pair[0]["ts"]) + nanoseconds(&pair[0]["dur"]) != nanoseconds(&pair[1]["ts"])
            };
            assert_eq!(slices.windows(2).filter(overlap).count(), 0, "{mhz}");
        }
    }
}
