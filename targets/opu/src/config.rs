//! Instances of the machine: [`Config`], read from TOML. The embedded ones are in `presets`, the
//! parameters of the cycle model in [`Timing`].

pub(crate) mod area;
pub(crate) mod datatype;
mod presets;
pub mod settable;
mod system;
mod timing;
mod validity;

use npukit_target::NamedSystems;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::datatype::DataType;

pub use system::System;
pub use timing::{Port, StoreReads, Timing};
pub use validity::Validity;

/// An instance of the machine.
///
/// The types are constants of an instance, not of a program: the same words run on every instance,
/// though their shifts fit one choice of types only (specification, 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What there is to know of it, in a line.
    #[serde(default)]
    pub summary: String,
    /// How far the draft's letter counts.
    #[serde(default, skip_serializing_if = "Validity::is_corrected")]
    pub validity: Validity,
    /// Element types of the buffers.
    pub types: Types,
    /// Costs of the cycle model.
    #[serde(default)]
    pub timing: Timing,
    /// Clock and memory of its board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// Those of other boards, or of other settings of it.
    #[serde(default, skip_serializing_if = "NamedSystems::is_empty")]
    pub systems: NamedSystems<System>,
}

/// Element types of the four buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Of ifm, and of what `store` writes.
    pub itype: DataType,
    /// Of bias.
    pub btype: DataType,
    /// Of ker.
    pub ktype: DataType,
    /// Of ofm, the partial sums.
    pub otype: DataType,
}

/// What is wrong with the text of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// No TOML, a key that is missing or unknown, or a value of the wrong type; the message shows the place.
    #[error("{0}")]
    Toml(String),
    /// A number out of range.
    #[error("`timing.{key}` is {value}: legal are {legal}")]
    Range {
        /// Key in `[timing]`.
        key: &'static str,
        /// Its value.
        value: String,
        /// Legal values.
        legal: &'static str,
    },
}

impl Types {
    /// Those of the published machine.
    pub const REFERENCE: Self =
        Self { itype: DataType::INT8, btype: DataType::INT16, ktype: DataType::INT8, otype: DataType::INT16 };

    /// `delta_I - delta_O`: `store` scales by two to this (specification, 4.5).
    pub const fn store_shift(&self) -> i32 {
        self.itype.delta() - self.otype.delta()
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Toml`] for text that is not TOML or has other keys; those of [`Config::check`].
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Whether every number is in its range.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Range`] for the first number out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.timing.check()
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
            assert!(!config.summary.is_empty(), "{name}");
            assert_eq!(Config::from_toml(&toml::to_string(&config).unwrap()).unwrap(), config, "{name}");
        }
        assert_eq!(Config::preset("reference").unwrap().types, Types::REFERENCE);
        assert_eq!(Config::preset("reference").unwrap().timing, Timing::default());
        assert_eq!(Config::preset("nowhere"), None);
    }

    #[test]
    fn faults_say_where_and_what_is_legal() {
        let types = "[types]\nitype = \"int8\"\nbtype = \"int16\"\nktype = \"int8\"\notype = \"int16\"\n";
        let error = |text: String| Config::from_toml(&text).unwrap_err().to_string();
        let toml = error(types.replace("\"int8\"\nb", "\"int99\"\nb"));
        assert!(toml.contains("line 2") && toml.contains("no type `int99`"), "{toml}");
        assert!(error(format!("{types}[timing]\nclock = 3")).contains("unknown field `clock`"));
        assert!(error("itype = 3".to_owned()).contains("line 1"));
        assert_eq!(
            error(format!("{types}[timing]\nport_bytes_per_cycle = 0")),
            "`timing.port_bytes_per_cycle` is 0: legal are 1 to 65536"
        );
        assert_eq!(
            error(format!("{types}[timing]\nclock_mhz = nan")),
            "`timing.clock_mhz` is NaN: legal are 0.001 to 1000000"
        );
    }
}
