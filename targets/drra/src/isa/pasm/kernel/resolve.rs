//! [`resolve`]: resolves the regions of a program on a fabric, as [`Step`]s.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use npukit_asm::source_span;
use npukit_base::Span;

use super::block::Block;
use super::{COUNTERS, raw, rule};
use crate::config::component::Component;
use crate::config::fabric::{Fabric, Place};
use crate::isa::Isa;
use crate::isa::op::Op;
use crate::isa::pasm::PasmError;
use crate::isa::pasm::ast::{
    For, If, Instruction, Operation, OperationKind, Parameter, Program, Region, Value, find,
};
use crate::isa::pasm::epoch::{self, Epoch, RopText};

/// Resolved region.
pub(super) enum Step {
    Epoch(String, Epoch),
    Raw(Block, Span),
    For { count: u16, body: Vec<Self>, span: Span },
    If { register: u8, then: Vec<Self>, otherwise: Vec<Self>, span: Span },
}

impl Step {
    /// Span in the text.
    pub const fn span(&self) -> Span {
        match self {
            Self::Epoch(..) => Span::new(0, 0),
            Self::Raw(_, span) | Self::For { span, .. } | Self::If { span, .. } => *span,
        }
    }

    /// Checked texts of its rops.
    pub fn texts(&self) -> Vec<RopText> {
        let all = |steps: &[Self]| steps.iter().flat_map(Self::texts).collect::<Vec<_>>();
        match self {
            Self::Epoch(_, epoch) => epoch.texts(),
            Self::Raw(..) => Vec::new(),
            Self::For { body, .. } => all(body),
            Self::If { then, otherwise, .. } => [all(then), all(otherwise)].concat(),
        }
    }

    /// Cells that the step has instructions in.
    pub fn places(&self) -> BTreeSet<Place> {
        let all = |steps: &[Self]| steps.iter().flat_map(Self::places).collect::<BTreeSet<_>>();
        match self {
            Self::Epoch(_, epoch) => epoch.places(),
            Self::Raw(block, _) => block.cells.keys().copied().collect(),
            Self::For { body, .. } => all(body),
            Self::If { then, otherwise, .. } => &all(then) | &all(otherwise),
        }
    }
}

/// Resolves all regions. Errors: all errors of any region.
pub(super) fn resolve(fabric: &Fabric, source: &Program) -> Result<Vec<Step>, Vec<PasmError>> {
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
        let count = self.parameter(&region.parameters, "for", "iter", 1..=u16::MAX.into(), region.span);
        if depth == COUNTERS.len() {
            self.errors.push(rule("loops nest at most 4 deep", region.span, "only 4 registers are counters"));
            return None;
        }
        let body = self.regions(&region.body, depth + 1);
        Some(Step::For { count: u16::try_from(count?).ok()?, body, span: region.span })
    }

    fn branch(&mut self, region: &If, depth: usize) -> Option<Step> {
        let register = self.parameter(&region.parameters, "if", "reg", 0..=15, region.span);
        let (then, otherwise) = (self.regions(&region.then, depth), self.regions(&region.otherwise, depth));
        Some(Step::If { register: u8::try_from(register?).ok()?, then, otherwise, span: region.span })
    }

    /// Returns the single parameter of a region.
    fn parameter(
        &mut self,
        parameters: &[Parameter],
        what: &str,
        name: &'static str,
        legal: RangeInclusive<i64>,
        span: Span,
    ) -> Option<i64> {
        for other in parameters.iter().filter(|parameter| parameter.name.text != name) {
            let (found, help) = (other.name.text.clone(), format!("`{what}` has `{name}`"));
            let span = source_span(other.name.span);
            self.errors.push(PasmError::Unknown { what: "parameter", found, span, help });
        }
        match find(parameters, name) {
            Some(Parameter { value: Value::Integer(value), .. }) if legal.contains(value) => Some(*value),
            Some(parameter) => {
                let (what, legal) = (
                    format!("`{name}` of `{what}`"),
                    format!("it must be {} to {}", legal.start(), legal.end()),
                );
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

    /// Whether its result is a flag, which activations do not use.
    fn gives_flag(&self, instruction: &Instruction) -> bool {
        let options = self.fabric.options;
        let op = epoch::written(Isa::read_by(options), Component::Sequencer, 0, instruction);
        options.revision.is_seed() && matches!(op, Ok(Op::Calc { mode, .. }) if mode.gives_flag())
    }

    /// Refuses writes to registers that loops and activations use.
    fn check_reserved(&mut self, operations: &[Operation], depth: usize) {
        let counters = &COUNTERS[..depth];
        for operation in operations.iter().filter(|operation| operation.kind == OperationKind::Cop) {
            for instruction in &operation.instructions {
                let Some(parameter) = instruction.parameter("result") else { continue };
                let is_flag = self.gives_flag(instruction);
                let Value::Integer(register) = parameter.value else { continue };
                // Default: a register number that the instruction's reader refuses.
                let register = u8::try_from(register).unwrap_or(u8::MAX);
                let is_kept = epoch::MAP_REGISTERS.contains(&register) || register == 0;
                if counters.contains(&register) || is_kept && !is_flag {
                    let reason = format!("register {register} is reserved here");
                    let help = "register 0 is always 0, 4 to 11 are for activations, and 15, 14, 13, 12 are loop counters";
                    self.errors.push(rule(&reason, parameter.span, help));
                }
            }
        }
    }
}
