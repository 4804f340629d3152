//! [`PasmLanguage`]: editor support for PASM.

use std::collections::BTreeSet;

use npukit_asm::analysis::{
    Analysis, Beginning, Block, Definition, Language, LanguageError, MarkKind, Name, Proposal, ProposalKind,
    Proposals, Recorder, Signatures, Space, TextFault, directive_named,
};
use npukit_asm::{Comments, Files, SourceLocation, Sources, separate};
use npukit_base::{Span, without_bom};
use npukit_isa::IsaSpec;

use super::calls::{Open, keywords, mnemonics};
use super::{own_directives, row_of, value_of};
use crate::config::component::Component;
use crate::config::fabric::{Fabric, Place as CellPlace};
use crate::isa::Isa;
use crate::isa::asm::COMMENTS;
use crate::isa::pasm::ast::{self, Epoch, Instruction, Operation, OperationKind, Parameter, Region, Value};
use crate::isa::pasm::constraint::{Condition, Sum, Term};
use crate::isa::pasm::{self, parse_all, without_directives};
use crate::isa::token::{TokenKind, tokens};

/// PASM language of a fabric.
pub struct PasmLanguage {
    fabric: Fabric,
    spec: IsaSpec,
}

const REGIONS: [(&str, &str); 3] = [
    ("epoch", "operations that are scheduled together"),
    ("for", "regions that are repeated"),
    ("if", "regions that run if a register is not 0"),
];
const OPERATIONS: [(&str, &str); 4] = [
    ("rop", "an operation on a port of a resource"),
    ("cop", "an operation on the cell's sequencer"),
    ("raw", "instructions that are emitted unchanged"),
    ("cstr", "condition on the starts of operations"),
];
/// All directives of PASM.
const OF_EXPERIMENTS: [&str; 5] = ["data", "input", "output", "expect", "wait"];
const OF_ROP: [(&str, &str); 4] = [
    ("row", "row of the fabric"),
    ("col", "column of the fabric"),
    ("slot", "slot of the cell"),
    ("port", "port of the slot"),
];

impl PasmLanguage {
    /// Creates the language of programs for `fabric`.
    pub fn new(fabric: Fabric) -> Self {
        let spec = Isa::of_fabric(fabric.options, "");
        Self { fabric, spec }
    }

    fn component(&self, operation: &Operation) -> Option<Component> {
        if operation.kind == OperationKind::Cop {
            return Some(Component::Sequencer);
        }
        let number = |name| match operation.parameter(name)?.value {
            Value::Integer(number) => Some(number),
            Value::Name(_) => None,
        };
        let side = |name| usize::try_from(number(name)?).ok();
        let cell = self.fabric.cell(CellPlace { row: side("row")?, col: side("col")? })?;
        cell.component_at(u8::try_from(number("slot")?).ok()?)
    }
}

/// Records the parts of a text.
struct Walk<'a> {
    language: &'a PasmLanguage,
    recorder: Recorder,
    /// Byte ranges of closing braces that end regions.
    ends: Vec<(usize, usize)>,
    known: BTreeSet<Name>,
}

impl Walk<'_> {
    fn regions(&mut self, regions: &[Region]) {
        for region in regions {
            match region {
                Region::Epoch(epoch) => self.epoch(epoch),
                Region::For(region) => {
                    self.block("for", region.name.as_ref(), region.span.start);
                    self.regions(&region.body);
                }
                Region::If(region) => {
                    self.block("if", region.name.as_ref(), region.span.start);
                    self.regions(&region.then);
                    self.regions(&region.otherwise);
                }
            }
        }
    }

    fn epoch(&mut self, epoch: &Epoch) {
        let part = self.recorder.new_part();
        let named = epoch.name.as_ref().map(|name| name.span.start);
        // An epoch without a name is located at the brace before its first operation.
        let first = epoch.operations.first().map(|operation| operation.span.start);
        let around = |first: usize| {
            let braces = self.ends.iter().rev().filter(|(open, end)| *open < first && first < *end);
            braces.map(|(open, _)| *open).next()
        };
        if let Some(first) = named.or_else(|| first.and_then(around)) {
            self.block("epoch", epoch.name.as_ref(), first);
        }
        for name in epoch.operations.iter().filter_map(|operation| operation.name.as_ref()) {
            self.define(name, part, Definition::Part);
        }
        epoch.operations.iter().for_each(|operation| self.operation(operation, part));
        for constraint in &epoch.constraints {
            self.condition(&constraint.condition, part);
        }
    }

    fn operation(&mut self, operation: &Operation, part: usize) {
        self.block(operation.kind.keyword(), operation.name.as_ref(), operation.span.start);
        let component = self.language.component(operation);
        operation.parameters.iter().for_each(|parameter| self.variable(parameter, part));
        operation.instructions.iter().for_each(|one| self.instruction(one, component, part));
    }

    fn instruction(&mut self, instruction: &Instruction, component: Option<Component>, part: usize) {
        let spec = &self.language.spec;
        let isa = Isa::in_files(self.language.fabric.options);
        // Raw instructions may belong to the sequencer or may name their slot.
        let Some(row) = row_of(spec, isa, component, &instruction.mnemonic.text) else { return };
        self.recorder
            .mark(SourceLocation::new(instruction.mnemonic.span), MarkKind::Mnemonic { row, word: None });
        for parameter in &instruction.parameters {
            let field = spec.instructions.get(row).and_then(|row| row.field(&parameter.name.text));
            let Some(field) = field else { continue };
            let (text, number) = match &parameter.value {
                Value::Integer(number) => ("", Some(*number)),
                Value::Name(name) => (name.as_str(), None),
            };
            let (value, is_name) = value_of(spec, row, field, text, number);
            self.recorder.mark(SourceLocation::new(parameter.name.span), MarkKind::Key { row, field });
            let kind = MarkKind::Value { row, field, value, is_name };
            self.recorder.mark(SourceLocation::new(parameter.span), kind);
            if !is_name {
                self.variable(parameter, part);
            }
        }
    }

    /// Records a value that the scheduler finds.
    fn variable(&mut self, parameter: &Parameter, part: usize) {
        if let Value::Name(text) = &parameter.value {
            let name = ast::Name { text: text.clone(), span: parameter.span };
            self.use_or_define(&name, part);
        }
    }

    /// The first use of a name is its definition.
    fn use_or_define(&mut self, name: &ast::Name, part: usize) {
        let found = Name::in_part(&name.text, part);
        if self.known.contains(&found) {
            self.recorder.mark(SourceLocation::new(name.span), MarkKind::Reference(found));
        } else {
            self.define(name, part, Definition::Variable);
        }
    }

    fn define(&mut self, name: &ast::Name, part: usize, of: Definition) {
        let found = Name::in_part(&name.text, part);
        self.known.insert(found.clone());
        self.recorder
            .mark(SourceLocation::new(name.span), MarkKind::Definition { name: found, of, value: None });
    }

    fn condition(&mut self, condition: &Condition, part: usize) {
        match condition {
            Condition::All(all) | Condition::Any(all) => {
                all.iter().for_each(|condition| self.condition(condition, part));
            }
            Condition::Compare(left, _, right) => {
                self.sum(left, part);
                self.sum(right, part);
            }
        }
    }

    fn sum(&mut self, Sum(terms): &Sum, part: usize) {
        for (_, term) in terms {
            let Term::Name(reference) = term else { continue };
            let Span { start, .. } = reference.span;
            let span = Span::new(start, start + reference.name.len());
            self.use_or_define(&ast::Name { text: reference.name.clone(), span }, part);
        }
    }

    /// Records a block that begins at or before `first` and ends with its brace.
    fn block(&mut self, what: &'static str, name: Option<&ast::Name>, first: usize) {
        let end = self.ends.iter().find(|(open, _)| *open >= first).map(|(_, end)| *end);
        let Some(end) = end.filter(|end| *end > first) else { return };
        let span = Span::new(first, end);
        let name_span = name.map_or(Span::new(first, first), |name| name.span);
        let name = Some(name.map_or_else(|| what.to_owned(), |name| name.text.clone()));
        self.recorder.block(Block { span, name, name_span, what });
    }

    /// Records the keywords, and the ends of braces.
    fn tokens(&mut self, text: &str) {
        let (all, _) = tokens(text);
        let mut open = Vec::new();
        for token in &all {
            let is_word = |(word, _): &(&str, &str)| *word == token.text;
            match token.kind {
                TokenKind::Identifier
                    if token.text == "else" || REGIONS.iter().chain(&OPERATIONS).any(is_word) =>
                {
                    self.recorder.mark(SourceLocation::new(token.span), MarkKind::Keyword);
                }
                TokenKind::Punctuation if token.text == "{" => open.push(token.span.start),
                TokenKind::Punctuation if token.text == "}" => {
                    self.ends.extend(open.pop().map(|start| (start, token.span.end)));
                }
                _ => {}
            }
        }
        self.ends.sort_unstable();
    }
}

/// Replaces directive lines by spaces, and records each directive's name.
fn blanked(text: &str, recorder: &mut Recorder) -> String {
    without_directives(text, &mut |span| {
        let name = text.get(span.start + 1..span.end).unwrap_or_default(); // Default: the span is within the text.
        if directive_named(name).is_some() {
            recorder.mark(SourceLocation::new(span), MarkKind::Directive(name.to_ascii_lowercase()));
        }
    })
}

impl Language for PasmLanguage {
    fn spec(&self) -> &IsaSpec {
        &self.spec
    }

    fn comments(&self) -> Comments {
        COMMENTS
    }

    fn analyze(&self, name: &str, text: &str, _files: &Files<'_>) -> Analysis {
        let text = without_bom(text);
        let mut recorder = Recorder::default();
        let left = blanked(text, &mut recorder);
        let (faults, more) = match separate(name, text, COMMENTS) {
            Ok(_) => {
                let (_, errors) = parse_all(&left);
                let found: Vec<TextFault> = errors.iter().map(|error| TextFault::of(error)).collect();
                let more = found.len().saturating_sub(MAX_FAULTS);
                (found.into_iter().take(MAX_FAULTS).collect(), more)
            }
            Err(errors) => (errors.errors.iter().map(TextFault::from).collect(), errors.more),
        };
        let mut walk = Walk { language: self, recorder, ends: Vec::new(), known: BTreeSet::new() };
        walk.tokens(&left);
        walk.regions(&parse_all(&left).0.regions);
        walk.recorder.finish(Sources::of_texts([(name.to_owned(), text.to_owned())]), faults, more)
    }

    fn propose(&self, text: &str, at: usize, known: &Analysis) -> Proposals {
        if let Some(line) = Beginning::of(text, at, COMMENTS).filter(Beginning::is_directive) {
            return own_directives(line.directives(known), |name| OF_EXPERIMENTS.contains(&name));
        }
        let Some(open) = Open::at(text, at) else { return Proposals::default() };
        let of_parts = || {
            let mut all: Vec<Proposal> = Vec::new();
            for mark in &known.marks {
                let MarkKind::Definition { name, of, .. } = &mark.kind else { continue };
                if matches!(name.space, Space::Part(_)) && !all.iter().any(|known| known.text == name.text) {
                    let (text, detail) = (name.text.clone(), of.word().to_owned());
                    all.push(Proposal { text, kind: ProposalKind::Symbol, detail });
                }
            }
            all
        };
        let all = match (&open.call, open.braces.last().copied()) {
            (Some(call), _) if call.name == "cstr" => of_parts(),
            _ if open.is_quoted => Vec::new(),
            (Some(call), _) if matches!(call.name, "rop" | "cop" | "raw") => call.keys(&OF_ROP),
            (Some(call), _) if call.name == "for" => call.keys(&[("iter", "number of repetitions")]),
            (Some(call), _) if call.name == "if" => call.keys(&[("reg", "a register")]),
            (Some(call), _) => call.proposals(&self.spec, known),
            (None, Some("rop" | "cop" | "raw")) => mnemonics(&self.spec),
            (None, Some("epoch")) => keywords(&OPERATIONS),
            (None, _) => keywords(&REGIONS),
        };
        open.proposals(at, all)
    }

    fn signatures(&self, text: &str, at: usize, _known: &Analysis) -> Option<Signatures> {
        Open::at(text, at)?.call?.signatures(&self.spec)
    }

    fn list(&self, _name: &str, _text: &str, _files: &Files<'_>) -> Result<String, LanguageError> {
        Err(LanguageError::None(
            "PASM has no listing, as its instructions come from a schedule and not from its lines: list what `npu disasm` \
             prints",
        ))
    }

    fn format(&self, name: &str, text: &str) -> Result<String, LanguageError> {
        Ok(pasm::format(name, without_bom(text))?)
    }
}

/// Maximum number of errors that are reported one by one.
const MAX_FAULTS: usize = 100;
