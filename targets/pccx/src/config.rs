//! Parameters of an instance: [`Config`], read from TOML, with [`Timing`] for the cycle model.
//!
//! The built-in instances are in `configs/`.

pub(crate) mod area;
mod presets;
pub mod settable;
mod system;
mod timing;

use npukit_target::NamedSystems;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use system::System;
pub use timing::{CvoTiming, GemmTiming, GemvTiming, Timing};

/// Number of words that an L2 address of 17 bits can reach.
pub const L2_ENCODABLE: u32 = 1 << 17;
/// Number of entries of each constant bank.
pub const CONSTANT_ENTRIES: usize = 64;
/// Number of 16-byte units that an `aux_addr` of 17 bits can reach: the size limit of a host
/// window.
pub const WINDOW_UNITS: u32 = 1 << 17;
/// Bytes of an L2 word, and of a unit of a host window.
pub const WORD_BYTES: usize = 16;
/// Number of BF16 values in an L2 word.
pub const WORD_LANES: usize = 8;

/// Numerical behavior of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Behavior of the specification, sections 4.1 to 4.8.
    Reference,
    /// Behavior of the published circuits, including their defects (4.6.4).
    Upstream,
}

/// Document that takes precedence where the page of the instruction set contradicts the documents
/// of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// The documents of the machine: `w_scale` multiplies sums by the scales of the weight rows,
    /// and the reciprocal of 0 is 0.
    #[default]
    Documents,
    /// The page of the instruction set: `w_scale` multiplies while sums are accumulated, also by a
    /// factor that MEMSET writes to slot `a` of the size entry. The reciprocal of 0 is infinite.
    Seed,
}

impl Reading {
    /// Whether the documents take precedence.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Instance of the accelerator: all parameters of the machine and of its cycle model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Numerical behavior of the engines.
    pub profile: Profile,
    /// Whether CVO has the functions MUL, RELU and TANH.
    pub extensions: bool,
    /// Whether invalid words and set reserved bits are errors. Otherwise, as in the circuits,
    /// invalid words are dropped and reserved bits are ignored.
    pub strict: bool,
    /// Whether `parallel_lane` is a mask of lanes instead of their number.
    pub lane_mask: bool,
    /// Document that takes precedence where two contradict each other.
    #[serde(default, skip_serializing_if = "Reading::is_default")]
    pub reading: Reading,
    /// Size of L2 in words of 128 bits.
    pub l2_words: u32,
    /// Parameters of the cycle model.
    pub timing: Timing,
    /// Clock and memory of the instance's board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// Clock and memory of other boards, or of other settings, by name.
    #[serde(default, skip_serializing_if = "NamedSystems::is_empty")]
    pub systems: NamedSystems<System>,
}

/// Error in a configuration file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ConfigError {
    /// The text is not valid TOML or does not fit the schema; the message shows the place.
    #[error("{0}")]
    Syntax(String),
    /// A value is out of range.
    #[error("`{key}` is {value}: legal are {legal}")]
    Range {
        /// Key in the file, such as `timing.gemv.lanes`.
        key: &'static str,
        /// Value in the file, as text.
        value: String,
        /// Description of the legal values.
        legal: String,
    },
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] for text that is not TOML, and for unknown or missing keys; the
    /// errors of [`Config::check`].
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Checks that the simulator supports all parameters.
    ///
    /// # Errors
    /// [`ConfigError::Range`] for the first unsupported value, with the legal ones.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=L2_ENCODABLE).contains(&self.l2_words) {
            let legal = format!("1 to {L2_ENCODABLE}, what an address of 17 bits reaches");
            return Err(ConfigError::Range { key: "l2_words", value: self.l2_words.to_string(), legal });
        }
        self.timing.check()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn presets_are_sound() {
        for name in Config::presets() {
            assert!(Config::preset(name).is_some(), "{name}");
        }
        let reference = Config::preset("reference").unwrap();
        let extended = Config::preset("extended").unwrap();
        assert_eq!(Config { extensions: false, ..extended }, reference);
        assert_eq!(Config::preset("upstream").unwrap().profile, Profile::Upstream);
    }

    #[test]
    fn bad_values_are_named() {
        let text = toml::to_string(&Config::preset("reference").unwrap()).unwrap();
        assert!(Config::from_toml(&text).is_ok());
        let read =
            |from: &str, to: &str| Config::from_toml(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert_eq!(
            read("l2_words = 114688", "l2_words = 131073"),
            "`l2_words` is 131073: legal are 1 to 131072, what an address of 17 bits reaches"
        );
        assert!(read("axi_mhz = 250.0", "axi_mhz = 0.0").starts_with("`timing.axi_mhz` is 0: legal are"));
        assert!(read("lanes = 4", "lanes = 0").starts_with("`timing.gemv.lanes` is 0"));
        assert!(read("strict = true", "strict = true\nx = 1").contains("unknown field `x`"));
    }

    /// Each key at its limits and just beyond them.
    #[test]
    fn every_parameter_has_its_limits() {
        let text = toml::to_string(&Config::preset("reference").unwrap()).unwrap();
        let read = |key: &str, value: toml::Value| {
            let mut config: toml::Table = toml::from_str(&text).unwrap();
            let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
            let sections = sections.split('.').filter(|section| !section.is_empty());
            let table = sections.fold(&mut config, |table, section| table[section].as_table_mut().unwrap());
            let is_optional = ["scale_bytes", "accm_word"].contains(&name);
            assert!(table.insert(name.to_owned(), value).is_some() || is_optional, "{key}");
            Config::from_toml(&config.to_string())
        };
        let refused = |key: &'static str, value: &str, legal: &str| {
            Err(ConfigError::Range { key, value: value.to_owned(), legal: legal.to_owned() })
        };
        for key in ["timing.core_mhz", "timing.axi_mhz", "timing.ddr_gb_per_s"] {
            for value in [1e-3, 1.0, 1e6] {
                assert!(read(key, value.into()).is_ok(), "{key} = {value}");
            }
            for (value, text) in [(0.0, "0"), (-1.0, "-1"), (1_000_001.0, "1000001"), (f64::NAN, "NaN")] {
                let legal = "numbers above 0, up to 1000000";
                assert_eq!(read(key, value.into()), refused(key, text, legal), "{key} = {value}");
            }
        }
        let integer = |key: &'static str, least: i64, most: i64, legal: &str| {
            for value in [least, most] {
                assert!(read(key, value.into()).is_ok(), "{key} = {value}");
            }
            // The file format cannot express values below 0.
            for value in [least - 1, most + 1].into_iter().filter(|value| *value >= 0) {
                assert_eq!(
                    read(key, value.into()),
                    refused(key, &value.to_string(), legal),
                    "{key} = {value}"
                );
            }
        };
        integer("l2_words", 1, 131_072, "1 to 131072, what an address of 17 bits reaches");
        for key in [
            "timing.issue",
            "timing.hp_bytes",
            "timing.acp_bytes",
            "timing.preprocess_elements",
            "timing.gemv.lanes",
            "timing.gemv.lane_width",
            "timing.gemv.ports",
            "timing.gemm.rows",
            "timing.gemm.columns",
            "timing.gemm.ports",
            "timing.gemm.drain_limit",
        ] {
            integer(key, 1, 1 << 20, "1 to 1048576");
        }
        for key in [
            "timing.host_push",
            "timing.l2_latency",
            "timing.load_descriptor",
            "timing.weight_fifo_bytes",
            "timing.preprocess_latency",
            "timing.fmap_sweep",
            "timing.memset",
            "timing.scale_bytes",
            "timing.accm_word",
            "timing.gemv.tail",
            "timing.gemm.fill",
            "timing.gemm.drain",
            "timing.cvo.input",
            "timing.cvo.reduce_element",
        ] {
            integer(key, 0, 1 << 20, "0 to 1048576");
        }
        let latency = |last: i64| vec![toml::Value::from(0); 10].into_iter().chain([last.into()]).collect();
        assert!(read("timing.cvo.latency", toml::Value::Array(latency(1 << 20))).is_ok());
        assert_eq!(
            read("timing.cvo.latency", toml::Value::Array(latency((1 << 20) + 1))),
            refused("timing.cvo.latency", "1048577", "0 to 1048576")
        );
    }
}
