//! Default clock and memory of boards for which the file does not specify them, and the board of an
//! artifact.

use crate::config::{ClockParams, Config, System};

/// Cycles from a read address to its data, and from written data to the response, at 100 MHz. With
/// this latency the clock gives the published 7.49 ms of ResNet-20 on the ZCU104. Source: the TCU
/// specification, 9, and its notes.
const LATENCY_AT_100_MHZ: f64 = 18.0;

/// The widest bus of the published boards, in bits.
const AXI_BITS: u64 = 128;

/// Returns the memory of `config` in `system`, at a clock of `mhz` if given, otherwise at the
/// system's clock.
///
/// Defaults: the ZCU104's latency, converted to cycles of the clock (100 MHz if unknown), and the
/// widest bus up to 128 bits that carries whole vectors. At another clock, a latency takes the same
/// number of nanoseconds.
pub fn memory(config: &Config, system: &System, mhz: Option<f64>) -> ClockParams {
    let clock = mhz.or(system.clock_mhz);
    let stated = |cycles: u32| at_clock(cycles, system.clock_mhz, clock);
    let read_latency = system.dram_latency_cycles.map_or_else(|| published_latency(clock), stated);
    let write_response_latency = system.dram_write_latency_cycles.map_or(read_latency, stated);
    let axi_bits = system.axi_width_bits.unwrap_or_else(|| widest_bus(config));
    ClockParams { read_latency, write_response_latency, axi_bits, crosses_by_a_beat: false }
}

/// Returns the published latency in cycles of a clock.
fn published_latency(mhz: Option<f64>) -> u64 {
    // Default: the measured board has 100 MHz.
    (LATENCY_AT_100_MHZ * mhz.unwrap_or(100.0) / 100.0).round() as u64
}

/// Converts cycles of a clock of `from` MHz to cycles at `to` MHz; unchanged if one of them is
/// unknown.
fn at_clock(cycles: u32, from: Option<f64>, to: Option<f64>) -> u64 {
    match (from, to) {
        (Some(from), Some(to)) => (f64::from(cycles) * to / from).round() as u64,
        _ => cycles.into(),
    }
}

fn widest_bus(config: &Config) -> u32 {
    1 << config.vector_bits().trailing_zeros().min(AXI_BITS.trailing_zeros())
}

/// Returns the built-in instance for which an artifact was made. If the parameters of the instance
/// at the end of the artifact's name match, that instance is returned; otherwise the first instance
/// with matching parameters.
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
    fn a_bus_carries_whole_vectors() {
        let open = System::default();
        let bits = |name| memory(&Config::preset(name).unwrap(), &open, None).axi_bits;
        assert_eq!([bits("zcu104"), bits("pynqz1_12x12"), bits("cmoda7")], [128, 64, 64]);
        assert_eq!(memory(&Config::preset("pynqz1").unwrap(), &open, Some(50.0)).read_latency, 9);
    }

    #[test]
    fn a_system_says_what_it_likes() {
        let config = Config::preset("zcu104").unwrap();
        let at = |system: &System, mhz| {
            let ClockParams { read_latency, write_response_latency, axi_bits, .. } =
                memory(&config, system, mhz);
            (read_latency, write_response_latency, axi_bits)
        };
        let bus = System { axi_width_bits: Some(512), ..System::default() };
        assert_eq!(at(&bus, None), (18, 18, 512));
        let clock = System { clock_mhz: Some(200.0), ..bus };
        assert_eq!(at(&clock, None), (36, 36, 512));
        let latency = System { dram_latency_cycles: Some(30), ..clock };
        assert_eq!(at(&latency, None), (30, 30, 512));
        let writes = System { dram_write_latency_cycles: Some(10), ..latency };
        assert_eq!(at(&writes, None), (30, 10, 512));
        assert_eq!(at(&writes, Some(100.0)), (15, 5, 512), "equal time in nanoseconds");
        let unclocked = System { clock_mhz: None, ..writes };
        assert_eq!(at(&unclocked, Some(100.0)), (30, 10, 512));
    }

    #[test]
    fn equal_boards_are_told_apart_by_the_artifacts_name() {
        let config = Config::preset("pynqz1").unwrap();
        assert_eq!(preset_of("net_pynqz1", &config), Some("pynqz1"));
        assert_eq!(preset_of("net_artya7100t", &config), Some("artya7100t"));
        assert_eq!(preset_of("net", &Config { array_size: 5, ..config }), None);
    }
}
