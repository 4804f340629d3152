//! [`SpecLanguage`]: the language that follows from the forms of an instruction set.

use std::collections::BTreeSet;

use npukit_base::Span;
use npukit_isa::token::{Token, tokens};
use npukit_isa::{Field, FieldKind, InstructionSpec, IsaSpec};

use super::language::{
    Language, LanguageError, Parameter, Proposal, ProposalKind, Proposals, Signature, Signatures,
    before_word, directives, mnemonic_of,
};
use super::{Analysis, Definition, MarkKind, Space};
use crate::assemble;
use crate::comment::Comments;
use crate::expand::Files;
use crate::format::{Style, format};
use crate::grammar::Grammar;
use crate::matcher::{Expected, expected_after};
use crate::symbols::{Symbol, Symbols};

/// Language that follows from the forms of an instruction set.
#[derive(Clone, Debug)]
pub struct SpecLanguage {
    spec: IsaSpec,
}

impl SpecLanguage {
    /// Creates the language of `spec`.
    pub const fn new(spec: IsaSpec) -> Self {
        Self { spec }
    }

    fn mnemonics(&self) -> Vec<Proposal> {
        let mut all: Vec<Proposal> = Vec::new();
        for row in &self.spec.instructions {
            for form in &row.forms {
                let text = mnemonic_of(row, &form.syntax);
                if !text.is_empty() && !all.iter().any(|known| known.text == text) {
                    all.push(Proposal { text, kind: ProposalKind::Mnemonic, detail: row.meaning.clone() });
                }
            }
        }
        all
    }
}

impl Language for SpecLanguage {
    fn spec(&self) -> &IsaSpec {
        &self.spec
    }

    fn comments(&self) -> Comments {
        Comments::COMMON
    }

    fn analyze(&self, name: &str, text: &str, files: &Files<'_>) -> Analysis {
        assemble::analyze(&self.spec, name, text, files)
    }

    fn propose(&self, text: &str, at: usize, known: &Analysis) -> Proposals {
        let Some(line) = Beginning::of(text, at, self.comments()) else { return Proposals::default() };
        if line.is_directive() {
            return line.directives(known);
        }
        let word = before_word(text, at);
        let before: Vec<Token<'_>> =
            line.tokens.iter().copied().filter(|token| token.span.start < word).collect();
        let mut found = Proposals { span: Span::new(word, at), all: Vec::new() };
        if let Some(mnemonic) = before.first() {
            let (grammar, symbols) = (Grammar::new(&self.spec), known.symbols());
            let forms = grammar.forms_of(mnemonic.text, None);
            let mut takes_number = forms.is_empty();
            for (form, expected) in forms.iter().flat_map(|form| {
                expected_after(form, &before, &symbols).0.into_iter().map(move |e| (form, e))
            }) {
                match expected {
                    Expected::Text(name) => found.name(form.instruction, name),
                    Expected::Number(_) => takes_number = true,
                    Expected::End => {}
                }
            }
            if takes_number {
                found.all.extend(known.proposed_symbols());
            }
        }
        let is_first = !line.code.contains(char::is_whitespace);
        if is_first {
            // Names of instructions may contain dots.
            let start = line.start;
            let goes_on = |proposal: &Proposal| word == start || proposal.text.starts_with(line.code);
            let mnemonics: Vec<Proposal> =
                self.mnemonics().into_iter().chain(known.proposed_macros()).filter(goes_on).collect();
            if !mnemonics.is_empty() {
                return Proposals { span: Span::new(start, at), all: mnemonics };
            }
        }
        found
    }

    fn signatures(&self, text: &str, at: usize, known: &Analysis) -> Option<Signatures> {
        let line = Beginning::of(text, at, self.comments())?;
        let word = before_word(text, at);
        let before: Vec<Token<'_>> =
            line.tokens.iter().copied().filter(|token| token.span.start < word).collect();
        let mnemonic = before.first()?;
        let (grammar, symbols) = (Grammar::new(&self.spec), known.symbols());
        let mut found = Signatures::default();
        let mut fits = None;
        for form in grammar.forms_of(mnemonic.text, None) {
            let row = form.instruction;
            let usages = row.usages();
            // Default: an instruction has a usage for each of its forms.
            let label = usages.get(form.place).cloned().unwrap_or_default();
            let (expected, wanted) = expected_after(form, &before, &symbols);
            let signature = signature(row, label, wanted);
            if fits.is_none() && (signature.active.is_some() || !expected.is_empty()) {
                fits = Some(found.all.len());
            }
            if !found.all.iter().any(|known| known.label == signature.label) {
                found.all.push(signature);
            }
        }
        found.active = fits.unwrap_or(0).min(found.all.len().saturating_sub(1)); // Default: no form fits better than the first.
        (!found.all.is_empty()).then_some(found)
    }

    fn list(&self, name: &str, text: &str, files: &Files<'_>) -> Result<String, LanguageError> {
        Ok(assemble::list(&self.spec, name, text, files)?)
    }

    fn format(&self, _name: &str, text: &str) -> Result<String, LanguageError> {
        Ok(format(text, &Style::COMMON))
    }
}

impl Proposals {
    fn name(&mut self, row: &InstructionSpec, name: &str) {
        let is_word = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || self.all.iter().any(|known| known.text == name) {
            return;
        }
        let of = row.fields.iter().find(|field| has_name(field, name));
        let detail = of.map(|field| format!("{}: {}", field.name, field.meaning_of_name(name)));
        let kind = if of.is_some() { ProposalKind::Value } else { ProposalKind::Keyword };
        // Default: a word of the form has no field.
        self.all.push(Proposal { text: name.to_owned(), kind, detail: detail.unwrap_or_default() });
    }
}

fn has_name(field: &Field, name: &str) -> bool {
    match &field.kind {
        FieldKind::Choice { names, .. } => names.iter().any(|(_, known)| known == name),
        FieldKind::Set { names } => names.iter().any(|(_, known)| known == name),
        FieldKind::Flag { text } => text.trim_start_matches('.') == name,
        _ => false,
    }
}

/// Returns a usage, with the locations of its fields.
fn signature(row: &InstructionSpec, label: String, wanted: Option<usize>) -> Signature {
    let mut found: Vec<(usize, Parameter)> = Vec::new();
    for (index, field) in row.fields.iter().enumerate() {
        let name = format!("<{}>", field.name);
        let meaning = format!("{}: {}; {}", field.name, field.meaning, field.legal());
        let spans = label.match_indices(&name).map(|(at, name)| Span::new(at, at + name.len()));
        found.extend(spans.map(|span| (index, Parameter { span, meaning: meaning.clone() })));
    }
    found.sort_by_key(|(_, parameter)| parameter.span.start);
    let active = wanted.and_then(|wanted| found.iter().position(|(index, _)| *index == wanted));
    let parameters = found.into_iter().map(|(_, parameter)| parameter).collect();
    Signature { label, meaning: row.meaning.clone(), parameters, active }
}

/// Code of a line up to a byte, without its label.
pub struct Beginning<'a> {
    /// Text of the code.
    pub code: &'a str,
    /// Offset of its start in the text.
    pub start: usize,
    /// Offset of its end in the text.
    pub end: usize,
    /// Tokens of the code.
    pub tokens: Vec<Token<'a>>,
}

impl<'a> Beginning<'a> {
    /// Returns the code before byte `at` of a text; `None` in a comment.
    pub fn of(text: &'a str, at: usize, comments: Comments) -> Option<Self> {
        let before = text.get(..at)?;
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.get(line_start..)?;
        let (code, comment) = comments.split(line);
        if !comment.is_empty() {
            return None;
        }
        let all = tokens(code, line_start);
        let skip = match &all[..] {
            [name, colon, ..] if colon.text == ":" && Symbols::is_name(name.text) => {
                colon.span.end - line_start
            }
            _ => 0,
        };
        let rest = code.get(skip..)?;
        let start = line_start + skip + (rest.len() - rest.trim_start().len());
        let tokens = all.into_iter().filter(|token| token.span.start >= start).collect();
        Some(Self { code: rest.trim_start(), start, end: at, tokens })
    }

    /// Whether the line begins with a directive.
    pub fn is_directive(&self) -> bool {
        self.code.starts_with('.')
    }

    /// Returns the completions in such a line.
    pub fn directives(&self, known: &Analysis) -> Proposals {
        let word_end = self.code.get(1..).unwrap_or_default();
        if !word_end.contains(|c: char| !c.is_ascii_alphanumeric()) {
            let proposal = |of: &super::Directive| Proposal {
                text: format!(".{}", of.name),
                kind: ProposalKind::Directive,
                detail: format!("{}: {}", of.usage, of.meaning),
            };
            let all = directives().iter().map(proposal).collect();
            return Proposals { span: Span::new(self.start, self.end), all };
        }
        let is_quoted = self.code.matches('"').count() % 2 == 1;
        let word = self.end - (self.code.len() - before_word(self.code, self.code.len()));
        let all = if is_quoted { Vec::new() } else { known.proposed_symbols() };
        Proposals { span: Span::new(word, self.end), all }
    }
}

impl Analysis {
    /// Returns the names of symbols, with their numbers.
    fn symbols(&self) -> Symbols {
        let mut symbols = Symbols::default();
        for mark in &self.marks {
            if let MarkKind::Definition { name, value, .. } = &mark.kind
                && name.space == Space::Symbols
            {
                // If a symbol is defined several times, the last definition applies.
                symbols.define(&name.text, Symbol::Variable(*value));
            }
        }
        symbols
    }

    /// Returns completions for labels and symbols.
    pub fn proposed_symbols(&self) -> Vec<Proposal> {
        self.proposed(Space::Symbols, ProposalKind::Symbol)
    }

    /// Returns completions for macros.
    pub fn proposed_macros(&self) -> Vec<Proposal> {
        self.proposed(Space::Macros, ProposalKind::Macro)
    }

    fn proposed(&self, space: Space, kind: ProposalKind) -> Vec<Proposal> {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        for mark in &self.marks {
            let MarkKind::Definition { name, of, value } = &mark.kind else { continue };
            if name.space != space || !seen.insert(name.text.as_str()) {
                continue;
            }
            let number = value.map_or_else(String::new, |value| format!(" {value}"));
            all.push(Proposal { text: name.text.clone(), kind, detail: format!("{}{number}", of.word()) });
        }
        all
    }
}

impl Definition {
    /// Returns the name of the kind.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Macro => "macro",
            Self::Parameter => "parameter",
            Self::Part => "part",
        }
    }
}
