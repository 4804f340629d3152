//! Cycle model of a program: [`run`] returns a [`Timeline`]. Source: specification 3.5, 4.7 and
//! 6.4.
//!
//! The host pushes words, which are issued in order. Engines work in parallel. An instruction waits
//! for its engine, for L2 ranges that an earlier one still reads or writes, and for a preceding
//! MEMCPY or CVO that is not `async`. Weights are fetched before their instruction, as far as the
//! memories of the ports can hold them. All ports share external memory.

mod memory;
pub(crate) mod pccx_lab;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod timing;
pub(crate) mod trace;

use std::collections::VecDeque;

use memory::ExternalMemory;

use npukit_target::Phase;

use crate::clock::timing::{Bound, Cost, cost};
use crate::config::Config;
use crate::isa::op::{Access, Banks, Engine, Op};
use crate::isa::usage::Use;

/// Number of words that the host may push before the first is issued.
const COMMANDS: usize = 8;

/// Reason why an instruction did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The host had not pushed the word yet.
    Push,
    /// The dispatcher was issuing the previous instruction.
    Issue,
    /// An earlier synchronous instruction was not complete.
    Synchronous,
    /// The engine was busy with an earlier instruction.
    Engine,
    /// Another instruction was still using L2 words of this one.
    Hazard,
    /// The host was transferring data.
    Host,
}

impl Wait {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Push => "the host's push",
            Self::Issue => "issue",
            Self::Synchronous => "a synchronous instruction",
            Self::Engine => "the engine",
            Self::Hazard => "L2 words in use",
            Self::Host => "the host",
        }
    }
}

/// Time span of an instruction, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Engine that executes the instruction.
    pub engine: Engine,
    /// First core cycle of the instruction.
    pub start: u64,
    /// Cycle after the last one.
    pub end: u64,
    /// First cycle in which its weights are fetched, which may be before `start`. `start` without
    /// weights.
    pub fetch: u64,
    /// Part of the cost that dominates.
    pub bound: Bound,
    /// Reason why the instruction did not start earlier.
    pub wait: Wait,
    /// Cost of the instruction alone.
    pub cost: Cost,
}

/// Timing of a program, in core cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Time spans of the instructions, in program order.
    pub spans: Vec<Span>,
    /// Core cycles until the last instruction ends.
    pub cycles: u64,
}

/// Instruction that may not be complete.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    end: u64,
    uses: Use,
    writes_maximum: bool,
}

/// State of the queues and engines during the simulation.
struct Clock<'a> {
    config: &'a Config,
    banks: Banks,
    /// Cycle at which each engine becomes free, in the order of [`Engine::ALL`].
    free: [u64; Engine::ALL.len()],
    /// Cycle at which the weight ports of GEMV and GEMM have delivered all weights so far.
    streams: [u64; 2],
    memory: ExternalMemory,
    in_flight: Vec<InFlight>,
    /// Issue cycles of the last eight words.
    issued: VecDeque<u64>,
    pushed: f64,
    /// Earliest issue cycle of the next word, and the reason.
    next_issue: (u64, Wait),
}

/// Times a program from cycle 0 on, without a host.
pub fn run(config: &Config, ops: &[Op]) -> Timeline {
    run_with_host(config, ops, &[])
}

/// Times a program with a host. Before each instruction in `syncs`, which must be sorted, all
/// earlier instructions are complete. Work of the host itself takes no time.
pub fn run_with_host(config: &Config, ops: &[Op], syncs: &[usize]) -> Timeline {
    let mut clock = Clock {
        config,
        banks: Banks::default(),
        free: [0; Engine::ALL.len()],
        streams: [0; 2],
        memory: ExternalMemory::new(config.timing.ddr_bytes_per_cycle()),
        in_flight: Vec::new(),
        issued: VecDeque::new(),
        pushed: 0.0,
        next_issue: (0, Wait::Issue),
    };
    let phase = Phase::detail("time instructions", ops.len());
    let (mut spans, mut cycles, mut syncs) = (Vec::with_capacity(ops.len()), 0, syncs.iter().peekable());
    for (index, op) in ops.iter().enumerate() {
        while syncs.next_if(|&&sync| sync <= index).is_some() {
            clock.next_issue = clock.next_issue.max((cycles, Wait::Host));
        }
        let span = clock.step(op);
        cycles = cycles.max(span.end);
        spans.push(span);
        phase.tick(index);
    }
    Timeline { spans, cycles }
}

impl Clock<'_> {
    fn step(&mut self, op: &Op) -> Span {
        let (engine, cost) = (op.engine(), cost(self.config, &self.banks, op));
        let access = op.access(&self.banks);
        let uses = Use::from(&access);
        let issue = (self.push(), Wait::Push).max(self.next_issue);
        let free = self.free[engine as usize];
        let hazard = self.hazard(&access, &uses);
        let (start, wait) = issue.max((free, Wait::Engine)).max((hazard, Wait::Hazard));
        let (fetch, end) = self.end(engine, start, &cost);
        self.banks.step(op);
        self.remember(op, start, InFlight { end, uses, writes_maximum: access.writes_maximum });
        self.free[engine as usize] = end;
        Span { engine, start, end, fetch, bound: cost.bound(op), wait, cost }
    }

    /// Returns the cycle at which the host has pushed the next word. The host stalls while the
    /// queue is full.
    fn push(&mut self) -> u64 {
        let full = self.issued.len() == COMMANDS;
        let room = if full { self.issued.pop_front().expect("a full queue is not empty") } else { 0 };
        self.pushed = self.pushed.max(room as f64) + self.config.timing.push_cycles();
        self.pushed.ceil() as u64
    }

    /// Returns the first cycle in which no unfinished instruction uses the resources that this
    /// instruction needs.
    fn hazard(&self, access: &Access, uses: &Use) -> u64 {
        let uses_maximum = access.reads_maximum || access.writes_maximum;
        let blocks =
            |other: &&InFlight| other.uses.conflict(uses).is_some() || (uses_maximum && other.writes_maximum);
        // Default: without a conflict, an instruction need not wait.
        self.in_flight.iter().filter(blocks).map(|other| other.end).max().unwrap_or(0)
    }

    /// Returns the cycle at which an instruction that starts at `start` begins to fetch weights,
    /// and the cycle at which it is complete. Its weights were fetched ahead, as far as the memories of
    /// the ports can hold them.
    fn end(&mut self, engine: Engine, start: u64, cost: &Cost) -> (u64, u64) {
        let timing = &self.config.timing;
        let work = start + cost.load;
        let [gemv, gemm] = [timing.gemv.ports, timing.gemm.ports].map(|ports| self.ahead(ports));
        self.memory.forget(start.saturating_sub(gemv.max(gemm)));
        let [of_gemv, of_gemm] = &mut self.streams;
        let (stream, ahead) = match engine {
            // Weights that are in L2 need no port.
            Engine::Gemv if cost.weight_bytes > 0 => (of_gemv, gemv),
            Engine::Gemm if cost.weight_bytes > 0 => (of_gemm, gemm),
            _ => {
                let delay = self.memory.delay(work, cost.compute, cost.host_bytes);
                return (start, start + cost.total() + delay);
            }
        };
        let first = (*stream).max(work.saturating_sub(ahead));
        *stream = first + cost.weights + self.memory.delay(first, cost.weights, cost.weight_bytes);
        (first, (work + cost.compute).max(*stream) + cost.store)
    }

    /// Returns the cycles in which weights fill the memories of the ports: weights may arrive this
    /// long before their instruction.
    fn ahead(&self, ports: u64) -> u64 {
        let timing = &self.config.timing;
        ((timing.weight_fifo_bytes * ports) as f64 / timing.weight_bytes_per_cycle(ports)) as u64
    }

    fn remember(&mut self, op: &Op, start: u64, one: InFlight) {
        self.issued.push_back(start);
        self.in_flight.retain(|other| other.end > start);
        self.in_flight.push(one);
        let issue = (start + self.config.timing.issue, Wait::Issue);
        self.next_issue = if op.is_synchronous() { issue.max((one.end, Wait::Synchronous)) } else { issue };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::isa::op::{Cache, Cvo, CvoFlags, Device, Mac, MacFlags, Memcpy, Memset, Shape};

    fn set(dest_cache: Cache, dest_addr: u8, shape: Shape) -> Op {
        Op::Memset(Memset { dest_cache, dest_addr, shape })
    }

    fn gemv(dest_reg: u32, src_addr: u32) -> Op {
        Op::Gemv(Mac { dest_reg, src_addr, ..Mac::default() })
    }

    fn shapes() -> [Op; 2] {
        [
            set(Cache::FmapShape, 0, Shape::new(1, 1, 4096)),
            set(Cache::WeightShape, 0, Shape::new(0, 4096, 4096)),
        ]
    }

    fn spans(ops: &[Op]) -> Vec<Span> {
        let program: Vec<Op> = shapes().into_iter().chain(ops.iter().copied()).collect();
        run(&Config::preset("reference").unwrap(), &program).spans.split_off(2)
    }

    fn to_l2(dest_addr: u32, is_async: bool) -> Op {
        Op::Memcpy(Memcpy { from_device: Device::Host, dest_addr, is_async, ..Memcpy::default() })
    }

    #[test]
    fn asynchronous_transfers_overlap_with_what_they_do_not_touch() {
        let overlapped = spans(&[to_l2(0x1000, true), gemv(0x8000, 0)]);
        assert!(overlapped[1].start < overlapped[0].end);
        let waiting = spans(&[to_l2(0x1000, false), gemv(0x8000, 0)]);
        assert!(waiting[1].start >= waiting[0].end);
        assert_eq!(waiting[1].wait, Wait::Synchronous);
        let dependent = spans(&[to_l2(0x1000, true), gemv(0x8000, 0x11FF)]);
        assert_eq!((dependent[1].start, dependent[1].wait), (dependent[0].end, Wait::Hazard));
    }

    /// A transfer stays in flight no matter how many instructions are issued meanwhile.
    #[test]
    fn what_is_under_way_stays_so_while_others_begin() {
        let one = spans(&[to_l2(0x1000, true), Op::Kick, Op::Kick, gemv(0x8000, 0x1000)]);
        assert!(one[2].end < one[0].end);
        assert_eq!((one[3].start, one[3].wait), (one[0].end, Wait::Hazard));
    }

    #[test]
    fn the_host_works_when_everything_before_it_is_complete() {
        let config = Config::preset("reference").unwrap();
        let program = [&shapes()[..], &[to_l2(0x1000, true), gemv(0x8000, 0), Op::Kick]].concat();
        let spans = |syncs: &[usize]| run_with_host(&config, &program, syncs).spans.split_off(2);
        let (alone, after) = (spans(&[]), spans(&[3]));
        assert!(alone[1].start < alone[0].end);
        assert_eq!((after[1].start, after[1].wait), (after[0].end, Wait::Host));
        // Two waits before one instruction equal one wait. A wait at the end does not change any
        // time.
        assert_eq!(spans(&[3, 3]), after);
        assert_eq!(spans(&[5]), alone);
        let last = spans(&[4]);
        assert_eq!((last[1], last[2].start, last[2].wait), (alone[1], alone[1].end, Wait::Host));
    }

    #[test]
    fn products_wait_for_their_engine_and_weights_come_ahead() {
        let two = spans(&[gemv(0x8000, 0), gemv(0x9000, 0)]);
        assert_eq!((two[1].start, two[1].wait), (two[0].end, Wait::Engine));
        // The port is busy during the store of the first instruction and the load of the second.
        let alone = two[1].cost.total();
        assert!(two[1].end - two[1].start < alone);
        let weights = two[0].cost.weights;
        assert!(two[1].end >= 2 * weights && two[1].end < 2 * alone);
    }

    #[test]
    fn the_maximum_is_waited_for() {
        let find = Op::Gemv(Mac {
            dest_reg: 0x8000,
            flags: MacFlags { findemax: true, ..MacFlags::default() },
            ..Mac::default()
        });
        let subtract = |sub_emax| {
            let flags = CvoFlags { sub_emax, ..CvoFlags::default() };
            Op::Cvo(Cvo { src_addr: 0x2000, dst_addr: 0x3000, length: 8, flags, ..Cvo::default() })
        };
        let waiting = spans(&[find, subtract(true)]);
        assert_eq!((waiting[1].start, waiting[1].wait), (waiting[0].end, Wait::Hazard));
        assert!(spans(&[find, subtract(false)])[1].start < waiting[0].end);
    }

    #[test]
    fn the_host_pushes_a_word_in_eight_cycles_of_its_clock() {
        let kicks = run(&Config::preset("reference").unwrap(), &[Op::Kick; 100]);
        assert_eq!(kicks.cycles, 1280, "100 words, 12.8 cycles each");
    }
}
