//! Comparison of circuit and model: memories number by number, events cycle by cycle, and the first
//! instruction that differs.

use npukit_target::rtl::Seen;
use npukit_target::{CosimCycles, CosimDifference, CosimJudgement, CosimPart};

use super::seen::{self, Report};
use super::windows::Windows;
use super::{CosimError, ExpectedRun, tables};
use crate::clock::samples::{Port, Sample};
use crate::isa::op::{Memory, Op, Register};

/// Memories, with the names of the simulator's files.
const MEMORIES: [(Memory, &str); 4] = [
    (Memory::Dram0, "dram0"),
    (Memory::Dram1, "dram1"),
    (Memory::Local, "local"),
    (Memory::Accumulators, "accumulators"),
];

/// Numbers of circuit and model, in pairs.
struct Pairs {
    what: String,
    /// The memory, if these are its numbers.
    memory: Option<Memory>,
    numbers: u64,
    /// Differing pairs: index, circuit's number, model's number.
    different: Vec<(usize, i64, i64)>,
}

impl Pairs {
    fn new(what: &str, memory: Option<Memory>, rtl: &[i64], model: &[i64]) -> Self {
        let places = rtl.len().max(model.len());
        let at = |numbers: &[i64], place: usize| numbers.get(place).copied();
        // Default: a number that one side lacks differs from any number of the other.
        let pair = |place| (place, at(rtl, place).unwrap_or(-1), at(model, place).unwrap_or(-1));
        let different = (0..places).filter(|&place| at(rtl, place) != at(model, place)).map(pair).collect();
        Self { what: what.to_owned(), memory, numbers: places as u64, different }
    }

    fn part(&self) -> CosimPart {
        CosimPart { what: self.what.clone(), numbers: self.numbers, different: self.different.len() as u64 }
    }
}

impl ExpectedRun<'_> {
    /// Compares the circuit's results with the expected results.
    pub(super) fn judged(&self, seen: &Seen) -> Result<CosimJudgement, CosimError> {
        let report = seen::report(seen)?;
        let memories = MEMORIES.iter().map(|&(memory, file)| self.memory(memory, file, seen));
        let memories = memories.collect::<Result<Vec<_>, _>>()?;
        let outputs = self.outputs(&memories[0]);
        let mut events = self.states(seen, &report)?;
        events.extend(self.events(&report, &seen::samples(seen)?));
        let mut candidates: Vec<(usize, CosimDifference)> = Vec::new();
        for memory in &memories {
            candidates.extend(self.first_of_memory(memory, &report));
        }
        candidates.extend(events.iter().filter_map(|pairs| self.first_of_events(pairs, &report)));
        // Finds the first difference in instruction order. Within one instruction, differences in
        // values precede differences in cycles.
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
        let raw =
            if is_dram { self.machine.bank(memory, vectors) } else { self.machine.read(memory, 0, vectors) };
        let raw = raw.map_err(|error| fault(error.to_string()))?;
        let model: Vec<i64> = if is_dram {
            seen::slots(config, &seen::bank_bytes(config.data_type, &raw))
        } else {
            raw.into_iter().map(i64::from).collect()
        };
        Ok(Pairs::new(file, Some(memory), &rtl, &model))
    }

    /// Returns the outputs' parts of DRAM0.
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

    /// Compares the remaining final state: ALU registers, lookup tables, configuration registers,
    /// and the cache bits of all bursts.
    fn states(&self, seen: &Seen, report: &Report) -> Result<Vec<Pairs>, CosimError> {
        let config = &self.program.config;
        let numbers = |raw: Vec<i32>| raw.into_iter().map(i64::from).collect::<Vec<_>>();
        let read = |file| Ok::<_, CosimError>(numbers(seen::on_chip(config, seen::file(seen, file)?)));
        let registers = (1..=config.simd_registers_depth).map(|register| register as u8);
        let model: Vec<i64> =
            registers.flat_map(|register| numbers(self.machine.register(register))).collect();
        let mut states = vec![Pairs::new(REGISTERS, None, &read("registers")?, &model)];
        if config.has_lookup() {
            let held = read("tables")?;
            let (rtl, model): (Vec<_>, Vec<_>) = self.table_numbers(&held).into_iter().unzip();
            states.push(Pairs::new(TABLES, None, &rtl, &model));
        }
        let signed = |values: &[u64]| values.iter().map(|&value| value as i64).collect::<Vec<_>>();
        let configuration =
            Register::ALL.map(|register| u64::from(self.machine.configuration().get(register)));
        states.push(Pairs::new(CONFIGURATION, None, &signed(&report.configuration), &signed(&configuration)));
        let caches = signed(report.caches.as_flattened());
        states.push(Pairs::new(CACHES, None, &caches, &signed(self.caches().as_flattened())));
        Ok(states)
    }

    /// Returns pairs of numbers of circuit and machine for all tables that the machine has loaded.
    /// In the circuit's vectors the tables are interleaved.
    fn table_numbers(&self, held: &[i64]) -> Vec<(i64, i64)> {
        let config = &self.program.config;
        let (lanes, tables) = (config.array_size.max(1), tables(config) as usize);
        let of_table = |table: usize| {
            let at = move |entry: usize| ((entry / lanes) * tables + table) * lanes + entry % lanes;
            let entries = self.machine.table(table as u64).into_iter().enumerate();
            // Default: a number that the circuit lacks differs from any of the machine's.
            entries
                .map(move |(entry, own)| (held.get(at(entry)).copied().unwrap_or(i64::MAX), i64::from(own)))
        };
        (0..tables).flat_map(of_table).collect()
    }

    /// Returns the cache codes of bursts read and written for each bank, as bit masks.
    fn caches(&self) -> [[u64; 2]; 2] {
        let (mut codes, mut windows) = ([[0; 2]; 2], Windows::new(&self.program.config));
        for op in &self.ops {
            windows.follow(op);
            let Some(bank) = op.flow().bank() else { continue };
            let register = [Register::Dram0Cache, Register::Dram1Cache][bank];
            let writes = usize::from(!op.is_read_of_dram());
            codes[bank][writes] |= 1 << (windows.configuration().get(register) & 0xF);
        }
        codes
    }

    /// Compares the cycles of events if cycles must be equal, and bus traffic in any case.
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
                .map(|signal| [signal.cycles, signal.first.map_or(0, |(_, cycle)| cycle)]); // Default: 0, as the simulator reports it.
            let raised = [&report.timeout, &report.tracepoint].map(|flag| [flag.cycles, flag.first]);
            events.push(pairs(FLAGS, raised.as_flattened(), [timeout, tracepoint].as_flattened()));
            // After the last instruction, samples show queues running empty, which the clock does
            // not model. With an interval of 0 there are no samples.
            let samples_end = self.machine.configuration().get(Register::SampleInterval) == 0;
            let sampled = if samples_end { samples.len() } else { report.sampled.min(samples.len()) };
            events.push(pairs(SAMPLES, &settled(&samples[..sampled]), &settled(&self.samples)));
        }
        // Blocks have a fixed size, so their ends do not depend on the time of the samples.
        let block = u64::from(self.program.config.sample_block_size.max(1));
        let ends: Vec<u64> =
            (0..samples.len() as u64).filter(|place| (place + 1).is_multiple_of(block)).collect();
        if !samples.is_empty() {
            events.push(pairs(BLOCKS, &report.block_ends, &ends));
        }
        events
    }

    /// Returns the first instruction that left a different number in a memory.
    fn first_of_memory(&self, pairs: &Pairs, report: &Report) -> Option<(usize, CosimDifference)> {
        let memory = pairs.memory?;
        let lanes = self.program.config.array_size.max(1);
        let vectors = pairs.different.last()?.0 / lanes + 1;
        let writers = self.last_writers(memory, vectors);
        let writer = |place: usize| writers.get(place / lanes).copied().flatten();
        // Numbers that no instruction has written come first, because they were loaded wrongly.
        let &(place, rtl, model) = pairs.different.iter().min_by_key(|(place, ..)| writer(*place))?;
        let (address, lane, op) = (place / lanes, place % lanes, writer(place));
        let output = (memory == Memory::Dram0).then(|| self.output_at(address as u64)).flatten();
        let beside = output.as_ref().map_or_else(String::new, |name| format!(", of output `{name}`"));
        let found = format!(
            "{memory}, vector {address}, lane {lane}{beside}: the circuit has {rtl}, the machine {model}"
        );
        let mut difference = self.described(&pairs.what, found, op, report);
        difference = CosimDifference { rtl, model, output, ..difference };
        difference.address = Some(address as u64);
        difference.lane = Some(lane as u64);
        Some((op.map_or(0, |op| op), difference))
    }

    /// Returns the first event that differs or occurs in another cycle.
    fn first_of_events(&self, pairs: &Pairs, report: &Report) -> Option<(usize, CosimDifference)> {
        let &(place, rtl, model) = pairs.different.first()?;
        let is_acceptance = pairs.what == ACCEPTANCE;
        let op = is_acceptance.then_some(place);
        let of_clock = pairs.what != REGISTERS && pairs.what != TABLES && pairs.what != CONFIGURATION;
        let whose = if of_clock { "clock" } else { "machine" };
        let found = format!("{}: the circuit has {rtl}, the {whose} {model}", self.named(&pairs.what, place));
        let difference = CosimDifference { rtl, model, ..self.described(&pairs.what, found, op, report) };
        // Totals have no place, so they follow all differences that have one.
        Some((op.unwrap_or(usize::MAX), difference)) // Default: after all instructions.
    }

    /// Describes one number of a kind.
    fn named(&self, what: &str, place: usize) -> String {
        let lanes = self.program.config.array_size.max(1);
        if what == REGISTERS {
            return format!("register r{}, lane {}", place / lanes + 1, place % lanes);
        }
        if what == CONFIGURATION {
            return Register::ALL.get(place).map_or(what, |register| register.name()).to_owned();
        }
        names(what).get(place).map_or_else(|| what.to_owned(), |name| (*name).to_owned())
    }

    /// Adds the instruction to a difference.
    fn described(&self, what: &str, found: String, op: Option<usize>, report: &Report) -> CosimDifference {
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

    /// Returns the last instruction that writes each vector.
    fn last_writers(&self, memory: Memory, vectors: usize) -> Vec<Option<usize>> {
        let mut writers = vec![None; vectors];
        let written = |op: &Op| Some((op.flow().written(memory)?, op.flow().size));
        let lanes = self.program.config.array_size.max(1) as u64;
        let mut windows = Windows::new(&self.program.config);
        for (index, op) in self.ops.iter().enumerate() {
            windows.follow(op);
            let Some((run, size)) = written(op) else { continue };
            let origin = windows.origin(memory);
            for vector in 0..size {
                // If the window begins inside a vector of the bank, each vector of the window
                // covers two of the bank.
                let first = run.at(vector) + origin / lanes;
                for place in first..=first + u64::from(!origin.is_multiple_of(lanes)) {
                    if let Some(writer) = usize::try_from(place).ok().and_then(|at| writers.get_mut(at)) {
                        *writer = Some(index);
                    }
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
const BLOCKS: &str = "ends of blocks of samples";
const REGISTERS: &str = "registers";
const TABLES: &str = "lookup tables";
const CONFIGURATION: &str = "configuration registers";
const CACHES: &str = "cache codes of bursts";

/// Returns the samples as words. The ready bits of local memory's ports are cleared unless the port
/// is valid: the circuit shows there whether the read queue is full, and the clock when a read
/// found room.
fn settled(samples: &[Sample]) -> Vec<u64> {
    let settle = |sample: Sample, port| {
        if sample.valid(port) { sample } else { sample.with(port, false, false) }
    };
    samples.iter().map(|&sample| settle(settle(sample, Port::LocalA), Port::LocalB).word()).collect()
}

/// Returns the names of the numbers of a kind of event, if each has one.
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
        CACHES => &[
            "cache codes of reads of DRAM0",
            "cache codes of writes to DRAM0",
            "cache codes of reads of DRAM1",
            "cache codes of writes to DRAM1",
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
