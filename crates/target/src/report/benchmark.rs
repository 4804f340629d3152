//! [`Benchmark`]: what was published of a network on an instance, and how good ours is to be.

/// Figures of a reference network on an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Benchmark {
    /// Name of the network in the zoo, or of a language model.
    pub network: &'static str,
    /// The instance: a preset, perhaps in one of its systems, as `board@fast`.
    pub preset: &'static str,
    /// Parameters in which the instance differs from the preset, by key of its configuration file.
    pub changes: &'static [(&'static str, u64)],
    /// The figures.
    pub figures: &'static [Figure],
}

/// A figure of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// What it is, and under which assumptions, in a few words.
    pub what: &'static str,
    /// How ours is found.
    pub measure: Measure,
    /// What others reached, and who says so; none when nobody published it.
    pub published: Option<(f64, &'static str)>,
    /// The same source's cycles of each layer that multiplies, in order; empty when it has none.
    pub layers: &'static [f64],
    /// How good ours is to be.
    pub bar: Bar,
}

/// How a figure is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Cycles of the program, of the cost model that the options of `npu time` choose.
    Cycles(&'static [(&'static str, &'static str)]),
    /// Milliseconds of the program, with these options of `npu time`.
    Milliseconds(&'static [(&'static str, &'static str)]),
    /// Share of the multipliers' time in which they did the network's work, with these options of `npu
    /// time`, in percent. Work on padding counts, as in most publications.
    Efficiency(&'static [(&'static str, &'static str)]),
    /// Milliseconds the machine takes on the host for a sample, on one core.
    HostMilliseconds,
    /// How many times as fast the machine does many samples on so many cores of the host as on one.
    Speedup(usize),
    /// Seconds in which the host compiles the network, as `npu compile` does, files left out.
    CompileSeconds,
    /// Seconds in which the host says whether the network fits, as `npu check` does.
    CheckSeconds,
}

impl Measure {
    /// Its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cycles(_) => "cycles",
            Self::Milliseconds(_) | Self::HostMilliseconds => "ms",
            Self::Efficiency(_) => "%",
            Self::Speedup(_) => "x",
            Self::CompileSeconds | Self::CheckSeconds => "s",
        }
    }

    /// Whether it is about the program, rather than about our simulator.
    pub const fn is_of_program(self) -> bool {
        matches!(self, Self::Cycles(_) | Self::Milliseconds(_) | Self::Efficiency(_))
    }
}

/// How good a figure is to be, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Less is better.
    AtMost(f64),
    /// More is better.
    AtLeast(f64),
    /// None: the figure depends on the host.
    None,
}

impl Bar {
    /// The value at which it is reached, if there is a bar.
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::AtMost(value) | Self::AtLeast(value) => Some(value),
            Self::None => None,
        }
    }

    /// Whether `found` reaches it, if there is a bar.
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
