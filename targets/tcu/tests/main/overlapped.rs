//! Units without the limits of the released one: the clock against cycles measured on the circuit
//! in Verilator.
//!
//! `overlapped.json` is written by `tests/python/rtl_random.py --overlap --keep`. It has random
//! programs on instances without some or all limits, with the cycle in which the circuit accepts
//! each instruction, and the total. `registered.json` has instances of the same run whose rows pass
//! a register.

use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::{Config, Overlap, decode_program};
use serde_json::Value;

const MEASURED: &str = include_str!("overlapped.json");
const REGISTERED: &str = include_str!("registered.json");

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Compares the clock with the measurements; returns the instances and their buses.
pub fn measured(text: &str, crosses_by_a_beat: bool) -> Vec<(Config, u32)> {
    let instances: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut configs = Vec::new();
    for instance in &instances {
        let (config, warnings) = Config::from_json(&instance["architecture"].to_string()).unwrap();
        assert_eq!(warnings, []);
        let axi_bits = u32::try_from(number(&instance["axi_bits"])).unwrap();
        for program in instance["programs"].as_array().unwrap() {
            let ops = decode_program(&config, &bytes(program["program"].as_str().unwrap())).unwrap();
            let params = ClockParams {
                read_latency: number(&program["latency"]),
                write_response_latency: number(&program["response_latency"]),
                axi_bits,
                crosses_by_a_beat,
            };
            let timeline = Clock::new(&config, params).unwrap().run(&ops);
            let accept: Vec<u64> = program["accept"].as_array().unwrap().iter().map(number).collect();
            assert_eq!((timeline.accept, timeline.total), (accept, number(&program["total"])), "{program}");
        }
        configs.push((config, axi_bits));
    }
    configs
}

#[test]
fn the_clock_takes_the_cycles_of_the_circuit() {
    let overlaps: Vec<Overlap> =
        measured(MEASURED, true).into_iter().map(|(config, _)| config.overlap).collect();
    let all = |overlap: &Overlap| {
        overlap.has_queues() && overlap.overlapped_dram && overlap.double_weights && overlap.pipelined_simd
    };
    assert!(overlaps.iter().any(all) && overlaps.iter().any(|overlap| !all(overlap)), "{overlaps:?}");
}

#[test]
fn the_clock_takes_the_cycles_of_the_circuit_with_registered_rows() {
    let configs = measured(REGISTERED, false);
    assert!(configs.iter().all(|(config, _)| config.registered_rows));
    let pipelined = |wanted| configs.iter().any(|(config, _)| config.overlap.pipelined_simd == wanted);
    assert!(pipelined(true) && pipelined(false), "both ways of entering rows");
}
