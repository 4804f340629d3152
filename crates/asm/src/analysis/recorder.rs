//! [`Recorder`]: collects an [`Analysis`] while a text is read.

use std::collections::BTreeSet;

use npukit_base::Span;
use npukit_isa::token::{Token, tokens};

use super::candidates::candidates;
use super::language::directive_named;
use super::{Analysis, AnalyzedWord, Block, Definition, Mark, MarkKind, Name, TextFault};
use crate::definition::Definition as Defined;
use crate::error::{AsmError, MAX_ERRORS};
use crate::expand::{Line, Sources, beside, unquoted};
use crate::place::SourceLocation;
use crate::spans::mnemonic_span;
use crate::symbols::{Symbol, Symbols};

/// Information about a text that was collected so far.
#[derive(Debug, Default)]
pub struct Recorder {
    marks: Vec<Mark>,
    /// Words that are uses of symbols, if a symbol of that name is defined anywhere.
    candidates: Vec<(usize, Span, String)>,
    words: Vec<AnalyzedWord>,
    blocks: Vec<Block>,
    open: Vec<Block>,
    /// Number of parts of the text with their own names.
    parts: usize,
    /// Macro whose lines are being read: its part, and the number of open macros.
    of_macro: Option<(usize, usize)>,
}

/// Directives that begin blocks, with the directives that end them.
const BLOCKS: [(&str, &[&str]); 3] =
    [("macro", &["endm"]), ("rept", &["endr"]), ("if", &["endif", "else", "elseif"])];

impl Recorder {
    /// Records the kind of a part of a text.
    pub fn mark(&mut self, place: SourceLocation, kind: MarkKind) {
        self.marks.push(Mark { source: place.source(), span: place.span, kind });
    }

    /// Records a word that may be the name of a symbol.
    pub fn candidate(&mut self, place: SourceLocation, name: &str) {
        self.candidates.push((place.source(), place.span, name.to_owned()));
    }

    /// Records an instruction, and returns its index.
    pub fn word(&mut self, word: AnalyzedWord) -> usize {
        self.words.push(word);
        self.words.len() - 1
    }

    /// Records a block of lines.
    pub fn block(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Returns a new number for a part of the text with its own names.
    pub fn new_part(&mut self) -> usize {
        self.parts += 1;
        self.parts
    }

    /// Records the parts of a line that is not assembled, or whose words are unknown. `mnemonic`
    /// returns the row of a word, `is_macro` whether a name is a macro.
    pub(crate) fn line(
        &mut self,
        line: &Line,
        code: &str,
        file: &str,
        mnemonic: &dyn Fn(&str) -> Option<usize>,
        is_macro: &dyn Fn(&str) -> bool,
    ) {
        let all = tokens(code, 0);
        let place = |span| line.origin.place(span);
        let rest = match &all[..] {
            [name, colon, rest @ ..] if colon.text == ":" && Symbols::is_name(name.text) => rest,
            all => all,
        };
        match rest {
            [dot, word, rest @ ..] if dot.text == "." => {
                let span = dot.span.to(word.span);
                if directive_named(word.text).is_some() {
                    self.mark(place(span), MarkKind::Directive(word.text.to_ascii_lowercase()));
                }
                self.directive(line, span, word.text, code, rest, file);
            }
            all_of @ [name, rest @ ..] => {
                if is_macro(name.text) {
                    self.mark(place(name.span), MarkKind::Reference(Name::of_macro(name.text)));
                } else if let Some((row, span)) = mnemonic(name.text).zip(mnemonic_span(all_of, None)) {
                    self.mark(place(span), MarkKind::Mnemonic { row, word: None });
                }
                self.candidates_of(line, None, rest);
            }
            [] => {}
        }
        self.parameters(line, &all);
    }

    /// Records a definition, which may be incomplete: `tokens` are all tokens of the line.
    pub(crate) fn definition(
        &mut self,
        line: &Line,
        found: Option<Defined<'_>>,
        tokens: &[Token<'_>],
        symbols: &Symbols,
    ) {
        if let [dot, word, rest @ ..] = tokens
            && dot.text == "."
        {
            let kind = MarkKind::Directive(word.text.to_ascii_lowercase());
            self.mark(line.origin.place(dot.span.to(word.span)), kind);
            if found.is_none() {
                return self.candidates_of(line, Some(word.text), rest);
            }
        }
        let Some(found) = found else { return };
        let value = found.value(&|name| symbols.value(name)).ok();
        let of = match found.symbol(value) {
            Symbol::Fixed(_) => Definition::Constant,
            Symbol::Variable(_) => Definition::Variable,
        };
        let name = Name::symbol(found.name.text);
        self.mark(line.origin.place(found.name.span), MarkKind::Definition { name, of, value });
        let after = tokens.iter().position(|token| token.span == found.name.span);
        // Default: the name is among the tokens.
        let rest = after.and_then(|at| tokens.get(at + 1..)).unwrap_or_default();
        self.candidates_of(line, None, rest);
    }

    /// Records the words of a line that may be names of symbols.
    pub(crate) fn candidates_of(&mut self, line: &Line, directive: Option<&str>, tokens: &[Token<'_>]) {
        for token in candidates(directive, tokens) {
            self.candidate(line.origin.place(token.span), token.text);
        }
    }

    fn directive(&mut self, line: &Line, span: Span, word: &str, code: &str, rest: &[Token<'_>], file: &str) {
        let word = word.to_ascii_lowercase();
        match word.as_str() {
            "macro" if line.depth == 0 => self.begin_macro(line, rest),
            "endm" if line.depth == 0 => self.end_macro(),
            "macro" | "endm" => {}
            "include" => {
                let path = code.get(span.end..).unwrap_or_default();
                let start = span.end + path.len() - path.trim_start().len();
                if let Some(name) = unquoted(path.trim()) {
                    let at = line.origin.place(Span::new(start, start + path.trim().len()));
                    self.mark(at, MarkKind::Include(beside(file, name)));
                }
            }
            _ => self.candidates_of(line, Some(&word), rest),
        }
        self.blocks_of(line, &word, span, code);
    }

    fn begin_macro(&mut self, line: &Line, rest: &[Token<'_>]) {
        if let Some((_, nested)) = &mut self.of_macro {
            *nested += 1;
            return;
        }
        let part = self.new_part();
        self.of_macro = Some((part, 0));
        let Some((name, parameters)) = rest.split_first().filter(|(name, _)| Symbols::is_name(name.text))
        else {
            return;
        };
        let define = |name, of| MarkKind::Definition { name, of, value: None };
        self.mark(line.origin.place(name.span), define(Name::of_macro(name.text), Definition::Macro));
        let mut before = ",";
        for token in parameters {
            if before == "," && Symbols::is_name(token.text) {
                let kind = define(Name::in_part(token.text, part), Definition::Parameter);
                self.mark(line.origin.place(token.span), kind);
            }
            before = token.text;
        }
    }

    fn end_macro(&mut self) {
        self.of_macro = match self.of_macro {
            Some((part, nested)) => nested.checked_sub(1).map(|nested| (part, nested)),
            None => None,
        };
    }

    /// Records the parameters that a line of a macro uses.
    fn parameters(&mut self, line: &Line, all: &[Token<'_>]) {
        // Lines that a call generates have values instead.
        let Some((part, _)) = self.of_macro.filter(|_| line.depth == 0) else { return };
        for pair in all.windows(2) {
            let [mark, name] = pair else { continue };
            if mark.text == "\\" && Symbols::is_name(name.text) && mark.span.end == name.span.start {
                let name_of = Name::in_part(name.text, part);
                self.mark(line.origin.place(name.span), MarkKind::Reference(name_of));
            }
        }
    }

    /// Records the starts and ends of blocks.
    fn blocks_of(&mut self, line: &Line, word: &str, span: Span, code: &str) {
        // Only blocks that are written in the text itself are recorded.
        if line.origin.source != 0 || line.depth > 0 {
            return;
        }
        let whole = line.origin.place(Span::new(span.start, code.trim_end().len())).span;
        if let Some((what, _)) = BLOCKS.iter().find(|(_, ends)| ends.contains(&word))
            && let Some(at) = self.open.iter().rposition(|block| block.what == *what)
        {
            self.open.truncate(at + 1);
            let block = self.open.pop();
            self.blocks.extend(block.map(|block| Block { span: block.span.to(whole), ..block }));
        }
        let begins = match word {
            "macro" => Some("macro"),
            "rept" => Some("rept"),
            "if" | "ifdef" | "ifndef" | "else" | "elseif" => Some("if"),
            _ => None,
        };
        let Some(what) = begins else { return };
        let after = tokens(code, 0);
        let name = after.iter().find(|token| token.span.start >= span.end && Symbols::is_name(token.text));
        let name = name.filter(|_| what == "macro");
        let name_span = name.map_or(whole, |name| line.origin.place(name.span).span);
        self.open.push(Block { span: whole, name: name.map(|name| name.text.to_owned()), name_span, what });
    }

    /// Returns the analysis of the texts, with their faults.
    pub fn finish(self, sources: Sources, faults: Vec<TextFault>, more_faults: usize) -> Analysis {
        let Self { mut marks, candidates, words, blocks, .. } = self;
        let is_symbol = |mark: &Mark| match &mark.kind {
            MarkKind::Definition { name, .. } if name.space == super::Space::Symbols => {
                Some(name.text.clone())
            }
            _ => None,
        };
        let symbols: BTreeSet<String> = marks.iter().filter_map(is_symbol).collect();
        let texts: Vec<&str> = sources.texts().map(|(_, text)| text).collect();
        // A macro's arguments are written at the call.
        let is_written = |source: usize, span: Span, name: &str| {
            let text = texts.get(source).and_then(|text| text.get(span.start..span.end));
            text.is_some_and(|text| text.eq_ignore_ascii_case(name))
        };
        marks.retain(|mark| match &mark.kind {
            MarkKind::Reference(name) => is_written(mark.source, mark.span, &name.text),
            _ => true,
        });
        let known = candidates
            .into_iter()
            .filter(|(source, span, name)| symbols.contains(name) && is_written(*source, *span, name));
        marks.extend(known.map(|(source, span, name)| Mark {
            source,
            span,
            kind: MarkKind::Reference(Name { text: name, space: super::Space::Symbols }),
        }));
        let key = |mark: &Mark| {
            let (kind, rank) = order(&mark.kind);
            (mark.source, mark.span.start, usize::MAX - mark.span.end, kind, rank)
        };
        marks.sort_by_cached_key(key);
        // Lines of macros are read at each call.
        marks.dedup_by(|next, before| {
            (next.source, next.span) == (before.source, before.span)
                && order(&next.kind).0 == order(&before.kind).0
        });
        Analysis { sources, marks, words, blocks, faults, more_faults }
    }

    /// Like [`Self::finish`], with the errors of a text.
    pub(crate) fn with_errors(self, sources: Sources, errors: &[AsmError], more: usize) -> Analysis {
        let faults: Vec<TextFault> = errors.iter().take(MAX_ERRORS).map(TextFault::from).collect();
        let more = more + errors.len().saturating_sub(MAX_ERRORS);
        self.finish(sources, faults, more)
    }
}

/// Sort key for marks on the same bytes; the first of each kind wins (assembled words before
/// others, definitions before uses).
const fn order(kind: &MarkKind) -> (u8, u8) {
    match kind {
        MarkKind::Definition { .. } => (0, 0),
        MarkKind::Reference(_) => (0, 1),
        MarkKind::Mnemonic { word: Some(_), .. } => (1, 0),
        MarkKind::Mnemonic { word: None, .. } => (1, 1),
        MarkKind::Directive(_) => (2, 0),
        MarkKind::Keyword => (3, 0),
        MarkKind::Key { .. } => (4, 0),
        MarkKind::Value { value: Some(_), .. } => (5, 0),
        MarkKind::Value { value: None, .. } => (5, 1),
        MarkKind::Include(_) => (6, 0),
    }
}
