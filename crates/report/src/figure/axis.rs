//! [`Axis`]: mapping of values to positions along a line.

/// Approximate number of marks of an axis.
const MARKS: f64 = 6.0;

/// Axis from the smallest to the largest value, logarithmic if they are far apart.
pub(super) struct Axis {
    least: f64,
    most: f64,
    is_logarithmic: bool,
    ends: (f64, f64),
}

/// Ratio of the largest to the smallest value above which an axis is logarithmic.
const FAR: f64 = 10.0;

impl Axis {
    /// Creates the axis of these values, from the first to the second end.
    pub(super) fn of(figures: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let bounds = figures.filter(|figure| figure.is_finite());
        let (least, most) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        // Default: an axis without values has length 1.
        let (least, most) = if least > most { (0.0, 1.0) } else { (least, most) };
        let is_logarithmic = least > 0.0 && most / least > FAR;
        let (least, most) = match (is_logarithmic, most > least) {
            (true, _) => (least / 1.15, most * 1.15),
            (false, true) => (least - 0.05 * (most - least), most + 0.05 * (most - least)),
            (false, false) => (least - 0.5 - least.abs() / 10.0, most + 0.5 + most.abs() / 10.0),
        };
        Self { least, most, is_logarithmic, ends }
    }

    /// Returns the smallest value of the axis.
    pub(super) const fn least(&self) -> f64 {
        self.least
    }

    /// Returns the position of a value.
    pub(super) fn place(&self, figure: f64) -> f64 {
        let share = if self.is_logarithmic {
            (figure / self.least).ln() / (self.most / self.least).ln()
        } else {
            (figure - self.least) / (self.most - self.least)
        };
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// Returns round values within the axis.
    pub(super) fn marks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let (first, last) = (self.least.log10().floor() as i32, self.most.log10().ceil() as i32);
            let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
            return all.filter(|mark| (self.least..=self.most).contains(mark)).collect();
        }
        steps(self.least, self.most)
    }
}

/// Returns round values from `least` to `most`, at the same distance.
pub(super) fn steps(least: f64, most: f64) -> Vec<f64> {
    let rough = (most - least) / MARKS;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (least / step).ceil() as i64;
    (first..).map(|place| place as f64 * step).take_while(|mark| *mark <= most).collect()
}

/// Formats a value in few digits.
pub(super) fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(format!("{:.4}", figure / 1e6))),
        size if size >= 1e4 && figure % 1e2 == 0.0 => format!("{}k", trimmed(format!("{:.1}", figure / 1e3))),
        size if size >= 1e3 || size == 0.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        size if size >= 0.01 => trimmed(format!("{figure:.3}")),
        _ => format!("{figure:.1e}"),
    }
}

/// Returns a number without zeros at the end of its fraction.
fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_from_end_to_end() {
        // Better is lower and to the left: 1 ms is left of 2 ms.
        let axis = Axis::of([1.0, 2.0, 3.0].into_iter(), (80.0, 700.0));
        assert!(axis.place(1.0) < axis.place(2.0) && axis.place(1.0) >= 80.0 && axis.place(3.0) <= 700.0);
    }

    #[test]
    fn axes_have_round_marks() {
        let marks = |figures: &[f64]| Axis::of(figures.iter().copied(), (0.0, 1.0)).marks();
        assert_eq!(marks(&[0.0, 10.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(marks(&[1.0, 100.0]), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(!marks(&[7.0]).is_empty() && !marks(&[]).is_empty());
        assert_eq!(
            [0.0, 12.0, 1234.5, 2.5e5, 2.5e6, 0.125, 1e-5].map(short),
            ["0", "12", "1234", "250k", "2.5M", "0.125", "1.0e-5"]
        );
    }
}
