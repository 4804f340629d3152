//! Instances of the machine: [`Config`], read from TOML.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An instance of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What there is to know of it, in a line.
    #[serde(default)]
    pub summary: String,
    /// Numbers in memory, at most 65,536.
    pub memory_words: u32,
    /// Numbers handled in a cycle.
    pub lanes: u32,
    /// Cycles an instruction takes beyond those of its numbers.
    pub latency: u32,
    /// Clock of the board.
    pub clock_mhz: f64,
}

/// What is wrong with the text of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not TOML, or a key that is missing or unknown, or has a value of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A number out of range.
    #[error("`{key}` is {value}: legal are {legal}")]
    Range {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
        /// Legal values.
        legal: &'static str,
    },
}

/// Name and file of every instance, the default first.
const PRESETS: [(&str, &str); 1] = [("reference", include_str!("../configs/reference.toml"))];

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: text that is not TOML, or a value out of its range.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// The embedded instance of that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// The names [`Config::preset`] knows, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }

    /// # Errors
    ///
    /// The first number out of range.
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
        assert_eq!(error, "`memory_words` is 65537: legal are 1 to 65536");
    }
}
