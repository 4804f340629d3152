//! `npu diff`: two reports of one command, figure by figure.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::Context;
use crate::error::Error;

/// What differs between two reports.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// Path of the first report.
    pub before: String,
    /// Path of the second.
    pub after: String,
    /// What reports of their kind are called, as `npukit.time/1`.
    pub of: String,
    /// Numbers that differ, in the order of the first report.
    pub figures: Vec<Figure>,
    /// Texts that differ.
    pub texts: Vec<TextChange>,
    /// Places of numbers and texts that the first report has alone.
    pub only_before: Vec<String>,
    /// Those that the second has alone.
    pub only_after: Vec<String>,
    /// Numbers that are the same.
    pub same: usize,
    /// Places of figures that became worse by more than the threshold.
    pub failures: Vec<String>,
}

/// A number that differs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Figure {
    /// Where it stands, as `layers[conv_1].cycles`.
    pub place: String,
    /// The first report's.
    pub before: f64,
    /// The second report's.
    pub after: f64,
    /// `(after - before) / |before|`; none where the first is 0.
    pub change: Option<f64>,
    /// Whether that is for the better; none where neither is better.
    pub is_better: Option<bool>,
}

/// A text that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TextChange {
    /// Where it stands.
    pub place: String,
    /// The first report's.
    pub before: String,
    /// The second report's.
    pub after: String,
}

/// Keys whose text says which element of a list another is compared with, the first of them that an element has.
const NAMES: [&str; 10] =
    ["name", "kind", "unit", "flag", "tensor", "node", "network", "instance", "file", "on"];

/// What is left out: the host's time, which differs from run to run, and parts of a whole that is compared itself.
const IGNORED: [&str; 3] = ["seconds", "compile_seconds", "share"];

/// Keys of which fewer is better, also for all that stands below them.
const FEWER: [&str; 19] = [
    "cycles",
    "latency_ms",
    "milliseconds",
    "instructions",
    "vectors",
    "bytes",
    "busy",
    "aggregate",
    "times",
    "max_abs_error",
    "rms_error",
    "relative_error",
    "own_max_abs_error",
    "own_rms_error",
    "chain_max_abs_error",
    "chain_rms_error",
    "chain_relative_error",
    "saturations",
    "saturated_constants",
];

/// Keys of which more is better.
const MORE: [&str; 8] = [
    "frames_per_second",
    "accuracy",
    "argmax_agree",
    "utilisation",
    "array_busy",
    "signal_to_noise_db",
    "own_signal_to_noise_db",
    "chain_signal_to_noise_db",
];

/// A number or a text of a report.
#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    Number(f64),
    Text(String),
}

/// Compares what a command has printed with `--json`, now and before. With a `threshold`, in percent of the first, the
/// figures that became worse by more are [`Report::failures`].
///
/// # Errors
///
/// [`Error::Read`] for a file that cannot be read, [`Error::NotReport`] for one that is not a report,
/// [`Error::OtherReport`] for reports of different commands.
pub fn diff(
    before: &str,
    after: &str,
    threshold: Option<f64>,
    context: Context<'_>,
) -> Result<Report, Error> {
    let [a, b] = [before, after].map(|path| read(path, context));
    let ((of, a), (other, b)) = (a?, b?);
    if of != other {
        return Err(Error::OtherReport { before: before.to_owned(), of, after: after.to_owned(), other });
    }
    let (a, b) = (leaves(&a), leaves(&b));
    let by_place: BTreeMap<&str, &Leaf> = b.iter().map(|(place, leaf)| (place.as_str(), leaf)).collect();
    let mut report = Report {
        before: before.to_owned(),
        after: after.to_owned(),
        of,
        figures: Vec::new(),
        texts: Vec::new(),
        only_before: Vec::new(),
        only_after: absent(&b, &a),
        same: 0,
        failures: Vec::new(),
    };
    for (place, leaf) in &a {
        match (leaf, by_place.get(place.as_str())) {
            (_, None) => report.only_before.push(place.clone()),
            (Leaf::Number(x), Some(Leaf::Number(y))) if x == y => report.same += 1,
            (Leaf::Number(x), Some(Leaf::Number(y))) => report.figures.push(figure(place, *x, *y)),
            (x, Some(y)) if x == *y => {}
            (x, Some(y)) => {
                let [before, after] = [x, y].map(text);
                report.texts.push(TextChange { place: place.clone(), before, after });
            }
        }
    }
    if let Some(threshold) = threshold {
        let worse = report.figures.iter().filter(|figure| figure.is_worse_by(threshold / 100.0));
        report.failures = worse.map(|figure| figure.place.clone()).collect();
    }
    Ok(report)
}

impl Figure {
    /// Whether it became worse by more than a share of what it was.
    fn is_worse_by(&self, share: f64) -> bool {
        self.is_better == Some(false) && self.change.is_none_or(|change| change.abs() > share)
    }
}

/// The report at `path`, and what it is a report of.
fn read(path: &str, context: Context<'_>) -> Result<(String, Value), Error> {
    let not_report = |reason: String| Error::NotReport { path: path.to_owned(), reason };
    let bytes = context.reader.read(path)?;
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|error| not_report(error.to_string()))?;
    let schema = value.as_object_mut().and_then(|fields| fields.remove("schema"));
    match schema {
        Some(Value::String(schema)) => Ok((schema, value)),
        _ => Err(not_report("it has no text `schema`".to_owned())),
    }
}

/// All numbers and texts with their places, in the order of the report.
fn leaves(report: &Value) -> Vec<(String, Leaf)> {
    let mut leaves = Vec::new();
    collect(report, String::new(), &mut leaves);
    leaves
}

fn collect(value: &Value, place: String, leaves: &mut Vec<(String, Leaf)>) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => leaves.push((place, Leaf::Text(truth.to_string()))),
        Value::Number(number) => leaves.extend(number.as_f64().map(|number| (place, Leaf::Number(number)))),
        Value::String(text) => leaves.push((place, Leaf::Text(text.clone()))),
        Value::Array(elements) => {
            for (name, element) in named(elements) {
                collect(element, format!("{place}[{name}]"), leaves);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(key, _)| !IGNORED.contains(&key.as_str())) {
                let dot = if place.is_empty() { "" } else { "." };
                collect(field, format!("{place}{dot}{key}"), leaves);
            }
        }
    }
}

/// The elements of a list with what they are called: a text of theirs, with a number where several have the same, or
/// else their place in the list, from 0.
fn named(elements: &[Value]) -> impl Iterator<Item = (String, &Value)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    elements.iter().enumerate().map(move |(i, element)| {
        let Some(name) = NAMES.iter().find_map(|key| element.get(key)?.as_str()) else {
            return (i.to_string(), element);
        };
        let count = seen.entry(name).and_modify(|count| *count += 1).or_insert(1);
        let name = if *count == 1 { name.to_owned() } else { format!("{name} #{count}") };
        (name, element)
    })
}

/// The places of `leaves` that `others` do not have.
fn absent(leaves: &[(String, Leaf)], others: &[(String, Leaf)]) -> Vec<String> {
    let others: std::collections::BTreeSet<&str> = others.iter().map(|(place, _)| place.as_str()).collect();
    let alone = leaves.iter().filter(|(place, _)| !others.contains(place.as_str()));
    alone.map(|(place, _)| place.clone()).collect()
}

fn figure(place: &str, before: f64, after: f64) -> Figure {
    let change = (before != 0.0).then(|| (after - before) / before.abs());
    let is_better = more_is_better(place).map(|more| (after > before) == more);
    Figure { place: place.to_owned(), before, after, change, is_better }
}

/// Whether more is better at `place`, by the last of its keys that says; none where none does.
fn more_is_better(place: &str) -> Option<bool> {
    let keys = place.rsplit('.').map(|part| part.split('[').next().unwrap_or(part));
    keys.into_iter().find_map(|key| {
        let more = MORE.contains(&key);
        (more || FEWER.contains(&key)).then_some(more)
    })
}

fn text(leaf: &Leaf) -> String {
    match leaf {
        Leaf::Number(number) => number.to_string(),
        Leaf::Text(text) => text.clone(),
    }
}
