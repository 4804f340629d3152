//! [`Board`]: an architecture with the [`System`]s of its file: clock, bus and memory.
//!
//! Tensil's own tools read eleven keys of a `.tarch` file and ignore `system` and `systems`.

use npukit_target::{NamedSystems, SystemFigure, system_of};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Config, ConfigError, ConfigErrors, ConfigWarning};
use crate::config::packing::Packing;

/// Clock, bus and memory around the array. Figures that a file omits are taken from the published
/// boards (`src/config/board.rs`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock of the array, in MHz.
    #[serde(default, deserialize_with = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Width of the data bus of each DRAM bank, in bits.
    #[serde(default, deserialize_with = "axi_width_bits", skip_serializing_if = "Option::is_none")]
    pub axi_width_bits: Option<u32>,
    /// Clock cycles from a read address to its first data.
    #[serde(default, deserialize_with = "dram_latency", skip_serializing_if = "Option::is_none")]
    pub dram_latency_cycles: Option<u32>,
    /// Clock cycles from the last written data to the response; by default equal to the read
    /// latency.
    #[serde(default, deserialize_with = "dram_write_latency", skip_serializing_if = "Option::is_none")]
    pub dram_write_latency_cycles: Option<u32>,
    /// Value that a driver writes to the register `dram0_cache`: AxCACHE of DRAM0's bus.
    #[serde(default, deserialize_with = "dram0_cache", skip_serializing_if = "Option::is_none")]
    pub dram0_cache: Option<u32>,
    /// Value that a driver writes to the register `dram1_cache`: AxCACHE of DRAM1's bus.
    #[serde(default, deserialize_with = "dram1_cache", skip_serializing_if = "Option::is_none")]
    pub dram1_cache: Option<u32>,
    /// Source of the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Source of the bus and memory figures; defaults to `source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_source: Option<String>,
}

fn clock_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("clock_mhz").read(deserializer).map(Some)
}

fn axi_width_bits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("axi_width_bits", 8, 1024).read_whole(deserializer).map(Some)
}

fn dram_latency<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("dram_latency_cycles", 0, 65_535).read_whole(deserializer).map(Some)
}

fn dram_write_latency<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("dram_write_latency_cycles", 0, 65_535).read_whole(deserializer).map(Some)
}

fn dram0_cache<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("dram0_cache", 0, 15).read_whole(deserializer).map(Some)
}

fn dram1_cache<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    SystemFigure::whole("dram1_cache", 0, 15).read_whole(deserializer).map(Some)
}

/// An architecture with its system, and with alternative systems.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Parameters of the architecture.
    pub config: Config,
    /// The system that is used.
    pub system: System,
    /// Alternative systems, from `systems`.
    pub systems: NamedSystems<System>,
}

/// The keys of a file that do not belong to the architecture.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    system: System,
    #[serde(default)]
    systems: NamedSystems<System>,
}

impl Board {
    /// Reads a `.tarch` file: [`Config::from_json`] with its systems.
    ///
    /// # Errors
    ///
    /// The errors of [`Config::from_json`]; [`ConfigError::System`] for an illegal key or value of
    /// a system; [`ConfigError::Bus`] for a bus that cannot carry the vectors.
    pub fn from_json(text: &str) -> Result<(Self, Vec<ConfigWarning>), ConfigErrors> {
        let (config, warnings) = Config::from_json(text)?;
        let Keys { system, systems } = serde_json::from_str(text).map_err(ConfigError::system)?;
        let board = Self { config, system, systems };
        board.check_buses()?;
        Ok((board, warnings))
    }

    /// Selects the system with that name.
    ///
    /// # Errors
    ///
    /// An unknown name; the message lists the available systems.
    pub fn with_system(self, name: &str) -> Result<Self, String> {
        let system = system_of(&self.systems, name)?.clone();
        Ok(Self { system, ..self })
    }

    /// Checks that every specified bus can carry the vectors.
    fn check_buses(&self) -> Result<(), ConfigError> {
        let named = self.systems.iter().map(|(name, system)| (format!("systems.{}", name.as_str()), system));
        let own = ("system".to_owned(), &self.system);
        for (key, system) in std::iter::once(own).chain(named) {
            let checked = system.axi_width_bits.map(|bits| Packing::checked(&self.config, bits));
            checked.transpose().map_err(|source| ConfigError::Bus { key, source })?;
        }
        Ok(())
    }
}

impl System {
    /// A system without any figures.
    pub const OPEN: Self = Self {
        clock_mhz: None,
        axi_width_bits: None,
        dram_latency_cycles: None,
        dram_write_latency_cycles: None,
        dram0_cache: None,
        dram1_cache: None,
        source: None,
        memory_source: None,
    };

    /// Summarizes the figures in one line; empty without figures.
    pub fn summary(&self) -> String {
        let clock = self.clock_mhz.map(|mhz| format!("{mhz} MHz"));
        let bus = self.axi_width_bits.map(|bits| format!("bus of {bits} bits"));
        let latency = self.dram_latency_cycles.map(|cycles| format!("memory latency {cycles} cycles"));
        [clock, bus, latency].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the source of the clock.
    pub fn clock_source(&self) -> Option<String> {
        self.clock_mhz.map(|_| stated_by(self.source.as_ref()))
    }

    /// Describes the memory figures and their source; `None` without such figures.
    pub fn stated_memory(&self) -> Option<String> {
        let (latency, bus) = (self.dram_latency_cycles.is_some(), self.axi_width_bits.is_some());
        let source = stated_by(self.memory_source.as_ref().or(self.source.as_ref()));
        match (latency, bus) {
            (true, true) if self.memory_source.is_some() => Some(source),
            (true, true) => Some(format!("latency and bus: {source}")),
            (true, false) => Some(format!("latency: {source}")),
            (false, true) => {
                Some(format!("bus: {source}; latency: the published ZCU104's, 18 cycles at 100 MHz"))
            }
            (false, false) => None,
        }
    }
}

/// Returns the source of the figures of a system.
fn stated_by(source: Option<&String>) -> String {
    source.cloned().unwrap_or_else(|| "given in the instance's file".to_owned())
}
