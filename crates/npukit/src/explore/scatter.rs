//! [`scatter`]: points as a picture, in SVG.

use std::fmt::Write as _;

use super::point::{Metric, Point};
use super::space::Space;

/// Width and height, and what the axes take of them at the left and below.
const SIZE: (f64, f64) = (720.0, 480.0);
const MARGIN: (f64, f64) = (80.0, 56.0);
/// Free space at the other sides.
const EDGE: f64 = 24.0;
/// Marks of an axis, about.
const MARKS: f64 = 6.0;
/// What is drawn against the only objective.
const SECOND: &str = "dsp";

/// Points by the first two objectives; those that no other beats are joined, unless there are more objectives.
pub(crate) fn scatter(points: &[Point], space: &Space) -> String {
    let mut metrics = space.objectives.iter().map(|objective| objective.metric);
    // Default: a space has an objective.
    let first = metrics.next().or_else(|| Metric::named("milliseconds"));
    let second = metrics.next().or_else(|| Metric::named(SECOND));
    let (Some(across), Some(up)) = (first, second) else { return String::new() };
    let places: Vec<(&Point, f64, f64)> =
        points.iter().filter_map(|point| Some((point, point.metric(across)?, point.metric(up)?))).collect();
    let x = Axis::of(places.iter().map(|place| place.1), (MARGIN.0, SIZE.0 - EDGE));
    let y = Axis::of(places.iter().map(|place| place.2), (SIZE.1 - MARGIN.1, EDGE));
    let mut svg = begin(across, up, places.len());
    for mark in x.marks() {
        let place = x.place(mark);
        let (top, bottom) = (EDGE, SIZE.1 - MARGIN.1);
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{place:.1} {top}V{bottom}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            short(mark)
        );
    }
    for mark in y.marks() {
        let place = y.place(mark);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{} {place:.1}H{}\"/>", MARGIN.0, SIZE.0 - EDGE);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            MARGIN.0 - 8.0,
            place + 4.0,
            short(mark)
        );
    }
    let mut best: Vec<_> = places.iter().filter(|place| place.0.pareto).collect();
    best.sort_by(|a, b| a.1.total_cmp(&b.1));
    let line: Vec<String> =
        best.iter().map(|place| format!("{:.1},{:.1}", x.place(place.1), y.place(place.2))).collect();
    if space.objectives.len() <= 2 {
        let _ = writeln!(svg, "<polyline class=\"front\" points=\"{}\"/>", line.join(" "));
    }
    // Those of the front lie above the others.
    let (others, front): (Vec<_>, Vec<_>) = places.iter().partition(|place| !place.0.pareto);
    for (point, a, b) in others.into_iter().chain(front) {
        let class = match (point.pareto, point.feasible) {
            (true, _) => "best",
            (false, true) => "point",
            (false, false) => "unfit",
        };
        let told =
            escaped(&format!("{}: {} {}, {} {}", point.target, across.name, short(a), up.name, short(b)));
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{told}</title></circle>",
            x.place(a),
            y.place(b)
        );
    }
    svg + "</svg>\n"
}

/// What stands before the points.
fn begin(across: Metric, up: Metric, count: usize) -> String {
    let (width, height) = SIZE;
    let (middle, foot) = ((MARGIN.0 + width - EDGE) / 2.0, height - 12.0);
    let side = (EDGE + height - MARGIN.1) / 2.0;
    let (across, up) = (named(across), named(up));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{count} points: {up} by {across}\">\n\
         <style>svg{{color:#1b1f24;background:#fff;font:12px sans-serif}}text{{fill:currentColor}}.grid{{stroke:currentColor;opacity:.15}}\
         .point{{fill:#6b7785;opacity:.7}}.unfit{{fill:none;stroke:#6b7785;opacity:.6}}.best{{fill:#c2410c}}.front{{fill:none;stroke:#c2410c}}\
         @media(prefers-color-scheme:dark){{svg{{color:#e6e9ed;background:#15181c}}.point{{fill:#9aa7b5}}.unfit{{stroke:#9aa7b5}}.best{{fill:#fb923c}}.front{{stroke:#fb923c}}}}</style>\n\
         <text x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">{across}</text>\n\
         <text x=\"16\" y=\"{side}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {side})\">{up}</text>\n"
    )
}

/// A metric as a reader reads it.
fn named(metric: Metric) -> String {
    let text = metric.name.replace('_', " ");
    if metric.more_is_better { format!("{text} (more is better)") } else { text }
}

/// An axis from its least to its largest figure; by powers of ten where these are far apart.
struct Axis {
    least: f64,
    most: f64,
    is_logarithmic: bool,
    ends: (f64, f64),
}

/// The largest figure is so many times the least one where an axis goes by powers.
const FAR: f64 = 10.0;

impl Axis {
    fn of(figures: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let bounds = figures.filter(|figure| figure.is_finite());
        let (least, most) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        // Default: an axis of nothing has a length all the same.
        let (least, most) = if least > most { (0.0, 1.0) } else { (least, most) };
        let is_logarithmic = least > 0.0 && most / least > FAR;
        let (least, most) = match (is_logarithmic, most > least) {
            (true, _) => (least / 1.15, most * 1.15),
            (false, true) => (least - 0.05 * (most - least), most + 0.05 * (most - least)),
            (false, false) => (least - 0.5 - least.abs() / 10.0, most + 0.5 + most.abs() / 10.0),
        };
        Self { least, most, is_logarithmic, ends }
    }

    fn place(&self, figure: f64) -> f64 {
        let share = if self.is_logarithmic {
            (figure / self.least).ln() / (self.most / self.least).ln()
        } else {
            (figure - self.least) / (self.most - self.least)
        };
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// Round figures within it.
    fn marks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let (first, last) = (self.least.log10().floor() as i32, self.most.log10().ceil() as i32);
            let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
            return all.filter(|mark| (self.least..=self.most).contains(mark)).collect();
        }
        let rough = (self.most - self.least) / MARKS;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.least / step).ceil() as i64;
        (first..).map(|place| place as f64 * step).take_while(|mark| *mark <= self.most).collect()
    }
}

/// A figure in few digits.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1e6 => format!("{:.4}M", figure / 1e6).replace(".0000M", "M"),
        size if size >= 1e3 || size == 0.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        size if size >= 0.01 => {
            let text = format!("{figure:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{figure:.1e}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_point_is_drawn_and_the_front_is_joined() {
        let space =
            Space::from_toml("target = \"t\"\nminimise = [\"milliseconds\", \"relative_error\"]").unwrap();
        let point = |index, milliseconds, error, pareto| Point {
            index,
            target: "t<&".to_owned(),
            milliseconds: Some(milliseconds),
            relative_error: Some(error),
            pareto,
            feasible: true,
            ..Point::default()
        };
        let points =
            [point(0, 1.0, 0.5, true), point(1, 2.0, 0.1, true), point(2, 3.0, 0.4, false), Point::default()];
        let svg = scatter(&points, &space);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("class=\"best\"").count(), 2);
        assert!(svg.contains("<title>t&lt;&amp;: milliseconds 1, relative_error 0.5</title>"), "{svg}");
        assert!(svg.contains("milliseconds</text>") && svg.contains("relative error</text>"));
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
            [0.0, 12.0, 1234.5, 2.5e6, 0.125, 1e-5].map(short),
            ["0", "12", "1234", "2.5000M", "0.125", "1.0e-5"]
        );
    }
}
