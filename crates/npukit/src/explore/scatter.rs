//! [`scatter`]: points as a scatter plot in SVG.

use std::cmp::Ordering;

use npukit_base::plural;
use npukit_report::figure::{Class, Groups, MAX_GROUPS, Mark, Scatter};
use serde_json::Value;

use super::point::{Metric, Point};
use super::space::Space;

/// Metric of the second axis if there is only one objective.
const SECOND: &str = "dsp";

/// Plots points by the first two objectives. The Pareto-optimal points are joined by steps if these
/// are the only objectives. The figure or parameter `color_by` selects colors; `label_by` selects
/// the labels of Pareto-optimal points, by default their places in the space.
pub(crate) fn scatter(
    points: &[Point],
    space: &Space,
    models: &[String],
    color_by: Option<&str>,
    label_by: Option<&str>,
) -> String {
    let mut metrics = space.objectives.iter().map(|objective| objective.metric);
    // Default: a space has an objective.
    let first = metrics.next().or_else(|| Metric::named("milliseconds"));
    let second = metrics.next().or_else(|| Metric::named(SECOND));
    let (Some(across), Some(up)) = (first, second) else { return String::new() };
    let values = color_by.map(|name| Values::of(points, name));
    let files: Vec<&str> = models.iter().map(|model| file_name(model)).collect();
    let mut scatter = Scatter {
        title: format!(
            "{} {} for {}",
            points.len(),
            plural(points.len() as u64, "machine"),
            files.join(", ")
        ),
        across: named(across),
        up: named(up),
        is_joined: space.objectives.len() <= 2,
        more_is_better: across.more_is_better,
        groups: values.as_ref().map(Values::groups),
        ..Scatter::default()
    };
    let mark = |point: &Point| {
        let (x, y) = (point.metric(across)?, point.metric(up)?);
        let group = values.as_ref().and_then(|values| values.group(point));
        let label = match label_by {
            Some(name) => point.named(name).as_ref().map_or_else(String::new, plain),
            None => point.index.to_string(),
        };
        Some(Mark { x, y, class: class(point), title: scatter.tooltip(&point.target, x, y), group, label })
    };
    scatter.marks = points.iter().filter_map(mark).collect();
    scatter.svg()
}

/// Returns the last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path) // Default: never used, a path has a last part.
}

/// Whether a point has the figure or parameter `name`.
pub(crate) fn is_drawable(points: &[Point], name: &str) -> bool {
    points.iter().any(|point| point.named(name).is_some())
}

/// Different values of a figure or a parameter.
struct Values<'a> {
    name: &'a str,
    /// The values in order.
    sorted: Vec<Value>,
}

impl<'a> Values<'a> {
    fn of(points: &[Point], name: &'a str) -> Self {
        let mut sorted: Vec<Value> = points.iter().filter_map(|point| point.named(name)).collect();
        sorted.sort_by(ordered);
        sorted.dedup();
        Self { name, sorted }
    }

    /// Returns the group of the value at a place in the order: neighbors share a group if there are
    /// more values than groups.
    fn group_at(&self, place: usize) -> usize {
        let count = self.sorted.len();
        if count <= MAX_GROUPS { place } else { place * MAX_GROUPS / count }
    }

    fn group(&self, point: &Point) -> Option<usize> {
        let value = point.named(self.name)?;
        self.sorted.iter().position(|other| *other == value).map(|place| self.group_at(place))
    }

    fn groups(&self) -> Groups {
        let mut groups: Vec<Vec<&Value>> = vec![Vec::new(); self.sorted.len().min(MAX_GROUPS)];
        for (place, value) in self.sorted.iter().enumerate() {
            groups[self.group_at(place)].push(value);
        }
        let text = |group: &Vec<&Value>| match group[..] {
            [] => String::new(),
            [one] => plain(one),
            [first, .., last] => format!("{} to {}", plain(first), plain(last)),
        };
        Groups {
            name: self.name.to_owned(),
            values: groups.iter().map(text).collect(),
            are_amounts: self.sorted.iter().all(Value::is_number),
        }
    }
}

/// Orders numbers by size, and before texts.
fn ordered(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (None, None) => plain(a).cmp(&plain(b)),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        // Figures are floats, even cycles.
        None => value.as_f64().map_or_else(|| value.to_string(), |number| number.to_string()),
    }
}

const fn class(point: &Point) -> Class {
    match (point.pareto, point.feasible) {
        (true, _) => Class::Best,
        (false, true) => Class::Beaten,
        (false, false) => Class::Unfit,
    }
}

/// Formats the name of a metric with its unit.
fn named(metric: Metric) -> String {
    let text = match metric.name {
        "milliseconds" => "latency (ms)",
        "frames_per_second" => "samples per second",
        "relative_error" => "error (share of the output's range)",
        "snr_db" => "signal-to-noise ratio (dB)",
        "argmax_agree" => "agreement with float (share of samples)",
        "dsp" => "DSP slices",
        "bram" => "block RAMs (36 kbit)",
        "uram" => "UltraRAMs (288 kbit)",
        "lut" => "lookup tables",
        other => other,
    };
    if metric.more_is_better { format!("{text}, more is better") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn points() -> Vec<Point> {
        let point = |index: u64, error, pareto| Point {
            index,
            target: "t".to_owned(),
            parameters: [("size".to_owned(), Value::from(4 << index))].into(),
            milliseconds: Some(index as f64),
            relative_error: Some(error),
            pareto,
            feasible: true,
            ..Point::default()
        };
        vec![point(1, 0.5, true), point(2, 0.1, true), point(3, 0.4, false), Point::default()]
    }

    fn svg(color_by: Option<&str>, label_by: Option<&str>) -> String {
        let text = "target = \"t\"\nminimize = [\"milliseconds\", \"relative_error\"]";
        scatter(
            &points(),
            &Space::from_toml(text).unwrap(),
            &["folder/m.onnx".to_owned()],
            color_by,
            label_by,
        )
    }

    #[test]
    fn points_are_drawn_by_the_first_two_objectives() {
        let svg = svg(None, None);
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"best\"").count()), (3, 2));
        assert!(
            svg.contains("<title>t: latency (ms) 1, error (share of the output's range) 0.5</title>"),
            "{svg}"
        );
        assert!(
            svg.contains(">latency (ms)</text>") && svg.contains(">4 machines for m.onnx</text>"),
            "{svg}"
        );
        assert!(svg.contains(">1</text>") && svg.contains(">2</text>"), "{svg}");
    }

    #[test]
    fn colors_and_labels_follow_a_parameter() {
        let svg = svg(Some("size"), Some("size"));
        for text in [">size:</text>", ">8</text>", ">16</text>", ">32</text>"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(is_drawable(&points(), "size") && is_drawable(&points(), "latency"));
        assert!(!is_drawable(&points(), "sise") && !is_drawable(&points(), "snr_db"));
    }

    #[test]
    fn many_values_share_colors() {
        let point = |size: usize| Point {
            parameters: [("size".to_owned(), Value::from(size))].into(),
            ..Point::default()
        };
        let points: Vec<Point> = (1..=20).map(point).collect();
        let values = Values::of(&points, "size");
        let groups = values.groups();
        assert_eq!((groups.values.len(), groups.are_amounts), (MAX_GROUPS, true));
        assert_eq!((groups.values[0].as_str(), groups.values[7].as_str()), ("1 to 3", "19 to 20"));
        assert_eq!((values.group(&points[0]), values.group(&points[19])), (Some(0), Some(7)));
    }
}
