//! The clocks of known instances, so that cycles become milliseconds.

use crate::clock::ClockParams;
use crate::config::Config;

/// A clock and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Clock of the unit.
    pub mhz: f64,
    /// Who says so.
    pub source: &'static str,
}

/// Clocks of presets; of the others none is published.
const CLOCKS: [(&str, Clock); 6] = [
    (
        "pynqz1",
        Clock { mhz: 50.0, source: "that of the published ResNet-20 measurement, specification 10.2" },
    ),
    (
        "pynqz1_12x12",
        Clock { mhz: 150.0, source: "that of the published benchmark table, specification 10.4" },
    ),
    (
        "speech_robot",
        Clock { mhz: 50.0, source: "that of the published speech commands measurement, specification 10.2" },
    ),
    (
        "ultra96v2",
        Clock { mhz: 100.0, source: "that of the published ResNet-20 measurement, specification 10.2" },
    ),
    (
        "zcu104",
        Clock { mhz: 100.0, source: "that of the published ResNet-20 measurement, specification 10.2" },
    ),
    (
        "zcu104_uram",
        Clock { mhz: 100.0, source: "that of the published ResNet-20 measurement, specification 10.2" },
    ),
];

/// Cycles from the address of a read to its data, and from written data to the response, at 100 MHz: with them the hardware's clock gives the
/// published 7.49 ms of ResNet-20 on the ZCU104. Source: the TCU specification, 9, and its notes.
const LATENCY_AT_100_MHZ: f64 = 18.0;

/// The widest bus of the published boards, in bits.
const AXI_BITS: u64 = 128;

/// The memory a board of `config` is taken to have: the ZCU104's latency, in cycles of a clock of
/// `mhz` (100 when unknown), on the widest bus up to 128 bits that carries whole vectors.
pub fn memory(config: &Config, mhz: Option<f64>) -> ClockParams {
    let latency = (LATENCY_AT_100_MHZ * mhz.unwrap_or(100.0) / 100.0).round() as u64;
    let vector_bits = config.array_size as u64 * config.data_type.size_bytes() as u64 * 8;
    let widest = 1 << vector_bits.trailing_zeros().min(AXI_BITS.trailing_zeros());
    ClockParams { axi_bits: widest, ..ClockParams::with_latency(latency) }
}

/// The clock of the preset called `name`.
pub fn clock(name: &str) -> Option<Clock> {
    CLOCKS.iter().find(|(board, _)| *board == name).map(|&(_, clock)| clock)
}

/// The preset an artifact was made for: the one its name ends in, if its parameters agree, else the
/// first whose parameters do.
pub fn preset_of(artifact_name: &str, config: &Config) -> Option<&'static str> {
    let same = |name: &&str| Config::preset(name).as_ref() == Some(config);
    let named = |name: &&str| artifact_name.strip_suffix(name).is_some_and(|rest| rest.ends_with('_'));
    Config::presets().filter(same).find(named).or_else(|| Config::presets().find(same))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_clock_is_a_presets() {
        for (name, _) in CLOCKS {
            assert!(Config::preset(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_bus_carries_whole_vectors() {
        let bits = |name| memory(&Config::preset(name).unwrap(), None).axi_bits;
        assert_eq!([bits("zcu104"), bits("pynqz1_12x12"), bits("cmoda7")], [128, 64, 64]);
        assert_eq!(memory(&Config::preset("pynqz1").unwrap(), Some(50.0)).read_latency, 9);
    }

    #[test]
    fn equal_boards_are_told_apart_by_the_artifacts_name() {
        let config = Config::preset("pynqz1").unwrap();
        assert_eq!(preset_of("net_pynqz1", &config), Some("pynqz1"));
        assert_eq!(preset_of("net_artya7100t", &config), Some("artya7100t"));
        assert_eq!(preset_of("net", &Config { array_size: 5, ..config }), None);
    }
}
