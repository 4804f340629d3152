//! Parameters of the timing model: [`Timing`]. Source: specification, 8.2 and 8.3.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Users of the DRAM port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Port {
    /// Loads and stores share one port and take turns.
    Shared,
    /// Loads and stores have separate ports.
    Split,
}

/// Partial sums that a `store` reads per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreReads {
    /// All partial sums of a result pixel.
    Results,
    /// One partial sum: a result pixel takes one cycle per pixel of its pooling window.
    Windows,
}

/// Costs of instructions. A *word* is the data that the port moves in one cycle. The default is the
/// recommended profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Clock frequency in MHz.
    pub clock_mhz: f64,
    /// Number of multipliers: products per cycle.
    pub macs_per_cycle: u32,
    /// Whether loads and stores share the DRAM port.
    pub port: Port,
    /// Size of a word in bytes.
    pub port_bytes_per_cycle: u32,
    /// Words of a load that take one cycle together.
    pub burst_words: u32,
    /// Cycles before each row of `ld.ifm`.
    pub ifm_row_latency: u32,
    /// Cycles before `ld.ker`.
    pub ker_latency: u32,
    /// Cycles before each slice of `ld.ker`.
    pub ker_tap_latency: u32,
    /// Cycles before `ld.bias`.
    pub bias_latency: u32,
    /// Cycles of a convolution in addition to its products.
    pub conv_pipe: u32,
    /// Cycles of a `store` in addition to its words.
    pub store_latency: u32,
    /// Partial sums that a `store` reads per cycle.
    pub store_reads: StoreReads,
    /// Cycles per slot that `pad` clears.
    pub pad_cycles_per_slot: u32,
    /// Cycles of the front end per instruction.
    pub fetch_cycles: u32,
    /// Number of instructions that may wait at an engine before the front end stalls.
    pub queue: u32,
    /// Copies of the ifm buffer. With two copies, one is loaded while the other is read.
    pub ifm_banks: u32,
    /// Copies of the ker buffer.
    pub ker_banks: u32,
    /// Copies of the bias buffer.
    pub bias_banks: u32,
    /// Copies of the partial sums.
    pub ofm_banks: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            clock_mhz: 200.0,
            macs_per_cycle: 1024,
            port: Port::Shared,
            port_bytes_per_cycle: 64,
            burst_words: 1,
            ifm_row_latency: 20,
            ker_latency: 20,
            ker_tap_latency: 0,
            bias_latency: 20,
            conv_pipe: 30,
            store_latency: 20,
            store_reads: StoreReads::Results,
            pad_cycles_per_slot: 1,
            fetch_cycles: 1,
            queue: 4,
            ifm_banks: 2,
            ker_banks: 2,
            bias_banks: 2,
            ofm_banks: 1,
        }
    }
}

impl Timing {
    /// Checks that every number is in its range.
    ///
    /// # Errors
    ///
    /// The first number out of range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(0.001..=1e6).contains(&self.clock_mhz) {
            let (key, value) = ("clock_mhz", self.clock_mhz.to_string());
            return Err(ConfigError::Range { key, value, legal: "0.001 to 1000000" });
        }
        let numbers = self.sizes().map(|(key, value)| (key, value, 1..=1 << 16, "1 to 65536"));
        let latencies = self.latencies().map(|(key, value)| (key, value, 0..=1 << 20, "0 to 1048576"));
        let banks = self.banks().map(|(key, value)| (key, value, 1..=16, "1 to 16"));
        for (key, value, range, legal) in numbers.into_iter().chain(latencies).chain(banks) {
            if !range.contains(&value) {
                return Err(ConfigError::Range { key, value: value.to_string(), legal });
            }
        }
        Ok(())
    }

    const fn sizes(&self) -> [(&'static str, u32); 4] {
        [
            ("macs_per_cycle", self.macs_per_cycle),
            ("port_bytes_per_cycle", self.port_bytes_per_cycle),
            ("burst_words", self.burst_words),
            ("queue", self.queue),
        ]
    }

    const fn latencies(&self) -> [(&'static str, u32); 8] {
        [
            ("ifm_row_latency", self.ifm_row_latency),
            ("ker_latency", self.ker_latency),
            ("ker_tap_latency", self.ker_tap_latency),
            ("bias_latency", self.bias_latency),
            ("conv_pipe", self.conv_pipe),
            ("store_latency", self.store_latency),
            ("pad_cycles_per_slot", self.pad_cycles_per_slot),
            ("fetch_cycles", self.fetch_cycles),
        ]
    }

    const fn banks(&self) -> [(&'static str, u32); 4] {
        [
            ("ifm_banks", self.ifm_banks),
            ("ker_banks", self.ker_banks),
            ("bias_banks", self.bias_banks),
            ("ofm_banks", self.ofm_banks),
        ]
    }
}
