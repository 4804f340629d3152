//! [`System`]: clocks, ports and memory of a board, which override the cycle model's values.

use npukit_target::{SystemFigure, system_of};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Config, Timing};

/// Clocks and memory of a board; missing values are taken from [`Timing`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock of the engines, in MHz.
    #[serde(default, deserialize_with = "core_mhz", skip_serializing_if = "Option::is_none")]
    pub core_mhz: Option<f64>,
    /// Clock of the ports to host memory, in MHz.
    #[serde(default, deserialize_with = "axi_mhz", skip_serializing_if = "Option::is_none")]
    pub axi_mhz: Option<f64>,
    /// Bytes per AXI cycle of a high-performance port.
    #[serde(default, deserialize_with = "hp_bytes", skip_serializing_if = "Option::is_none")]
    pub hp_bytes: Option<u32>,
    /// Bytes per AXI cycle of the coherent port.
    #[serde(default, deserialize_with = "acp_bytes", skip_serializing_if = "Option::is_none")]
    pub acp_bytes: Option<u32>,
    /// Bandwidth of external memory in GB/s, shared by all ports.
    #[serde(default, deserialize_with = "ddr_gb_per_s", skip_serializing_if = "Option::is_none")]
    pub ddr_gb_per_s: Option<f64>,
    /// Source of the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn core_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("core_mhz").read(deserializer).map(Some)
}

fn axi_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("axi_mhz").read(deserializer).map(Some)
}

fn hp_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("hp_bytes", 1, 1 << 20).read_whole(deserializer).map(Some)
}

fn acp_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("acp_bytes", 1, 1 << 20).read_whole(deserializer).map(Some)
}

fn ddr_gb_per_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let figure = SystemFigure { key: "ddr_gb_per_s", least: 0.001, most: 1e6, whole: false };
    figure.read(deserializer).map(Some)
}

impl System {
    /// Describes the given values in one line.
    pub fn summary(&self) -> String {
        let core = self.core_mhz.map(|mhz| format!("{mhz} MHz"));
        let axi = self.axi_mhz.map(|mhz| format!("ports at {mhz} MHz"));
        let hp = self.hp_bytes.map(|bytes| format!("{bytes} bytes per cycle"));
        let ddr = self.ddr_gb_per_s.map(|rate| format!("external memory {rate} GB/s"));
        [core, axi, hp, ddr].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the source of the clock; `None` if the system does not give one.
    pub fn clock_source(&self) -> Option<String> {
        self.core_mhz?;
        Some(self.source.clone().unwrap_or_else(|| "file of the instance".to_owned()))
    }

    /// Returns the cycle model with this system's values.
    fn applied(&self, timing: Timing) -> Timing {
        // Default, here and below: missing values are taken from the cycle model.
        Timing {
            core_mhz: self.core_mhz.unwrap_or(timing.core_mhz),
            axi_mhz: self.axi_mhz.unwrap_or(timing.axi_mhz),
            hp_bytes: self.hp_bytes.map_or(timing.hp_bytes, u64::from),
            acp_bytes: self.acp_bytes.map_or(timing.acp_bytes, u64::from),
            ddr_gb_per_s: self.ddr_gb_per_s.unwrap_or(timing.ddr_gb_per_s),
            ..timing
        }
    }
}

impl Config {
    /// Returns the instance with the system of that name.
    ///
    /// # Errors
    /// A message that lists the known names, if the instance has no such system.
    pub fn with_system(self, name: &str) -> Result<Self, String> {
        let system = system_of(&self.systems, name)?.clone();
        Ok(Self { system: Some(system), ..self })
    }

    /// Returns the instance with its system's values in the cycle model.
    pub fn on_its_board(mut self) -> Self {
        self.systems.clear();
        if let Some(system) = &self.system {
            self.timing = system.applied(self.timing);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_system_wins_over_the_cycle_model() {
        let text = toml::to_string(&Config::preset("reference").unwrap()).unwrap();
        let read = |systems: &str| Config::from_toml(&format!("{text}\n{systems}"));
        let systems = "[system]\ncore_mhz = 200\nhp_bytes = 8\n[systems.slow]\nddr_gb_per_s = 4.5\n";
        let config = read(systems).unwrap();
        let own = config.clone().on_its_board();
        assert_eq!((own.timing.core_mhz, own.timing.axi_mhz, own.timing.hp_bytes), (200.0, 250.0, 8));
        let slow = config.with_system("slow").unwrap().on_its_board();
        assert_eq!((slow.timing.core_mhz, slow.timing.ddr_gb_per_s), (400.0, 4.5));
        let error = read("[system]\ncore_mhz = -1\n").unwrap_err().to_string();
        assert!(error.contains("a number from 0.001 to 100000 for `core_mhz`"), "{error}");
        assert!(error.contains(" line "), "{error}");
    }
}
