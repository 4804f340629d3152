//! Time of a program and its distribution: by the clock of the hardware, by the published
//! estimator, or by performance samples.

use std::collections::BTreeMap;

use npukit_target::{
    Breakdown, CycleSpan, FlagTime, MeasuredSamples, SPAN_NOTE, TargetError, TimeOptions, TimeReport,
    UnitTime, Wait, share,
};

use super::TcuProgram;
use super::breakdown::{spent, work};
use super::settings::{CostModel, Settings};
use super::timeline::TimeError;
use crate::clock::samples::{self, Port, Samples};
use crate::clock::timing::{Estimate, Estimator, estimate};
use crate::clock::{Signal, Timeline, Unit};
use crate::config::ClockParams;
use crate::config::packing::Packing;
use crate::program::Program;

/// Key of the estimator's total as Tensil prints it.
const ESTIMATOR_UNDRAINED: &str = "estimator_undrained";

const ROOFLINE: &str = "roofline: compute is MACs divided by multipliers, or the vectors given to the array where MACs \
                        are unknown or the array does with fewer; memory is the traffic of the busier DRAM bank, or \
                        all traffic with the estimator";

/// Results of a cost model beyond the cycles of each instruction.
struct Measured {
    cost_model: CostModel,
    /// Cycles by instruction.
    cycles: Vec<u64>,
    /// Cycles in which units work for each instruction; empty if unknown.
    spans: Vec<Option<CycleSpan>>,
    array_busy: u64,
    units: Vec<UnitTime>,
    flags: Vec<FlagTime>,
    /// Notes on how to read the figures.
    notes: Vec<String>,
}

impl TcuProgram {
    /// Returns the time report.
    ///
    /// Errors: illegal options; with the clock, a program that hangs; a program on which hardware
    /// deviates, unless the options choose a meaning.
    pub(super) fn time_report(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        self.agree(options.meaning)?;
        let settings = self.settings(options)?;
        let timeline = self.timeline_and_spans(&settings);
        let measured = match (settings.cost_model, &timeline) {
            (CostModel::Model, Ok((timeline, spans))) => {
                Measured { spans: spans.clone(), ..modeled(timeline) }
            }
            (CostModel::Model, Err(hang @ TimeError::Hang { .. })) => {
                return Err(TargetError::failed(hang.clone()));
            }
            (CostModel::Model, Err(error)) => self.estimated(Some(error)),
            _ => self.estimated(None),
        };
        Ok(self.report_of(&settings, measured, timeline.ok().map(|(timeline, _)| timeline)))
    }

    /// Returns the total of [`Self::time_report`] without options, if the compiler has determined
    /// it with the same clock.
    pub(super) fn known_time(&self) -> Option<TimeReport> {
        let options = TimeOptions::default();
        self.agree(options.meaning).ok()?;
        let settings = self.settings(&options).ok()?;
        self.clock(&settings).ok()?;
        let (_, cycles) = self.clocked.filter(|(memory, _)| *memory == settings.memory)?;
        let multipliers = (self.program.config.array_size as u64).saturating_pow(2);
        let unknown = vec![0; self.program.instructions.len()];
        let (work, spent) = (work(&self.program), spent(&self.program, &unknown, &[], None));
        let breakdown = Breakdown::new(&work, &spent, multipliers);
        let model = CostModel::Model.name().to_owned();
        Some(TimeReport {
            cycles: BTreeMap::from([(model.clone(), cycles)]),
            clock: model,
            milliseconds: milliseconds(cycles, &settings),
            utilization: breakdown.utilization_over(cycles),
            ..TimeReport::default()
        })
    }

    /// Returns the time report from performance samples of the hardware.
    pub(super) fn samples_report(
        &self,
        MeasuredSamples { name, bytes }: &MeasuredSamples,
        options: &TimeOptions,
    ) -> Result<TimeReport, TargetError> {
        if let Some(clock) = options.options.get("clock") {
            let reason = "performance samples are the hardware's cycles already";
            return Err(TargetError::option("clock", clock, reason));
        }
        let settings = Settings { cost_model: CostModel::Samples, ..self.settings(options)? };
        if settings.sample_interval == 0 {
            let reason = "with that interval all samples are invalid";
            return Err(TargetError::option("sample-interval", "0", reason));
        }
        let found = samples::read(self.program.instructions.len(), bytes)
            .map_err(|error| TargetError::in_file(name, error))?;
        let (timeline, spans) = self.timeline_and_spans(&settings).ok().unzip();
        // Default: without the clock, layers are timed as if instructions ran one after the other.
        let spans = spans.unwrap_or_default();
        let measured = Measured { spans, ..sampled(&found, settings.sample_interval) };
        Ok(self.report_of(&settings, measured, timeline))
    }

    pub(super) fn settings(&self, options: &TimeOptions) -> Result<Settings, TargetError> {
        Settings::new(&self.program.config, self.system(), options)
    }

    /// Returns the estimator's cycles; `instead` is the reason why the clock has none.
    fn estimated(&self, instead: Option<&TimeError>) -> Measured {
        let Program { config, instructions, .. } = &self.program;
        let mut estimator = Estimator::new(config);
        let note =
            instead.map(|error| format!("estimator: used because the hw clock has no cycles: {error}"));
        Measured {
            cost_model: CostModel::Estimator,
            cycles: instructions.iter().map(|op| estimator.cost(op).cycles).collect(),
            spans: Vec::new(),
            array_busy: self.rows(),
            units: Vec::new(),
            flags: Vec::new(),
            notes: note.into_iter().collect(),
        }
    }

    fn report_of(&self, settings: &Settings, measured: Measured, timeline: Option<Timeline>) -> TimeReport {
        let Program { config, instructions, .. } = &self.program;
        let Estimate { cycles: estimated, undrained, .. } = estimate(config, instructions);
        let is_clock = measured.cost_model != CostModel::Estimator;
        let beats = is_clock.then(|| self.beats(settings.memory));
        let (work, spent) =
            (work(&self.program), spent(&self.program, &measured.cycles, &measured.spans, beats));
        let multipliers = (config.array_size as u64).saturating_pow(2);
        let breakdown = Breakdown::new(&work, &spent, multipliers);
        let total = breakdown.cycles();
        let mut by_model = BTreeMap::from([
            (CostModel::Estimator.name().to_owned(), estimated),
            (ESTIMATOR_UNDRAINED.to_owned(), undrained),
            (measured.cost_model.name().to_owned(), total),
        ]);
        by_model.extend(timeline.map(|timeline| (CostModel::Model.name().to_owned(), timeline.total)));
        let modeled = by_model.contains_key(CostModel::Model.name());
        let overlap = (!measured.spans.is_empty()).then_some(SPAN_NOTE);
        let of_layers = overlap.into_iter().chain([ROOFLINE]);
        TimeReport {
            assumptions: assumptions(settings, modeled),
            notes: measured.notes.into_iter().chain(of_layers.map(str::to_owned)).collect(),
            cycles: by_model,
            clock: measured.cost_model.name().to_owned(),
            milliseconds: milliseconds(total, settings),
            clock_mhz: settings.clock_mhz,
            clock_source: settings.clock_source.clone(),
            macs_computed: breakdown.macs_computed(),
            utilization: breakdown.utilization(),
            array_busy: share(measured.array_busy, total),
            roofline: breakdown.roofline(),
            layers: breakdown.layers(),
            kinds: breakdown.kinds(),
            instructions: breakdown.instructions(),
            units: measured.units,
            flags: measured.flags,
            activity: None,
        }
    }

    /// Returns the beats of a vector on the bus of a bank.
    fn beats(&self, memory: ClockParams) -> u64 {
        Packing::new(&self.program.config, memory.axi_bits).beats()
    }

    /// Returns the number of rows given to the array.
    fn rows(&self) -> u64 {
        let kinds = estimate(&self.program.config, &self.program.instructions).kinds;
        kinds.iter().filter(|(kind, _)| kind.starts_with("MatMul")).map(|(_, cost)| cost.vectors).sum()
    }
}

/// Converts cycles to milliseconds, if the clock frequency is known.
fn milliseconds(cycles: u64, settings: &Settings) -> Option<f64> {
    settings.clock_mhz.map(|mhz| cycles as f64 / (mhz * 1e3))
}

/// Returns the clock's cycles.
fn modeled(timeline: &Timeline) -> Measured {
    let flags = [
        ("timeout flag (results are right): an instruction was held in the decoder", &timeline.timeout),
        ("tracepoint: the program counter equals its register", &timeline.tracepoint),
    ];
    Measured {
        cost_model: CostModel::Model,
        cycles: timeline.cycles().collect(),
        spans: Vec::new(),
        array_busy: timeline.busy.array_rows,
        units: units(timeline),
        flags: flags.into_iter().filter_map(|(name, signal)| flag(name, signal)).collect(),
        notes: vec![
            "hw clock: each cycle counts for the instruction in the decoder; the cycles in which units \
             finish their work count for the last instruction"
                .to_owned(),
        ],
    }
}

fn flag(name: &str, signal: &Signal) -> Option<FlagTime> {
    let (first_instruction, first_cycle) = signal.first?;
    let Signal { times, cycles, .. } = *signal;
    Some(FlagTime { flag: name.to_owned(), times, cycles, first_instruction, first_cycle })
}

/// Returns the times of the units; unused units are omitted.
fn units(timeline: &Timeline) -> Vec<UnitTime> {
    let of = |unit: Unit| {
        let mut waits = if unit == Unit::Decoder { decoder_waits(timeline) } else { Vec::new() };
        let stalls = timeline.stalls().filter(|(of, ..)| *of == unit);
        waits.extend(stalls.map(|(_, on, cycles)| Wait { on: on.to_owned(), cycles }));
        unit_time(unit.name(), timeline.busy(unit), timeline.total, waits)
    };
    Unit::ALL.into_iter().map(of).filter(|unit| unit.busy > 0 || !unit.waits.is_empty()).collect()
}

fn unit_time(name: &str, busy: u64, total: u64, mut waits: Vec<Wait>) -> UnitTime {
    waits.retain(|wait| wait.cycles > 0);
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.cycles));
    UnitTime { unit: name.to_owned(), busy, share: share(busy, total), waits }
}

/// Returns all cycles in which the decoder does not issue an instruction.
fn decoder_waits(timeline: &Timeline) -> Vec<Wait> {
    let units = Unit::ALL.into_iter().zip(timeline.waits).map(|(unit, cycles)| (unit.name(), cycles));
    let ends = [
        ("the first instruction", timeline.starting()),
        ("the end: units finish their work", timeline.finishing()),
    ];
    units.chain(ends).map(|(on, cycles)| Wait { on: on.to_owned(), cycles }).collect()
}

/// Returns the cycles by performance samples; each represents `interval` cycles.
fn sampled(found: &Samples, interval: u16) -> Measured {
    let interval = u64::from(interval);
    let total = found.inside() * interval;
    let unit = |(port, counts): (Port, samples::PortSamples)| {
        let waits = vec![Wait {
            on: "acceptance of an offered command".to_owned(),
            cycles: counts.waiting * interval,
        }];
        unit_time(port.name(), counts.taken * interval, total, waits)
    };
    let array = found.ports[Port::Array as usize].taken;
    Measured {
        cost_model: CostModel::Samples,
        cycles: found.instructions.iter().map(|count| count * interval).collect(),
        spans: Vec::new(),
        array_busy: array * interval,
        units: Port::ALL.into_iter().zip(found.ports).map(unit).collect(),
        flags: Vec::new(),
        notes: vec![format!(
            "samples: each of the {} samples of the program represents {interval} cycles; {} samples are \
             before and after the program, and {} are invalid; units count the vectors sent to them, including weights",
            found.inside(),
            found.outside,
            found.invalid
        )],
    }
}

fn assumptions(settings: &Settings, modeled: bool) -> Vec<String> {
    let estimator = "estimator: one cycle per vector moved, memory without latency".to_owned();
    let model = modeled.then(|| memory_assumption(settings));
    std::iter::once(estimator).chain(model).collect()
}

fn memory_assumption(settings: &Settings) -> String {
    let ClockParams { read_latency, write_response_latency, axi_bits, .. } = settings.memory;
    let stated = match (&settings.memory_source, settings.memory_given) {
        (None, false) => {
            return format!(
                "hw clock: memory answers after {read_latency} cycles on a bus of {axi_bits} bits per bank, as the \
                 published ResNet-20 measurement on the ZCU104 implies (18 cycles at 100 MHz)"
            );
        }
        (Some(source), false) => format!(" ({source})"),
        (None, true) => ", as requested".to_owned(),
        (Some(source), true) => format!(", as requested (otherwise {source})"),
    };
    format!(
        "hw clock: memory answers reads after {read_latency} and writes after {write_response_latency} cycles on a \
         bus of {axi_bits} bits per bank{stated}"
    )
}
