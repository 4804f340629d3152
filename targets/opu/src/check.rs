//! Checks of a whole program before it runs: [`program`] for artifacts, [`words`] for words alone.
//!
//! There are no branches, so a single walk sees every instruction with the registers and the valid
//! buffers that it will have. This finds every fault that does not depend on values. For an
//! artifact, the bytes that drivers and the program itself write are also known; no other byte may
//! be read. `SOURCES.md` lists the orders that the specification guarantees, and the ones that a
//! program relies on.

mod fault;
mod known;
pub(crate) mod lints;
mod stored;
mod unused;

use npukit_target::{Finding, Lint, Severity};

use crate::check::lints::{
    INPUT_OVERLAP, OVERWRITTEN_CONSTANT, RESERVED_BITS, RESIDUAL_SHAPE_DIFFERS, STORED_TWICE,
    UNWRITTEN_OUTPUT, WORDS_BEHIND_END,
};
use crate::config::Config;
use crate::isa::codec::{decode, reserved_bits};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Access, Direction, Effects, Op, Order, Shape};
use crate::machine::exec::{Numerics, step};
use crate::machine::memory::Memory;
use crate::machine::state::State;
use crate::machine::values::Arithmetic;
use crate::program::Program;
use known::Known;
use stored::Stored;
use unused::{Idle, Unused};

/// Returns the findings for a program and its files, in instruction order.
pub fn program(program: &Program) -> Vec<Finding> {
    let mut walk = Walk::new(&program.config);
    walk.layers = program.layer_of_each();
    walk.names = program.layers.iter().map(|layer| layer.name.clone()).collect();
    let (known, overlaps) = Known::new(program);
    overlaps.into_iter().for_each(|message| walk.note(None, INPUT_OVERLAP, Severity::Error, message));
    walk.known = Some(known);
    if walk.run(program.instructions.iter().map(|op| Ok(*op))) {
        walk.outputs(program);
    }
    walk.finish(program.instructions.iter().map(|op| *op == Op::End))
}

/// Returns the findings for a program's instructions that do not depend on the content of memory.
pub fn instructions(program: &Program) -> Vec<Finding> {
    let mut walk = Walk::new(&program.config);
    walk.run(program.instructions.iter().map(|op| Ok(*op)));
    walk.finish(program.instructions.iter().map(|op| *op == Op::End))
}

/// Returns the findings for binary words that do not depend on the content of memory. Findings of
/// one kind are merged into the first, with the number of the remaining findings.
pub fn words(words: &[u32], config: &Config) -> Vec<Finding> {
    of_words(words, Walk::new(config))
}

/// Like [`words`], without merging repeated findings: in assembly text, each one can be allowed by
/// a comment.
pub fn words_of_text(words: &[u32], config: &Config) -> Vec<Finding> {
    of_words(words, Walk { is_brief: false, ..Walk::new(config) })
}

fn of_words(words: &[u32], mut walk: Walk<'_>) -> Vec<Finding> {
    let validity = walk.config.validity;
    walk.run(words.iter().map(|&word| decode(word, validity)));
    for (index, &word) in words.iter().enumerate().take(walk.executed) {
        let bits = reserved_bits(word);
        if bits != 0 {
            let message = format!("sets the reserved bits {bits:#x}, which the machine ignores");
            walk.note(Some(index), RESERVED_BITS, Severity::Warning, message);
        }
    }
    walk.finish(words.iter().map(|&word| decode(word, validity) == Ok(Op::End)))
}

/// State of a walk through a program.
struct Walk<'a> {
    config: &'a Config,
    state: State,
    /// Initial contents of memory; `None` if unknown.
    known: Option<Known>,
    stored: Stored,
    /// For each instruction, the index of its layer in `names`.
    layers: Vec<usize>,
    names: Vec<String>,
    findings: Vec<Findings>,
    unused: Unused,
    /// Number of instructions that were checked, including `end`.
    executed: usize,
    /// Whether findings of the same kind and layer are merged.
    is_brief: bool,
}

/// Findings of the same kind: the first finding, and the number of further findings.
struct Findings {
    first: Finding,
    more: usize,
}

impl<'a> Walk<'a> {
    fn new(config: &'a Config) -> Self {
        Self {
            config,
            state: State::default(),
            known: None,
            stored: Stored::default(),
            layers: Vec::new(),
            names: Vec::new(),
            findings: Vec::new(),
            unused: Unused::default(),
            executed: 0,
            is_brief: true,
        }
    }

    /// Checks all instructions up to `end`. Returns false after the first one that faults, since
    /// nothing runs after it.
    fn run(&mut self, ops: impl Iterator<Item = Result<Op, FaultKind>>) -> bool {
        for (index, op) in ops.enumerate() {
            self.executed = index + 1;
            let done = op.and_then(|op| self.instruction(index, &op));
            match done {
                Ok(Op::End) => return true,
                Ok(_) => {}
                Err(kind) => {
                    self.fault(index, &kind);
                    return false;
                }
            }
        }
        self.fault(self.executed, &FaultKind::MissingEnd { words: self.executed });
        false
    }

    fn fault(&mut self, index: usize, kind: &FaultKind) {
        let message = format!("{kind}; {}", kind.hint());
        self.note(Some(index), kind.lint(), Severity::Error, message);
    }

    fn instruction(&mut self, index: usize, op: &Op) -> Result<Op, FaultKind> {
        let Config { types, validity, .. } = self.config;
        let numerics = Numerics { types, arithmetic: Arithmetic::Absent, validity: *validity };
        step(&mut self.state, &mut Memory::default(), numerics, op)?;
        let effects = op.effects(&self.state.registers, types, *validity)?;
        for Idle { instruction, lint, message } in self.unused.step(index, op, &effects) {
            self.note(Some(instruction), lint, Severity::Warning, message);
        }
        if matches!(op, Op::Store { .. }) {
            self.residual(index);
        }
        match effects.memory.direction {
            Direction::Read => self.reads(index, &effects),
            Direction::Write => self.writes(index, &effects.memory),
        }
        Ok(*op)
    }

    /// Checks that every byte that is read was written before.
    fn reads(&mut self, index: usize, effects: &Effects) {
        for run in effects.memory.runs() {
            self.stored.read(run.first, run.bytes());
            let Some(known) = &mut self.known else { continue };
            let unwritten = known.read(run.first, run.bytes(), &self.stored);
            if let (Some(address), Some(buffer)) = (unwritten, effects.writes) {
                let kind = FaultKind::Unwritten { buffer, address };
                let message = format!("{kind} when it is read; {}", kind.hint());
                return self.note(Some(index), kind.lint(), Severity::Error, message);
            }
        }
    }

    fn writes(&mut self, index: usize, memory: &Access) {
        // Default: an instruction after the last layer belongs to no layer.
        let layer = self.layers.get(index).copied().unwrap_or(self.names.len());
        let mut twice = None;
        for run in memory.runs() {
            let other = self.stored.write(run.first, run.bytes(), [index, layer]);
            // Layers share memory over time: bytes that another layer wrote may no longer be
            // needed.
            twice = twice.or(other.filter(|_| layer < self.names.len()));
            if let Some(what) = self.known.as_ref().and_then(|known| known.spoiled(run.first, run.bytes())) {
                let message = format!("writes over {what}: the next run would start with different data");
                self.note(Some(index), OVERWRITTEN_CONSTANT, Severity::Error, message);
            }
        }
        if let Some(other) = twice {
            let message = format!(
                "overwrites data that instruction {other} wrote and no instruction has read: the result depends on \
                 the order of the two stores"
            );
            self.note(Some(index), STORED_TWICE, Severity::Warning, message);
        }
    }

    /// Upstream's simulator only adds operands of equal shape, or repeats the smaller one.
    fn residual(&mut self, index: usize) {
        let registers = &self.state.registers;
        let (Some(post), Some(ifm), Some(ofm), Some(pool)) =
            (registers.post, registers.ifm, registers.ofm, registers.pool)
        else {
            return;
        };
        let sums = if post.order == Order::ActPoolRes { pool.result(ofm) } else { ofm };
        if post.res && ifm != sums {
            let hint = if ifm == (Shape { c: ifm.c, ..sums }) { "channels" } else { "sides and channels" };
            let message = format!(
                "adds an ifm buffer of {ifm} to values of {sums}: upstream's simulator rejects this; \
                 make their {hint} equal"
            );
            self.note(Some(index), RESIDUAL_SHAPE_DIFFERS, Severity::Error, message);
        }
    }

    /// Checks that all bytes that drivers read have been written.
    fn outputs(&mut self, program: &Program) {
        let size = program.config.types.itype.size_bytes();
        for output in &program.outputs {
            let unwritten = output.planes.runs(size).find_map(|(address, group)| {
                self.known.as_mut()?.read(address, (group.channels * size).into(), &self.stored)
            });
            if let Some(address) = unwritten {
                let message =
                    format!("output `{}`: no instruction writes the byte at {address:#x}", output.name);
                self.note(None, UNWRITTEN_OUTPUT, Severity::Error, message);
            }
        }
    }

    /// Records a finding, or merges it with one of the same code and layer.
    fn note(&mut self, instruction: Option<usize>, lint: &'static Lint, severity: Severity, message: String) {
        let layer = instruction.and_then(|index| self.layers.get(index));
        let layer = layer.and_then(|&layer| self.names.get(layer)).cloned();
        let known = instruction.filter(|_| self.is_brief).and_then(|_| {
            self.findings.iter_mut().find(|known| known.first.code == lint.code && known.first.layer == layer)
        });
        match known {
            Some(known) => known.more += 1,
            None => {
                let mut first = Finding::new(lint, severity, instruction, message);
                first.layer = layer;
                self.findings.push(Findings { first, more: 0 });
            }
        }
    }

    /// Returns all findings, in instruction order. `ends` yields for each instruction whether it is
    /// `end`.
    fn finish(mut self, ends: impl ExactSizeIterator<Item = bool>) -> Vec<Finding> {
        let after = ends.len() - self.executed;
        if after > 0 && ends.enumerate().any(|(index, is_end)| is_end && index + 1 == self.executed) {
            let message =
                format!("{after} words after `end` are never executed; upstream's simulator executes them");
            self.note(Some(self.executed), WORDS_BEHIND_END, Severity::Warning, message);
        }
        let finding = |Findings { mut first, more }: Findings| {
            if more > 0 {
                first.message += &format!(" (and {more} more like it)");
            }
            first
        };
        let mut all: Vec<Finding> = self.findings.into_iter().map(finding).collect();
        all.sort_by_key(|finding| finding.instruction.unwrap_or(usize::MAX));
        all
    }
}
