//! Model of a trace for writers: a [`Sink`] takes [`Track`]s, [`Interval`]s and values.

use std::io;

/// Track of the viewer, by number, starting at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(pub usize);

/// Program of a trace, and the machine it runs on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Name of the program.
    pub program: String,
    /// Clock frequency in MHz. Without it, a cycle is shown as a nanosecond.
    pub clock_mhz: Option<f64>,
    /// Expected number of cycles, which determines the width of the counters' windows.
    pub cycles: u64,
    /// Names of the layers, by the index that slices use; empty without layers.
    pub layers: Vec<String>,
}

impl About {
    /// Returns the clock frequency in MHz if it is positive and finite.
    pub fn clock(&self) -> Option<f64> {
        self.clock_mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0)
    }

    /// Describes the unit of the viewer's time.
    pub fn time(&self) -> &'static str {
        if self.clock().is_some() { "time of the clock" } else { "a cycle is a nanosecond" }
    }

    /// Returns the start of a cycle in whole nanoseconds, as used by viewers.
    ///
    /// Start times are rounded, not lengths: intervals that do not overlap in cycles do not overlap
    /// in the file.
    pub fn nanoseconds(&self, cycle: u64) -> u64 {
        match self.clock() {
            // Rounded; saturates at the largest number.
            Some(mhz) => (cycle as f64 * (1e3 / mhz)).round() as u64,
            None => cycle,
        }
    }
}

/// Role of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Layers over time.
    Layers,
    /// Work of a unit.
    Unit,
    /// Waits of the unit that is the parent.
    Waits,
    /// Number of the unit that is the parent, or of the whole machine.
    Counter,
    /// The program from start to end.
    Program,
}

/// Description of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Name of the track.
    pub name: &'a str,
    /// Role of the track.
    pub role: Role,
    /// Track below which it is shown, if any.
    pub parent: Option<Track>,
    /// Unit of its values, if it is a counter.
    pub unit: Option<&'a str>,
}

/// Value of a detail of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
}

/// End of an arrow between two slices, by the arrow's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The arrow begins here.
    From(u64),
    /// The arrow ends here.
    To(u64),
}

/// Kind of work, for figures of where the time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Multiplications.
    Compute,
    /// Loads of weights into the multipliers.
    Weights,
    /// Transfers from and to external memory.
    Dram,
    /// Operations on elements.
    Alus,
    /// Moves on the chip.
    Moves,
}

/// Slice to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<'a> {
    /// Label of the slice.
    pub name: &'a str,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// Details shown when the slice is selected.
    pub details: &'a [(&'a str, Value<'a>)],
    /// Arrows that begin or end here.
    pub flows: &'a [Flow],
    /// Kind of work; `None` for everything else than work.
    pub work: Option<Work>,
}

/// Writer of a trace. Intervals of a track come in order and do not overlap.
pub trait Sink {
    /// Begins the trace; called first.
    ///
    /// # Errors
    ///
    /// Writing fails. This holds for all methods.
    fn begin(&mut self, about: &About) -> io::Result<()>;

    /// Adds a track. Numbers are consecutive.
    ///
    /// # Errors
    ///
    /// Writing fails.
    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()>;

    /// Adds a slice to a track.
    ///
    /// # Errors
    ///
    /// Writing fails.
    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()>;

    /// Sets the value of a counter, starting at cycle `at`.
    ///
    /// # Errors
    ///
    /// Writing fails.
    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()>;

    /// Ends the trace; called last.
    ///
    /// # Errors
    ///
    /// Writing fails.
    fn end(&mut self) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::About;

    #[test]
    fn neighbors_do_not_overlap_at_any_clock() {
        for mhz in [33.333, 66.0, 150.0, 300.0, 999.9, 2500.0] {
            let about = About { clock_mhz: Some(mhz), ..About::default() };
            let times: Vec<u64> = (0..1000).map(|cycle| about.nanoseconds(cycle)).collect();
            assert!(times.is_sorted(), "{mhz}");
            assert!((times[999] as f64 - 999e3 / mhz).abs() <= 0.5, "{mhz}");
        }
    }

    #[test]
    fn without_a_clock_a_cycle_is_a_nanosecond() {
        for clock_mhz in [None, Some(0.0), Some(-1.0), Some(f64::NAN)] {
            let about = About { clock_mhz, ..About::default() };
            assert_eq!((about.nanoseconds(7), about.time()), (7, "a cycle is a nanosecond"));
        }
    }
}
