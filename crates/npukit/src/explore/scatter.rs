//! [`scatter`]: points as a scatter plot in SVG.

use npukit_report::figure::{Class, Mark, Scatter};

use super::point::{Metric, Point};
use super::space::Space;

/// Metric of the second axis if there is only one objective.
const SECOND: &str = "dsp";

/// Plots points by the first two objectives. The Pareto-optimal points are joined by a line if
/// these are the only objectives.
pub(crate) fn scatter(points: &[Point], space: &Space) -> String {
    let mut metrics = space.objectives.iter().map(|objective| objective.metric);
    // Default: a space has an objective.
    let first = metrics.next().or_else(|| Metric::named("milliseconds"));
    let second = metrics.next().or_else(|| Metric::named(SECOND));
    let (Some(across), Some(up)) = (first, second) else { return String::new() };
    let is_joined = space.objectives.len() <= 2;
    let mut scatter = Scatter { across: named(across), up: named(up), is_joined, ..Scatter::default() };
    let mark = |point: &Point| {
        let (x, y) = (point.metric(across)?, point.metric(up)?);
        Some(Mark { x, y, class: class(point), title: scatter.title(&point.target, x, y) })
    };
    scatter.marks = points.iter().filter_map(mark).collect();
    scatter.svg()
}

const fn class(point: &Point) -> Class {
    match (point.pareto, point.feasible) {
        (true, _) => Class::Best,
        (false, true) => Class::Beaten,
        (false, false) => Class::Unfit,
    }
}

/// Formats the name of a metric for readers.
fn named(metric: Metric) -> String {
    let text = metric.name.replace('_', " ");
    if metric.more_is_better { format!("{text} (more is better)") } else { text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn points_are_drawn_by_the_first_two_objectives() {
        let space =
            Space::from_toml("target = \"t\"\nminimise = [\"milliseconds\", \"relative_error\"]").unwrap();
        let point = |milliseconds, error, pareto| Point {
            target: "t".to_owned(),
            milliseconds: Some(milliseconds),
            relative_error: Some(error),
            pareto,
            feasible: true,
            ..Point::default()
        };
        let points = [point(1.0, 0.5, true), point(2.0, 0.1, true), point(3.0, 0.4, false), Point::default()];
        let svg = scatter(&points, &space);
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"best\"").count()), (3, 2));
        assert!(svg.contains("<title>t: milliseconds 1, relative error 0.5</title>"), "{svg}");
        assert!(svg.contains(">milliseconds</text>") && svg.contains(">relative error</text>"));
    }
}
