//! The `system` part of a configuration file: clock, bus and memory around the accelerator.
//!
//! Each target defines the content of this part. This module has what all targets share: several
//! systems in one file ([`NamedSystems`]), the name of a system after an instance
//! (`board.tarch@fast`, [`split_system`]) and the parsing of figures ([`SystemFigure`]).

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use npukit_base::suggestion;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Separator between an instance and the name of its system.
const SEPARATOR: char = '@';

/// Systems of a file by name: its `systems` part.
pub type NamedSystems<S> = BTreeMap<SystemName, S>;

/// Name of a system: letters, digits, `_` and `-`, so that it can follow the name of any file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SystemName(String);

/// Splits an instance name into the instance and the system that follows it.
///
/// ```
/// # use npukit_target::split_system;
/// assert_eq!(split_system("boards/mine.tarch@fast"), ("boards/mine.tarch", Some("fast")));
/// assert_eq!(split_system("me@home/mine.tarch"), ("me@home/mine.tarch", None));
/// ```
pub fn split_system(instance: &str) -> (&str, Option<&str>) {
    match instance.rsplit_once(SEPARATOR) {
        Some((instance, system)) if is_name(system) => (instance, Some(system)),
        _ => (instance, None),
    }
}

/// Returns the name of the instance with this system, the inverse of [`split_system`].
pub fn with_system(instance: &str, system: &str) -> String {
    format!("{instance}{SEPARATOR}{system}")
}

/// Returns the system called `name`.
///
/// # Errors
///
/// An unknown system; the message lists the available ones.
pub fn system_of<'a, S>(systems: &'a NamedSystems<S>, name: &str) -> Result<&'a S, String> {
    systems.get(name).ok_or_else(|| {
        let names: Vec<&str> = systems.keys().map(SystemName::as_str).collect();
        let known = if names.is_empty() { "no further systems".to_owned() } else { names.join(", ") };
        format!(
            "unknown system `{name}`{}; the instance has {known}",
            suggestion(name, names.iter().copied())
        )
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

impl SystemName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SystemName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if is_name(&name) {
            return Ok(Self(name));
        }
        Err(format!("a system cannot be called {name:?}: names have letters, digits, `_` and `-`"))
    }
}

impl From<SystemName> for String {
    fn from(name: SystemName) -> Self {
        name.0
    }
}

impl Borrow<str> for SystemName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A number of a configuration file and its legal range. Errors name both; the reader of the file
/// adds the place.
#[derive(Clone, Copy, Debug)]
pub struct SystemFigure {
    /// Key in the file.
    pub key: &'static str,
    /// Smallest legal value.
    pub least: f64,
    /// Largest legal value.
    pub most: f64,
    /// Whether it must be a whole number.
    pub whole: bool,
}

impl SystemFigure {
    /// Declares a clock frequency in MHz.
    pub const fn mhz(key: &'static str) -> Self {
        Self { key, least: 0.001, most: 100_000.0, whole: false }
    }

    /// Declares a whole number from `least` to `most`.
    pub const fn whole(key: &'static str, least: u32, most: u32) -> Self {
        Self { key, least: least as f64, most: most as f64, whole: true }
    }

    /// Reads the number.
    ///
    /// # Errors
    ///
    /// A value that is not a number or out of range, with the legal range.
    pub fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }

    /// Reads a whole number; see [`Self::read`].
    ///
    /// # Errors
    ///
    /// A value that is not a whole number or out of range, with the legal range.
    pub fn read_whole<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        // Cannot truncate: the range is one of `u32`.
        Ok(self.read(deserializer)? as u32)
    }

    fn admit<E: Error>(&self, value: f64, found: Unexpected<'_>) -> Result<f64, E> {
        let legal = (self.least..=self.most).contains(&value) && !(self.whole && value.fract() != 0.0);
        if legal { Ok(value) } else { Err(E::invalid_value(found, self)) }
    }
}

impl Visitor<'_> for SystemFigure {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, least, most, whole } = self;
        let kind = if *whole { "a whole number" } else { "a number" };
        write!(f, "{kind} from {least} to {most} for `{key}`")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        self.admit(value as f64, Unexpected::Unsigned(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        self.admit(value as f64, Unexpected::Signed(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        self.admit(value, Unexpected::Float(value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        #[serde(default, deserialize_with = "clock")]
        clock: f64,
        #[serde(default, deserialize_with = "bits")]
        bits: u32,
        #[serde(default)]
        systems: NamedSystems<u32>,
    }

    fn clock<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        SystemFigure::mhz("clock").read(deserializer)
    }

    fn bits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        SystemFigure::whole("bits", 8, 1024).read_whole(deserializer)
    }

    fn error(text: &str) -> String {
        serde_json::from_str::<File>(text).unwrap_err().to_string()
    }

    #[test]
    fn numbers_are_read_in_any_form() {
        let file: File = serde_json::from_str(r#"{"clock": 100, "bits": 64}"#).unwrap();
        assert_eq!((file.clock, file.bits), (100.0, 64));
        assert_eq!(serde_json::from_str::<File>(r#"{"clock": 0.5}"#).unwrap().clock, 0.5);
    }

    #[test]
    fn illegal_numbers_are_told_with_the_place_and_what_is_legal() {
        let clock = "expected a number from 0.001 to 100000 for `clock`";
        assert_eq!(
            error("{\n\"clock\": 0}"),
            format!("invalid value: integer `0`, {clock} at line 2 column 10")
        );
        assert!(
            error(r#"{"clock": "fast"}"#).starts_with(&format!("invalid type: string \"fast\", {clock}"))
        );
        let bits = "expected a whole number from 8 to 1024 for `bits`";
        for found in ["-8", "7", "1025", "64.5", "null", "1e300"] {
            assert!(error(&format!(r#"{{"bits": {found}}}"#)).contains(bits), "{found}");
        }
    }

    #[test]
    fn systems_are_found_by_name() {
        let file: File = serde_json::from_str(r#"{"systems": {"fast": 2, "slow_1": 1}}"#).unwrap();
        assert_eq!(system_of(&file.systems, "fast"), Ok(&2));
        let message = "unknown system `fats` (did you mean `fast`?); the instance has fast, slow_1";
        assert_eq!(system_of(&file.systems, "fats").unwrap_err(), message);
        let message = "unknown system `fast`; the instance has no further systems";
        assert_eq!(system_of(&NamedSystems::<u32>::new(), "fast").unwrap_err(), message);
        assert!(error(r#"{"systems": {"a.b": 2}}"#).contains("a system cannot be called \"a.b\""));
    }

    #[test]
    fn only_a_name_is_split_off() {
        assert_eq!(split_system("zcu104@512bit"), ("zcu104", Some("512bit")));
        for whole in ["zcu104", "a@b.tarch", "a@b/c", "x@", "a@b c"] {
            assert_eq!(split_system(whole), (whole, None));
        }
        assert_eq!(with_system("zcu104", "512bit"), "zcu104@512bit");
    }
}
