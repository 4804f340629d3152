//! Options as data: a target declares an [`OptionSpec`] for each option, and [`Chosen`] holds the
//! checked values of the user.
//!
//! The command's flags, its help, `npu targets T --options` and every message about an option are
//! generated from the declarations. A target only defines the meaning of legal values.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use npukit_base::suggestion;
use serde::Serialize;

/// Declaration of an option of a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OptionSpec {
    /// Name, as in `--option KEY=VALUE`.
    pub key: &'static str,
    /// Legal values.
    pub values: Values,
    /// Default: a value, or a short description if it is not fixed.
    pub default: &'static str,
    /// Effect of the option, in one line.
    pub doc: &'static str,
    /// Verbs that accept the option.
    pub stage: Stage,
    /// Alternative spellings, which listings do not show.
    #[serde(skip)]
    pub aliases: Aliases,
}

/// Alternative spellings of an option and its values; listings do not show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aliases {
    /// Alternative names of the option.
    pub keys: &'static [&'static str],
    /// Pairs of an alternative spelling of a value and the value it stands for.
    pub values: &'static [(&'static str, &'static str)],
}

impl Aliases {
    /// No alternative spellings.
    pub const NONE: Self = Self { keys: &[], values: &[] };
}

/// Legal values of an option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in a range.
    Whole {
        /// Smallest legal value.
        least: u64,
        /// Largest legal value.
        most: u64,
    },
    /// A real number in a range.
    Real {
        /// Smallest legal value.
        least: f64,
        /// Largest legal value.
        most: f64,
    },
}

/// Stage at which an option applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Compilation of a model, by any verb.
    Compile,
    /// Time measurements: `npu time`.
    Time,
    /// `npu time`, if it writes performance samples.
    Samples,
}

/// An option that is unknown, not accepted at this stage, or has an illegal value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("option `{key}={value}`: {reason}")]
pub struct OptionError {
    /// Name of the option.
    pub key: String,
    /// Value of the option.
    pub value: String,
    /// Description of the legal values.
    pub reason: String,
}

/// The user's options: all declared, legal and in canonical spelling.
#[derive(Clone, Debug)]
pub struct Chosen<'a>(BTreeMap<&'static str, &'a str>);

impl OptionSpec {
    /// Returns whether `key` is the option's name or an alternative spelling of it.
    pub fn is_called(&self, key: &str) -> bool {
        self.key == key || self.aliases.keys.contains(&key)
    }

    /// Returns the canonical spelling of the value `text`; other text is returned unchanged.
    pub fn value<'a>(&self, text: &'a str) -> &'a str {
        let alias = self.aliases.values.iter().find(|(alias, _)| *alias == text);
        alias.map_or(text, |(_, value)| value)
    }
}

impl Values {
    /// Returns whether `text` is a legal value.
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
    /// Returns the name of the stage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Time => "time",
            Self::Samples => "samples",
        }
    }

    /// Returns whether options of `stage` are accepted at this stage; writing samples is part of
    /// timing.
    pub fn takes(self, stage: Self) -> bool {
        self == stage || (self == Self::Samples && stage == Self::Time)
    }

    /// Returns when options of this stage are accepted, as words of a message.
    const fn when(self) -> &'static str {
        match self {
            Self::Compile => "when a model is compiled",
            Self::Time => "to `npu time`",
            Self::Samples => "to `npu time --samples`",
        }
    }
}

impl<'a> Chosen<'a> {
    /// Checks the options `given` to `target` at `stage`.
    ///
    /// # Errors
    ///
    /// The first option that is not declared in `specs`, belongs to another stage, has an illegal
    /// value, or is given twice in two spellings.
    pub fn new(
        target: &str,
        specs: &[OptionSpec],
        stage: Stage,
        given: &'a BTreeMap<String, String>,
    ) -> Result<Self, OptionError> {
        let mut chosen = BTreeMap::new();
        for (key, value) in given {
            let declared = declared(target, specs, stage, key, value).and_then(|spec| {
                let former = chosen.insert(spec.key, spec.value(value));
                former.map_or(Ok(()), |former| Err(format!("conflicts with `{}={former}`", spec.key)))
            });
            declared.map_err(|reason| OptionError { key: key.clone(), value: value.clone(), reason })?;
        }
        Ok(Self(chosen))
    }

    /// Returns the value of `key` as text; `None` if it was not given.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    /// Returns the value of `key` as a number; `None` if it was not given.
    ///
    /// # Panics
    ///
    /// If the declared range includes values that are not a `T`.
    pub fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        let number = |text: &str| text.parse().ok().expect("the declared range is one of the type");
        self.text(key).map(number)
    }

    /// Returns the meaning of the word given for `key`; `None` if it was not given.
    ///
    /// # Panics
    ///
    /// If the declaration has a word for which `meaning` returns `None`.
    pub fn word<T>(&self, key: &str, meaning: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.text(key).map(|text| meaning(text).expect("every word that is declared has a meaning"))
    }
}

/// Returns the declaration of a given option; the error describes what is wrong with the option.
fn declared<'a>(
    target: &str,
    specs: &'a [OptionSpec],
    stage: Stage,
    key: &str,
    value: &str,
) -> Result<&'a OptionSpec, String> {
    let spec = specs.iter().find(|spec| spec.is_called(key)).ok_or_else(|| unknown(target, specs, key))?;
    if !stage.takes(spec.stage) {
        return Err(format!("the option applies only {}", spec.stage.when()));
    }
    if spec.values.admit(spec.value(value)) { Ok(spec) } else { Err(format!("must be {}", spec.values)) }
}

/// Returns the message that no option is called `key`, with a suggestion and all options.
fn unknown(target: &str, specs: &[OptionSpec], key: &str) -> String {
    let keys: Vec<&str> = specs.iter().map(|spec| spec.key).collect();
    let meant = suggestion(key, keys.iter().copied());
    let all = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
    format!("unknown option{meant}; options of {target}: {all}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const SPECS: [OptionSpec; 4] = [
        spec("form", Values::Choice(&["plain", "fine", "finest"]), Stage::Compile),
        spec("speed", Values::Real { least: 0.5, most: 9.0 }, Stage::Time),
        spec("count", Values::Whole { least: 1, most: 9 }, Stage::Time),
        spec("block", Values::Choice(&["one"]), Stage::Samples),
    ];

    const fn spec(key: &'static str, values: Values, stage: Stage) -> OptionSpec {
        OptionSpec { key, values, default: "", doc: "", stage, aliases: Aliases::NONE }
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
        for (stage, key, value, message) in [
            (Stage::Compile, "form", "FINE", "must be plain, fine or finest"),
            (Stage::Time, "speed", "0.49", speed),
            (Stage::Time, "speed", "NaN", speed),
            (Stage::Time, "speed", "inf", speed),
            (Stage::Time, "count", "0", count),
            (Stage::Time, "count", "2.5", count),
            (Stage::Time, "count", "", count),
            (Stage::Samples, "block", "two", "must be one"),
            (Stage::Time, "form", "fine", "the option applies only when a model is compiled"),
            (Stage::Compile, "count", "1", "the option applies only to `npu time`"),
            (Stage::Time, "block", "one", "the option applies only to `npu time --samples`"),
            (
                Stage::Time,
                "cuont",
                "1",
                "unknown option (did you mean `count`?); options of t: form, speed, count, block",
            ),
        ] {
            assert_eq!(reason(stage, key, value).as_deref(), Some(message), "{key}={value}");
        }
        let given = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
        let error = Chosen::new("t", &[], Stage::Time, &given).map(|_| ());
        let message = "option `x=1`: unknown option; options of t: none";
        assert_eq!(error.map_err(|error| error.to_string()), Err(message.to_owned()));
    }

    #[test]
    fn values_are_read_by_their_kind() {
        let given = [("count", "7"), ("speed", "2.5")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let given = BTreeMap::from(given);
        let chosen = Chosen::new("t", &SPECS, Stage::Time, &given).unwrap();
        assert_eq!((chosen.number::<u8>("count"), chosen.number("speed")), (Some(7), Some(2.5)));
        assert_eq!((chosen.number::<u8>("block"), chosen.text("block")), (None, None));
        let given = BTreeMap::from([("form".to_owned(), "fine".to_owned())]);
        let chosen = Chosen::new("t", &SPECS, Stage::Compile, &given).unwrap();
        assert_eq!(chosen.word("form", |word| (word == "fine").then_some(1)), Some(1));
    }

    #[test]
    fn other_spellings_are_taken() {
        let aliases = Aliases { keys: &["shape"], values: &[("thin", "fine")] };
        let specs = [OptionSpec { aliases, ..SPECS[0] }];
        let chosen = |given: &[(&str, &str)]| {
            let given = given.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let chosen = Chosen::new("t", &specs, Stage::Compile, &given);
            chosen.map(|chosen| chosen.text("form").map(str::to_owned)).map_err(|error| error.to_string())
        };
        for given in [("form", "fine"), ("shape", "fine"), ("form", "thin"), ("shape", "thin")] {
            assert_eq!(chosen(&[given]), Ok(Some("fine".to_owned())), "{given:?}");
        }
        let twice = "option `shape=thin`: conflicts with `form=plain`";
        assert_eq!(chosen(&[("shape", "thin"), ("form", "plain")]), Err(twice.to_owned()));
    }
}
