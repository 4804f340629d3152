//! [`Tally`]: sums over timed programs. Each program counts several times.

use std::collections::BTreeMap;

use npukit_target::{
    KindTime, LanguageBound, LanguageLayers, LanguagePart, LanguageStep, Traffic, UnitTime, Wait as WaitTime,
    share,
};

use super::repeated::Repeated;
use crate::clock::report::{kind, multipliers};
use crate::clock::{Span, Wait, run_with_host};
use crate::config::Config;
use crate::isa::op::{Engine, Op};
use crate::lower::language::ModelPart;
use crate::lower::{Executable, reads_cache};

/// Part of instructions after the last part of the model.
const END: ModelPart = ModelPart { layer: None, name: "end" };

/// Sums over timed programs. Numbers are exact below 2^53 if all counts are integers.
#[derive(Default)]
pub struct Tally {
    programs: usize,
    timed: u64,
    interpolated: bool,
    /// Largest number of rows of a program.
    rows: usize,
    all: Work,
    parts: Vec<(&'static str, Work)>,
    /// Layers of the model by their index; `None` for the rest.
    layers: BTreeMap<Option<usize>, Work>,
    engines: BTreeMap<Engine, EngineWork>,
    kinds: BTreeMap<&'static str, KindWork>,
}

/// Cycles, computations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    instructions: f64,
    cycles: f64,
    /// Multiply-accumulates and bytes of weights of GEMV and GEMM.
    macs: [f64; 2],
    weights: [f64; 2],
    cache: f64,
    host: f64,
}

#[derive(Default)]
struct EngineWork {
    busy: f64,
    waits: BTreeMap<Wait, f64>,
}

#[derive(Default)]
struct KindWork {
    instructions: f64,
    vectors: f64,
    cycles: f64,
}

impl EngineWork {
    fn times(&self, factor: f64) -> Self {
        let waits = self.waits.iter().map(|(&wait, cycles)| (wait, factor * cycles));
        Self { busy: factor * self.busy, waits: waits.collect() }
    }
}

impl KindWork {
    fn times(&self, factor: f64) -> Self {
        let Self { instructions, vectors, cycles } = self;
        let product = |count: &f64| factor * count;
        Self { instructions: product(instructions), vectors: product(vectors), cycles: product(cycles) }
    }
}

impl Work {
    fn add(&mut self, other: &Self, times: f64) {
        let Self { instructions, cycles, macs, weights, cache, host } = other;
        self.instructions += times * instructions;
        self.cycles += times * cycles;
        for engine in 0..2 {
            self.macs[engine] += times * macs[engine];
            self.weights[engine] += times * weights[engine];
        }
        self.cache += times * cache;
        self.host += times * host;
    }

    fn times(&self, factor: f64) -> Self {
        let mut product = Self::default();
        product.add(self, factor);
        product
    }

    /// Returns the work of an instruction that extends the program by `cycles`.
    fn of(op: &Op, span: &Span, cycles: u64) -> Self {
        let is_gemm = span.engine == Engine::Gemm;
        let by_engine = |amount: u64| if is_gemm { [0.0, amount as f64] } else { [amount as f64, 0.0] };
        let bytes = span.cost.weight_bytes;
        let (weights, cache) = if reads_cache(op) { (0, bytes) } else { (bytes, 0) };
        Self {
            instructions: 1.0,
            cycles: cycles as f64,
            macs: by_engine(span.cost.macs),
            weights: by_engine(weights),
            cache: cache as f64,
            host: span.cost.host_bytes as f64,
        }
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            macs: whole(self.macs[0] + self.macs[1]),
            weight_bytes: whole(self.weights[0] + self.weights[1]),
            cache_bytes: whole(self.cache),
            host_bytes: whole(self.host),
        }
    }
}

/// Rounds a sum that is not negative.
fn whole(sum: f64) -> u64 {
    sum.round() as u64
}

impl Tally {
    /// Times a program that computes `parts`, and adds its instructions `times` times. A layer
    /// counts for all layers of the same cost.
    pub fn add(
        &mut self,
        config: &Config,
        executable: &Executable,
        parts: &[ModelPart],
        repeated: &Repeated,
        times: f64,
    ) {
        let program = &executable.program;
        let timeline = run_with_host(config, &program.code, &program.syncs());
        self.timed += 1;
        self.interpolated |= times.fract() != 0.0;
        let copies: Vec<usize> = (0..repeated.compiled()).map(|layer| repeated.copies(layer)).collect();
        let mut layers: BTreeMap<Option<usize>, Work> = BTreeMap::new();
        let (mut parts, mut end, mut free) =
            (executable.host.layers.iter().zip(parts).peekable(), 0, [0; Engine::ALL.len()]);
        for (index, (op, span)) in program.code.iter().zip(&timeline.spans).enumerate() {
            while parts.next_if(|(layer, _)| layer.end as usize <= index).is_some() {}
            let ModelPart { layer, name } = parts.peek().map_or(END, |(_, part)| **part);
            // Default: instructions outside of layers run once.
            let own = layer.and_then(|layer| copies.get(layer)).map_or(1.0, |&copies| copies as f64);
            let cycles = span.end.saturating_sub(end);
            end = end.max(span.end);
            let work = Work::of(op, span, cycles);
            layers.entry(layer).or_default().add(&work, times);
            self.all.add(&work, own * times);
            self.part(name).add(&work, own * times);
            self.kind(op, span, cycles, own * times);
            self.engine(span, &mut free[span.engine as usize], own * times);
        }
        for (index, &same) in repeated.same().iter().enumerate() {
            let work = layers.get(&Some(same)).copied().unwrap_or_default(); // Default: a layer without instructions.
            self.layers.entry(Some(index)).or_default().add(&work, 1.0);
        }
        let rest = layers.get(&None).copied().unwrap_or_default(); // Default: a program of layers alone.
        self.layers.entry(None).or_default().add(&rest, 1.0);
    }

    /// Counts programs of `rows` rows that run.
    pub fn ran(&mut self, rows: usize, programs: usize) {
        self.rows = self.rows.max(rows);
        self.programs += programs;
    }

    fn part(&mut self, name: &'static str) -> &mut Work {
        let index = self.parts.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.parts.push((name, Work::default()));
            self.parts.len() - 1
        });
        &mut self.parts[index].1
    }

    fn kind(&mut self, op: &Op, span: &Span, cycles: u64, times: f64) {
        let kind = self.kinds.entry(kind(op, span.bound)).or_default();
        kind.instructions += times;
        kind.vectors += times * span.cost.values as f64;
        kind.cycles += times * cycles as f64;
    }

    /// Adds an instruction to its engine, which became free at `free`.
    fn engine(&mut self, span: &Span, free: &mut u64, times: f64) {
        let engine = self.engines.entry(span.engine).or_default();
        let idle = span.start.saturating_sub(*free);
        // Many layers separate the dispatcher's own instructions, so waits for these instructions
        // belong to no layer.
        if idle > 0 && span.engine != Engine::Dispatch {
            *engine.waits.entry(span.wait).or_default() += times * idle as f64;
        }
        engine.busy += times * (span.end - span.start) as f64;
        *free = span.end;
    }

    /// Returns the cost of `times` texts, one after the other. The sums are for `tokens` tokens of
    /// one of them.
    pub fn step(&self, config: &Config, tokens: usize, times: usize) -> LanguageStep {
        self.repeated(times).sums(config, tokens * times)
    }

    /// Returns the sums of `times` texts.
    fn repeated(&self, times: usize) -> Self {
        let Self { programs, timed, interpolated, rows, all, parts, layers, engines, kinds } = self;
        let factor = times as f64;
        Self {
            programs: programs * times,
            timed: *timed,
            interpolated: *interpolated,
            rows: *rows,
            all: all.times(factor),
            parts: parts.iter().map(|&(name, work)| (name, work.times(factor))).collect(),
            layers: layers.iter().map(|(&index, work)| (index, work.times(factor))).collect(),
            engines: engines.iter().map(|(&engine, work)| (engine, work.times(factor))).collect(),
            kinds: kinds.iter().map(|(&kind, work)| (kind, work.times(factor))).collect(),
        }
    }

    /// Returns the cost of `tokens` tokens.
    fn sums(&self, config: &Config, tokens: usize) -> LanguageStep {
        let cycles = whole(self.all.cycles);
        let milliseconds = config.timing.milliseconds(cycles);
        let (bound, bounds) = self.bounds(config);
        LanguageStep {
            tokens,
            rows: self.rows,
            programs: self.programs as u64,
            timed_programs: self.timed,
            interpolated: self.interpolated,
            instructions: whole(self.all.instructions),
            cycles,
            milliseconds,
            tokens_per_second: if milliseconds > 0.0 { tokens as f64 * 1e3 / milliseconds } else { 0.0 },
            distance: (bound.cycles > 0).then(|| cycles as f64 / bound.cycles as f64),
            bound: bound.what,
            bounds,
            traffic: self.all.traffic(),
            parts: self.parts(cycles),
            layers: self.layers(),
            units: Engine::ALL.map(|engine| self.unit(engine, cycles)).to_vec(),
            kinds: self.kinds(cycles),
        }
    }

    /// Returns the largest lower bound, and all of them.
    fn bounds(&self, config: &Config) -> (LanguageBound, Vec<LanguageBound>) {
        let (timing, all) = (&config.timing, &self.all);
        let over = |amount: f64, rate: f64| (amount / rate).ceil() as u64;
        let [gemv, gemm] = [timing.gemv.ports, timing.gemm.ports].map(|n| timing.weight_bytes_per_cycle(n));
        let vector = (timing.gemv.lanes * timing.gemv.lane_width) as f64;
        let compute = over(all.macs[0], vector).max(over(all.macs[1], multipliers(config) as f64));
        let bytes = all.weights[0] + all.weights[1] + all.cache + all.host;
        // Default: without functions their engine is idle.
        let cvo = self.engines.get(&Engine::Cvo).map_or(0, |engine| whole(engine.busy));
        let weights = over(all.weights[0], gemv).max(over(all.weights[1], gemm));
        let named = |what: &str, cycles| LanguageBound { what: what.to_owned(), cycles };
        let mut bounds = vec![
            named("weights", weights),
            named("cache", over(all.cache, gemv)),
            named("compute", compute),
            named("CVO", cvo),
            named("host's transfers", over(all.host, timing.acp_bytes_per_cycle())),
            named("host's pushes", whole(all.instructions * timing.push_cycles())),
            named("external memory", over(bytes, timing.ddr_bytes_per_cycle())),
        ];
        bounds.sort_by_key(|bound| std::cmp::Reverse(bound.cycles));
        // Weights and caches share the ports of GEMV, so their cycles add up.
        let more = if all.cache > all.weights[0] { "cache" } else { "weights" };
        let shared = named(more, over(all.weights[0] + all.cache, gemv));
        let largest = bounds.first().filter(|bound| bound.cycles >= shared.cycles).cloned();
        (largest.unwrap_or(shared), bounds)
    }

    fn parts(&self, cycles: u64) -> Vec<LanguagePart> {
        let part = |&(name, work): &(&'static str, Work)| {
            let own = whole(work.cycles);
            LanguagePart {
                part: name.to_owned(),
                cycles: own,
                share: share(own, cycles),
                traffic: work.traffic(),
            }
        };
        self.parts.iter().map(part).collect()
    }

    /// Returns the layers in their order, then the rest.
    fn layers(&self) -> Vec<LanguageLayers> {
        let mut found: Vec<LanguageLayers> = Vec::new();
        for (&index, work) in self.layers.iter().filter(|(index, _)| index.is_some()) {
            let (cycles, traffic) = (whole(work.cycles), work.traffic());
            match found.last_mut() {
                Some(last) if (last.cycles, last.traffic) == (cycles, traffic) => last.count += 1,
                _ => found.push(LanguageLayers { first: index, count: 1, cycles, traffic }),
            }
        }
        let rest = self.layers.get(&None).map(|work| (whole(work.cycles), work.traffic()));
        found.extend(rest.map(|(cycles, traffic)| LanguageLayers { first: None, count: 0, cycles, traffic }));
        found
    }

    fn unit(&self, engine: Engine, cycles: u64) -> UnitTime {
        let found = self.engines.get(&engine);
        // Default: an engine without instructions is idle.
        let busy = found.map_or(0, |engine| whole(engine.busy));
        let waits = found.into_iter().flat_map(|engine| &engine.waits);
        let mut waits: Vec<WaitTime> = waits
            .map(|(wait, &cycles)| WaitTime { on: wait.name().to_owned(), cycles: whole(cycles) })
            .collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.cycles));
        UnitTime { unit: engine.name().to_owned(), busy, share: share(busy, cycles), waits }
    }

    fn kinds(&self, cycles: u64) -> Vec<KindTime> {
        let kind = |(&name, work): (&&'static str, &KindWork)| KindTime {
            kind: name.to_owned(),
            instructions: work.instructions.round() as usize,
            vectors: whole(work.vectors),
            cycles: whole(work.cycles),
            share: share(whole(work.cycles), cycles),
        };
        let mut kinds: Vec<KindTime> = self.kinds.iter().map(kind).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.cycles));
        kinds
    }
}
