//! [`tokens`]: words of a text by kind, for syntax highlighting.

use lsp_types::{Range, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend};
use npukit_asm::Comments;
use npukit_asm::analysis::{Analysis, Definition, Mark, MarkKind, Name, Space};
use npukit_base::Span;
use npukit_isa::token::{Token, tokens as cut};

use crate::lsp::document::Document;
use crate::lsp::lines::number;

/// Token types, in the order of [`legend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Comment,
    Keyword,
    Function,
    Property,
    EnumMember,
    Number,
    Variable,
    Macro,
    Parameter,
    String,
}

/// Modifier bit of definitions.
const DEFINES: u32 = 1;

/// Returns the legend that gives token types their names.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::COMMENT,
            SemanticTokenType::KEYWORD,
            SemanticTokenType::FUNCTION,
            SemanticTokenType::PROPERTY,
            SemanticTokenType::ENUM_MEMBER,
            SemanticTokenType::NUMBER,
            SemanticTokenType::VARIABLE,
            SemanticTokenType::MACRO,
            SemanticTokenType::PARAMETER,
            SemanticTokenType::STRING,
        ],
        token_modifiers: vec![SemanticTokenModifier::DEFINITION],
    }
}

/// Returns the tokens of a text, or of the lines that `range` touches.
pub fn tokens(document: &Document, known: &Analysis, range: Option<Range>) -> Vec<SemanticToken> {
    let Some(language) = document.language() else { return Vec::new() };
    let text = document.plain();
    let first = range.map_or(0, |range| range.start.line as usize);
    let last = range.map_or(usize::MAX, |range| range.end.line as usize);
    let mut painter = Painter { document, known, at: 0, out: Vec::new(), last: (0, 0) };
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if (first..=last).contains(&index) {
            painter.line(start, line, language.comments());
        }
        start += line.len();
        if index > last {
            break;
        }
    }
    painter.out
}

struct Painter<'a> {
    document: &'a Document,
    known: &'a Analysis,
    /// Index of the first mark that does not end before the line.
    at: usize,
    out: Vec<SemanticToken>,
    /// Line and UTF-16 unit of the last token.
    last: (u32, u32),
}

impl Painter<'_> {
    fn line(&mut self, start: usize, line: &str, comments: Comments) {
        let line = line.trim_end_matches(['\n', '\r']);
        let (code, comment) = comments.split(line);
        let marks = self.marks(start, start + code.len());
        let mut words = cut(code, start).into_iter().peekable();
        while let Some(word) = words.next() {
            if word.text == "\"" {
                let mut end = word.span.end;
                for next in words.by_ref() {
                    end = next.span.end;
                    if next.text == "\"" {
                        break;
                    }
                }
                self.push(Span::new(word.span.start, end), Kind::String, 0);
                // Names may occur inside a string, too.
                continue;
            }
            if let Some((span, kind, defines)) = kind_of(&word, &marks) {
                self.push(span, kind, defines);
                // A mark is one token: skip the words inside it.
                while words.next_if(|next| next.span.start < span.end).is_some() {}
            }
        }
        if !comment.trim().is_empty() {
            let end = start + code.len() + comment.trim_end().len();
            self.push(Span::new(start + code.len(), end), Kind::Comment, 0);
        }
    }

    /// Returns the marks of a line.
    fn marks(&mut self, start: usize, end: usize) -> Vec<Mark> {
        let all = self.known.marks_of(0);
        if all.get(self.at).is_none_or(|mark| mark.span.start > start) {
            self.at = all.partition_point(|mark| mark.span.start < start);
        }
        while all.get(self.at).is_some_and(|mark| mark.span.start < start) {
            self.at += 1;
        }
        let of_line = all.iter().skip(self.at).take_while(|mark| mark.span.start < end);
        of_line.filter(|mark| mark.span.end <= end).cloned().collect()
    }

    fn push(&mut self, span: Span, kind: Kind, modifiers: u32) {
        let range = self.document.range(span);
        let (line, unit) = (range.start.line, range.start.character);
        let length = range.end.character.saturating_sub(unit);
        if range.end.line != line || length == 0 || (line, unit) < self.last {
            return;
        }
        let is_same = line == self.last.0;
        self.out.push(SemanticToken {
            delta_line: line - self.last.0,
            delta_start: if is_same { unit - self.last.1 } else { unit },
            length,
            token_type: number(kind as usize),
            token_modifiers_bitset: modifiers,
        });
        self.last = (line, unit);
    }
}

/// Returns the kind of a word, and the whole span that it begins.
fn kind_of(word: &Token<'_>, marks: &[Mark]) -> Option<(Span, Kind, u32)> {
    let begins = |mark: &&Mark| mark.span.start == word.span.start;
    let holds = |mark: &&Mark| mark.span.start <= word.span.start && word.span.end <= mark.span.end;
    let name = marks.iter().filter(begins).find_map(|mark| match &mark.kind {
        MarkKind::Definition { name, of, .. } => Some((mark.span, of_name(name, Some(*of)), DEFINES)),
        MarkKind::Reference(name) => Some((mark.span, of_name(name, None), 0)),
        _ => None,
    });
    let other = || {
        marks.iter().filter(begins).find_map(|mark| match &mark.kind {
            MarkKind::Mnemonic { .. } => Some((mark.span, Kind::Function, 0)),
            MarkKind::Directive(_) | MarkKind::Keyword => Some((mark.span, Kind::Keyword, 0)),
            MarkKind::Key { .. } => Some((mark.span, Kind::Property, 0)),
            _ => None,
        })
    };
    let value = || {
        let is_named =
            marks.iter().filter(holds).any(|mark| matches!(mark.kind, MarkKind::Value { is_name: true, .. }));
        let is_word = word.text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        (is_named && is_word).then_some((word.span, Kind::EnumMember, 0))
    };
    let number = || word.is_number().then_some((word.span, Kind::Number, 0));
    name.or_else(other).or_else(value).or_else(number)
}

const fn of_name(name: &Name, of: Option<Definition>) -> Kind {
    match (name.space, of) {
        (Space::Macros, _) => Kind::Macro,
        (_, Some(Definition::Parameter)) => Kind::Parameter,
        _ => Kind::Variable,
    }
}
