//! Instances of the accelerator: [`Config`], read from TOML. The built-in instances are in
//! `presets`, the parameters of the timing model in [`Timing`].

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

/// Instance of the accelerator.
///
/// The types are constants of an instance, not of a program: the same words run on every instance,
/// but their shifts are right for one choice of types only (specification, 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Description of the instance in one line.
    #[serde(default)]
    pub summary: String,
    /// How literally the draft specification is followed.
    #[serde(default, skip_serializing_if = "Validity::is_corrected")]
    pub validity: Validity,
    /// Element types of the buffers.
    pub types: Types,
    /// Costs in the timing model.
    #[serde(default)]
    pub timing: Timing,
    /// Clock and memory of the default board; `None` if not specified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// Systems of other boards, or other settings of this board, by name.
    #[serde(default, skip_serializing_if = "NamedSystems::is_empty")]
    pub systems: NamedSystems<System>,
}

/// Element types of the four buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Type of the ifm buffer, and of the elements that `store` writes.
    pub itype: DataType,
    /// Type of the bias buffer.
    pub btype: DataType,
    /// Type of the ker buffer.
    pub ktype: DataType,
    /// Type of the ofm buffer, which holds the partial sums.
    pub otype: DataType,
}

/// Error in the text of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is not TOML, a key is missing or unknown, or a value has the wrong type. The
    /// message shows the place.
    #[error("{0}")]
    Toml(String),
    /// A number out of range.
    #[error("`timing.{key}` is {value}: legal values are {legal}")]
    Range {
        /// Key in `[timing]`.
        key: &'static str,
        /// Value that was found.
        value: String,
        /// Legal values.
        legal: &'static str,
    },
}

impl Types {
    /// Types of the published accelerator.
    pub const REFERENCE: Self =
        Self { itype: DataType::INT8, btype: DataType::INT16, ktype: DataType::INT8, otype: DataType::INT16 };

    /// Returns `delta_I - delta_O`, the exponent of the power of two by which `store` scales
    /// (specification, 4.5).
    pub const fn store_shift(&self) -> i32 {
        self.itype.delta() - self.otype.delta()
    }
}

impl Config {
    /// Reads a configuration from TOML text.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Toml`] if the text is not TOML or has other keys; the errors of
    /// [`Config::check`].
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Checks that every number is in its range.
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
            "`timing.port_bytes_per_cycle` is 0: legal values are 1 to 65536"
        );
        assert_eq!(
            error(format!("{types}[timing]\nclock_mhz = nan")),
            "`timing.clock_mhz` is NaN: legal values are 0.001 to 1000000"
        );
    }
}
