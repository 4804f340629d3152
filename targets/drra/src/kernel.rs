//! [`compile`]: a PASM program to the words of each cell.
//!
//! Epochs follow each other in lockstep: each lasts equally long in all cells. `for` is a loop of the sequencers
//! with a counter in a scalar register, `if` a branch whose ways last equally long.

mod block;
mod raw;

use std::collections::BTreeSet;

use crate::epoch::{self, Epoch, EpochReport, Text};
use crate::fabric::{Fabric, Place};
use crate::isa::Isa;
use crate::op::Op;
use crate::pasm::ast::{
    For, If, Operation, OperationKind, Parameter, Program as Source, Region, Value, find,
};
use crate::pasm::error::source_span;
use crate::pasm::{PasmError, PasmErrors, parse};
use crate::program::Program;
use crate::schedule::DEFAULT_NODES;
pub use block::Block;

/// Registers that count loops, the outermost's first.
const COUNTERS: [u8; 4] = [15, 14, 13, 12];
/// Words before the end of a loop that `brn` reaches, and over which it jumps.
const REACH: usize = 254;

/// A compiled PASM program.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The words.
    pub program: Program,
    /// What the scheduler found, epoch by epoch in file order.
    pub epochs: Vec<EpochReport>,
    /// Cycles of a run; none when raw instructions hide them.
    pub cycles: Option<i64>,
}

/// Compiles the text of a PASM file; `nodes` bounds the search in each epoch, 0 for the default.
///
/// Errors: every fault of the text; then the first epoch without a schedule, with the constraints that
/// contradict each other; then what does not fit into a sequencer.
pub fn compile(fabric: &Fabric, name: &str, text: &str, nodes: usize) -> Result<Kernel, PasmErrors> {
    let source = parse(name, text)?;
    let fail = |errors| PasmErrors::new(name, text, errors);
    let nodes = if nodes == 0 { DEFAULT_NODES } else { nodes };
    let steps = resolve(fabric, &source).map_err(fail)?;
    let places = steps.iter().flat_map(Step::places).collect();
    let mut compiler =
        Compiler { places, nodes, text: Text { name, text }, ports: block::start(), epochs: Vec::new() };
    let mut block = compiler.steps(&steps, 0)?;
    let cycles = block.cycles.map(|cycles| cycles + 1);
    block.halt();
    let program = words(fabric, &block).map_err(|error| fail(vec![error]))?;
    Ok(Kernel { program, epochs: compiler.epochs, cycles })
}

/// A region, resolved.
enum Step {
    Epoch(String, Epoch),
    Raw(Block, npukit_base::Span),
    For { count: u16, body: Vec<Self>, span: npukit_base::Span },
    If { register: u8, then: Vec<Self>, otherwise: Vec<Self>, span: npukit_base::Span },
}

impl Step {
    /// Cells it has instructions in.
    fn places(&self) -> BTreeSet<Place> {
        let all = |steps: &[Self]| steps.iter().flat_map(Self::places).collect::<BTreeSet<_>>();
        match self {
            Self::Epoch(_, epoch) => epoch.places(),
            Self::Raw(block, _) => block.cells.keys().copied().collect(),
            Self::For { body, .. } => all(body),
            Self::If { then, otherwise, .. } => &all(then) | &all(otherwise),
        }
    }
}

/// What all regions mean. Errors: everything wrong with any of them.
fn resolve(fabric: &Fabric, source: &Source) -> Result<Vec<Step>, Vec<PasmError>> {
    let mut resolver = Resolver { fabric, errors: Vec::new(), epochs: 0 };
    let steps = resolver.regions(&source.regions, 0);
    if resolver.errors.is_empty() { Ok(steps) } else { Err(resolver.errors) }
}

struct Resolver<'a> {
    fabric: &'a Fabric,
    errors: Vec<PasmError>,
    epochs: usize,
}

impl Resolver<'_> {
    fn regions(&mut self, regions: &[Region], depth: usize) -> Vec<Step> {
        regions.iter().filter_map(|region| self.region(region, depth)).collect()
    }

    fn region(&mut self, region: &Region, depth: usize) -> Option<Step> {
        match region {
            Region::Epoch(epoch) => {
                let number = self.epochs;
                self.epochs += 1;
                let name =
                    epoch.name.as_ref().map_or_else(|| format!("epoch {number}"), |name| name.text.clone());
                self.check_reserved(&epoch.operations, depth);
                if let Some(first) = epoch.operations.iter().find(|one| one.kind == OperationKind::Raw) {
                    let found = raw::block(self.fabric, epoch);
                    return self.kept(found).map(|block| Step::Raw(block, first.span));
                }
                let found = epoch::resolve(self.fabric, epoch);
                self.kept(found).map(|epoch| Step::Epoch(name, epoch))
            }
            Region::For(region) => self.repeat(region, depth),
            Region::If(region) => self.branch(region, depth),
        }
    }

    fn kept<T>(&mut self, found: Result<T, Vec<PasmError>>) -> Option<T> {
        found.map_err(|errors| self.errors.extend(errors)).ok()
    }

    fn repeat(&mut self, region: &For, depth: usize) -> Option<Step> {
        let count = self.parameter(&region.parameters, "for", "iter", (1, u16::MAX.into()), region.span);
        if depth == COUNTERS.len() {
            self.errors.push(rule(
                "loops nest at most 4 deep",
                region.span,
                "there are registers for 4 counters",
            ));
            return None;
        }
        let body = self.regions(&region.body, depth + 1);
        Some(Step::For { count: u16::try_from(count?).ok()?, body, span: region.span })
    }

    fn branch(&mut self, region: &If, depth: usize) -> Option<Step> {
        let register = self.parameter(&region.parameters, "if", "reg", (0, 15), region.span);
        let (then, otherwise) = (self.regions(&region.then, depth), self.regions(&region.otherwise, depth));
        Some(Step::If { register: u8::try_from(register?).ok()?, then, otherwise, span: region.span })
    }

    /// The one parameter of a region.
    fn parameter(
        &mut self,
        parameters: &[Parameter],
        what: &str,
        name: &'static str,
        (min, max): (i64, i64),
        span: npukit_base::Span,
    ) -> Option<i64> {
        for other in parameters.iter().filter(|parameter| parameter.name.text != name) {
            let (found, help) = (other.name.text.clone(), format!("`{what}` has `{name}`"));
            let span = source_span(other.name.span);
            self.errors.push(PasmError::Unknown { what: "parameter", found, span, help });
        }
        match find(parameters, name) {
            Some(Parameter { value: Value::Integer(value), .. }) if (min..=max).contains(value) => {
                Some(*value)
            }
            Some(parameter) => {
                let (what, legal) = (format!("`{name}` of `{what}`"), format!("it is {min} to {max}"));
                let found = parameter.to_string();
                self.errors.push(PasmError::Value { what, found, legal, span: source_span(parameter.span) });
                None
            }
            None => {
                let (what, span) = (format!("`{what}`"), source_span(span));
                self.errors.push(PasmError::Missing { what, parameter: name, span });
                None
            }
        }
    }

    /// Registers that loops and activations use are not to be written by others.
    fn check_reserved(&mut self, operations: &[Operation], depth: usize) {
        let counters = COUNTERS.get(..depth).unwrap_or_default();
        for operation in operations.iter().filter(|operation| operation.kind == OperationKind::Cop) {
            for instruction in &operation.instructions {
                let Some(parameter) = instruction.parameter("result") else { continue };
                let Value::Integer(register) = parameter.value else { continue };
                let register = u8::try_from(register).unwrap_or(u8::MAX);
                if counters.contains(&register) || epoch::MAP_REGISTERS.contains(&register) || register == 0 {
                    let reason = format!("register {register} is not free here");
                    let help = "0 stays 0, 4 to 11 are for activations, and loops count in 15, 14, 13, 12";
                    self.errors.push(rule(&reason, parameter.span, help));
                }
            }
        }
    }
}

fn rule(reason: &str, span: npukit_base::Span, help: &str) -> PasmError {
    PasmError::Rule { reason: reason.to_owned(), span: source_span(span), help: help.to_owned() }
}

/// Makes instructions of steps.
struct Compiler<'a> {
    /// All cells with instructions: they stay in lockstep.
    places: BTreeSet<Place>,
    nodes: usize,
    text: Text<'a>,
    /// When ports are idle, where the next epoch begins.
    ports: epoch::Ports,
    epochs: Vec<EpochReport>,
}

impl Compiler<'_> {
    fn fail(&self, reason: &str, span: npukit_base::Span, help: &str) -> PasmErrors {
        PasmErrors::new(self.text.name, self.text.text, vec![rule(reason, span, help)])
    }

    /// Steps one after the other, `depth` loops around them.
    fn steps(&mut self, steps: &[Step], depth: usize) -> Result<Block, PasmErrors> {
        let mut all = Block::empty(&self.places);
        for step in steps {
            let next = match step {
                Step::Epoch(name, epoch) => self.epoch(name, epoch)?,
                Step::Raw(block, span) => self.raw(block, *span, &all)?,
                Step::For { count, body, span } => self.repeat(*count, body, *span, depth)?,
                Step::If { register, then, otherwise, span } => {
                    self.branch(*register, (then, otherwise), *span, depth)?
                }
            };
            if all.cycles.is_none() {
                let span = step_span(step);
                return Err(self.fail(
                    "raw instructions before it end in no known cycle",
                    span,
                    "leave out their branches and halts",
                ));
            }
            all.append(next);
        }
        Ok(all)
    }

    fn epoch(&mut self, name: &str, epoch: &Epoch) -> Result<Block, PasmErrors> {
        let timed = epoch.schedule(name, &self.ports, self.nodes, self.text)?;
        self.ports = timed.ports;
        self.epochs.push(timed.report);
        Ok(Block::timed(&self.places, &timed.cells, timed.cycles))
    }

    /// Emitted as it stands; what comes after waits for the longest cell.
    fn raw(&mut self, block: &Block, span: npukit_base::Span, before: &Block) -> Result<Block, PasmErrors> {
        self.ports = epoch::Ports::unknown();
        if before.cycles.is_none() {
            return Err(self.fail(
                "raw instructions before these end in no known cycle",
                span,
                "leave out their branches",
            ));
        }
        let mut block = block.clone();
        let listed: BTreeSet<Place> = block.cells.keys().copied().collect();
        for place in self.places.difference(&listed) {
            let ops = block.cells.entry(*place).or_default();
            block::wait(ops, block.cycles.unwrap_or(0));
        }
        Ok(block)
    }

    fn repeat(
        &mut self,
        count: u16,
        body: &[Step],
        span: npukit_base::Span,
        depth: usize,
    ) -> Result<Block, PasmErrors> {
        // The last iteration's ports may be in use when the first ones of the next begin.
        self.ports = epoch::Ports::unknown();
        let body = self.steps(body, depth + 1)?;
        self.ports = epoch::Ports::unknown();
        let counter = COUNTERS.get(depth).copied().unwrap_or_default();
        let reason = format!("the loop does not fit: `brn` reaches over {REACH} instructions");
        body.repeated(count, counter, REACH).ok_or_else(|| self.fail(&reason, span, "repeat less in it"))
    }

    fn branch(
        &mut self,
        register: u8,
        (then, otherwise): (&[Step], &[Step]),
        span: npukit_base::Span,
        depth: usize,
    ) -> Result<Block, PasmErrors> {
        let before = epoch::Ports::unknown();
        self.ports = before.clone();
        let then = self.steps(then, depth)?;
        self.ports = before.clone();
        let otherwise = self.steps(otherwise, depth)?;
        self.ports = before;
        let reason = format!("the branch does not fit: `brn` reaches over {REACH} instructions");
        Block::branch(register, then, otherwise, REACH)
            .ok_or_else(|| self.fail(&reason, span, "do less in it"))
    }
}

const fn step_span(step: &Step) -> npukit_base::Span {
    match step {
        Step::Epoch(..) => npukit_base::Span::new(0, 0),
        Step::Raw(_, span) | Step::For { span, .. } | Step::If { span, .. } => *span,
    }
}

/// The words of a block. Errors: a cell whose instructions do not fit its memory.
fn words(fabric: &Fabric, block: &Block) -> Result<Program, PasmError> {
    let mut program = Program::default();
    for (&place, ops) in &block.cells {
        let Some(cell) = fabric.cell(place) else { continue };
        if ops.len() > cell.iram_words {
            let reason = format!(
                "cell {place} needs {} instructions, its memory takes {} (IRAM_DEPTH, 2^INSTR_ADDR_WIDTH)",
                ops.len(),
                cell.iram_words
            );
            return Err(rule(
                &reason,
                npukit_base::Span::default(),
                "use loops, or split the program into calls",
            ));
        }
        let encoded = ops.iter().filter_map(|op| {
            let component = match op {
                Op::Resource { slot, .. } => cell.component_at(*slot)?,
                _ => crate::component::Component::Sequencer,
            };
            op.instruction(component).map(|instruction| Isa::get().encode(&instruction))
        });
        program.cells.insert(place, encoded.collect());
    }
    Ok(program)
}
