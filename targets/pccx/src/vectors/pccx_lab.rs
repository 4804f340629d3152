//! Vectors of the published laboratory: estimates and traces.

use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, json, outcome};
use crate::clock::pccx_lab::{self, Attention};
use crate::clock::trace::{Container, Event, EventType, Trace, fnv64, write_flat, write_payload};

#[derive(Deserialize)]
struct Estimates {
    gemm: Vec<Gemm>,
    dma: Vec<Dma>,
    attention: Vec<Layer>,
    traces: Vec<Traced>,
}

#[derive(Deserialize)]
struct Gemm {
    m: u64,
    n: u64,
    k: u64,
    bytes_per_element: u64,
    gemm_cycles: u64,
    arithmetic_intensity: f64,
    compute_bound: bool,
}

#[derive(Deserialize)]
struct Dma {
    bytes: u64,
    active_cores: u64,
    dma_cycles: u64,
    dma_cycles_contended: u64,
}

#[derive(Deserialize)]
struct Layer {
    seq_len_q: u64,
    seq_len_kv: u64,
    num_queries: u64,
    kv_groups: u64,
    head_dim: u64,
    bytes_per_element: u64,
    cycles: u64,
}

#[derive(Deserialize)]
struct Traced {
    tiles: u64,
    cores: u32,
    total_cycles: u64,
    event_count: usize,
    events: Vec<(u32, u64, u64, String, Option<String>)>,
    bincode_fnv64: Hex,
    flat_fnv64: Hex,
    flat_len: usize,
    roofline: pccx_lab::Roofline,
}

/// Compares cycle estimates, and traces by the hashes of both payloads.
pub fn estimates(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Estimates = json(bytes)?;
    let products = file.gemm.into_iter().enumerate().map(|(index, case)| {
        let Gemm { m, n, k, bytes_per_element: bytes, .. } = case;
        let intensity = pccx_lab::arithmetic_intensity(m, n, k, bytes);
        // The JSON reader may read a float with an error of one in its last bit.
        let same = (intensity - case.arithmetic_intensity).abs() <= f64::EPSILON * intensity;
        let intensity = if same { case.arithmetic_intensity } else { intensity };
        let got =
            (pccx_lab::gemm_cycles(m, n, k, bytes), intensity, pccx_lab::is_compute_bound(m, n, k, bytes));
        let expected = (case.gemm_cycles, case.arithmetic_intensity, case.compute_bound);
        Case::done(format!("gemm {index}"), outcome(&expected, Ok(got)))
    });
    let transfers = file.dma.into_iter().enumerate().map(|(index, case)| {
        let got =
            (pccx_lab::dma_cycles(case.bytes), pccx_lab::contended_dma_cycles(case.bytes, case.active_cores));
        Case::done(format!("dma {index}"), outcome(&(case.dma_cycles, case.dma_cycles_contended), Ok(got)))
    });
    let layers = file.attention.into_iter().enumerate().map(|(index, case)| {
        let Layer { seq_len_q, seq_len_kv, num_queries, kv_groups, head_dim, bytes_per_element, cycles } =
            case;
        let element_bytes = bytes_per_element;
        let layer = Attention { seq_len_q, seq_len_kv, num_queries, kv_groups, head_dim, element_bytes };
        Case::done(format!("attention {index}"), outcome(&cycles, Ok(pccx_lab::attention_cycles(layer))))
    });
    let traces = file.traces.into_iter().flat_map(traced);
    Ok(products.chain(transfers).chain(layers).chain(traces).collect())
}

fn traced(case: Traced) -> [Case; 3] {
    let name = |what: &str| format!("trace of {} tiles on {} cores, {what}", case.tiles, case.cores);
    let generated = pccx_lab::generate(case.tiles, case.cores);
    let expected = Trace { total_cycles: case.total_cycles, events: case.events.iter().map(event).collect() };
    let hashes = |trace: &Trace| {
        let flat = write_flat(trace);
        (trace.events.len(), fnv64(&write_payload(trace)), fnv64(&flat), flat.len())
    };
    let wanted = (case.event_count, case.bincode_fnv64.0, case.flat_fnv64.0, case.flat_len);
    [
        Case::done(name("payloads"), outcome(&wanted, Ok(hashes(&expected)))),
        Case::done(name("roofline"), outcome(&case.roofline, Ok(pccx_lab::roofline(&expected)))),
        Case::done(name("events"), outcome(&expected, Ok(generated))),
    ]
}

fn event((core, start, duration, name, api): &(u32, u64, u64, String, Option<String>)) -> Event {
    let event = EventType::from_name(name);
    Event { core: *core, start: *start, duration: *duration, event, api: api.clone() }
}

/// Reads and writes a container, and generates it again: both must be equal byte by byte.
pub fn container(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let (container, warnings) = Container::read(bytes).map_err(|error| error.to_string())?;
    let barriers =
        container.trace.events.iter().filter(|event| event.event == EventType::BarrierSync).count();
    let tiles = (barriers as u64).checked_div(container.cores.into()).unwrap_or(0);
    let generated = Container::of_the_lab(pccx_lab::generate(tiles, container.cores), container.cores);
    Ok(vec![
        Case::done("checksum", outcome(&Vec::<String>::new(), Ok(warnings))),
        Case::done("read and written", outcome(&bytes, Ok(&container.write()[..]))),
        Case::done("generated", outcome(&bytes, Ok(&generated.write()[..]))),
    ])
}
