//! The instances of `configs/`, embedded.

use super::{Config, Reading};

/// Name and file of every instance, the default first.
const PRESETS: [(&str, &str); 3] = [
    ("reference", include_str!("../../configs/reference.toml")),
    ("extended", include_str!("../../configs/extended.toml")),
    ("upstream", include_str!("../../configs/upstream.toml")),
];

/// What names of instances end in that go by the page of the instruction set.
const SEED: &str = "+seed";

impl Config {
    /// The embedded instance of that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// A preset, read as the ending of its name says: `+seed` for the page of the instruction set.
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_suffix(SEED) {
            Some(plain) => Some(Self { reading: Reading::Seed, ..Self::preset(plain)? }),
            None => Self::preset(name),
        }
    }

    /// The names [`Config::preset`] knows, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}
