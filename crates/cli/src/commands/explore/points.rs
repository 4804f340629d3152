//! Tables of an exploration: the points of the front, and the figures of each network.

use npukit::explore::{METRICS, Metric, ModelPoint, Point, heading};
use serde_json::Value;

use crate::table::{Cell, Column, Row, percent, table, thousands};

/// Figures that the table has if they are known, after the objectives.
const SHOWN: [&str; 8] = [
    "milliseconds",
    "total_milliseconds",
    "joules",
    "cycles",
    "relative_error",
    "argmax_agree",
    "dsp",
    "bram",
];

/// Figures that are computed on request only.
const REQUESTED: [&str; 2] = ["total_milliseconds", "joules"];

/// Figures of a network, in the order of the columns.
const OF_NETWORKS: [&str; 5] = ["milliseconds", "cycles", "utilization", "relative_error", "argmax_agree"];

/// Column of the table of points.
struct Figure<'a> {
    heading: &'a str,
    /// Unimportance: 0 for an objective.
    rank: u8,
    cells: Vec<String>,
}

impl<'a> Figure<'a> {
    fn of_metric(metric: Metric, rank: u8, points: &[&Point]) -> Self {
        let cell = |point: &&Point| {
            point.metric(metric).map_or_else(String::new, |value| written(metric.name, value))
        };
        Self { heading: heading(metric.name), rank, cells: points.iter().map(cell).collect() }
    }

    fn of_parameter(name: &'a str, points: &[&Point]) -> Self {
        let cell = |point: &&Point| point.parameters.get(name).map_or_else(String::new, plain);
        Self { heading: name, rank: 1, cells: points.iter().map(cell).collect() }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    /// Whether all points have the same value, and it is not an objective.
    fn is_constant(&self) -> bool {
        self.rank > 0 && self.cells.len() > 1 && self.cells.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Points as a table, with what the table leaves out.
pub struct Points {
    /// Figures and parameters that are the same for all points.
    pub constant: String,
    /// Figures that are unknown for all points.
    pub unknown: String,
    /// Table with one row per point.
    pub table: String,
}

impl Points {
    /// Creates the table: objectives first, then parameters and other figures. `mark` gives the
    /// mark of each point, which may be empty.
    pub fn new(points: &[&Point], objectives: &[Metric], mark: &dyn Fn(&Point) -> &'static str) -> Self {
        let Some(first) = points.first() else {
            return Self { constant: String::new(), unknown: String::new(), table: String::new() };
        };
        let is_objective = |name: &str| objectives.iter().any(|objective| objective.name == name);
        let is_known = |metric: &Metric| points.iter().any(|point| point.metric(*metric).is_some());
        let others = METRICS
            .into_iter()
            .filter(|one| SHOWN.contains(&one.name) && !is_objective(one.name))
            .filter(|one| !REQUESTED.contains(&one.name) || is_known(one));
        let figures: Vec<Figure<'_>> = objectives
            .iter()
            .map(|metric| Figure::of_metric(*metric, 0, points))
            .chain(first.parameters.keys().map(|name| Figure::of_parameter(name, points)))
            .chain(others.map(|metric| Figure::of_metric(metric, 2, points)))
            .collect();
        let (empty, known): (Vec<_>, Vec<_>) = figures.into_iter().partition(Figure::is_empty);
        let (constant, varying): (Vec<_>, Vec<_>) = known.into_iter().partition(Figure::is_constant);
        let constant = constant.iter().map(|one| format!("{} {}", one.heading, one.cells[0]));
        let names: Vec<&str> = empty.iter().map(|one| one.heading).collect();
        let has_samples = !names.contains(&heading("relative_error"));
        let hint = if has_samples { "" } else { " (--input measures errors)" };
        Self {
            constant: constant.collect::<Vec<_>>().join(", "),
            unknown: if names.is_empty() { String::new() } else { names.join(", ") + hint },
            table: drawn(points, &varying, mark),
        }
    }
}

fn drawn(points: &[&Point], figures: &[Figure<'_>], mark: &dyn Fn(&Point) -> &'static str) -> String {
    let has_marks = points.iter().any(|point| !mark(point).is_empty());
    let mut columns = vec![Column::right("point")];
    columns.extend(figures.iter().map(|figure| Column::right(figure.heading).minor(figure.rank)));
    columns.extend(has_marks.then_some(Column::left("")));
    let row = |(place, point): (usize, &&Point)| {
        let mut cells: Vec<Cell> = vec![point.index.to_string().into()];
        cells.extend(figures.iter().map(|figure| Cell::from(&*figure.cells[place])));
        cells.extend(has_marks.then(|| Cell::from(mark(point))));
        Row::new(cells, None)
    };
    table(&columns, points.iter().enumerate().map(row))
}

/// Formats the figures of each network for each of these points; empty if there is one network.
pub fn networks(points: &[&Point]) -> String {
    if points.iter().all(|point| point.models.len() < 2) {
        return String::new();
    }
    let all: Vec<(&Point, &ModelPoint)> =
        points.iter().flat_map(|point| point.models.iter().map(move |model| (*point, model))).collect();
    let is_known = |name: &&str| all.iter().any(|(_, model)| model.metric(name).is_some());
    let figures: Vec<&str> = OF_NETWORKS.into_iter().filter(is_known).collect();
    let mut columns = vec![Column::right("point"), Column::left("network")];
    columns.extend(figures.iter().map(|name| Column::right(heading(name))));
    let row = |(point, model): &(&Point, &ModelPoint)| {
        let mut cells: Vec<Cell> = vec![point.index.to_string().into(), model.model.as_str().into()];
        let cell = |name: &&str| model.metric(name).map_or_else(String::new, |value| written(name, value));
        cells.extend(figures.iter().map(cell).map(Cell::from));
        Row::new(cells, None)
    };
    format!("\n{}", table(&columns, all.iter().map(row)))
}

fn written(name: &str, value: f64) -> String {
    match name {
        "milliseconds" | "total_milliseconds" => format!("{value:.3}"),
        "joules" => format!("{:.3}", 1e3 * value),
        "frames_per_second" | "snr_db" => format!("{value:.1}"),
        "cycles" | "instructions" => thousands(value as u64),
        "relative_error" | "argmax_agree" | "utilization" => percent(value),
        _ => value.to_string(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
