//! Built-in instances: the files of `configs/`, embedded.

use super::{Config, Validity};

/// Name and file contents of every built-in instance.
const PRESETS: [(&str, &str); 8] = [
    ("reference", include_str!("../../configs/reference.toml")),
    ("ideal", include_str!("../../configs/ideal.toml")),
    ("detailed", include_str!("../../configs/detailed.toml")),
    ("int16", include_str!("../../configs/int16.toml")),
    ("bf16", include_str!("../../configs/bf16.toml")),
    ("fp16", include_str!("../../configs/fp16.toml")),
    ("fp32", include_str!("../../configs/fp32.toml")),
    ("fx12", include_str!("../../configs/fx12.toml")),
];

impl Config {
    /// Returns the built-in instance of that name, or `None`. The suffix `+draft` or `+seed`
    /// selects a literal reading of the draft specification.
    pub fn preset(name: &str) -> Option<Self> {
        if let Some((name, suffix)) = name.rsplit_once('+') {
            let (config, validity) = (Self::preset(name)?, Validity::of_suffix(suffix)?);
            return Some(Self { validity: config.validity.max(validity), ..config });
        }
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// Returns the names that [`Config::preset`] accepts, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}
