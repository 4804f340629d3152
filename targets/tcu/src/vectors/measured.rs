//! `cycles*.json`: cycles measured on the simulated hardware, each with its instructions as
//! assembly text.
//!
//! | table | content |
//! |---|---|
//! | `steady_state_cycles` | cycles of a repetition of `repeat` in the long run |
//! | `single_instruction` | cycles after a pause until completion or a last event |
//! | `occupancy` | for each number of `vectors`, cycles until completion after a pause |
//! | `short_sequences` | cycles until completions and last events after a pause |
//! | `hangs` | whether the unit stalls forever if the instruction is repeated |

use std::sync::Arc;

use npukit_isa::IsaSpec;
use npukit_target::{Case, Outcome};

use super::Golden;
use super::cycles::{compare, outcome, run};
use crate::check::problem::Severity;
use crate::check::validate::validate;
use crate::clock::Clock;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::config::{ClockParams, Config};
use crate::isa::codec::decode_program;
use crate::isa::isa;
use crate::isa::op::Op;

/// Runs the clock for a measurement and compares the results.
type Check = Box<dyn FnOnce() -> Outcome + Send>;

/// Reads a measurement of a table.
type Read = fn(&JsonFields<'_>, &Arc<Bench>) -> Result<Check, KeyError>;

const TABLES: [(&str, Read); 5] = [
    ("steady_state_cycles", steady_state),
    ("single_instruction", single_instruction),
    ("occupancy", occupancy),
    ("short_sequences", short_sequence),
    ("hangs", hangs),
];

/// Keys of the last events, in the order of [`Bench::after_pause`].
const LAST_EVENTS: [&str; 4] = ["last_acc_write", "last_local_write", "last_axi_write", "last_weight_load"];

/// Number of repetitions over which a steady state is measured, as on the simulated hardware.
const COUNTED: usize = 16;

/// The measured repetitions begin after a multiple of this number.
const STEP: usize = 8;

/// Longest period after which the cycles of a repetition recur: a bank has three bursts in flight.
const LONGEST_PERIOD: usize = 8;

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let bench = Arc::new(Bench::new(&golden.keys)?);
    let mut cases = Vec::new();
    for (table, read) in TABLES {
        for measurement in golden.keys.list(table)? {
            let name = format!("{table}: {}", measurement.string("name")?);
            cases.push(Case::new(name, read(&measurement, &bench)?));
        }
    }
    Ok(cases)
}

/// The measured instance.
struct Bench {
    config: Config,
    isa: IsaSpec,
    axi_bits: u32,
}

fn steady_state(keys: &JsonFields<'_>, bench: &Arc<Bench>) -> Result<Check, KeyError> {
    let (ops, latency) = (bench.ops(keys, "repeat", "")?, keys.number("latency")?);
    let cycles = (keys.fraction("cycles")? * COUNTED as f64).round() as u64;
    let bench = Arc::clone(bench);
    Ok(Box::new(move || {
        outcome("a steady state", bench.steady(latency, &ops).map(|got| compare(&[cycles], &[got])))
    }))
}

fn single_instruction(keys: &JsonFields<'_>, bench: &Arc<Bench>) -> Result<Check, KeyError> {
    let (ops, latency) = (bench.ops(keys, "instructions", "")?, keys.number("latency")?);
    let (until, expected) = (keys.string("until")?, keys.number("cycles")?);
    let event = match LAST_EVENTS.iter().position(|event| *event == until) {
        Some(place) => ops.len() + place,
        None if until == "accept" => 0,
        None => {
            return Err(keys.error("until", format!("must be accept or one of {}", LAST_EVENTS.join(", "))));
        }
    };
    let bench = Arc::clone(bench);
    Ok(Box::new(move || {
        let got =
            bench.after_pause(latency, &ops).map(|cycles| cycles.get(event).copied().into_iter().collect());
        outcome("a cycle", got.map(|got: Vec<u64>| compare(&[expected], &got)))
    }))
}

fn occupancy(keys: &JsonFields<'_>, bench: &Arc<Bench>) -> Result<Check, KeyError> {
    let latency = keys.number("latency")?;
    let transfer = |vectors: &usize| bench.ops(keys, "instructions", &format!(".equ vectors, {vectors}\n"));
    let transfers: Vec<Vec<Op>> = keys.numbers("vectors")?.iter().map(transfer).collect::<Result<_, _>>()?;
    let (expected, bench) = (cycles(keys, "accept")?, Arc::clone(bench));
    Ok(Box::new(move || {
        let accepted = |ops: &Vec<Op>| Ok(bench.after_pause(latency, ops)?.into_iter().next());
        let got =
            transfers.iter().filter_map(|ops| accepted(ops).transpose()).collect::<Result<Vec<u64>, _>>();
        outcome("cycles of the decoder", got.map(|got| compare(&expected, &got)))
    }))
}

fn short_sequence(keys: &JsonFields<'_>, bench: &Arc<Bench>) -> Result<Check, KeyError> {
    let (ops, latency) = (bench.ops(keys, "instructions", "")?, keys.number("latency")?);
    let mut expected = cycles(keys, "accept")?;
    for event in LAST_EVENTS {
        expected.push(keys.number_or_null(event)?);
    }
    let bench = Arc::clone(bench);
    Ok(Box::new(move || {
        outcome("a run to the end", bench.after_pause(latency, &ops).map(|got| compare(&expected, &got)))
    }))
}

fn hangs(keys: &JsonFields<'_>, bench: &Arc<Bench>) -> Result<Check, KeyError> {
    let (ops, expected, bench) =
        (bench.ops(keys, "instructions", "")?, keys.flag("hangs")?, Arc::clone(bench));
    let text =
        |error: bool, hangs: bool| format!("error of the validator: {error}; hangs in the clock: {hangs}");
    Ok(Box::new(move || {
        let error = validate(&bench.config, &ops).iter().any(|problem| problem.severity == Severity::Error);
        Outcome::compare(&text(expected, expected), &text(error, bench.hangs(&ops)))
    }))
}

/// Reads an array of cycles.
fn cycles(keys: &JsonFields<'_>, key: &str) -> Result<Vec<u64>, KeyError> {
    Ok(keys.numbers(key)?.into_iter().map(|cycle| cycle as u64).collect())
}

impl Bench {
    fn new(keys: &JsonFields<'_>) -> Result<Self, KeyError> {
        let (config, _) = Config::from_value(keys.required("architecture")?)
            .map_err(|error| keys.error("architecture", error.to_string()))?;
        let axi_bits = u32::try_from(keys.number("axi_data_bits")?)
            .map_err(|_| keys.error("axi_data_bits", "must be the width of a bus"))?;
        Ok(Self { isa: isa(&config), config, axi_bits })
    }

    fn params(&self, latency: u64) -> ClockParams {
        ClockParams { axi_bits: self.axi_bits, ..ClockParams::with_latency(latency) }
    }

    /// Reads the instructions at `key`; `definitions` defines their symbols.
    fn ops(&self, keys: &JsonFields<'_>, key: &str, definitions: &str) -> Result<Vec<Op>, KeyError> {
        let text = definitions.to_owned() + &keys.strings(key)?.join("\n");
        let assembly = npukit_asm::assemble(&self.isa, &keys.path(key), &text)
            .map_err(|errors| keys.error(key, errors.to_string()))?;
        decode_program(&self.config, &assembly.bytes).map_err(|errors| keys.error(key, errors.to_string()))
    }

    /// Returns the cycles of [`COUNTED`] repetitions in the steady state.
    ///
    /// Instructions that only queue commands are slower once the queues are full. Then the cycles
    /// of a repetition begin to recur, within 6 N + 2 repetitions; the measurement begins at the
    /// next multiple of [`STEP`].
    fn steady(&self, latency: u64, ops: &[Op]) -> Result<u64, String> {
        let clock = Clock::new(&self.config, self.params(latency)).map_err(|error| error.to_string())?;
        let (mut meter, mut total) = (clock.meter(), 0);
        let cycles: Vec<u64> = (0..8 * self.config.array_size + 4 * COUNTED)
            .map(|_| {
                ops.iter().for_each(|op| meter.push(op));
                meter.cycles() - std::mem::replace(&mut total, meter.cycles())
            })
            .collect();
        let recur = |from: &usize| {
            let mut periods = 1..=LONGEST_PERIOD;
            periods.any(|period| cycles[from + period..] == cycles[*from..cycles.len() - period])
        };
        let from = (STEP..cycles.len() - 2 * COUNTED).step_by(STEP).find(recur);
        let from = from.ok_or_else(|| format!("no steady state within {} repetitions", cycles.len()))?;
        Ok(cycles[from..from + COUNTED].iter().sum())
    }

    /// Returns the cycle in which the decoder completes each instruction, followed by the last
    /// events, counted from a pause before the instructions. An event that does not happen is 0.
    fn after_pause(&self, latency: u64, ops: &[Op]) -> Result<Vec<u64>, String> {
        let ops = [&[Op::NoOp], ops].concat();
        let timeline = run(&self.config, self.params(latency), &ops)?;
        let [pause, accepted @ ..] = timeline.accept.as_slice() else { return Ok(Vec::new()) };
        let last = timeline.last;
        let events = [last.accumulator_write, last.local_write, last.axi_write, last.weight_load];
        Ok(accepted.iter().chain(&events).map(|cycle| cycle.saturating_sub(*pause)).collect())
    }

    /// Returns whether repeating instructions until every queue is full hangs the unit.
    fn hangs(&self, ops: &[Op]) -> bool {
        run(&self.config, self.params(1), &ops.repeat(8 * self.config.array_size)).is_err()
    }
}
