//! [`System`]: clock and memory of a board, which take precedence over the timing model.

use npukit_target::{SystemFigure, system_of};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Config, Timing};

/// Clock and memory figures of a board; absent figures are taken from [`Timing`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock frequency in MHz, if specified.
    #[serde(default, deserialize_with = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Bytes that the DRAM port moves per cycle, if specified.
    #[serde(default, deserialize_with = "port_bytes", skip_serializing_if = "Option::is_none")]
    pub port_bytes_per_cycle: Option<u32>,
    /// Cycles before the first word of each row of `ld.ifm`, of `ld.ker` and of `ld.bias`, if
    /// specified.
    #[serde(default, deserialize_with = "dram_latency", skip_serializing_if = "Option::is_none")]
    pub dram_latency_cycles: Option<u32>,
    /// Citation for the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn clock_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("clock_mhz").read(deserializer).map(Some)
}

fn port_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("port_bytes_per_cycle", 1, 1 << 16).read_whole(deserializer).map(Some)
}

fn dram_latency<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("dram_latency_cycles", 0, 1 << 20).read_whole(deserializer).map(Some)
}

impl System {
    /// Returns the figures in one line.
    pub fn summary(&self) -> String {
        let clock = self.clock_mhz.map(|mhz| format!("{mhz} MHz"));
        let port = self.port_bytes_per_cycle.map(|bytes| format!("{bytes} bytes per cycle"));
        let latency = self.dram_latency_cycles.map(|cycles| format!("memory latency {cycles} cycles"));
        [clock, port, latency].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the citation for the figures.
    pub fn source(&self) -> String {
        self.source.clone().unwrap_or_else(|| "as given in the instance's file".to_owned())
    }

    /// Returns the timing model with the figures of this system.
    fn applied(&self, timing: Timing) -> Timing {
        // Default, here and below: absent figures are the timing model's.
        let latency = |own: u32| self.dram_latency_cycles.unwrap_or(own);
        Timing {
            clock_mhz: self.clock_mhz.unwrap_or(timing.clock_mhz),
            port_bytes_per_cycle: self.port_bytes_per_cycle.unwrap_or(timing.port_bytes_per_cycle),
            ifm_row_latency: latency(timing.ifm_row_latency),
            ker_latency: latency(timing.ker_latency),
            bias_latency: latency(timing.bias_latency),
            ..timing
        }
    }
}

impl Config {
    /// Returns the instance with the system of that name.
    ///
    /// # Errors
    ///
    /// There is no system of that name; the message lists the available ones.
    pub fn with_system(self, name: &str) -> Result<Self, String> {
        let system = system_of(&self.systems, name)?.clone();
        Ok(Self { system: Some(system), ..self })
    }

    /// Returns the instance with the figures of its system applied to the timing model.
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

    const TEXT: &str = "[types]\nitype = \"int8\"\nbtype = \"int16\"\nktype = \"int8\"\notype = \"int16\"\n\
                        [timing]\nport_bytes_per_cycle = 32\n";

    fn read(systems: &str) -> Result<Config, String> {
        Config::from_toml(&format!("{TEXT}{systems}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_system_wins_over_the_cycle_model() {
        let text = "[system]\nclock_mhz = 150\ndram_latency_cycles = 40\n[systems.fast]\nclock_mhz = 300.5\n";
        let config = read(text).unwrap();
        let timing = config.clone().on_its_board().timing;
        assert_eq!((timing.clock_mhz, timing.port_bytes_per_cycle), (150.0, 32));
        let latencies = |timing: &Timing| [timing.ifm_row_latency, timing.ker_latency, timing.bias_latency];
        assert_eq!(latencies(&timing), [40; 3]);
        let fast = config.clone().with_system("fast").unwrap().on_its_board();
        assert_eq!((fast.timing.clock_mhz, latencies(&fast.timing)), (300.5, [20; 3]));
        assert!(fast.systems.is_empty());
        assert!(config.with_system("fats").unwrap_err().contains("did you mean `fast`?"));
    }

    #[test]
    fn what_is_not_legal_is_told_with_the_line() {
        let unknown = read("[system]\nclock = 3\n").unwrap_err();
        assert!(unknown.contains("line 9") && unknown.contains("unknown field `clock`"), "{unknown}");
        let zero = read("[system]\nclock_mhz = 0.0\n").unwrap_err();
        assert!(
            zero.contains("line 9") && zero.contains("a number from 0.001 to 100000 for `clock_mhz`"),
            "{zero}"
        );
    }
}
