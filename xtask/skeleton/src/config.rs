//! Instances of the accelerator: [`Config`], read from TOML.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Parameters of an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Description in one line.
    #[serde(default)]
    pub summary: String,
    /// Size of the memory in numbers, at most 65,536.
    pub memory_words: u32,
    /// Numbers processed per cycle.
    pub lanes: u32,
    /// Cycles of an instruction in addition to the cycles of its numbers.
    pub latency: u32,
    /// Clock frequency in MHz.
    pub clock_mhz: f64,
}

/// Defect of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is not TOML, or a key is missing, unknown or of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A number is out of range.
    #[error("`{key}` is {value}; legal: {legal}")]
    Range {
        /// Key of the number.
        key: &'static str,
        /// Value found.
        value: String,
        /// Legal values.
        legal: &'static str,
    },
}

/// Name and file of every built-in instance, the default first.
const PRESETS: [(&str, &str); 1] = [("reference", include_str!("../configs/reference.toml"))];

impl Config {
    /// Reads a configuration from TOML.
    ///
    /// # Errors
    ///
    /// The first defect: text that is not TOML, or a value out of range.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Returns the built-in instance called `name`, or `None` if it does not exist.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// Iterates over the names of the built-in instances, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }

    /// Checks the ranges of all numbers.
    ///
    /// # Errors
    ///
    /// The first number that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |key, value: String, legal| Err(ConfigError::Range { key, value, legal });
        if !(1..=1 << 16).contains(&self.memory_words) {
            return range("memory_words", self.memory_words.to_string(), "1 to 65536");
        }
        if !(1..=1 << 12).contains(&self.lanes) {
            return range("lanes", self.lanes.to_string(), "1 to 4096");
        }
        if self.latency > 1 << 20 {
            return range("latency", self.latency.to_string(), "0 to 1048576");
        }
        if !(0.001..=1e6).contains(&self.clock_mhz) {
            return range("clock_mhz", self.clock_mhz.to_string(), "0.001 to 1000000");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn presets_are_sound_and_come_back_from_toml() {
        for name in Config::presets() {
            let config = Config::preset(name).unwrap();
            assert_eq!(Config::from_toml(&toml::to_string(&config).unwrap()).unwrap(), config, "{name}");
        }
    }

    #[test]
    fn faults_say_what_is_legal() {
        let text = |words| format!("memory_words = {words}\nlanes = 1\nlatency = 0\nclock_mhz = 1.0\n");
        assert!(Config::from_toml(&text(65536)).is_ok());
        let error = Config::from_toml(&text(65537)).unwrap_err().to_string();
        assert_eq!(error, "`memory_words` is 65537; legal: 1 to 65536");
    }
}
