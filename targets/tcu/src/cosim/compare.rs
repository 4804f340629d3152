//! The comparison: memories number by number, events cycle by cycle, and the first instruction that differs.

use npukit_rtl::Seen;
use npukit_target::{CosimCycles, CosimDifference, CosimJudgement, CosimPart};

use super::seen::{self, Report};
use super::{Beside, CosimError};
use crate::fault::Memory;
use crate::op::Op;
use crate::samples::{Port, Sample};

/// Memories, with the names of the simulator's files.
const MEMORIES: [(Memory, &str); 4] = [
    (Memory::Dram0, "dram0"),
    (Memory::Dram1, "dram1"),
    (Memory::Local, "local"),
    (Memory::Accumulators, "accumulators"),
];

/// Numbers of circuit and model, side by side.
struct Pairs {
    what: String,
    /// Where this is a memory.
    memory: Option<Memory>,
    numbers: u64,
    /// Place, circuit's number, model's number.
    different: Vec<(usize, i64, i64)>,
}

impl Pairs {
    fn new(what: &str, memory: Option<Memory>, rtl: &[i64], model: &[i64]) -> Self {
        let places = rtl.len().max(model.len());
        let at = |numbers: &[i64], place: usize| numbers.get(place).copied();
        // Default: a number that one side lacks is none of the other's.
        let pair = |place| (place, at(rtl, place).unwrap_or(-1), at(model, place).unwrap_or(-1));
        let different = (0..places).filter(|&place| at(rtl, place) != at(model, place)).map(pair).collect();
        Self { what: what.to_owned(), memory, numbers: places as u64, different }
    }

    fn part(&self) -> CosimPart {
        CosimPart { what: self.what.clone(), numbers: self.numbers, different: self.different.len() as u64 }
    }
}

impl Beside<'_> {
    /// What the circuit has done beside what it should have.
    pub(super) fn judged(&self, seen: &Seen) -> Result<CosimJudgement, CosimError> {
        let report = seen::report(seen)?;
        let memories = MEMORIES.iter().map(|&(memory, file)| self.memory(memory, file, seen));
        let memories = memories.collect::<Result<Vec<_>, _>>()?;
        let outputs = self.outputs(&memories[0]);
        let events = self.events(&report, &seen::samples(seen)?);
        let mut candidates: Vec<(usize, CosimDifference)> = Vec::new();
        for memory in &memories {
            candidates.extend(self.first_of_memory(memory, &report));
        }
        candidates.extend(events.iter().filter_map(|pairs| self.first_of_events(pairs, &report)));
        // The first in the order of instructions; of one instruction its values before its cycles.
        let first = candidates.into_iter().min_by_key(|(instruction, _)| *instruction);
        let parts = outputs.into_iter().chain(memories.iter().chain(&events).map(Pairs::part));
        let cycles = CosimCycles { rtl: report.total, model: self.timeline.total, compared: self.is_timed };
        Ok(CosimJudgement {
            cycles,
            compared: parts.collect(),
            difference: first.map(|(_, difference)| difference),
            notes: self.notes.clone(),
            simulated: report.simulated,
        })
    }

    fn memory(&self, memory: Memory, file: &'static str, seen: &Seen) -> Result<Pairs, CosimError> {
        let config = &self.program.config;
        let bytes = seen::file(seen, file)?;
        let fault = |fault: String| CosimError::Seen { file, fault };
        let is_dram = matches!(memory, Memory::Dram0 | Memory::Dram1);
        let rtl: Vec<i64> = if is_dram {
            seen::slots(config, bytes)
        } else {
            seen::on_chip(config, bytes).into_iter().map(i64::from).collect()
        };
        let lanes = config.array_size.max(1);
        let vectors = (rtl.len() / lanes) as u64;
        let raw = self.machine.read(memory, 0, vectors).map_err(|error| fault(error.to_string()))?;
        let model: Vec<i64> = if is_dram {
            seen::slots(config, &seen::bank_bytes(config.data_type, &raw))
        } else {
            raw.into_iter().map(i64::from).collect()
        };
        Ok(Pairs::new(file, Some(memory), &rtl, &model))
    }

    /// The outputs' parts of DRAM0.
    fn outputs(&self, dram0: &Pairs) -> Vec<CosimPart> {
        let lanes = self.program.config.array_size.max(1) as u64;
        let part = |binding: &crate::program::Binding| {
            let holds = |place: usize| {
                let vector = place as u64 / lanes;
                binding
                    .pieces
                    .iter()
                    .any(|piece| (piece.base..piece.base.saturating_add(piece.size)).contains(&vector))
            };
            let different = dram0.different.iter().filter(|(place, ..)| holds(*place)).count() as u64;
            let vectors: u64 = binding.pieces.iter().map(|piece| piece.size).sum();
            CosimPart {
                what: format!("output {}", binding.name),
                numbers: vectors.saturating_mul(lanes),
                different,
            }
        };
        self.program.outputs.iter().map(part).collect()
    }

    /// What happened when, as far as cycles are compared; what crossed the buses in any case.
    fn events(&self, report: &Report, samples: &[Sample]) -> Vec<Pairs> {
        let timeline = &self.timeline;
        let signed = |cycles: &[u64]| cycles.iter().map(|&cycle| cycle as i64).collect::<Vec<_>>();
        let pairs =
            |what: &str, rtl: &[u64], model: &[u64]| Pairs::new(what, None, &signed(rtl), &signed(model));
        let traffic = timeline
            .traffic
            .each_ref()
            .map(|bank| [bank.read_bursts, bank.read_beats, bank.write_bursts, bank.write_beats]);
        let mut events = vec![
            pairs(ACCEPTED, &[report.accept.len() as u64], &[self.ops.len() as u64]),
            pairs(TRAFFIC, report.axi.as_flattened(), traffic.as_flattened()),
            pairs(BUS_ERROR, &[report.bus_error], &[0]),
        ];
        if self.is_timed {
            let last = &timeline.last;
            let model = [
                last.accumulator_write,
                last.local_write,
                last.axi_write,
                last.weight_load,
                last.write_response,
            ];
            let seen = &report.last;
            let rtl =
                [seen.acc_write, seen.local_write, seen.axi_write, seen.weight_load, seen.write_response];
            events.push(pairs(ACCEPTANCE, &report.accept, &timeline.accept));
            events.push(pairs(LAST, &rtl, &model));
            events.push(pairs(TOTAL, &[report.total], &[timeline.total]));
            let [timeout, tracepoint] = [&timeline.timeout, &timeline.tracepoint]
                .map(|signal| [signal.cycles, signal.first.map_or(0, |(_, cycle)| cycle)]); // Default: as the simulator.
            let raised = [&report.timeout, &report.tracepoint].map(|flag| [flag.cycles, flag.first]);
            events.push(pairs(FLAGS, raised.as_flattened(), [timeout, tracepoint].as_flattened()));
            // Those after the last instruction show queues that run empty, which the clock does not follow.
            let while_held = &samples[..samples.len().min(self.samples.len())];
            events.push(pairs(SAMPLES, &settled(while_held), &settled(&self.samples)));
        }
        events
    }

    /// The first instruction that has left something else in a memory.
    fn first_of_memory(&self, pairs: &Pairs, report: &Report) -> Option<(usize, CosimDifference)> {
        let memory = pairs.memory?;
        let lanes = self.program.config.array_size.max(1);
        let vectors = pairs.different.last()?.0 / lanes + 1;
        let writers = self.last_writers(memory, vectors);
        let writer = |place: usize| writers.get(place / lanes).copied().flatten();
        // What no instruction has written comes first: it was not loaded as it should.
        let &(place, rtl, model) = pairs.different.iter().min_by_key(|(place, ..)| writer(*place))?;
        let (address, lane, op) = (place / lanes, place % lanes, writer(place));
        let output = (memory == Memory::Dram0).then(|| self.output_at(address as u64)).flatten();
        let beside = output.as_ref().map_or_else(String::new, |name| format!(", of output `{name}`"));
        let found = format!(
            "{memory}, vector {address}, lane {lane}{beside}: the circuit has {rtl}, the machine {model}"
        );
        let mut difference = self.told(&pairs.what, found, op, report);
        difference = CosimDifference { rtl, model, output, ..difference };
        difference.address = Some(address as u64);
        difference.lane = Some(lane as u64);
        Some((op.map_or(0, |op| op), difference))
    }

    /// The first event that is another, or in another cycle.
    fn first_of_events(&self, pairs: &Pairs, report: &Report) -> Option<(usize, CosimDifference)> {
        let &(place, rtl, model) = pairs.different.first()?;
        let is_acceptance = pairs.what == ACCEPTANCE;
        let op = is_acceptance.then_some(place);
        let named =
            names(&pairs.what).get(place).map_or_else(|| pairs.what.clone(), |name| (*name).to_owned());
        let found = format!("{named}: the circuit has {rtl}, the clock {model}");
        let difference = CosimDifference { rtl, model, ..self.told(&pairs.what, found, op, report) };
        // Sums stand behind all that says where.
        Some((op.unwrap_or(usize::MAX), difference)) // Default: behind all instructions.
    }

    /// What is found, with the instruction that it is of.
    fn told(&self, what: &str, found: String, op: Option<usize>, report: &Report) -> CosimDifference {
        let cycle = op.and_then(|op| report.accept.get(op).copied());
        let instruction = op.and_then(|op| op.checked_sub(self.before));
        let place = instruction.map_or_else(String::new, |instruction| {
            let place = self.program.place(instruction);
            let accepted = cycle.map_or_else(String::new, |cycle| format!(" accepted in cycle {cycle}"));
            format!("{place}{accepted}: ")
        });
        CosimDifference {
            message: format!("{place}{found}"),
            what: what.to_owned(),
            instruction: instruction.map(|instruction| instruction as u64),
            layer: instruction.and_then(|instruction| self.layer(instruction)),
            cycle,
            ..CosimDifference::default()
        }
    }

    /// By vector, the last instruction that writes it.
    fn last_writers(&self, memory: Memory, vectors: usize) -> Vec<Option<usize>> {
        let mut writers = vec![None; vectors];
        let written = |op: &Op| Some((op.flow().written(memory)?, op.flow().size));
        for (index, op) in self.ops.iter().enumerate() {
            let Some((run, size)) = written(op) else { continue };
            for vector in 0..size {
                let place = usize::try_from(run.at(vector)).ok().and_then(|place| writers.get_mut(place));
                if let Some(writer) = place {
                    *writer = Some(index);
                }
            }
        }
        writers
    }

    fn output_at(&self, vector: u64) -> Option<String> {
        let holds = |binding: &&crate::program::Binding| {
            binding
                .pieces
                .iter()
                .any(|piece| (piece.base..piece.base.saturating_add(piece.size)).contains(&vector))
        };
        self.program.outputs.iter().find(holds).map(|binding| binding.name.clone())
    }
}

const ACCEPTED: &str = "instructions accepted";
const ACCEPTANCE: &str = "cycles of acceptance";
const TRAFFIC: &str = "bursts and beats";
const BUS_ERROR: &str = "errors of the buses";
const LAST: &str = "cycles of last events";
const TOTAL: &str = "cycles";
const FLAGS: &str = "flags";
const SAMPLES: &str = "performance samples";

/// The words, without ready of local memory's ports where these are not valid: the circuit says there whether the queue of
/// what was read is full, the clock from when on a read found room.
fn settled(samples: &[Sample]) -> Vec<u64> {
    let settle = |sample: Sample, port| {
        if sample.valid(port) { sample } else { sample.with(port, false, false) }
    };
    samples.iter().map(|&sample| settle(settle(sample, Port::LocalA), Port::LocalB).word()).collect()
}

/// What the numbers of a kind of event are, where each has a name.
fn names(what: &str) -> &'static [&'static str] {
    match what {
        TRAFFIC => &[
            "bursts read of DRAM0",
            "beats read of DRAM0",
            "bursts written to DRAM0",
            "beats written to DRAM0",
            "bursts read of DRAM1",
            "beats read of DRAM1",
            "bursts written to DRAM1",
            "beats written to DRAM1",
        ],
        LAST => &[
            "cycle of the last write to the accumulators",
            "cycle of the last write to local memory",
            "cycle of the last beat written",
            "cycle of the last shift of the weights",
            "cycle of the last response to a write",
        ],
        FLAGS => &[
            "cycles with the timeout flag",
            "first cycle with the timeout flag",
            "cycles with the tracepoint flag",
            "first cycle with the tracepoint flag",
        ],
        _ => &[],
    }
}
