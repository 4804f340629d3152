//! Built-in instances, from `configs/`.

use super::{Config, Reading};

/// Name and file of each instance, the default first.
const PRESETS: [(&str, &str); 3] = [
    ("reference", include_str!("../../configs/reference.toml")),
    ("extended", include_str!("../../configs/extended.toml")),
    ("upstream", include_str!("../../configs/upstream.toml")),
];

/// Suffix of instances that follow the page of the instruction set.
const SEED: &str = "+seed";

impl Config {
    /// Returns the built-in instance of this name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// Returns a built-in instance; the suffix `+seed` selects the page of the instruction set.
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_suffix(SEED) {
            Some(plain) => Some(Self { reading: Reading::Seed, ..Self::preset(plain)? }),
            None => Self::preset(name),
        }
    }

    /// Returns the names that [`Config::preset`] knows, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}
