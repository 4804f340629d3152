//! [`Document`]: an open text and its analysis.

use std::sync::Arc;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use npukit_asm::analysis::{Analysis, Language};
use npukit_asm::{Files, SourceLocation};
use npukit_base::{Span, without_bom};
use npukit_target::Instance;

use crate::lsp::checks::Checked;
use crate::lsp::files::{path_of, uri_of};
use crate::lsp::lines::{Lines, floor};

/// Open text.
pub struct Document {
    /// URI of the text.
    pub uri: Uri,
    /// Path of the text.
    pub path: String,
    /// Version of the text that the editor assigned.
    pub version: i32,
    /// Whole text.
    pub text: String,
    /// Positions of the line starts.
    pub lines: Lines,
    /// Target of the text.
    pub target: Target,
    /// Whether the text has changed since its target was determined.
    pub is_changed: bool,
    /// Default target of the text's folder.
    pub folder_target: Option<String>,
    /// Results of the slow checks, possibly of an earlier version.
    pub checked: Option<Checked>,
    analysis: Option<Arc<Analysis>>,
}

/// Target of a text.
#[derive(Clone, Default)]
pub enum Target {
    /// No target is named.
    #[default]
    Unknown,
    /// The named instance does not exist.
    Wrong {
        /// Name that was given.
        spec: String,
        /// Reason why the instance does not exist.
        reason: String,
    },
    /// An existing instance.
    Known(Known),
}

/// An instance and the language of a text for it.
#[derive(Clone)]
pub struct Known {
    /// Name that was given.
    pub spec: String,
    /// Instance of that name.
    pub instance: Arc<dyn Instance>,
    /// Language of the text; `None` if the instance has no texts of this kind.
    pub language: Option<Arc<dyn Language>>,
}

impl Document {
    /// Returns a document for a text that the editor opens.
    pub fn new(uri: Uri, version: i32, text: String) -> Self {
        let (path, lines) = (path_of(&uri), Lines::of(&text));
        Self {
            uri,
            path,
            version,
            text,
            lines,
            target: Target::Unknown,
            is_changed: true,
            folder_target: None,
            checked: None,
            analysis: None,
        }
    }

    /// Applies a change of the editor to the text.
    pub fn change(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            None => {
                self.text.clone_from(&change.text);
                self.lines = Lines::of(&self.text);
            }
            Some(Range { start, end }) => {
                let (start, end) = (self.lines.offset(&self.text, start), self.lines.offset(&self.text, end));
                let range = start..end.max(start);
                self.text.replace_range(range.clone(), &change.text);
                self.lines.replace(&self.text, range, change.text.len());
            }
        }
        self.is_changed = true;
        self.analysis = None;
    }

    /// Discards the analysis, because the target or an included file changed.
    pub fn forget(&mut self) {
        self.analysis = None;
        self.checked = None;
    }

    /// Returns the text without a byte order mark; spans refer to this text.
    pub fn plain(&self) -> &str {
        without_bom(&self.text)
    }

    /// Returns the language, if the target is known.
    pub fn language(&self) -> Option<&Arc<dyn Language>> {
        match &self.target {
            Target::Known(known) => known.language.as_ref(),
            _ => None,
        }
    }

    /// Returns the instance, if the target is known.
    pub fn instance(&self) -> Option<&Arc<dyn Instance>> {
        match &self.target {
            Target::Known(known) => Some(&known.instance),
            _ => None,
        }
    }

    /// Returns the analysis of the text, and computes it if necessary.
    pub fn analysis(&mut self, files: &Files<'_>) -> Arc<Analysis> {
        if let Some(known) = &self.analysis {
            return Arc::clone(known);
        }
        let found = self.language().map(|language| language.analyze(&self.path, self.plain(), files));
        // Default: without a target, nothing is known of a text.
        let found = Arc::new(found.unwrap_or_default());
        self.analysis = Some(Arc::clone(&found));
        found
    }

    /// Returns the last analysis, possibly of an earlier text. Tests use it to avoid a new one.
    pub fn known(&self) -> Option<&Arc<Analysis>> {
        self.analysis.as_ref()
    }

    fn shift(&self) -> usize {
        self.text.len() - self.plain().len()
    }

    /// Converts a span of [`Self::plain`] to a range of the protocol.
    pub fn range(&self, span: Span) -> Range {
        let Span { start, end } = span;
        self.lines.range(&self.text, Span::new(start + self.shift(), end + self.shift()))
    }

    /// Converts a position of the protocol to a byte offset in [`Self::plain`].
    pub fn offset(&self, position: Position) -> usize {
        let offset = self.lines.offset(&self.text, position).saturating_sub(self.shift());
        floor(self.plain(), offset)
    }
}

/// Place of a finding, seen from the open text.
pub struct Located {
    /// Span in the open text.
    pub span: Span,
    /// Related places: macros, included files and callers, each with a note.
    pub others: Vec<(Uri, Range, String)>,
}

impl Document {
    /// Finds a place in the open text, or the call or include there that leads to it.
    pub fn locate(&self, known: &Analysis, place: SourceLocation) -> Located {
        let calls: Vec<(&str, SourceLocation)> = known.sources.calls().collect();
        let chain: Vec<(Option<&str>, SourceLocation)> =
            std::iter::successors(Some((None, place)), |(_, place)| {
                place.call().and_then(|call| calls.get(call)).map(|(what, place)| (Some(*what), *place))
            })
            .collect();
        let own = chain.iter().position(|(_, place)| place.source() == 0);
        // Default: the beginning, if no part of the text leads there.
        let span = own.and_then(|own| chain.get(own)).map(|(_, place)| place.span).unwrap_or_default();
        let others = chain.iter().enumerate().filter(|(index, _)| Some(*index) != own).take(MAX_OTHERS);
        let others = others.filter_map(|(_, (what, place))| {
            let (uri, range) = self.place(known, *place)?;
            Some((uri, range, what.unwrap_or("here").to_owned())) // Default: the place itself.
        });
        Located { span, others: others.collect() }
    }

    /// Returns the URI and range of a place.
    pub fn place(&self, known: &Analysis, place: SourceLocation) -> Option<(Uri, Range)> {
        self.in_source(known, place.source(), place.span)
    }

    /// Returns the URI and range of a span in one of the sources.
    pub fn in_source(&self, known: &Analysis, source: usize, span: Span) -> Option<(Uri, Range)> {
        if source == 0 {
            return Some((self.uri.clone(), self.range(span)));
        }
        let (name, text) = known.sources.texts().nth(source)?;
        Some((uri_of(name)?, Lines::of(text).range(text, span)))
    }
}

/// Maximum number of related places in a diagnostic.
const MAX_OTHERS: usize = 8;
