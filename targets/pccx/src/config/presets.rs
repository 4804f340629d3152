//! The instances of `configs/`, embedded.

use super::Config;

/// Name and file of every instance, the default first.
const PRESETS: [(&str, &str); 3] = [
    ("reference", include_str!("../../configs/reference.toml")),
    ("extended", include_str!("../../configs/extended.toml")),
    ("upstream", include_str!("../../configs/upstream.toml")),
];

impl Config {
    /// The embedded instance of that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_toml(text).ok()
    }

    /// The names [`Config::preset`] knows, the default first.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}
