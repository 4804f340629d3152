//! [`csv`]: points as a table.

use std::collections::BTreeSet;

use serde_json::Value;

use super::point::{METRICS, Point};
use crate::verbs::time::quoted;

/// Formats one line per point: its place and target, the chosen values, every figure, and its
/// ranking.
pub(crate) fn csv(points: &[Point]) -> String {
    let names: BTreeSet<&String> = points.iter().flat_map(|point| point.parameters.keys()).collect();
    let mut columns = vec!["index".to_owned(), "target".to_owned()];
    columns.extend(names.iter().map(|name| (*name).clone()));
    columns.extend(METRICS.map(|metric| metric.name.to_owned()));
    columns.extend(["feasible", "pareto", "error"].map(str::to_owned));
    let mut text = line(&columns);
    for point in points {
        let mut cells = vec![point.index.to_string(), point.target.clone()];
        cells.extend(names.iter().map(|name| point.parameters.get(*name).map_or_else(String::new, plain)));
        cells.extend(
            METRICS.map(|metric| point.metric(metric).map_or_else(String::new, |value| value.to_string())),
        );
        // Default: a point with a program has no error.
        let error = point.error.clone().unwrap_or_default();
        cells.extend([point.feasible.to_string(), point.pareto.to_string(), error]);
        text += &line(&cells);
    }
    text
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Joins cells as a line of CSV.
fn line(cells: &[String]) -> String {
    cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_a_line() {
        let parameters =
            [("array_size".to_owned(), Value::from(8)), ("kind".to_owned(), Value::from("a,b"))].into();
        let point =
            Point { index: 3, target: "t".to_owned(), parameters, cycles: Some(7), ..Point::default() };
        let failed = Point { error: Some("it is \"too\" large".to_owned()), ..Point::default() };
        let text = csv(&[point, failed]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("index,target,array_size,kind,milliseconds,cycles,"), "{text}");
        assert!(lines[1].starts_with("3,t,8,\"a,b\",,7,"), "{text}");
        assert!(lines[2].ends_with(",false,false,\"it is \"\"too\"\" large\""), "{text}");
    }
}
