//! The instances of `configs/`, embedded.

use super::{Board, Config};

/// Name and file of every board.
const PRESETS: [(&str, &str); 8] = [
    ("artya7100t", include_str!("../../configs/artya7100t.tarch")),
    ("cmoda7", include_str!("../../configs/cmoda7.tarch")),
    ("pynqz1", include_str!("../../configs/pynqz1.tarch")),
    ("pynqz1_12x12", include_str!("../../configs/pynqz1_12x12.tarch")),
    ("speech_robot", include_str!("../../configs/speech_robot.tarch")),
    ("ultra96v2", include_str!("../../configs/ultra96v2.tarch")),
    ("zcu104", include_str!("../../configs/zcu104.tarch")),
    ("zcu104_uram", include_str!("../../configs/zcu104_uram.tarch")),
];

impl Config {
    /// The embedded instance of that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        Board::preset(name).map(|board| board.config)
    }

    /// The names [`Config::preset`] knows, in alphabetical order.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}

impl Board {
    /// The embedded board of that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::from_json(text).ok().map(|(board, _)| board)
    }
}
