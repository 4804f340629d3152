//! [`Scale`]: conversion of cycles to times in a file.

use std::io;

use crate::model::About;

/// Exponents of the possible time units: second, millisecond and so on to femtosecond.
const EXPONENTS: [i8; 6] = [0, -3, -6, -9, -12, -15];
/// Minimum number of time units per cycle, if a unit is small enough: rounded times are within a
/// thousandth of a cycle.
const UNITS: f64 = 1000.0;
/// Largest time: viewers treat it as a signed number.
const LAST: u64 = i64::MAX as u64;

/// Length of a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// Exponent of the time unit: 10 to this power seconds.
    pub exponent: i8,
    /// Time units per cycle; `None` means 1.
    cycle: Option<f64>,
}

impl Scale {
    /// Selects the unit. Without a clock, a cycle is a nanosecond, as in [`About`]. With a clock,
    /// the unit is the largest with at least a thousand units per cycle: picoseconds from 1 MHz to
    /// 1 GHz.
    pub fn new(about: &About) -> Self {
        let Some(mhz) = about.clock() else { return Self { exponent: -9, cycle: None } };
        let units = |exponent: i8| 10f64.powi(-i32::from(exponent) - 6) / mhz;
        let exponent = EXPONENTS.into_iter().find(|exponent| units(*exponent) >= UNITS);
        let exponent = exponent.unwrap_or(-15); // Default: this is the smallest unit.
        Self { exponent, cycle: Some(units(exponent)) }
    }

    /// Whether times differ from cycles.
    pub fn has_clock(self) -> bool {
        self.cycle.is_some()
    }

    /// Returns the start of a cycle in time units.
    ///
    /// Errors: the time exceeds the range of viewers.
    pub fn at(self, cycle: u64) -> io::Result<u64> {
        let time = match self.cycle {
            // Rounded; saturates at the largest number, which is refused.
            Some(units) => (cycle as f64 * units).round() as u64,
            None => cycle,
        };
        let late =
            || format!("cycle {cycle} is after the last time of a waveform, {LAST} x 10^{} s", self.exponent);
        (time <= LAST).then_some(time).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, late()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn scale(clock_mhz: Option<f64>) -> Scale {
        Scale::new(&About { clock_mhz, ..About::default() })
    }

    #[test]
    fn cycles_are_told_apart_at_any_clock() {
        for (mhz, exponent) in [
            (1e-6, -3),
            (0.1, -9),
            (1.0, -9),
            (33.333, -12),
            (300.0, -12),
            (1e3, -12),
            (1.2e3, -15),
            (9e4, -15),
        ] {
            let scale = scale(Some(mhz));
            assert_eq!(scale.exponent, exponent, "{mhz}");
            let times: Vec<u64> = (0..1000).map(|cycle| scale.at(cycle).unwrap()).collect();
            assert!(times.is_sorted_by(|a, b| a < b), "{mhz}");
            let seconds = 999.0 / mhz / 1e6;
            assert!((times[999] as f64 * 10f64.powi(exponent.into()) / seconds - 1.0).abs() < 1e-3, "{mhz}");
        }
        assert_eq!(scale(Some(300.0)).at(2).unwrap(), 6667);
    }

    #[test]
    fn without_a_clock_a_cycle_is_a_nanosecond() {
        assert_eq!((scale(None).exponent, scale(None).at(7).unwrap()), (-9, 7));
        assert_eq!(scale(None).at(LAST).unwrap(), LAST);
    }

    #[test]
    fn a_time_that_no_viewer_counts_is_refused() {
        for clock_mhz in [None, Some(1.0), Some(1e-9)] {
            let error = scale(clock_mhz).at(u64::MAX).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
