//! [`csv`]: points as a table.

use std::collections::BTreeSet;

use serde_json::Value;

use super::point::{METRICS, Point};
use crate::verbs::time::quoted;

/// Figures of each model, if there are several models.
const OF_MODELS: [&str; 5] = ["milliseconds", "cycles", "utilization", "relative_error", "argmax_agree"];

/// Formats one line per point: its place and target, the chosen values, every figure, and its
/// ranking. If there are several models, columns such as `m.onnx:cycles` follow.
pub(crate) fn csv(points: &[Point]) -> String {
    let names: BTreeSet<&String> = points.iter().flat_map(|point| point.parameters.keys()).collect();
    let mut columns = vec!["index".to_owned(), "target".to_owned()];
    columns.extend(names.iter().map(|name| (*name).clone()));
    columns.extend(METRICS.map(|metric| metric.name.to_owned()));
    columns.extend(["feasible", "pareto", "error"].map(str::to_owned));
    let models = models(points);
    let of_models = || models.iter().flat_map(|model| OF_MODELS.map(|figure| (model, figure)));
    columns.extend(of_models().map(|(model, figure)| model.clone() + ":" + figure));
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
        cells.extend(of_models().map(|(model, figure)| {
            let found = point.models.iter().find(|found| found.model == *model);
            let value = found.and_then(|found| found.metric(figure));
            value.map_or_else(String::new, |value| value.to_string())
        }));
        text += &line(&cells);
    }
    text
}

/// Returns the models if there are several.
fn models(points: &[Point]) -> Vec<String> {
    let models: BTreeSet<&String> =
        points.iter().flat_map(|point| &point.models).map(|one| &one.model).collect();
    if models.len() < 2 { Vec::new() } else { models.into_iter().cloned().collect() }
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
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::explore::ModelPoint;

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

    #[test]
    fn several_models_have_columns_each() {
        let model = |name: &str, cycles| ModelPoint {
            model: name.to_owned(),
            cycles: Some(cycles),
            ..ModelPoint::default()
        };
        let point = Point { models: vec![model("b.onnx", 5), model("a.onnx", 2)], ..Point::default() };
        let text = csv(&[point]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let cell = |name: &str| lines[1][lines[0].iter().position(|column| *column == name).unwrap()];
        assert_eq!(
            (cell("a.onnx:cycles"), cell("b.onnx:cycles"), cell("a.onnx:milliseconds")),
            ("2", "5", "")
        );
        assert!(!csv(&[Point { models: vec![model("a.onnx", 2)], ..Point::default() }]).contains("a.onnx"));
    }
}
