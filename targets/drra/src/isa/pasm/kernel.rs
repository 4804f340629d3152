//! [`compile`]: compiles a PASM program to the words of each cell.
//!
//! Epochs run one after the other, and each takes the same number of cycles in all cells. `for` is
//! a loop of the sequencers with a counter in a scalar register, `if` a branch whose sides take the
//! same number of cycles.

mod block;
mod raw;
mod resolve;

use std::collections::BTreeSet;

use npukit_asm::source_span;
use npukit_base::Span;

use crate::config::component::Component;
use crate::config::fabric::{Fabric, Place};
use crate::config::revision::Revision;
use crate::isa::op::Op;
use crate::isa::pasm::epoch::{self, Epoch, EpochReport, RopText, Text};
use crate::isa::pasm::error::faults;
use crate::isa::pasm::schedule::DEFAULT_NODES;
use crate::isa::pasm::{PasmError, PasmErrors, parse};
use crate::isa::program::Program;
pub use block::Block;
use resolve::{Step, resolve};

/// Registers of loop counters, outermost loop first.
const COUNTERS: [u8; 4] = [15, 14, 13, 12];
/// Largest distance of a `brn`, in words.
const REACH: usize = 254;

/// Compiled PASM program.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Words of the program.
    pub program: Program,
    /// Scheduling results of the epochs, in file order.
    pub epochs: Vec<EpochReport>,
    /// Checked texts of its rops, in order.
    pub texts: Vec<RopText>,
    /// Cycles of a run; `None` if raw instructions make them unknown.
    pub cycles: Option<i64>,
}

/// Compiles the text of a PASM file; `nodes` limits the search in each epoch, 0 selects the
/// default.
///
/// # Errors
///
/// All errors of the text; otherwise the first epoch without a schedule, with its contradictory
/// constraints; otherwise instructions that do not fit a sequencer.
pub fn compile(fabric: &Fabric, name: &str, text: &str, nodes: usize) -> Result<Kernel, PasmErrors> {
    let source = parse(name, text)?;
    let fail = |errors| faults(name, text, errors);
    let nodes = if nodes == 0 { DEFAULT_NODES } else { nodes };
    let steps = resolve(fabric, &source).map_err(fail)?;
    let places = steps.iter().flat_map(Step::places).collect();
    let texts = steps.iter().flat_map(Step::texts).collect();
    let (ports, revision) = (block::start(), fabric.options.revision);
    let text_of = Text { name, text };
    let mut compiler = Compiler { places, nodes, text: text_of, revision, ports, epochs: Vec::new() };
    let mut block = compiler.steps(&steps, 0)?;
    // Default: a program without cells has no columns to call.
    let skew = compiler.places.iter().map(|place| place.col as i64).max().unwrap_or(0);
    // The return takes as long as the call.
    let cycles = block.cycles.map(|cycles| cycles + 1 + 2 * skew * i64::from(fabric.options.call_skew));
    block.halt();
    let program = words(fabric, &block).map_err(|error| fail(vec![error]))?;
    Ok(Kernel { program, epochs: compiler.epochs, texts, cycles })
}

/// Makes instructions of steps.
struct Compiler<'a> {
    /// All cells with instructions. They run in lockstep.
    places: BTreeSet<Place>,
    nodes: usize,
    text: Text<'a>,
    revision: Revision,
    /// Cycles in which ports become idle, relative to the start of the next epoch.
    ports: epoch::Ports,
    epochs: Vec<EpochReport>,
}

impl Compiler<'_> {
    fn fail(&self, reason: &str, span: Span, help: &str) -> PasmErrors {
        faults(self.text.name, self.text.text, vec![rule(reason, span, help)])
    }

    /// Compiles steps one after the other, inside `depth` loops.
    fn steps(&mut self, steps: &[Step], depth: usize) -> Result<Block, PasmErrors> {
        let mut all = Block::empty(&self.places);
        for step in steps {
            if all.cycles.is_none() {
                let reason = "the raw instructions before this have no known end";
                return Err(self.fail(reason, step.span(), "remove their branches and halts"));
            }
            all.append(match step {
                Step::Epoch(name, epoch) => self.epoch(name, epoch)?,
                Step::Raw(block, _) => self.raw(block),
                Step::For { count, body, span } => self.repeat(*count, body, *span, depth)?,
                Step::If { register, then, otherwise, span } => {
                    self.branch(*register, then, otherwise, *span, depth)?
                }
            });
        }
        Ok(all)
    }

    fn epoch(&mut self, name: &str, epoch: &Epoch) -> Result<Block, PasmErrors> {
        let timed = epoch.schedule(name, &self.ports, self.nodes, self.text)?;
        self.ports = timed.ports;
        self.epochs.push(timed.report);
        Ok(Block::timed(&self.places, &timed.cells, timed.cycles))
    }

    /// Emits raw instructions unchanged; the following step waits for the slowest cell.
    fn raw(&mut self, block: &Block) -> Block {
        self.ports = epoch::Ports::unknown();
        let mut block = block.clone();
        let listed: BTreeSet<Place> = block.cells.keys().copied().collect();
        for place in self.places.difference(&listed) {
            let ops = block.cells.entry(*place).or_default();
            // Default: a block without a known end is the last one, and nothing waits for it.
            block::wait(ops, block.cycles.unwrap_or(0));
        }
        block
    }

    fn repeat(&mut self, count: u16, body: &[Step], span: Span, depth: usize) -> Result<Block, PasmErrors> {
        // Ports of the last iteration may still be active when the next iteration starts, so their
        // state is unknown.
        self.ports = epoch::Ports::unknown();
        let body = self.steps(body, depth + 1)?;
        self.ports = epoch::Ports::unknown();
        let counter = COUNTERS[depth];
        let reason = format!("the loop is too long: `brn` reaches at most {REACH} instructions");
        body.repeated(count, counter, REACH, self.revision)
            .ok_or_else(|| self.fail(&reason, span, "shorten its body"))
    }

    fn branch(
        &mut self,
        register: u8,
        then: &[Step],
        otherwise: &[Step],
        span: Span,
        depth: usize,
    ) -> Result<Block, PasmErrors> {
        let before = epoch::Ports::unknown();
        self.ports = before.clone();
        let then = self.steps(then, depth)?;
        self.ports = before.clone();
        let otherwise = self.steps(otherwise, depth)?;
        self.ports = before;
        let reason = format!("the branch is too long: `brn` reaches at most {REACH} instructions");
        Block::branch(register, then, otherwise, REACH, self.revision)
            .ok_or_else(|| self.fail(&reason, span, "shorten it"))
    }
}

/// Encodes the words of a block. Errors: the instructions of a cell exceed its memory.
fn words(fabric: &Fabric, block: &Block) -> Result<Program, PasmError> {
    let mut program = Program::default();
    for (&place, ops) in &block.cells {
        let Some(cell) = fabric.cell(place) else { continue };
        if ops.len() > cell.iram_words {
            let reason = format!(
                "cell {place} needs {} instructions, and its memory holds {} (IRAM_DEPTH, 2^INSTR_ADDR_WIDTH)",
                ops.len(),
                cell.iram_words
            );
            return Err(rule(&reason, Span::default(), "use loops, or split the program into calls"));
        }
        let word = |op: &Op| {
            let component = op.slot().map_or(Some(Component::Sequencer), |slot| cell.component_at(slot));
            let word = component.and_then(|component| op.word(component).ok());
            word.expect("operations were resolved for the components of their cell")
        };
        program.cells.insert(place, ops.iter().map(word).collect());
    }
    Ok(program)
}

fn rule(reason: &str, span: Span, help: &str) -> PasmError {
    PasmError::Rule { reason: reason.to_owned(), span: source_span(span), help: help.to_owned() }
}
