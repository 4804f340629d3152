//! [`Space`]: the instances to explore, read from TOML.
//!
//! ```toml
//! target = "NAME:PRESET"                  # or a list: all combinations with each
//! where = ["accumulator_depth <= local_depth", "bram <= 140"]
//! minimize = ["milliseconds", "bram"]       # and `maximize`
//!
//! [parameters]                              # as listed by `npu targets NAME:PRESET`
//! array_size = { powers_of_two = [4, 16] }  # 4, 8, 16
//! local_depth = [4096, 8192]
//! accumulator_depth = { from = 1024, to = 4096, step = 1024 }
//!
//! [options]                                 # as listed by `npu targets NAME --options`
//! strategy = ["local-vars", "local-consts"]
//! ```

use std::collections::{BTreeMap, BTreeSet};

use npukit_base::suggestion;
use npukit_numeric::SplitMix64;
use serde_json::Value;
use toml::Value as Toml;

use super::condition::Condition;
use super::error::SpaceError;
use super::point::{METRICS, Metric, Planned};
use crate::error::Error;
use crate::targets::{default_spec, target_with};

/// Space of instances and options to explore.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// Targets and instances.
    pub targets: Vec<String>,
    /// Parameters of the instances, with their values.
    pub parameters: Vec<Choice>,
    /// Options of the target, with their values.
    pub options: Vec<Choice>,
    /// Conditions that points must meet.
    pub conditions: Vec<Condition>,
    /// Figures to minimize or maximize.
    pub objectives: Vec<Objective>,
}

/// Name and its possible values.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Name of the parameter or option.
    pub name: String,
    /// Possible values; never empty.
    pub values: Vec<Value>,
}

/// Figure to optimize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objective {
    /// Kind of figure.
    pub metric: Metric,
}

/// Maximum number of points in a space: each takes a few kilobytes.
const MOST: usize = 1 << 20;
/// Keys of the file.
const KEYS: [&str; 8] =
    ["target", "parameters", "options", "where", "minimize", "maximize", "minimise", "maximise"];
/// Keys of objectives, in both spellings, and whether more is better.
const OBJECTIVES: [(&str, bool); 4] =
    [("minimize", false), ("minimise", false), ("maximize", true), ("maximise", true)];
/// Maximum number of values in a range.
const MAX_VALUES: usize = 1 << 16;
/// Objective if the file names none.
const USUAL: &str = "milliseconds";

impl Space {
    /// Parses a space.
    ///
    /// # Errors
    ///
    /// Returns the first error in the text.
    pub fn from_toml(text: &str) -> Result<Self, SpaceError> {
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| SpaceError::Toml(error.to_string()))?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let meant = suggestion(key, KEYS);
            return Err(wrong(
                key,
                format!("unknown key of a space{meant}; known keys: {}", KEYS.join(", ")),
            ));
        }
        let targets = texts("target", table.get("target"))?;
        if targets.is_empty() {
            return Err(wrong(
                "target",
                "a space needs a target, such as `target = \"NAME:PRESET\"`".to_owned(),
            ));
        }
        let conditions = texts("where", table.get("where"))?;
        let conditions = conditions.iter().map(|text| Condition::parse(text)).collect::<Result<_, _>>()?;
        let mut objectives = Vec::new();
        for (key, more_is_better) in OBJECTIVES {
            for name in texts(key, table.get(key))? {
                objectives.push(objective(key, &name, more_is_better)?);
            }
        }
        if objectives.is_empty() {
            objectives.push(objective("minimize", USUAL, false)?);
        }
        let (parameters, options) =
            (choices("parameters", table.get("parameters"))?, choices("options", table.get("options"))?);
        Ok(Self { targets, parameters, options, conditions, objectives })
    }

    /// Returns the number of points, regardless of conditions, or `None` if it overflows.
    pub fn size(&self) -> Option<usize> {
        let choices = self.parameters.iter().chain(&self.options);
        choices.map(|choice| choice.values.len()).try_fold(self.targets.len(), usize::checked_mul)
    }

    /// Returns all points, or `sample` of them chosen by `seed`.
    ///
    /// # Errors
    ///
    /// Fails if there are too many points, or if a value cannot be part of the name of an instance.
    pub fn points(&self, sample: Option<usize>, seed: u64) -> Result<Vec<Planned>, Error> {
        let size = self.size();
        let too_many = |points: String| Error::from(SpaceError::TooMany { points, most: MOST });
        let indices: Vec<u64> = match (size, sample) {
            (Some(size), Some(sample)) if sample < size => sampled(size as u64, sample.min(MOST), seed),
            (Some(size), _) if size <= MOST => (0..size as u64).collect(),
            (Some(size), _) => return Err(too_many(size.to_string())),
            (None, _) => return Err(too_many("more than 10^19".to_owned())),
        };
        indices.into_iter().map(|index| self.point(index)).collect()
    }

    /// Returns the name and the number of values of each choice, slowest-changing first.
    pub fn choices(&self) -> Vec<(String, usize)> {
        let own = [("target".to_owned(), self.targets.len())];
        let others = self.parameters.iter().chain(&self.options);
        own.into_iter().chain(others.map(|choice| (choice.name.clone(), choice.values.len()))).collect()
    }

    /// Checks that conditions only name figures and parameters of instances.
    pub(super) fn check_names(&self, machines: &[BTreeMap<String, Value>]) -> Result<(), SpaceError> {
        for condition in &self.conditions {
            for name in condition.names() {
                let is_known = Metric::named(name).is_some()
                    || machines.iter().any(|known| super::lookup(known, name).is_some());
                if !is_known {
                    let names = machines.iter().flat_map(BTreeMap::keys).map(String::as_str);
                    let meant = suggestion(name, names.chain(METRICS.iter().map(|metric| metric.name)));
                    let message =
                        format!("in `{condition}`, `{name}` is neither a figure nor a parameter{meant}");
                    return Err(wrong("where", message));
                }
            }
        }
        Ok(())
    }

    /// Returns the point at a place: the last choice by name changes fastest.
    pub(crate) fn point(&self, index: u64) -> Result<Planned, Error> {
        let mut left = index;
        let mut next = |count: usize| {
            let place = (left % count as u64) as usize;
            left /= count as u64;
            place
        };
        let mut chosen = |choices: &[Choice]| -> Vec<(String, Value)> {
            let mut values: Vec<_> = choices
                .iter()
                .rev()
                .map(|choice| (choice.name.clone(), choice.values[next(choice.values.len())].clone()))
                .collect();
            values.reverse();
            values
        };
        let (options, settings) = (chosen(&self.options), chosen(&self.parameters));
        let target = &self.targets[next(self.targets.len())];
        let words: Vec<(&str, String)> =
            settings.iter().map(|(name, value)| (name.as_str(), word(value))).collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut parameters: BTreeMap<String, Value> =
            settings.iter().cloned().chain(options.iter().cloned()).collect();
        if self.targets.len() > 1 {
            parameters.insert("target".to_owned(), Value::from(target.as_str()));
        }
        let options = options.iter().map(|(name, value)| (name.clone(), word(value))).collect();
        Ok(Planned { index, target: target_with(target, &words)?, parameters, options })
    }
}

/// Returns the text of a space with these targets instead of its own; the text may be empty. A
/// target without an instance stands for its default instance. Without targets, the text remains.
///
/// # Errors
///
/// Returns an error for a text that is not TOML.
pub fn with_targets(text: &str, targets: &[String]) -> Result<String, SpaceError> {
    if targets.is_empty() {
        return Ok(text.to_owned());
    }
    let mut table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| SpaceError::Toml(error.to_string()))?;
    let full = |spec: &String| Toml::String(default_spec(spec).unwrap_or_else(|| spec.clone()));
    table.insert("target".to_owned(), Toml::Array(targets.iter().map(full).collect()));
    Ok(table.to_string())
}

/// Returns `count` distinct places below `size`, in order.
fn sampled(size: u64, count: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    let mut places = BTreeSet::new();
    // Robert Floyd's algorithm: every subset of this size is equally likely.
    for most in size - count as u64..size {
        let place = random.bits() % (most + 1);
        if !places.insert(place) {
            places.insert(most);
        }
    }
    places.into_iter().collect()
}

/// Formats a value as part of an instance name.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn wrong(key: &str, reason: String) -> SpaceError {
    SpaceError::Key { key: key.to_owned(), reason }
}

fn objective(key: &str, name: &str, more_is_better: bool) -> Result<Objective, SpaceError> {
    let names = METRICS.iter().map(|metric| metric.name);
    let metric = Metric::headed(name).ok_or_else(|| {
        let known = names.clone().collect::<Vec<_>>().join(", ");
        wrong(key, format!("unknown figure `{name}`{}; known figures: {known}", suggestion(name, names)))
    })?;
    Ok(Objective { metric: Metric { more_is_better, ..metric } })
}

/// Reads a string, or a list of strings.
fn texts(key: &str, value: Option<&Toml>) -> Result<Vec<String>, SpaceError> {
    let text = |value: &Toml| {
        value.as_str().map(str::to_owned).ok_or_else(|| wrong(key, format!("{value} is not a string")))
    };
    match value {
        None => Ok(Vec::new()),
        Some(Toml::Array(values)) => values.iter().map(text).collect(),
        Some(value) => Ok(vec![text(value)?]),
    }
}

/// Reads the choices of a table.
fn choices(table: &str, value: Option<&Toml>) -> Result<Vec<Choice>, SpaceError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let Toml::Table(keys) = value else {
        return Err(wrong(table, format!("{value} is not a table of names and values")));
    };
    let mut choices = Vec::new();
    collect(table, "", keys, &mut choices)?;
    Ok(choices)
}

fn collect(
    table: &str,
    prefix: &str,
    keys: &toml::Table,
    choices: &mut Vec<Choice>,
) -> Result<(), SpaceError> {
    for (key, value) in keys {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let full = format!("{table}.{name}");
        match value {
            Toml::Table(keys) if !keys.keys().any(|key| RANGES.contains(&key.as_str())) => {
                // A key such as `timing.lanes = ...` is a table within the table.
                collect(table, &name, keys, choices)?;
            }
            value => {
                let values = values(&full, value)?;
                if values.is_empty() {
                    return Err(wrong(&full, "the list of values is empty".to_owned()));
                }
                choices.push(Choice { name, values });
            }
        }
    }
    Ok(())
}

/// Keys of ranges.
const RANGES: [&str; 5] = ["from", "to", "step", "factor", "powers_of_two"];

/// Reads the possible values of a parameter.
fn values(key: &str, value: &Toml) -> Result<Vec<Value>, SpaceError> {
    let one = |value: &Toml| match value {
        Toml::Integer(number) => Ok(Value::from(*number)),
        Toml::Float(number) if number.is_finite() => Ok(Value::from(*number)),
        Toml::Boolean(truth) => Ok(Value::from(*truth)),
        Toml::String(text) => Ok(Value::from(text.as_str())),
        other => Err(wrong(key, format!("{other} is neither a number nor a string"))),
    };
    match value {
        Toml::Array(all) => {
            let values = all.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            // JSON texts are equal only if the values are equal.
            let mut known = BTreeSet::new();
            match values.iter().find(|value| !known.insert(value.to_string())) {
                Some(twice) => Err(wrong(key, format!("{twice} is listed twice"))),
                None => Ok(values),
            }
        }
        Toml::Table(keys) => range(key, keys),
        other => Ok(vec![one(other)?]),
    }
}

/// Reads the powers of two between two ends, the value of a table of `keys` keys.
fn powers_of_two(key: &str, keys: usize, ends: &Toml) -> Result<Vec<Value>, SpaceError> {
    let ends: Option<Vec<i64>> =
        ends.as_array().map(|ends| ends.iter().filter_map(Toml::as_integer).collect());
    let Some([first, last]) = ends.as_deref() else {
        let message = "`powers_of_two` needs the first and the last value, such as `[4, 64]`";
        return Err(wrong(key, message.to_owned()));
    };
    if keys > 1 || *first < 1 || first.count_ones() != 1 || last.count_ones() != 1 || last < first {
        let message = "`powers_of_two` takes two powers of two, the larger one last, and no other keys";
        return Err(wrong(key, message.to_owned()));
    }
    let count = last.trailing_zeros() - first.trailing_zeros();
    Ok((0..=count).map(|power| Value::from(first << power)).collect())
}

/// Reads a range: `{ from, to, step }`, `{ from, to, factor }` or `{ powers_of_two = [a, b] }`.
fn range(key: &str, keys: &toml::Table) -> Result<Vec<Value>, SpaceError> {
    if let Some(unknown) = keys.keys().find(|name| !RANGES.contains(&name.as_str())) {
        return Err(wrong(
            key,
            format!("unknown key `{unknown}` of a range; known keys: {}", RANGES.join(", ")),
        ));
    }
    let number = |name: &str| -> Result<Option<f64>, SpaceError> {
        let Some(value) = keys.get(name) else { return Ok(None) };
        let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
        let number = number.filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| wrong(key, format!("`{name}` is not a number")))
    };
    if let Some(ends) = keys.get("powers_of_two") {
        return powers_of_two(key, keys.len(), ends);
    }
    let (Some(from), Some(to)) = (number("from")?, number("to")?) else {
        return Err(wrong(key, "a range needs `from` and `to`".to_owned()));
    };
    let (step, factor) = (number("step")?, number("factor")?);
    let is_growing = match (step, factor) {
        (Some(step), None) => step > 0.0,
        (None, Some(factor)) => factor > 1.0 && from > 0.0,
        (None, None) => true,
        (Some(_), Some(_)) => false,
    };
    if !is_growing || to < from {
        let message = "a range increases from `from` to `to`, by a `step` above 0 or by a `factor` above 1";
        return Err(wrong(key, message.to_owned()));
    }
    let is_whole = |number: f64| number.fract() == 0.0;
    let whole = [Some(from), step, factor].into_iter().flatten().all(is_whole);
    let mut values = Vec::new();
    loop {
        let count = values.len() as f64;
        // Multiplies instead of adding, so that rounding errors do not accumulate.
        let value = match factor {
            Some(factor) => from * factor.powf(count),
            None => from + step.unwrap_or(1.0) * count,
        };
        if value > to * (1.0 + f64::EPSILON) {
            return Ok(values);
        }
        if values.len() == MAX_VALUES {
            return Err(wrong(key, format!("a range can have at most {MAX_VALUES} values")));
        }
        values.push(if whole { Value::from(value as i64) } else { Value::from(value) });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    fn space(text: &str) -> Space {
        Space::from_toml(text).unwrap()
    }

    fn error(text: &str) -> String {
        Space::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn points_are_all_that_may_be_chosen() {
        let space = space(
            "target = [\"chip:small\", \"chip:large\"]\nwhere = \"array_size < 9\"\n\
             [parameters]\narray_size = { powers_of_two = [4, 16] }\nsystem.clock_mhz = [100, 150.5]\n\
             [options]\nstrategy = \"local-vars\"",
        );
        assert_eq!(space.size(), Some(12));
        let points = space.points(None, 0).unwrap();
        assert_eq!(points.len(), 12);
        assert_eq!(points[0].target, "chip:small,array_size=4,system.clock_mhz=100");
        assert_eq!(points[1].target, "chip:small,array_size=4,system.clock_mhz=150.5");
        assert_eq!(points[11].target, "chip:large,array_size=16,system.clock_mhz=150.5");
        let parameters = json!(points[11].parameters);
        let wanted = json!({"array_size": 16, "system.clock_mhz": 150.5, "strategy": "local-vars", "target": "chip:large"});
        assert_eq!(parameters, wanted);
        assert_eq!(points[0].options["strategy"], "local-vars");
    }

    #[test]
    fn objectives_have_both_spellings() {
        let objectives = |spelled: [&str; 2]| {
            let [least, most] = spelled;
            space(&format!("target = \"t\"\n{least} = \"dsp\"\n{most} = \"snr_db\"")).objectives
        };
        assert_eq!(objectives(["minimize", "maximize"]), objectives(["minimise", "maximise"]));
    }

    #[test]
    fn a_sample_is_of_the_space_and_follows_from_its_seed() {
        let space = space(
            "target = \"chip:a\"\n[parameters]\nlocal_depth = { from = 1, to = 100 }\narray_size = { from = 1, to = 100 }",
        );
        let indices =
            |seed| space.points(Some(50), seed).unwrap().iter().map(|point| point.index).collect::<Vec<_>>();
        assert_eq!(indices(1), indices(1));
        assert_ne!(indices(1), indices(2));
        assert!(indices(1).windows(2).all(|pair| pair[0] < pair[1]) && indices(1).len() == 50);
        assert_eq!(space.points(Some(20_000), 0).unwrap().len(), 10_000);
    }

    #[test]
    fn ranges_have_their_ends() {
        let values = |range: &str| {
            let space = space(&format!("target = \"chip:a\"\n[parameters]\nx = {range}"));
            Value::from(space.parameters[0].values.clone())
        };
        assert_eq!(values("{ from = 2, to = 8, step = 3 }"), json!([2, 5, 8]));
        assert_eq!(values("{ from = 3, to = 24, factor = 2 }"), json!([3, 6, 12, 24]));
        assert_eq!(values("{ from = 0.5, to = 1.5, step = 0.5 }"), json!([0.5, 1.0, 1.5]));
        assert_eq!(values("{ powers_of_two = [8, 8] }"), json!([8]));
        assert_eq!(values("[true, \"FP16BP8\", 3]"), json!([true, "FP16BP8", 3]));
    }

    /// A string may look like a number, and an integer differs from the same float: they are
    /// distinct choices.
    #[test]
    fn a_long_list_is_read_at_once() {
        let numbers: Vec<String> = (0..65_000).map(|number| number.to_string()).collect();
        let text = |last: &str| {
            format!("target = \"chip:a\"\n[parameters]\nx = [\"1\", 1.0, {}, {last}]", numbers.join(","))
        };
        assert_eq!(space(&text("65_000")).size(), Some(65_003));
        assert!(error(&text("7")).contains("`parameters.x`: 7 is listed twice"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, message) in [
            ("", "`target`: a space needs a target"),
            (
                "target = \"chip:a\"\nparameter = 3",
                "`parameter`: unknown key of a space (did you mean `parameters`?)",
            ),
            ("target = 3", "`target`: 3 is not a string"),
            (
                "target = \"chip:a\"\nminimize = \"speed\"",
                "`minimize`: unknown figure `speed`; known figures: milliseconds",
            ),
            ("target = \"chip:a\"\nwhere = \"bram <\"", "`bram <` is not a condition"),
            ("target = \"chip:a\"\n[parameters]\nx = []", "`parameters.x`: the list of values is empty"),
            ("target = \"chip:a\"\n[parameters]\nx = [1, 1]", "`parameters.x`: 1 is listed twice"),
            (
                "target = \"chip:a\"\n[parameters]\nx = { from = 3, to = 1 }",
                "`parameters.x`: a range increases",
            ),
            (
                "target = \"chip:a\"\n[parameters]\nx = { from = 1 }",
                "`parameters.x`: a range needs `from` and `to`",
            ),
            (
                "target = \"chip:a\"\n[parameters]\nx = { powers_of_two = [3, 8] }",
                "`parameters.x`: `powers_of_two` takes two powers of two",
            ),
            (
                "target = \"chip:a\"\n[parameters]\nx = { from = 1, to = 9e9 }",
                "`parameters.x`: a range can have at most 65536 values",
            ),
            ("target = ", "TOML parse error at line 1"),
        ] {
            assert!(error(text).contains(message), "{text}: {}", error(text));
        }
        let side = "{ from = 1, to = 60000 }";
        let huge = space(&format!(
            "target = \"chip:a\"\n[parameters]\na = {side}\nb = {side}\nc = {side}\nd = {side}\ne = {side}"
        ));
        assert!(huge.points(Some(3), 0).unwrap_err().to_string().contains("more than 10^19 points"));
        let large = space(&format!("target = \"chip:a\"\n[parameters]\na = {side}\nb = {side}"));
        assert!(
            large.points(None, 0).unwrap_err().to_string().contains("3600000000 points, but at most 1048576")
        );
        assert_eq!(large.points(Some(3), 0).unwrap().len(), 3);
    }

    #[test]
    fn given_targets_replace_those_of_the_text() {
        let name = crate::targets::default_target().name;
        let given = [name.to_owned(), "other:mine".to_owned()];
        let text = "target = \"x\"\nminimize = \"ms\"\n[parameters]\nsize = [1, 2]\n";
        for (text, size) in [(text, 4), ("", 2)] {
            let space = space(&with_targets(text, &given).unwrap());
            assert_eq!(space.targets, [default_spec(name).unwrap(), "other:mine".to_owned()]);
            assert_eq!(space.size(), Some(size));
            assert_eq!(space.objectives[0].metric.name, "milliseconds");
        }
        assert_eq!(with_targets(text, &[]).unwrap(), text);
        assert!(with_targets("target", &given).is_err());
    }
}
