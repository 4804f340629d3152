//! `npu diff`: compares two reports of one verb figure by figure, or tensors ([`values`]).

pub mod values;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::Context;
use crate::error::Error;

/// Differences between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Path of the first report.
    pub before: String,
    /// Path of the second report.
    pub after: String,
    /// Schema of both reports, such as `npukit.time/1`.
    pub of: String,
    /// Numbers that differ, in the order of the first report.
    pub figures: Vec<Figure>,
    /// Texts and booleans that differ, and numbers that are `null` in one of the reports.
    pub texts: Vec<TextChange>,
    /// JSON paths of numbers and texts that only the first report has.
    pub only_before: Vec<String>,
    /// JSON paths of numbers and texts that only the second report has.
    pub only_after: Vec<String>,
    /// Number of equal numbers.
    pub same: usize,
    /// JSON paths of regressions: figures worse than the threshold, judged figures that
    /// disappeared, checks that no longer hold, and new failures.
    pub failures: Vec<String>,
}

/// Number that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Figure {
    /// JSON path, such as `layers[conv_1].cycles`.
    pub place: String,
    /// Value in the first report.
    pub before: f64,
    /// Value in the second report.
    pub after: f64,
    /// Relative change, `(after - before) / |before|`; `None` if the first value is 0.
    pub change: Option<f64>,
    /// Whether the change is an improvement; `None` if neither direction is better.
    pub is_better: Option<bool>,
}

/// Text, boolean or `null` that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TextChange {
    /// JSON path of the value.
    pub place: String,
    /// Value in the first report.
    pub before: String,
    /// Value in the second report.
    pub after: String,
}

/// Keys whose text identifies an element of a list, in order of preference.
const NAMES: [&str; 10] =
    ["name", "kind", "unit", "flag", "tensor", "node", "network", "instance", "file", "on"];

/// Pairs of numeric keys that identify an element without a name: of the worst samples, and of
/// confusions.
const NUMBERS: [[&str; 2]; 2] = [["sample", "position"], ["label", "predicted"]];

/// Keys to ignore: the host's time, which differs between runs, and shares of totals that are
/// compared themselves.
const IGNORED: [&str; 3] = ["seconds", "compile_seconds", "share"];

/// Keys for which less is better, also for everything below them.
const FEWER: [&str; 22] = [
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
    "non_finite",
    "nan",
    "infinite",
];

/// Keys for which more is better; values below them are not judged.
const MORE: [&str; 14] = [
    "frames_per_second",
    "accuracy",
    "top1",
    "top5",
    "top_share",
    "share_of_macs_on_chip",
    "macs_on_chip",
    "argmax_agree",
    "utilization",
    "array_busy",
    "signal_to_noise_db",
    "snr_db",
    "own_signal_to_noise_db",
    "chain_signal_to_noise_db",
];

/// Groups of figures that are judged by default, with their keys.
const GROUPS: [(&str, &[&str]); 3] = [
    ("latency", &["cycles", "latency_ms", "milliseconds", "frames_per_second"]),
    (
        "accuracy",
        &[
            "accuracy",
            "top1",
            "top5",
            "top_share",
            "argmax_agree",
            "max_abs_error",
            "rms_error",
            "relative_error",
            "signal_to_noise_db",
            "snr_db",
            "saturations",
            "non_finite",
        ],
    ),
    ("memory", &["memory"]),
];

/// Keys of parts of a network and of a machine, whose figures are in no group.
const PARTS: [&str; 4] = ["layers", "units", "flags", "kinds"];

/// Name of all figures.
const ALL: &str = "all";

/// Keys that must be true.
const TRUE: [&str; 3] = ["fits", "supported", "informative"];

/// Keys of figures that may be missing in a good case: nothing to count, or no noise.
const OPTIONAL: [&str; 13] = [
    "kinds",
    "units",
    "flags",
    "saturations_by_layer",
    "confusion",
    "rescaling",
    "quantization",
    "relative_error",
    "chain_relative_error",
    "signal_to_noise_db",
    "snr_db",
    "own_signal_to_noise_db",
    "chain_signal_to_noise_db",
];

/// Key of the list of failures of a verb.
const FAILURES: &str = "failures";

/// Value at a JSON path.
#[derive(Clone, Debug, PartialEq)]
enum Leaf {
    Number(f64),
    Truth(bool),
    Text(String),
    Nothing,
}

/// Value with its JSON path, and the keys of that path.
#[derive(Clone, Debug)]
struct Entry<'a> {
    place: String,
    keys: Vec<&'a str>,
    leaf: Leaf,
}

/// Compares two JSON reports of a verb. With a `threshold`, in percent of the first value,
/// regressions of the `judged` figures are in [`Report::failures`]: groups (`latency`, `accuracy`,
/// `memory`), keys such as `cycles`, or `all`. If `judged` is empty, these are the three groups.
///
/// # Errors
///
/// Returns [`Error::Read`] for a file that cannot be read, [`Error::NotReport`] for one that is not
/// a report or reports an error, [`Error::OtherReport`] for reports of different verbs, and
/// [`Error::UnknownName`] for figures that neither report has.
pub fn diff(
    before: &str,
    after: &str,
    threshold: Option<f64>,
    judged: &[String],
    context: Context<'_>,
) -> Result<Report, Error> {
    let [a, b] = [before, after].map(|path| read(path, context));
    let ((of, a), (other, b)) = (a?, b?);
    if of != other {
        return Err(Error::OtherReport { before: before.to_owned(), of, after: after.to_owned(), other });
    }
    let (a, b) = (entries(&a), entries(&b));
    check_judged(judged, a.iter().chain(&b))?;
    let mut report = Report {
        before: before.to_owned(),
        after: after.to_owned(),
        of,
        figures: Vec::new(),
        texts: Vec::new(),
        only_before: absent(&a, &b),
        only_after: absent(&b, &a),
        same: 0,
        failures: threshold.map_or_else(Vec::new, |threshold| failures(&a, &b, threshold / 100.0, judged)),
    };
    let after = by_place(&b);
    for entry in &a {
        if let Some(other) = after.get(entry.place.as_str()) {
            report.add(entry, &other.leaf);
        }
    }
    Ok(report)
}

impl Report {
    /// Adds the values at one path of both reports.
    fn add(&mut self, entry: &Entry<'_>, after: &Leaf) {
        match (&entry.leaf, after) {
            (Leaf::Number(x), Leaf::Number(y)) if x == y => self.same += 1,
            (Leaf::Number(x), Leaf::Number(y)) => self.figures.push(Figure::of(entry, *x, *y)),
            (x, y) if x == y => {}
            (x, y) => {
                let [before, after] = [x, y].map(Leaf::text);
                self.texts.push(TextChange { place: entry.place.clone(), before, after });
            }
        }
    }
}

/// Returns the JSON paths of values that got worse, by more than `share` for numbers.
fn failures(before: &[Entry<'_>], after: &[Entry<'_>], share: f64, judged: &[String]) -> Vec<String> {
    let (earlier, later) = (by_place(before), by_place(after));
    let worse = before.iter().filter(|entry| {
        let later = later.get(entry.place.as_str()).map_or(&Leaf::Nothing, |other| &other.leaf);
        entry.is_judged(judged) && entry.is_worse(later, share)
    });
    let is_new = |entry: &&Entry<'_>| {
        entry.keys.first() == Some(&FAILURES) && !earlier.contains_key(entry.place.as_str())
    };
    worse.chain(after.iter().filter(is_new)).map(|entry| entry.place.clone()).collect()
}

/// Checks that each name is a group or a key of a report.
fn check_judged<'a>(judged: &[String], entries: impl Iterator<Item = &'a Entry<'a>>) -> Result<(), Error> {
    let is_group = |name: &String| name == ALL || GROUPS.iter().any(|(group, _)| group == name);
    let judged_figure = |entry: &&Entry<'_>| entry.more_is_better().is_some();
    let keys: BTreeSet<&str> =
        entries.filter(judged_figure).flat_map(|entry| entry.keys.iter().copied()).collect();
    let Some(name) = judged.iter().find(|name| !is_group(name) && !keys.contains(name.as_str())) else {
        return Ok(());
    };
    let known = GROUPS.iter().map(|(group, _)| *group).chain([ALL]).chain(keys).map(str::to_owned).collect();
    Err(Error::UnknownName { what: "figure", name: name.clone(), known })
}

impl Entry<'_> {
    /// Whether the value belongs to the `judged` figures. Checks always do.
    fn is_judged(&self, judged: &[String]) -> bool {
        if !matches!(self.leaf, Leaf::Number(_)) {
            return true;
        }
        let is_part = self.keys.iter().any(|key| PARTS.contains(key));
        let is_in = |group: &[&str]| !is_part && self.keys.iter().any(|key| group.contains(key));
        if judged.is_empty() {
            return GROUPS.iter().any(|(_, keys)| is_in(keys));
        }
        judged.iter().any(|name| match GROUPS.iter().find(|(group, _)| group == name) {
            Some((_, keys)) => is_in(keys) || self.keys.contains(&name.as_str()),
            None => name == ALL || self.keys.contains(&name.as_str()),
        })
    }

    /// Whether the value got worse, by more than `share` for a number.
    fn is_worse(&self, later: &Leaf, share: f64) -> bool {
        match (&self.leaf, later) {
            (Leaf::Number(x), Leaf::Number(y)) => x != y && Figure::of(self, *x, *y).is_worse_by(share),
            (Leaf::Number(_), _) => {
                let is_optional = self.keys.iter().any(|key| OPTIONAL.contains(key));
                self.more_is_better().is_some() && !is_optional
            }
            (Leaf::Truth(true), later) => {
                self.keys.last().is_some_and(|key| TRUE.contains(key)) && *later != Leaf::Truth(true)
            }
            _ => false,
        }
    }

    /// Whether more is better, by the last key that determines it; `None` if no key does.
    fn more_is_better(&self) -> Option<bool> {
        if self.keys.last().is_some_and(|key| MORE.contains(key)) {
            return Some(true);
        }
        self.keys.iter().any(|key| FEWER.contains(key)).then_some(false)
    }
}

impl Figure {
    fn of(entry: &Entry<'_>, before: f64, after: f64) -> Self {
        let change = (before != 0.0).then(|| (after - before) / before.abs());
        let is_better = entry.more_is_better().map(|more| (after > before) == more);
        Self { place: entry.place.clone(), before, after, change, is_better }
    }

    /// Whether it got worse by more than `share` of the first value.
    fn is_worse_by(&self, share: f64) -> bool {
        self.is_better == Some(false) && self.change.is_none_or(|change| change.abs() > share)
    }
}

/// Reads the report at `path`; also returns its schema.
fn read(path: &str, context: Context<'_>) -> Result<(String, Value), Error> {
    let not_report = |reason: String| Error::NotReport { path: path.to_owned(), reason };
    let bytes = context.reader.read(path)?;
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|error| not_report(error.to_string()))?;
    let schema = value.as_object_mut().and_then(|fields| fields.remove("schema"));
    match schema {
        Some(Value::String(schema)) if schema.starts_with(ERROR) => {
            Err(not_report(format!("it reports an error (`{schema}`), which has no figures")))
        }
        Some(Value::String(schema)) => Ok((schema, value)),
        _ => Err(not_report("it has no string `schema`".to_owned())),
    }
}

/// Prefix of the schema of errors.
const ERROR: &str = "npukit.error/";

/// Returns all values of a report, in order.
fn entries(report: &Value) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    collect(report, String::new(), &[], &mut entries);
    entries
}

fn collect<'a>(value: &'a Value, place: String, keys: &[&'a str], entries: &mut Vec<Entry<'a>>) {
    let leaf = match value {
        Value::Array(elements) => {
            for (name, element) in named(elements) {
                collect(element, format!("{place}[{name}]"), keys, entries);
            }
            return;
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(key, _)| !IGNORED.contains(&key.as_str())) {
                let dot = if place.is_empty() { "" } else { "." };
                collect(field, format!("{place}{dot}{key}"), &[keys, &[key.as_str()]].concat(), entries);
            }
            return;
        }
        Value::Null => Leaf::Nothing,
        Value::Bool(truth) => Leaf::Truth(*truth),
        // Default: a number too large for a float is ignored.
        Value::Number(number) => number.as_f64().map_or(Leaf::Nothing, Leaf::Number),
        Value::String(text) => Leaf::Text(text.clone()),
    };
    entries.push(Entry { place, keys: keys.to_vec(), leaf });
}

/// Returns the elements of a list with their names, numbered if several have the same name.
fn named(elements: &[Value]) -> impl Iterator<Item = (String, &Value)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    elements.iter().enumerate().map(move |(i, element)| {
        // Default: an element without a name is identified by its index, from 0.
        let name = name(element).unwrap_or_else(|| i.to_string());
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        (if *count == 1 { name } else { format!("{name} #{count}") }, element)
    })
}

/// Returns the name of an element of a list: its text, or the numbers that identify it.
fn name(element: &Value) -> Option<String> {
    let text = NAMES.iter().find_map(|key| element.get(key)?.as_str());
    text.map(str::to_owned).or_else(|| {
        NUMBERS.iter().find_map(|[first, second]| {
            let (a, b) = (element.get(first)?, element.get(second)?);
            Some(format!("{first} {a}, {second} {b}"))
        })
    })
}

fn by_place<'a>(entries: &'a [Entry<'a>]) -> BTreeMap<&'a str, &'a Entry<'a>> {
    entries.iter().map(|entry| (entry.place.as_str(), entry)).collect()
}

/// Returns the paths in `entries` that are missing in `others`; a `null` is not missed.
fn absent(entries: &[Entry<'_>], others: &[Entry<'_>]) -> Vec<String> {
    let others = by_place(others);
    let alone = entries
        .iter()
        .filter(|entry| entry.leaf != Leaf::Nothing && !others.contains_key(entry.place.as_str()));
    alone.map(|entry| entry.place.clone()).collect()
}

impl Leaf {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
            Self::Text(text) => text.clone(),
            Self::Nothing => "null".to_owned(),
        }
    }
}
