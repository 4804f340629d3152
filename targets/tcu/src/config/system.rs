//! [`Board`]: an architecture with the systems its file states, which are [`System`]s: clock, bus and memory.
//!
//! Upstream's own tools read eleven keys of a `.tarch` file and leave `system` and `systems` alone.

use npukit_target::{NamedSystems, SystemFigure, system_of};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Config, ConfigError, ConfigErrors, ConfigWarning};
use crate::config::packing::Packing;

/// What is around the array on a board. What a file leaves open is taken as for the published boards (`src/board.rs`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock of the array, in MHz.
    #[serde(default, deserialize_with = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Width of the data bus of each DRAM bank, in bits.
    #[serde(default, deserialize_with = "axi_width_bits", skip_serializing_if = "Option::is_none")]
    pub axi_width_bits: Option<u32>,
    /// Cycles of the clock from the address of a read to its first data.
    #[serde(default, deserialize_with = "dram_latency", skip_serializing_if = "Option::is_none")]
    pub dram_latency_cycles: Option<u32>,
    /// Cycles of the clock from the last data written to the response; as for reads, when not given.
    #[serde(default, deserialize_with = "dram_write_latency", skip_serializing_if = "Option::is_none")]
    pub dram_write_latency_cycles: Option<u32>,
    /// What a driver writes to the register `dram0_cache`: AxCACHE of DRAM0's bus.
    #[serde(default, deserialize_with = "dram0_cache", skip_serializing_if = "Option::is_none")]
    pub dram0_cache: Option<u32>,
    /// The same of DRAM1's.
    #[serde(default, deserialize_with = "dram1_cache", skip_serializing_if = "Option::is_none")]
    pub dram1_cache: Option<u32>,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Who says what the bus and the memory are; `source`, when not given.
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

/// An architecture, the system it is in, and others that it may be in.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Its parameters.
    pub config: Config,
    /// The one it is in.
    pub system: System,
    /// Those of `systems`.
    pub systems: NamedSystems<System>,
}

/// The keys of a file that are not the architecture's.
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
    /// Those of [`Config::from_json`]; [`ConfigError::System`] for a key or value of a system that is not legal;
    /// [`ConfigError::Bus`] for a bus that does not carry the vectors.
    pub fn from_json(text: &str) -> Result<(Self, Vec<ConfigWarning>), ConfigErrors> {
        let (config, warnings) = Config::from_json(text)?;
        let Keys { system, systems } = serde_json::from_str(text).map_err(ConfigError::system)?;
        let board = Self { config, system, systems };
        board.check_buses()?;
        Ok((board, warnings))
    }

    /// The same in the system of that name.
    ///
    /// # Errors
    ///
    /// It has none of this name; the sentence says which it has.
    pub fn with_system(self, name: &str) -> Result<Self, String> {
        let system = system_of(&self.systems, name)?.clone();
        Ok(Self { system, ..self })
    }

    /// Whether every bus that is stated carries the vectors.
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
    /// One that leaves everything open.
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

    /// What it states, in a line; nothing when it states nothing.
    pub fn summary(&self) -> String {
        let clock = self.clock_mhz.map(|mhz| format!("{mhz} MHz"));
        let bus = self.axi_width_bits.map(|bits| format!("bus of {bits} bits"));
        let latency = self.dram_latency_cycles.map(|cycles| format!("memory latency {cycles} cycles"));
        [clock, bus, latency].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Where its clock is from.
    pub fn clock_source(&self) -> Option<String> {
        self.clock_mhz.map(|_| stated_by(self.source.as_ref()))
    }

    /// What it states of the memory, and who says so; nothing when that is open.
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

/// Who says what a system states.
fn stated_by(source: Option<&String>) -> String {
    source.cloned().unwrap_or_else(|| "as its instance's file says".to_owned())
}
