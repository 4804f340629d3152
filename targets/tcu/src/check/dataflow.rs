//! What a program does with its memories on the chip, without running it: [`problems`]. Reads of what nothing has
//! written, results that nobody reads, weights and registers without a use.
//!
//! Programs have no branches, so that one walk sees every instruction with what is there when it comes. What DRAM holds
//! is the host's matter. The walk ends at the first instruction that cannot be executed.

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

/// All such problems of a program, in the order of its instructions; `around` is what is known beside them.
pub(crate) fn problems(config: &Config, ops: &[Op], around: &Around) -> Vec<Problem> {
    // By the page a SIMD that does nothing moves vectors, which the flow of an instruction does not say.
    if config.reading == Reading::Seed || !is_followed(config, ops) {
        return Vec::new();
    }
    let mut walk = Walk::new(config, around);
    let executed = ops.iter().enumerate().take_while(|(index, op)| walk.step(*index, op)).count();
    let mut problems = walk.finish(executed == ops.len());
    problems.sort_by_key(|problem| problem.instruction);
    problems
}

/// Vectors of a memory on the chip that are followed, and vectors that a program may move: a few words can name more than
/// there is room or time for.
const MAX_DEPTH: u64 = 1 << 22;
const MAX_MOVED: u64 = 1 << 27;

/// Whether memories and program are of a size that a walk takes.
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
    /// Whether each register of the ALUs was written, from 1 on.
    registers: Vec<bool>,
    weights: Weights,
    offsets: Offsets,
    /// The last instruction that reads each DRAM bank.
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

    /// Looks at an instruction; false when it cannot be executed.
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
        // The last read of a bank before its offset changes waits for the writes before it: its result may be of no use.
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

    /// Every vector on the chip that is read was written; of an instruction the first one that was not is told.
    fn reads(&mut self, index: usize, flow: &Flow) {
        let mut missing = None;
        for Place { memory, run } in flow.reads() {
            let Some(writers) = self.writers(memory) else { continue };
            for place in places(run, flow.size) {
                if !writers.read(place) {
                    missing = missing.or(Some((memory, place)));
                    // It is told once.
                    writers.fill(place, 1, u64::MAX);
                }
            }
        }
        if let Some((memory, place)) = missing {
            let reason = format!("reads vector {place:#x} of the {memory}, which nothing before has written");
            let hint = "write it first: what is in it after a reset, or from a program before, is not known";
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
            let reason = format!("reads SIMD register {register}, which nothing before has written");
            let hint = "write it first: what is in it after a reset, or from a program before, is not known";
            self.problems.push(Problem::warning(index, UNSET_REGISTER, reason, hint));
            self.set(register);
        }
        // The values of a lookup go to the registers from the destination on.
        let tables = if sub.op == SimdOp::Lookup { self.config.lookup_tables as u8 } else { 0 };
        (sub.destination..=sub.destination.saturating_add(tables)).for_each(|register| self.set(register));
    }

    fn is_set(&self, register: u8) -> bool {
        // Default: registers that are not there are the machine's to refuse.
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

    /// What nobody has read; up to the end only when there is nothing behind it.
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
                    "all that this writes to the {memory} is overwritten up to instruction {} before anything reads it",
                    over.by
                );
                unread(over.writer, reason)
            });
            self.problems.extend(over);
            if is_whole && self.around.is_all {
                let left = writers
                    .unread()
                    .map(|index| unread(index, format!("nothing reads what this writes to the {memory}")));
                self.problems.extend(left);
            }
        }
        self.problems.extend(self.weights.finish(is_whole && self.around.is_all));
        self.problems
    }
}

fn unread(index: usize, reason: String) -> Problem {
    Problem::warning(
        index,
        UNREAD_RESULT,
        reason,
        "take it away, or correct its address or that of the reader",
    )
}

/// The addresses of a run, which are in range.
fn places(run: Strided, size: u64) -> impl Iterator<Item = u64> {
    (0..size).map(move |i| run.at(i))
}

/// How many rows there are.
fn rows(count: u64) -> String {
    counted(count, "row")
}
