//! Estimator and trace generator of the published laboratory, for comparison with golden data. Its
//! machine has 32 cores at 1 GHz and differs from pccx, whose model is [`crate::clock::timing`].
//! Source: specification 7.7.

use serde::Deserialize;

use crate::clock::trace::{Event, EventType, Trace};

/// Multiply-accumulates per core and cycle.
const MACS: u64 = 1024;
/// Bytes into and out of a core per cycle.
const BYTES_IN: u64 = 128;
const BYTES_OUT: u64 = 64;
/// Cycles to fill the pipeline.
const PIPELINE: u64 = 10;
/// Bytes of a bus beat; then bytes of a burst, and overhead cycles per burst.
const BEAT: u64 = 16;
const BURST: u64 = 256;
const BURST_OVERHEAD: u64 = 15;
/// Number of cores of the laboratory's machine.
const CORES: f64 = 32.0;

fn bound(macs: u64, bytes_in: u64, bytes_out: u64) -> u64 {
    macs.div_ceil(MACS).max(bytes_in.div_ceil(BYTES_IN)).max(bytes_out.div_ceil(BYTES_OUT)) + PIPELINE
}

/// Returns the cycles of a product of an m x k by a k x n matrix.
pub fn gemm_cycles(m: u64, n: u64, k: u64, element_bytes: u64) -> u64 {
    bound(m * n * k, (m * k + k * n) * element_bytes, m * n * element_bytes)
}

/// Returns the multiply-accumulates of a product per input byte.
pub fn arithmetic_intensity(m: u64, n: u64, k: u64, element_bytes: u64) -> f64 {
    (m * n * k) as f64 / ((m * k + k * n) * element_bytes) as f64
}

/// Whether a product is bound by compute rather than by input bandwidth.
pub fn is_compute_bound(m: u64, n: u64, k: u64, element_bytes: u64) -> bool {
    (m * n * k).div_ceil(MACS) >= ((m * k + k * n) * element_bytes).div_ceil(BYTES_IN)
}

/// Sizes of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are descriptive")]
pub struct Attention {
    pub seq_len_q: u64,
    pub seq_len_kv: u64,
    pub num_queries: u64,
    pub kv_groups: u64,
    pub head_dim: u64,
    pub element_bytes: u64,
}

/// Returns the cycles of an attention layer.
pub fn attention_cycles(layer: Attention) -> u64 {
    let Attention { seq_len_q, seq_len_kv, num_queries, kv_groups, head_dim, element_bytes } = layer;
    let queries = seq_len_q * num_queries * head_dim * element_bytes;
    let keys_and_values = 2 * seq_len_kv * kv_groups * head_dim * element_bytes;
    let macs = 2 * seq_len_q * seq_len_kv * num_queries * head_dim;
    bound(macs, queries + keys_and_values, queries)
}

/// Returns the cycles of a transfer.
pub fn dma_cycles(bytes: u64) -> u64 {
    bytes.div_ceil(BEAT) + BURST_OVERHEAD * bytes.div_ceil(BURST)
}

/// Returns the cycles of a transfer while `active_cores` cores transfer.
pub fn contended_dma_cycles(bytes: u64, active_cores: u64) -> u64 {
    let Some(others) = active_cores.checked_sub(1) else { return 0 };
    let load = (others as f64 / CORES).min(0.999);
    let cycles = dma_cycles(bytes);
    cycles + (cycles as f64 * (load / (2.0 * (1.0 - load)))).ceil() as u64
}

/// Calls of the generator before the first tile, with their cycles.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const CALLS: [(&str, u64); 8] = [
    ("uca_init",                820),
    ("uca_alloc_buffer",       2520),
    ("uca_load_weights",     284000),
    ("uca_submit_cmd",          360),
    ("uca_poll_completion",      60),
    ("uca_fetch_result",     184000),
    ("uca_reset",              1740),
    ("uca_get_perf_counters",  1040),
];
/// Tile sizes: input bytes, edge of the square product, output bytes.
const TILE_IN: u64 = 16_384;
const TILE_EDGE: u64 = 64;
const TILE_OUT: u64 = 8_192;
const STALL: u64 = 20;
const BARRIER: u64 = 8;
/// Cycles between the starts of two consecutive cores.
const SKEW: u64 = 3;

/// Returns the trace of `tiles` tiles on `cores` cores.
pub fn generate(tiles: u64, cores: u32) -> Trace {
    let mut events = Vec::new();
    let mut now = 0;
    for (name, duration) in CALLS {
        events.push(Event {
            core: 0,
            start: now,
            duration,
            event: EventType::ApiCall,
            api: Some(name.to_owned()),
        });
        now += duration;
    }
    let work = [
        (EventType::DmaRead, contended_dma_cycles(TILE_IN, cores.into())),
        (EventType::MacCompute, gemm_cycles(TILE_EDGE, TILE_EDGE, TILE_EDGE, 1)),
        (EventType::DmaWrite, contended_dma_cycles(TILE_OUT, cores.into())),
        (EventType::SystolicStall, STALL),
    ];
    for _ in 0..tiles {
        for core in 0..cores {
            let mut start = now + SKEW * u64::from(core);
            for (event, duration) in work {
                events.push(Event { core, start, duration, event, api: None });
                start += duration;
            }
        }
        let barrier = now + SKEW * u64::from(cores) + work.iter().map(|(_, duration)| duration).sum::<u64>();
        for core in 0..cores {
            let event = EventType::BarrierSync;
            events.push(Event { core, start: barrier, duration: BARRIER, event, api: None });
        }
        now = barrier + BARRIER;
    }
    Trace { total_cycles: now, events }
}

/// Performance of a trace compared with the peak of the laboratory's machine.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[allow(missing_docs, reason = "the names are the laboratory's")]
pub struct Roofline {
    pub achieved_gops: f64,
    pub arithmetic_intensity: f64,
    pub compute_bound: bool,
    pub dma_bytes_estimate: u64,
    pub mac_cycles: u64,
    pub peak_bw_gbps: f64,
    pub peak_gops: f64,
    pub total_cycles: u64,
}

/// Returns the roofline of a trace at 1 GHz, where a cycle is a nanosecond.
pub fn roofline(trace: &Trace) -> Roofline {
    const OPERATIONS: u64 = 2 * MACS;
    let cycles = |wanted: &[EventType]| {
        let events = trace.events.iter().filter(|event| wanted.contains(&event.event));
        events.map(|event| event.duration).sum::<u64>()
    };
    let mac_cycles = cycles(&[EventType::MacCompute]);
    let dma_bytes_estimate = BEAT * cycles(&[EventType::DmaRead, EventType::DmaWrite]);
    let operations = (OPERATIONS * mac_cycles) as f64;
    let (peak_gops, peak_bw_gbps) = (OPERATIONS as f64 * CORES, BEAT as f64);
    let arithmetic_intensity = operations / dma_bytes_estimate as f64;
    Roofline {
        achieved_gops: operations / trace.total_cycles as f64,
        arithmetic_intensity,
        compute_bound: arithmetic_intensity >= peak_gops / peak_bw_gbps,
        dma_bytes_estimate,
        mac_cycles,
        peak_bw_gbps,
        peak_gops,
        total_cycles: trace.total_cycles,
    }
}
