//! Options as data: a target declares an [`OptionSpec`] for each, and [`Chosen`] is what a user gave, checked by it.
//!
//! The flags of the command, its help, `npu targets T --options` and every message about an option come from the
//! declarations; a target only says what a legal value means.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use npukit_base::suggestion;
use serde::Serialize;

/// An option of a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OptionSpec {
    /// Its name, as in `--option KEY=VALUE`.
    pub key: &'static str,
    /// What it may be.
    pub values: Values,
    /// What holds when it is not given: a value, or a few words where that is not a fixed one.
    pub default: &'static str,
    /// What it chooses, in a line.
    pub doc: &'static str,
    /// When it is taken.
    pub stage: Stage,
}

/// What an option may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number.
    Whole {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number.
    Real {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
    },
}

/// When an option is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// While a model is compiled, whichever verb does it.
    Compile,
    /// By `npu time`.
    Time,
    /// By `npu time` when it writes performance samples.
    Samples,
}

/// An option that the target does not have, or not then, or not with that value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("option `{key}={value}`: {reason}")]
pub struct OptionError {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What is legal.
    pub reason: String,
}

/// The options given, all of them declared and legal.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a>(&'a BTreeMap<String, String>);

impl Values {
    /// Whether `text` is one of them.
    pub fn admit(&self, text: &str) -> bool {
        match *self {
            Self::Choice(words) => words.contains(&text),
            Self::Whole { least, most } => text.parse().is_ok_and(|number| (least..=most).contains(&number)),
            Self::Real { least, most } => text.parse().is_ok_and(|number| (least..=most).contains(&number)),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice([rest @ .., last]) if !rest.is_empty() => {
                write!(f, "{} or {last}", rest.join(", "))
            }
            Self::Choice(words) => f.write_str(&words.concat()),
            Self::Whole { least, most } => write!(f, "a whole number from {least} to {most}"),
            Self::Real { least, most } => write!(f, "a number from {least} to {most}"),
        }
    }
}

impl Stage {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Time => "time",
            Self::Samples => "samples",
        }
    }

    /// Whether options of `stage` are taken now: writing samples is a way of timing.
    pub fn takes(self, stage: Self) -> bool {
        self == stage || (self == Self::Samples && stage == Self::Time)
    }

    /// What a user does for it to be taken.
    const fn when(self) -> &'static str {
        match self {
            Self::Compile => "when a model is compiled",
            Self::Time => "by `npu time`",
            Self::Samples => "by `npu time --samples`",
        }
    }
}

impl<'a> Chosen<'a> {
    /// The options `given` to `target` at `stage`.
    ///
    /// # Errors
    ///
    /// The first that is not declared in `specs`, is of another stage or has a value that is not legal.
    pub fn new(
        target: &str,
        specs: &[OptionSpec],
        stage: Stage,
        given: &'a BTreeMap<String, String>,
    ) -> Result<Self, OptionError> {
        for (key, value) in given {
            if let Some(reason) = fault(target, specs, stage, key, value) {
                return Err(OptionError { key: key.clone(), value: value.clone(), reason });
            }
        }
        Ok(Self(given))
    }

    /// The value of `key` as it was given; none when it was not.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(String::as_str)
    }

    /// The number that `key` is.
    ///
    /// # Panics
    ///
    /// When the declaration admits what is not a `T`.
    pub fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        let number = |text: &str| text.parse().ok().expect("the declared range is one of the type");
        self.text(key).map(number)
    }

    /// What the word that `key` is stands for, by `meaning`.
    ///
    /// # Panics
    ///
    /// When the declaration admits a word that has none.
    pub fn word<T>(&self, key: &str, meaning: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.text(key).map(|text| meaning(text).expect("every word that is declared has a meaning"))
    }
}

/// What is wrong with an option that is given; none when nothing is.
fn fault(target: &str, specs: &[OptionSpec], stage: Stage, key: &str, value: &str) -> Option<String> {
    let Some(spec) = specs.iter().find(|spec| spec.key == key) else {
        let keys: Vec<&str> = specs.iter().map(|spec| spec.key).collect();
        let meant = suggestion(key, keys.iter().copied());
        let all = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
        return Some(format!("there is no such option{meant}; those of {target}: {all}"));
    };
    if !stage.takes(spec.stage) {
        return Some(format!("it is taken only {}", spec.stage.when()));
    }
    (!spec.values.admit(value)).then(|| format!("must be {}", spec.values))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: [OptionSpec; 4] = [
        spec("form", Values::Choice(&["plain", "fine", "finest"]), Stage::Compile),
        spec("speed", Values::Real { least: 0.5, most: 9.0 }, Stage::Time),
        spec("count", Values::Whole { least: 1, most: 9 }, Stage::Time),
        spec("block", Values::Choice(&["one"]), Stage::Samples),
    ];

    const fn spec(key: &'static str, values: Values, stage: Stage) -> OptionSpec {
        OptionSpec { key, values, default: "", doc: "", stage }
    }

    fn reason(stage: Stage, key: &str, value: &str) -> Option<String> {
        let given = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        Chosen::new("t", &SPECS, stage, &given).err().map(|error| error.reason)
    }

    #[test]
    fn what_is_legal_is_taken() {
        for (stage, key, value) in [
            (Stage::Compile, "form", "fine"),
            (Stage::Time, "speed", "0.5"),
            (Stage::Time, "speed", "9"),
            (Stage::Time, "count", "9"),
            (Stage::Samples, "count", "1"),
            (Stage::Samples, "block", "one"),
        ] {
            assert_eq!(reason(stage, key, value), None, "{key}={value}");
        }
    }

    #[test]
    fn what_is_not_legal_is_told_with_what_is() {
        let speed = "must be a number from 0.5 to 9";
        let count = "must be a whole number from 1 to 9";
        for (stage, key, value, told) in [
            (Stage::Compile, "form", "FINE", "must be plain, fine or finest"),
            (Stage::Time, "speed", "0.49", speed),
            (Stage::Time, "speed", "NaN", speed),
            (Stage::Time, "speed", "inf", speed),
            (Stage::Time, "count", "0", count),
            (Stage::Time, "count", "2.5", count),
            (Stage::Time, "count", "", count),
            (Stage::Samples, "block", "two", "must be one"),
            (Stage::Time, "form", "fine", "it is taken only when a model is compiled"),
            (Stage::Compile, "count", "1", "it is taken only by `npu time`"),
            (Stage::Time, "block", "one", "it is taken only by `npu time --samples`"),
            (
                Stage::Time,
                "cuont",
                "1",
                "there is no such option: `count` is meant, perhaps; those of t: form, speed, count, block",
            ),
        ] {
            assert_eq!(reason(stage, key, value).as_deref(), Some(told), "{key}={value}");
        }
        let given = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
        let error = Chosen::new("t", &[], Stage::Time, &given).map(|_| ());
        let told = "option `x=1`: there is no such option; those of t: none";
        assert_eq!(error.map_err(|error| error.to_string()), Err(told.to_owned()));
    }

    #[test]
    fn values_are_read_by_their_kind() {
        let given =
            [("form", "fine"), ("count", "7"), ("speed", "2.5")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let given = BTreeMap::from(given);
        let chosen = Chosen(&given);
        assert_eq!((chosen.number::<u8>("count"), chosen.number("speed")), (Some(7), Some(2.5)));
        assert_eq!(chosen.word("form", |word| (word == "fine").then_some(1)), Some(1));
        assert_eq!((chosen.number::<u8>("block"), chosen.text("block")), (None, None));
    }
}
