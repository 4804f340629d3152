//! The embedded instances of `configs/`.

use super::{Board, Config};

/// Name, board as its maker calls it, and file of every instance.
const PRESETS: [(&str, &str, &str); 14] = [
    ("artya7100t", "Arty A7-100T", include_str!("../../configs/artya7100t.tarch")),
    ("artya735t", "Arty A7-35T", include_str!("../../configs/artya735t.tarch")),
    ("artyz720", "Arty Z7-20", include_str!("../../configs/artyz720.tarch")),
    ("cmoda7", "Cmod A7", include_str!("../../configs/cmoda7.tarch")),
    ("kv260", "Kria KV260", include_str!("../../configs/kv260.tarch")),
    ("pynqz1", "PYNQ-Z1", include_str!("../../configs/pynqz1.tarch")),
    ("pynqz1_12x12", "PYNQ-Z1", include_str!("../../configs/pynqz1_12x12.tarch")),
    ("pynqz2", "PYNQ-Z2", include_str!("../../configs/pynqz2.tarch")),
    ("speech_robot", "Tensil's speech robot", include_str!("../../configs/speech_robot.tarch")),
    ("ulx3s", "ULX3S 85F", include_str!("../../configs/ulx3s.tarch")),
    ("ulx3s_85f", "ULX3S 85F", include_str!("../../configs/ulx3s_85f.tarch")),
    ("ultra96v2", "Ultra96-V2", include_str!("../../configs/ultra96v2.tarch")),
    ("zcu104", "ZCU104", include_str!("../../configs/zcu104.tarch")),
    ("zcu104_uram", "ZCU104 with UltraRAM", include_str!("../../configs/zcu104_uram.tarch")),
];

impl Config {
    /// Returns the embedded instance with that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        Board::preset(name).map(|board| board.config)
    }

    /// Maximum number of lookup tables such that every result, including the difference, has a
    /// register.
    pub const MAX_TABLES: usize = 15;

    /// Returns the instance with `tables` lookup tables, 1 to [`Config::MAX_TABLES`], and at least
    /// one register per result of a lookup.
    #[must_use]
    pub fn with_lookup(self, tables: usize) -> Self {
        let simd_registers_depth = self.simd_registers_depth.max(tables + 1);
        Self { lookup_tables: tables, simd_registers_depth, ..self }
    }

    /// Returns the names that [`Config::preset`] accepts, in alphabetical order.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, ..)| *name)
    }
}

impl Board {
    /// Returns the name of an embedded instance's board for people, or `None`.
    pub fn title(name: &str) -> Option<&'static str> {
        PRESETS.iter().find(|(preset, ..)| *preset == name).map(|(_, title, _)| *title)
    }

    /// Returns the embedded board with that name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let (.., text) = PRESETS.iter().find(|(preset, ..)| *preset == name)?;
        Self::from_json(text).ok().map(|(board, _)| board)
    }

    /// Returns the board with changed parameters.
    #[must_use]
    pub fn changed(self, change: impl FnOnce(Config) -> Config) -> Self {
        Self { config: change(self.config), ..self }
    }
}
