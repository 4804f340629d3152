//! Report of `npu time`: [`report`] of a [`Timeline`], lower bounds of the time ([`limits`]), and
//! the timeline as a trace of the laboratory. Module `record` prepares it for viewers.

use std::collections::BTreeMap;

use npukit_target::{
    Activity, Breakdown, CountedMemory, CycleSpan, LayerWork, MacType, MemoryClass, Roofline, SPAN_NOTE,
    Spent, TimeReport, UnitTime, Wait as WaitTime, share,
};

use crate::clock::timing::Bound;
use crate::clock::trace::{Arch, Container, Event, EventType, Trace};
use crate::clock::{Span, Timeline, Wait};
use crate::config::{Config, WORD_BYTES};
use crate::isa::op::{Banks, Device, Engine, Op, Values};
use crate::isa::usage::words_of;

/// Name of the cost model.
const MODEL: &str = "engine";

/// Lower bound on a program's time from its data or computations, independent of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limiting resource.
    pub what: &'static str,
    /// Least time in core cycles.
    pub cycles: u64,
}

/// Returns all lower bounds on a program's time.
pub fn limits(config: &Config, timeline: &Timeline) -> Vec<Limit> {
    let timing = &config.timing;
    let sum = |engine: Option<Engine>, part: fn(&Span) -> u64| {
        let spans = timeline.spans.iter().filter(|span| engine.is_none_or(|engine| span.engine == engine));
        spans.map(part).sum::<u64>()
    };
    let over = |amount: u64, rate: f64| (amount as f64 / rate).ceil() as u64;
    let weights = |span: &Span| span.cost.weight_bytes;
    let macs = |span: &Span| span.cost.macs;
    let vector = (timing.gemv.lanes * timing.gemv.lane_width) as f64;
    let matrix = multipliers(config) as f64;
    let [gemv_ports, gemm_ports] =
        [timing.gemv.ports, timing.gemm.ports].map(|n| timing.weight_bytes_per_cycle(n));
    [
        ("vector core", over(sum(Some(Engine::Gemv), macs), vector)),
        ("matrix core", over(sum(Some(Engine::Gemm), macs), matrix)),
        ("weight ports of GEMV", over(sum(Some(Engine::Gemv), weights), gemv_ports)),
        ("weight ports of GEMM", over(sum(Some(Engine::Gemm), weights), gemm_ports)),
        ("coherent port", over(sum(None, |span| span.cost.host_bytes), timing.acp_bytes_per_cycle())),
        (
            "external memory",
            over(
                sum(None, |span| span.cost.weight_bytes + span.cost.host_bytes),
                timing.ddr_bytes_per_cycle(),
            ),
        ),
    ]
    .map(|(what, cycles)| Limit { what, cycles })
    .to_vec()
}

/// Returns the multiply-accumulates of the matrix core per cycle: two per element of its array.
pub(crate) const fn multipliers(config: &Config) -> u64 {
    config.timing.gemm.rows * config.timing.gemm.columns
}

/// Returns the timing report of a program; `layer_of` maps an instruction to its index in `layers`.
pub fn report(
    config: &Config,
    ops: &[Op],
    timeline: &Timeline,
    layers: &[LayerWork<'_>],
    layer_of: impl Fn(usize) -> usize,
) -> TimeReport {
    let spent = spent(config, ops, timeline, layer_of);
    let breakdown = Breakdown::new(layers, &spent, multipliers(config));
    let limits = limits(config, timeline);
    let (compute, memory) = limits.split_at(2);
    // Default: without limits nothing takes time.
    let largest = |limits: &[Limit]| limits.iter().map(|limit| limit.cycles).max().unwrap_or(0);
    let busy = [Engine::Gemv, Engine::Gemm].map(|engine| busy(timeline, engine));
    TimeReport {
        cycles: BTreeMap::from([(MODEL.to_owned(), timeline.cycles)]),
        clock: MODEL.to_owned(),
        assumptions: assumptions(config),
        notes: notes(config, timeline, &limits),
        milliseconds: Some(config.timing.milliseconds(timeline.cycles)),
        clock_mhz: Some(config.timing.core_mhz),
        clock_source: Some(clock_source(config)),
        macs_computed: breakdown.macs_computed(),
        utilization: breakdown.utilization(),
        array_busy: share(busy[0].max(busy[1]), timeline.cycles),
        roofline: Roofline::new(largest(compute), largest(memory), timeline.cycles),
        layers: breakdown.layers(),
        kinds: breakdown.kinds(),
        units: Engine::ALL.map(|engine| unit(timeline, engine)).to_vec(),
        instructions: breakdown.instructions(),
        ..TimeReport::default()
    }
}

/// Size of external memory, on which no instruction depends.
const EXTERNAL_BYTES: u64 = 4 << 30;

/// Returns the multiply-accumulates and the bytes of each memory: weights and host windows of
/// external memory, as in the clock, and the L2 words that an instruction reads and writes.
/// Operands are BF16 next to 4-bit weights.
pub fn activity(
    config: &Config,
    ops: &[Op],
    timeline: &Timeline,
    layers: usize,
    layer_of: impl Fn(usize) -> usize,
) -> Activity {
    let l2 = u64::from(config.l2_words) * WORD_BYTES as u64;
    let memories = vec![
        CountedMemory::new("external", MemoryClass::Dram, EXTERNAL_BYTES),
        CountedMemory::new("L2", MemoryClass::Sram, l2),
    ];
    let (mut activity, mut banks) = (Activity::new(MacType::Bf16, memories, layers), Banks::default());
    let words = |values: Option<Values>| values.map_or(0, |values| words_of(values.count));
    for (index, (op, span)) in ops.iter().zip(&timeline.spans).enumerate() {
        let access = op.access(&banks);
        let written = words(access.writes) * if access.updates { 2 } else { 1 };
        let moved = access.reads.map(words).into_iter().sum::<u64>() + written;
        let external = span.cost.weight_bytes + span.cost.host_bytes;
        activity.add(layer_of(index), span.cost.macs, &[external, moved * WORD_BYTES as u64]);
        banks.step(op);
    }
    activity
}

/// Returns the source of the clock frequency.
pub(crate) fn clock_source(config: &Config) -> String {
    let stated = config.system.as_ref().and_then(|system| system.clock_source());
    stated.unwrap_or_else(|| "the instance's timing.core_mhz".to_owned())
}

/// Returns the cycles by which each instruction extends the program.
fn spent(config: &Config, ops: &[Op], timeline: &Timeline, layer_of: impl Fn(usize) -> usize) -> Vec<Spent> {
    let mut end = 0;
    let spans = ops.iter().zip(&timeline.spans).enumerate();
    let one = |(index, (op, span)): (usize, (&Op, &Span))| {
        let before = end;
        end = end.max(span.end);
        let timing = &config.timing;
        let (rate, ports) = match span.engine {
            Engine::Gemm => (multipliers(config), timing.gemm.ports),
            _ => (timing.gemv.lanes * timing.gemv.lane_width, timing.gemv.ports),
        };
        let weights = span.cost.weight_bytes as f64 / timing.weight_bytes_per_cycle(ports);
        let first = span.start.min(span.fetch);
        let host = span.cost.host_bytes as f64 / timing.acp_bytes_per_cycle();
        Spent {
            layer: layer_of(index),
            kind: kind(op, span.bound),
            vectors: span.cost.values,
            cycles: end - before,
            compute: span.cost.macs.div_ceil(rate),
            // Weights and the host's windows use different ports, which work at the same time.
            memory: [weights, host].map(|cycles| cycles as u64),
            span: CycleSpan::of(first, span.end.saturating_sub(first)),
        }
    };
    spans.map(one).collect()
}

/// Returns the name of an instruction together with its bound.
pub(crate) const fn kind(op: &Op, bound: Bound) -> &'static str {
    match (op, bound) {
        (Op::Gemv(_), Bound::Weights) => "GEMV, bound by weights",
        (Op::Gemv(_), Bound::Compute) => "GEMV, bound by compute",
        (Op::Gemv(_), _) => "GEMV, bound by L2",
        (Op::Gemm(_), Bound::Weights) => "GEMM, bound by weights",
        (Op::Gemm(_), Bound::Compute) => "GEMM, bound by compute",
        (Op::Gemm(_), _) => "GEMM, bound by L2",
        (Op::Cvo(_), Bound::Compute) => "CVO, bound by its pipeline",
        (Op::Cvo(_), Bound::Store) => "CVO, bound by L2 writes",
        (Op::Cvo(_), _) => "CVO, bound by L2 reads",
        (Op::Memcpy(_), Bound::Host) => "MEMCPY, bound by the coherent port",
        (Op::Memcpy(_), _) => "MEMCPY, within L2",
        (Op::Kick | Op::Dropped(_), _) => "no operation",
        _ => op.mnemonic(),
    }
}

/// Returns the cycles in which an engine works; its spans do not overlap.
fn busy(timeline: &Timeline, engine: Engine) -> u64 {
    timeline.spans.iter().filter(|span| span.engine == engine).map(|span| span.end - span.start).sum()
}

/// Returns the working time of an engine and its waits. Idle cycles are attributed to the last
/// reason why the next instruction did not start.
fn unit(timeline: &Timeline, engine: Engine) -> UnitTime {
    let mut waits: BTreeMap<Wait, u64> = BTreeMap::new();
    let mut free = 0;
    for span in timeline.spans.iter().filter(|span| span.engine == engine) {
        // The cycles between the end of the previous instruction and this start are attributed to
        // this instruction's reason to wait.
        let idle = span.start.saturating_sub(free);
        if idle > 0 {
            *waits.entry(span.wait).or_default() += idle;
        }
        free = span.end;
    }
    let busy = busy(timeline, engine);
    let mut waits: Vec<WaitTime> =
        waits.into_iter().map(|(wait, cycles)| WaitTime { on: wait.name().to_owned(), cycles }).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.cycles));
    UnitTime { unit: engine.name().to_owned(), busy, share: share(busy, timeline.cycles), waits }
}

pub(crate) fn assumptions(config: &Config) -> Vec<String> {
    let timing = &config.timing;
    vec![
        format!(
            "core {} MHz, ports {} MHz and {} bytes per cycle, {} lanes, external memory {} GB/s: parameters of the instance",
            timing.core_mhz, timing.axi_mhz, timing.hp_bytes, timing.gemv.lanes, timing.ddr_gb_per_s
        ),
        "times of this machine were never measured: the model follows specification 6.4".to_owned(),
        "ports share external memory, where the earlier instruction has priority; engines do not slow each other down at L2"
            .to_owned(),
    ]
}

fn notes(config: &Config, timeline: &Timeline, limits: &[Limit]) -> Vec<String> {
    let milliseconds = config.timing.milliseconds(timeline.cycles);
    let rate = |cycles: u64| 1e3 / config.timing.milliseconds(cycles.max(1));
    let bytes = |part: fn(&Span) -> u64| timeline.spans.iter().map(part).sum::<u64>();
    let (weights, host) = (bytes(|span| span.cost.weight_bytes), bytes(|span| span.cost.host_bytes));
    let mut notes =
        vec![format!("{weights} bytes of weights and {host} bytes of host windows move in a run")];
    if milliseconds > 0.0 {
        notes.push(format!(
            "{:.2} runs per second: tokens per second, if a run makes one token",
            rate(timeline.cycles)
        ));
    }
    if let Some(limit) = limits.iter().max_by_key(|limit| limit.cycles).filter(|limit| limit.cycles > 0) {
        let (what, most) = (limit.what, rate(limit.cycles));
        notes.push(format!(
            "the largest lower bound is from the {what}: {} cycles, so at most {most:.2} runs per second",
            limit.cycles
        ));
    }
    notes.push(SPAN_NOTE.to_owned());
    notes
}

/// Returns the timeline as a `.pccx` container. In the peak, a multiply-accumulate is two
/// operations.
pub fn lab_container(config: &Config, ops: &[Op], timeline: &Timeline) -> Container {
    let timing = &config.timing;
    let arch = Arch {
        mac_dims: [timing.gemm.rows as u32, timing.gemm.columns as u32],
        isa_version: "v002".to_owned(),
        peak_tops: 2.0 * multipliers(config) as f64 * timing.core_mhz / 1e6,
    };
    Container {
        lab_version: concat!("npukit-", env!("CARGO_PKG_VERSION")).to_owned(),
        arch,
        cores: 1,
        clock_mhz: timing.core_mhz.round() as u64,
        trace: lab_trace(ops, timeline),
    }
}

/// Returns the timeline as events of the `.pccx` container, on one core.
fn lab_trace(ops: &[Op], timeline: &Timeline) -> Trace {
    let event = |(op, span): (&Op, &Span)| {
        let to_host = matches!(op, Op::Memcpy(memcpy) if memcpy.to_device == Device::Host);
        let event = match span.engine {
            Engine::Gemv | Engine::Gemm | Engine::Cvo => EventType::MacCompute,
            Engine::Memcpy if to_host => EventType::DmaWrite,
            Engine::Memcpy => EventType::DmaRead,
            Engine::Dispatch => EventType::ApiCall,
        };
        let api = (event == EventType::ApiCall).then(|| op.mnemonic().to_lowercase());
        Event { core: 0, start: span.start, duration: span.end - span.start, event, api }
    };
    Trace { total_cycles: timeline.cycles, events: ops.iter().zip(&timeline.spans).map(event).collect() }
}
