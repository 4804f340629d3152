//! What a trace consists of, for those who write it: a [`Sink`] takes [`Track`]s, [`Interval`]s and values.

use std::io;

/// A line of the viewer, by its number. The first one is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(pub usize);

/// The program of a trace, and the machine it runs on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Name of the program.
    pub program: String,
    /// Clock of the cycles. None: a cycle is shown as a nanosecond.
    pub clock_mhz: Option<f64>,
    /// Cycles it takes, as far as is known before: the width of the counters' windows goes by them.
    pub cycles: u64,
    /// Names of the layers that slices give by their place; empty when there are none.
    pub layers: Vec<String>,
}

impl About {
    /// The clock, where it is one.
    pub fn clock(&self) -> Option<f64> {
        self.clock_mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0)
    }

    /// What the viewer's time is.
    pub fn time(&self) -> &'static str {
        if self.clock().is_some() { "time of the clock" } else { "a cycle is a nanosecond" }
    }

    /// When a cycle begins, in whole nanoseconds, as viewers have it.
    ///
    /// Rounded where cycles are, not where they are long: what does not overlap in cycles does not overlap in the
    /// file.
    pub fn nanoseconds(&self, cycle: u64) -> u64 {
        match self.clock() {
            // Rounded; beyond the largest number it stops there.
            Some(mhz) => (cycle as f64 * (1e3 / mhz)).round() as u64,
            None => cycle,
        }
    }
}

/// What a track is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The layers, as the machine is with them.
    Layers,
    /// What a unit does.
    Unit,
    /// What a unit waits for: the unit is the parent.
    Waits,
    /// A number: of a unit that is the parent, or without a parent of the whole machine.
    Counter,
    /// The program from start to end.
    Program,
}

/// How a track is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is for.
    pub role: Role,
    /// The track it stands below, if it belongs to one.
    pub parent: Option<Track>,
    /// The unit of its values, if it is a counter.
    pub unit: Option<&'a str>,
}

/// What a viewer shows of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
}

/// An arrow from a slice to another one, by a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It begins here.
    From(u64),
    /// It ends here.
    To(u64),
}

/// A slice as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<'a> {
    /// What the viewer writes on it.
    pub name: &'a str,
    /// The first cycle.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// What the viewer shows when it is selected.
    pub details: &'a [(&'a str, Value<'a>)],
    /// Arrows that begin or end here.
    pub flows: &'a [Flow],
}

/// Who writes a trace. On a track intervals come in order and do not overlap.
pub trait Sink {
    /// Before all else.
    ///
    /// # Errors
    ///
    /// What is written is not taken; so of all others.
    fn begin(&mut self, about: &About) -> io::Result<()>;

    /// A new track: each number is one more than the last.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()>;

    /// A slice of a track.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()>;

    /// A counter has a value from cycle `at` on.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()>;

    /// After all else.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    fn end(&mut self) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::About;

    #[test]
    fn neighbours_do_not_overlap_at_any_clock() {
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
