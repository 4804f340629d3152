//! `rtl_sequences*.json`, `rtl_hazards*.json`: random programs with the final state of the
//! hardware.
//!
//! Each program runs as on hardware, with the writes that it loses by the clock. The hashes of all
//! four memories are one case, the same at every latency. The cycles at each latency are a separate
//! case: the total, the last events, and the acceptance of each instruction.

use std::sync::Arc;

use npukit_target::{Case, Outcome};

use super::{Golden, cycles, execute, from_hex};
use crate::clock::{Clock, Slice, Timeline};
use crate::config::json_fields::{JsonFields, KeyError};
use crate::config::{ClockParams, Config};
use crate::isa::codec::decode_program_lenient;
use crate::isa::op::{Memory, Op};
use crate::machine::Machine;
use crate::machine::losing::LostWrite;

/// Settings that all programs of a file share.
pub(super) struct Setting {
    pub(super) config: Config,
    axi_bits: u32,
    filled_vectors: u64,
    hashed_vectors: u64,
}

impl Setting {
    fn params(&self, latency: u64) -> ClockParams {
        ClockParams { axi_bits: self.axi_bits, ..ClockParams::with_latency(latency) }
    }

    fn timeline(&self, latency: u64, ops: &[Op]) -> Result<Timeline, String> {
        cycles::run(&self.config, self.params(latency), ops)
    }

    /// Runs the clock; `observer` receives the activity of each unit.
    pub(super) fn observed(
        &self,
        latency: u64,
        ops: &[Op],
        observer: &mut dyn FnMut(Slice),
    ) -> Result<(), String> {
        let clock = Clock::new(&self.config, self.params(latency)).map_err(|error| error.to_string())?;
        let hang = clock.run_observed(ops, observer).hang;
        hang.map_or(Ok(()), |hang| Err(hang.to_string()))
    }

    /// Returns the beats of a vector on the bus of a bank.
    pub(super) fn beats(&self) -> usize {
        let bits = self.config.array_size * self.config.data_type.size_bytes() * 8;
        bits / (self.axi_bits as usize).max(1)
    }
}

struct Sequence {
    setting: Arc<Setting>,
    seed: u64,
    /// Shift in the formula of the initial content, for DRAM0 and DRAM1.
    shift: [u32; 2],
    program: Vec<u8>,
    /// Memory latencies at which the program was run.
    latencies: Vec<u64>,
    /// The first scalars of the first accumulators, if the file has them.
    first_accumulators: Vec<Vec<i32>>,
    /// Expected hash of each memory.
    hashes: Vec<(Memory, String)>,
}

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let setting = Arc::new(setting(&golden.keys)?);
    check_fill(&golden.keys, &setting)?;
    let mut cases = Vec::new();
    for keys in golden.keys.list("programs")? {
        let id = keys.string("id")?;
        let sequence = sequence(&keys, &setting)?;
        cases.push(Case::new(format!("{id} final state"), move || {
            sequence.check().unwrap_or_else(|error| Outcome::error("a run to the end", error))
        }));
        for (latency, run) in keys.keys("runs")?.objects()? {
            let name = format!("{id} cycles at latency {latency}");
            let latency = cycles_of(latency, &run)?;
            cases.push(timed(name, latency, &run, from_hex(&keys, "program")?, &setting)?);
        }
    }
    Ok(cases)
}

/// Returns the latency that is the name of a run.
pub(super) fn cycles_of(name: &str, run: &JsonFields<'_>) -> Result<u64, KeyError> {
    name.parse().map_err(|_| run.error("", "must be named by a number of cycles"))
}

/// Checks a program's cycles at a latency: the total, the last event of each kind, all acceptances.
fn timed(
    name: String,
    latency: u64,
    run: &JsonFields<'_>,
    program: Vec<u8>,
    setting: &Arc<Setting>,
) -> Result<Case, KeyError> {
    let last = run.keys("last")?;
    let mut expected = vec![run.number("total")?];
    for event in ["acc_write", "local_write", "axi_write", "weight_load", "write_response"] {
        expected.push(last.number(event)?);
    }
    expected.extend(run.numbers("accept")?.into_iter().map(|cycle| cycle as u64));
    let setting = Arc::clone(setting);
    Ok(Case::new(name, move || {
        let timeline = decode_program_lenient(&setting.config, &program)
            .map_err(|error| error.to_string())
            .and_then(|ops| setting.timeline(latency, &ops));
        let got = timeline.map(|timeline| numbers(&timeline));
        cycles::outcome("a run to the end", got.map(|got| cycles::compare(&expected, &got)))
    }))
}

/// Returns the numbers of a run, in the order of [`timed`].
fn numbers(timeline: &Timeline) -> Vec<u64> {
    let last = timeline.last;
    let mut numbers = vec![timeline.total, last.accumulator_write, last.local_write, last.axi_write];
    numbers.extend([last.weight_load, last.write_response]);
    numbers.extend(&timeline.accept);
    numbers
}

pub(super) fn setting(keys: &JsonFields<'_>) -> Result<Setting, KeyError> {
    let (config, _) = Config::from_value(keys.required("architecture")?)
        .map_err(|error| keys.error("architecture", error.to_string()))?;
    let vectors = |key: &str| {
        let vectors = keys.number(key)?;
        let most = config.dram0_depth.min(config.dram1_depth).min(MAX_VECTORS);
        let legal = || keys.error(key, format!("is {vectors}, must be at most {most}"));
        if vectors <= most { Ok(vectors) } else { Err(legal()) }
    };
    let (filled_vectors, hashed_vectors) = (vectors("dram_filled_vectors")?, vectors("dram_hashed_vectors")?);
    let axi_bits = u32::try_from(keys.number("axi_data_bits")?)
        .map_err(|_| keys.error("axi_data_bits", "must be the width of a bus"))?;
    Ok(Setting { config, axi_bits, filled_vectors, hashed_vectors })
}

/// Limit of the memories that a file can request.
const MAX_VECTORS: u64 = 1 << 20;

fn sequence(keys: &JsonFields<'_>, setting: &Arc<Setting>) -> Result<Sequence, KeyError> {
    let shift = keys.numbers("shift")?;
    let [shift0, shift1] = shift[..] else {
        return Err(keys.error("shift", "must be two numbers, for DRAM0 and DRAM1"));
    };
    let finals = keys.keys("final")?;
    let memories = [
        (Memory::Dram0, "dram0"),
        (Memory::Dram1, "dram1"),
        (Memory::Local, "local"),
        (Memory::Accumulators, "accumulators"),
    ];
    let runs = keys.keys("runs")?.objects()?;
    let latencies = runs.into_iter().map(|(name, run)| cycles_of(name, &run));
    let first_accumulators =
        if keys.has("first_accumulators") { keys.rows("first_accumulators")? } else { vec![] };
    let hash = |(memory, key)| Ok((memory, finals.string(key)?.to_owned()));
    Ok(Sequence {
        setting: Arc::clone(setting),
        seed: keys.number("seed")?,
        shift: [shift0 as u32, shift1 as u32],
        program: from_hex(keys, "program")?,
        latencies: latencies.collect::<Result<_, KeyError>>()?,
        first_accumulators,
        hashes: memories.into_iter().map(hash).collect::<Result<_, KeyError>>()?,
    })
}

impl Sequence {
    fn check(&self) -> Result<Outcome, String> {
        let Setting { config, hashed_vectors, .. } = &*self.setting;
        let ops = decode_program_lenient(config, &self.program).map_err(|error| error.to_string())?;
        let mut machine = self.filled()?;
        let lost = self.lost(&ops)?;
        machine.run_losing(&ops, &lost).map_err(|fault| fault.to_string())?;
        let vectors = |memory| match memory {
            Memory::Local => config.local_depth,
            Memory::Accumulators => config.accumulator_depth,
            Memory::Dram0 | Memory::Dram1 => *hashed_vectors,
        };
        let mut got = Vec::new();
        for &(memory, _) in &self.hashes {
            got.push((memory, execute::sha256(&machine, memory, vectors(memory))?));
        }
        let accumulators = self.first_lanes(&machine)?;
        let expected = format!("{}, first {:?}", shown(&self.hashes), self.first_accumulators);
        Ok(Outcome::compare(&expected, &format!("{}, first {accumulators:?}", shown(&got))))
    }

    /// Returns a machine with the initial state.
    fn filled(&self) -> Result<Machine, String> {
        let Setting { config, filled_vectors, .. } = &*self.setting;
        let mut machine = execute::machine(config)?;
        let scalars = *filled_vectors as usize * config.array_size;
        for (bank, memory) in [(0, Memory::Dram0), (1, Memory::Dram1)] {
            let shift = self.shift[bank as usize];
            let raw: Vec<i32> = (0..scalars as u64).map(|i| fill(self.seed, bank, i, shift)).collect();
            execute::write(&mut machine, memory, 0, &raw)?;
        }
        Ok(machine)
    }

    /// Returns the writes that hardware loses, which must be the same at all latencies.
    fn lost(&self, ops: &[Op]) -> Result<Vec<LostWrite>, String> {
        let mut lost = None;
        for &latency in &self.latencies {
            let found = self.setting.timeline(latency, ops)?.lost;
            match &lost {
                None => lost = Some(found),
                Some(other) if *other == found => {}
                Some(other) => return Err(format!("{other:?} are lost, at latency {latency} {found:?}")),
            }
        }
        Ok(lost.unwrap_or_default())
    }

    /// Returns the first scalars of the first accumulators, in the numbers of the file.
    fn first_lanes(&self, machine: &Machine) -> Result<Vec<Vec<i32>>, String> {
        let mut rows = Vec::new();
        for (address, expected) in (0..).zip(&self.first_accumulators) {
            let vector = machine.read(Memory::Accumulators, address, 1).map_err(|error| error.to_string())?;
            rows.push(vector.into_iter().take(expected.len()).collect());
        }
        Ok(rows)
    }
}

fn shown(hashes: &[(Memory, String)]) -> String {
    hashes.iter().map(|(memory, hash)| format!("{memory} {hash}")).collect::<Vec<_>>().join(", ")
}

/// Returns scalar `i` of a bank's initial content (the formula is in the vectors' README).
fn fill(seed: u64, bank: u64, i: u64, shift: u32) -> i32 {
    let mut z = seed
        .wrapping_mul(0x0100_0000_01B3)
        .wrapping_add(bank)
        .wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    i32::from((z >> 48) as u16 as i16) >> shift.min(31)
}

/// Checks the file's examples of the formula, so that a mistake in the formula is not taken for a
/// wrong machine.
fn check_fill(keys: &JsonFields<'_>, setting: &Setting) -> Result<(), KeyError> {
    if !keys.has("fill_example") || setting.config.data_type.size_bytes() != 2 {
        return Ok(());
    }
    let example = keys.keys("fill_example")?;
    let seed = example.number("seed")?;
    for name in example.names().filter(|name| name.starts_with("bank")) {
        let place = name.strip_prefix("bank").and_then(|rest| rest.split_once("_shift"));
        let Some((Ok(bank), Ok(shift))) = place.map(|(b, s)| (b.parse(), s.parse())) else {
            return Err(example.error(name, "must be named bankB_shiftS"));
        };
        let values = example.integers(name)?;
        let ours: Vec<i32> = (0..values.len() as u64).map(|i| fill(seed, bank, i, shift)).collect();
        if ours != values {
            return Err(example.error(name, format!("is not what the formula gives: {ours:?}")));
        }
    }
    Ok(())
}
