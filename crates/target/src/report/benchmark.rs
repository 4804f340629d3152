//! [`Benchmark`]: published figures of a network on an instance, and npukit's goals.

/// Figures of a reference network on an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Benchmark {
    /// Name of the network in the zoo, or of a language model.
    pub network: &'static str,
    /// The built-in instance, optionally with a system, as `board@fast`.
    pub preset: &'static str,
    /// Parameters in which the instance differs from the built-in one, by key of the configuration
    /// file.
    pub changes: &'static [(&'static str, u64)],
    /// Figures of the network.
    pub figures: &'static [Figure],
}

/// A figure of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Meaning of the figure and its assumptions, in a few words.
    pub what: &'static str,
    /// How npukit measures it.
    pub measure: Measure,
    /// Published value and its source; `None` if it was never published.
    pub published: Option<(f64, &'static str)>,
    /// Cycles of each multiplying layer from the same source, in order; empty if not published.
    pub layers: &'static [f64],
    /// Goal that npukit's figure should meet.
    pub bar: Bar,
}

/// How a figure is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Cycles of the program, with these options of `npu time`, which choose the cost model.
    Cycles(&'static [(&'static str, &'static str)]),
    /// Milliseconds of the program, with these options of `npu time`.
    Milliseconds(&'static [(&'static str, &'static str)]),
    /// Utilization in percent: share of the multipliers' time spent on the network, with these
    /// options of `npu time`. Work on padding is included, as in most publications.
    Efficiency(&'static [(&'static str, &'static str)]),
    /// Milliseconds that the simulator takes on the host for a sample, on one core.
    HostMilliseconds,
    /// Speedup of the simulator on many samples with this number of host cores, relative to one
    /// core.
    Speedup(usize),
    /// Seconds that the host takes to compile the network, as in `npu compile` without writing
    /// files.
    CompileSeconds,
    /// Seconds that the host takes to check whether the network fits, as in `npu check`.
    CheckSeconds,
}

impl Measure {
    /// Returns the unit of the figure.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cycles(_) => "cycles",
            Self::Milliseconds(_) | Self::HostMilliseconds => "ms",
            Self::Efficiency(_) => "%",
            Self::Speedup(_) => "x",
            Self::CompileSeconds | Self::CheckSeconds => "s",
        }
    }

    /// Returns whether the figure concerns the program, rather than npukit's own speed.
    pub const fn is_of_program(self) -> bool {
        matches!(self, Self::Cycles(_) | Self::Milliseconds(_) | Self::Efficiency(_))
    }
}

/// Goal for a figure, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Upper limit; less is better.
    AtMost(f64),
    /// Lower limit; more is better.
    AtLeast(f64),
    /// No goal, since the figure depends on the host.
    None,
}

impl Bar {
    /// Returns the limit, if there is one.
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::AtMost(value) | Self::AtLeast(value) => Some(value),
            Self::None => None,
        }
    }

    /// Returns whether `found` meets the goal, if there is one.
    pub fn is_met(self, found: f64) -> Option<bool> {
        match self {
            Self::AtMost(most) => Some(found <= most),
            Self::AtLeast(least) => Some(found >= least),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_side() {
        for (bar, found, met) in [
            (Bar::AtMost(2.0), 2.0, Some(true)),
            (Bar::AtMost(2.0), 2.1, Some(false)),
            (Bar::AtMost(2.0), f64::NAN, Some(false)),
            (Bar::AtLeast(2.0), 2.0, Some(true)),
            (Bar::AtLeast(2.0), 1.9, Some(false)),
            (Bar::AtLeast(2.0), f64::NAN, Some(false)),
            (Bar::None, 2.0, None),
        ] {
            assert_eq!(bar.is_met(found), met, "{bar:?}, {found}");
        }
    }
}
