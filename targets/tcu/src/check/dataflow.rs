//! Static analysis of a program's use of on-chip memories: [`problems`]. It finds reads of
//! unwritten memory, results that are never read, and unused weights and registers.
//!
//! Programs have no branches, so a single walk sees the state at every instruction. The content of
//! DRAM belongs to the host and is not checked. The walk ends at the first instruction that cannot
//! be executed.

mod around;
mod array;
mod offsets;

use npukit_base::counted;
use npukit_target::Writers;

pub(crate) use around::Around;

use crate::check::lints::{UNREAD_RESULT, UNSET_REGISTER, UNWRITTEN_READ};
use crate::check::problem::Problem;
use crate::config::{Config, Reading};
use crate::isa::check::{check, depth};
use crate::isa::op::{Flow, Memory, Op, Path, Place, SimdOp, SimdSub, Strided};
use array::Weights;
use offsets::{Offsets, offset_of};

/// Returns all dataflow problems in instruction order; `around` describes the memories before and
/// after the program.
pub(crate) fn problems(config: &Config, ops: &[Op], around: &Around) -> Vec<Problem> {
    // Under the instruction set specification, a SIMD without an operation moves vectors. The flow
    // of an instruction does not show this movement.
    if config.reading == Reading::Seed || !is_followed(config, ops) {
        return Vec::new();
    }
    let mut walk = Walk::new(config, around);
    let executed = ops.iter().enumerate().take_while(|(index, op)| walk.step(*index, op)).count();
    let mut problems = walk.finish(executed == ops.len());
    problems.sort_by_key(|problem| problem.instruction);
    problems
}

/// Maximum number of vectors of a tracked on-chip memory, and of vectors that a program may move. A
/// few words can request more than fits in memory or time.
const MAX_DEPTH: u64 = 1 << 22;
const MAX_MOVED: u64 = 1 << 27;

/// Returns whether memories and program are small enough for a walk.
fn is_followed(config: &Config, ops: &[Op]) -> bool {
    let moved = ops.iter().fold(0u64, |sum, op| sum.saturating_add(op.flow().size));
    [Memory::Local, Memory::Accumulators].iter().all(|&memory| depth(config, memory) <= MAX_DEPTH)
        && moved <= MAX_MOVED
}

struct Walk<'a> {
    config: &'a Config,
    around: &'a Around,
    local: Writers,
    accumulators: Writers,
    /// Whether each ALU register was written, starting at register 1.
    registers: Vec<bool>,
    weights: Weights,
    offsets: Offsets,
    /// Last instruction that reads each DRAM bank.
    last_read: Vec<(usize, usize)>,
    problems: Vec<Problem>,
}

impl<'a> Walk<'a> {
    fn new(config: &'a Config, around: &'a Around) -> Self {
        let mut walk = Self {
            config,
            around,
            local: Writers::default(),
            accumulators: Writers::default(),
            registers: vec![false; config.simd_registers_depth],
            weights: Weights::new(config.array_size as u64 + 1, around.weights),
            offsets: Offsets::default(),
            last_read: Vec::new(),
            problems: Vec::new(),
        };
        for (memory, first, count) in &around.filled {
            if let Some(writers) = walk.writers(*memory) {
                writers.fill(*first, *count, depth(config, *memory));
            }
        }
        for &register in &around.registers {
            walk.set(register);
        }
        walk
    }

    /// Examines an instruction; returns false if it cannot be executed.
    fn step(&mut self, index: usize, op: &Op) -> bool {
        if check(self.config, op).is_err() {
            return false;
        }
        let flow = op.flow();
        self.reads(index, &flow);
        match flow.path {
            Path::Weights => self.weights.load(index, flow.size),
            Path::Array => self.problems.extend(self.weights.multiply(index, flow.source.is_some())),
            Path::Alus(sub) => self.alus(index, sub),
            _ => {}
        }
        self.problems.extend(self.offsets.step(index, op));
        // The last read before a bank's offset changes waits for earlier writes. A program may read
        // only for this wait, so an unused result is not reported.
        if let Some(bank) = offset_of(op)
            && let Some(&(_, read)) = self.last_read.iter().find(|(of, _)| *of == bank)
        {
            self.local.forgive(read);
        }
        if let Some(bank) = flow.source.and_then(|place| place.memory.bank()) {
            self.last_read.retain(|(of, _)| *of != bank);
            self.last_read.push((bank, index));
        }
        if let Some(Place { memory, run }) = flow.target
            && let Some(writers) = self.writers(memory)
        {
            writers.write(index, places(run, flow.size));
        }
        true
    }

    /// Checks that every on-chip vector that is read was written; reports the first unwritten one
    /// of an instruction.
    fn reads(&mut self, index: usize, flow: &Flow) {
        let mut missing = None;
        for Place { memory, run } in flow.reads() {
            let Some(writers) = self.writers(memory) else { continue };
            for place in places(run, flow.size) {
                if !writers.read(place) {
                    missing = missing.or(Some((memory, place)));
                    // From here on, the vector counts as written, so it is reported only once.
                    writers.fill(place, 1, u64::MAX);
                }
            }
        }
        if let Some((memory, place)) = missing {
            let reason = format!("reads vector {place:#x} of the {memory}, which was not written before");
            let hint = "write it first: its content after a reset or an earlier program is unknown";
            self.problems.push(Problem::warning(index, UNWRITTEN_READ, reason, hint));
        }
    }

    fn alus(&mut self, index: usize, sub: SimdSub) {
        if sub.op == SimdOp::NoOp {
            return;
        }
        let sources = [sub.left, sub.right];
        let unset =
            sources.into_iter().take(sub.op.arity()).find(|&source| source != 0 && !self.is_set(source));
        if let Some(register) = unset {
            let reason = format!("reads SIMD register {register}, which was not written before");
            let hint = "write it first: its content after a reset or an earlier program is unknown";
            self.problems.push(Problem::warning(index, UNSET_REGISTER, reason, hint));
            self.set(register);
        }
        // A lookup writes its values to consecutive registers, starting at the destination
        // register.
        let tables = if sub.op == SimdOp::Lookup { self.config.lookup_tables as u8 } else { 0 };
        (sub.destination..=sub.destination.saturating_add(tables)).for_each(|register| self.set(register));
    }

    fn is_set(&self, register: u8) -> bool {
        // Default: the machine refuses registers that do not exist.
        self.registers.get(usize::from(register).wrapping_sub(1)).copied().unwrap_or(true)
    }

    fn set(&mut self, register: u8) {
        if let Some(set) = self.registers.get_mut(usize::from(register).wrapping_sub(1)) {
            *set = true;
        }
    }

    const fn writers(&mut self, memory: Memory) -> Option<&mut Writers> {
        match memory {
            Memory::Local => Some(&mut self.local),
            Memory::Accumulators => Some(&mut self.accumulators),
            Memory::Dram0 | Memory::Dram1 => None,
        }
    }

    /// Returns the writes that were never read. Writes at the end are included only if the whole
    /// program was examined.
    fn finish(mut self, is_whole: bool) -> Vec<Problem> {
        for (memory, first, count) in &self.around.looked_at {
            let end = first.saturating_add(*count).min(depth(self.config, *memory));
            let writers = match memory {
                Memory::Local => &mut self.local,
                Memory::Accumulators => &mut self.accumulators,
                Memory::Dram0 | Memory::Dram1 => continue,
            };
            (*first..end).for_each(|place| _ = writers.read(place));
        }
        for (memory, writers) in [(Memory::Local, &self.local), (Memory::Accumulators, &self.accumulators)] {
            let over = writers.overwritten().iter().map(|over| {
                let reason = format!(
                    "everything that this writes to the {memory} is overwritten by instruction {} at the latest, before anything reads it",
                    over.by
                );
                unread(over.writer, reason)
            });
            self.problems.extend(over);
            if is_whole && self.around.is_all {
                let left = writers.unread().map(|index| {
                    unread(index, format!("the vectors that this writes to the {memory} are never read"))
                });
                self.problems.extend(left);
            }
        }
        self.problems.extend(self.weights.finish(is_whole && self.around.is_all));
        self.problems
    }
}

fn unread(index: usize, reason: String) -> Problem {
    Problem::warning(index, UNREAD_RESULT, reason, "remove it, or correct its address or the reader's")
}

/// Returns the addresses of a run, which must be in range.
fn places(run: Strided, size: u64) -> impl Iterator<Item = u64> {
    (0..size).map(move |i| run.at(i))
}

/// Formats a number of rows.
fn rows(count: u64) -> String {
    counted(count, "row")
}
