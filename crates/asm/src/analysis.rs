//! [`Analysis`]: information about a text for editors: the kind of each part, the names that it
//! defines and uses, its instructions, and its faults. Incomplete programs can be analyzed, too.
//!
//! A [`Language`] computes the analysis. [`Recorder`] collects it while a text is read.

mod candidates;
mod fault;
mod language;
mod recorder;
mod spec_language;

use npukit_base::Span;

use crate::expand::Sources;
use crate::place::SourceLocation;

pub use fault::{Fix, TextFault};
pub use language::{
    Directive, Language, LanguageError, Parameter, Proposal, ProposalKind, Proposals, Signature, Signatures,
    before_word, directive_named, directives, mnemonic_of,
};
pub use recorder::Recorder;
pub use spec_language::{Beginning, SpecLanguage};

/// Analysis of a text and of the texts that it includes.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Texts that were read.
    pub sources: Sources,
    /// Kinds of the texts' parts, sorted by text, then by first byte; outer parts come first.
    pub marks: Vec<Mark>,
    /// Instructions, in program order.
    pub words: Vec<AnalyzedWord>,
    /// Blocks of lines, in the order of their ends.
    pub blocks: Vec<Block>,
    /// Faults of the texts, at most the first 100.
    pub faults: Vec<TextFault>,
    /// Number of further faults.
    pub more_faults: usize,
}

/// Kind of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Index of the text.
    pub source: usize,
    /// Bytes of the part.
    pub span: Span,
    /// Kind of the part.
    pub kind: MarkKind,
}

/// Kind of a part of a text. Rows are indices into [`Language::spec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Directive such as `.equ`, with its dot; holds the name without the dot.
    Directive(String),
    /// Word of the language's own syntax.
    Keyword,
    /// Mnemonic of an instruction.
    Mnemonic {
        /// Row of the instruction.
        row: usize,
        /// Index in [`Analysis::words`]; `None` if the instruction was not assembled.
        word: Option<usize>,
    },
    /// Name of a field, if the syntax names fields.
    Key {
        /// Row of the instruction.
        row: usize,
        /// Index of the field in the row.
        field: usize,
    },
    /// Value of a field.
    Value {
        /// Row of the instruction.
        row: usize,
        /// Index of the field in the row.
        field: usize,
        /// Value; `None` if it is not legal for the field.
        value: Option<u64>,
        /// Whether the value is written as one of the field's names.
        is_name: bool,
    },
    /// Definition of a name.
    Definition {
        /// Name that is defined.
        name: Name,
        /// Kind of the definition.
        of: Definition,
        /// Number of the name, if it has one.
        value: Option<i128>,
    },
    /// Use of a defined name.
    Reference(Name),
    /// Path of an included file, as it is read.
    Include(String),
}

/// Name with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Text of the name.
    pub text: String,
    /// Namespace of the name.
    pub space: Space,
}

/// Namespace of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Labels and symbols.
    Symbols,
    /// Macros.
    Macros,
    /// Names of a part of the text, for instance the parameters of a macro.
    Part(usize),
}

/// Kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Label of an instruction.
    Label,
    /// Number that cannot be redefined.
    Constant,
    /// Number that applies until the next definition.
    Variable,
    /// Macro: lines with parameters.
    Macro,
    /// Parameter of a macro.
    Parameter,
    /// Part of the program.
    Part,
}

/// Assembled instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyzedWord {
    /// Text from which the instruction was made.
    pub place: SourceLocation,
    /// Row of the instruction; `None` for a word without meaning.
    pub row: Option<usize>,
    /// Value of each field of the row, in order.
    pub values: Vec<u64>,
    /// Bytes of the instruction, in file order.
    pub bytes: Vec<u8>,
    /// Address of the instruction in the program.
    pub address: String,
}

/// Block of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes from the block's first line to its last.
    pub span: Span,
    /// Name for an outline; `None` for a block without a name.
    pub name: Option<String>,
    /// Location of the name.
    pub name_span: Span,
    /// Kind of the block, in one word.
    pub what: &'static str,
}

impl Analysis {
    /// Returns the marks of a text that contain a byte or end at it, the smallest first.
    pub fn marks_at(&self, source: usize, offset: usize) -> Vec<&Mark> {
        let holds = |mark: &&Mark| mark.span.start <= offset && offset <= mark.span.end;
        let mut found: Vec<&Mark> = self.marks_of(source).iter().filter(holds).collect();
        // Of two adjacent marks, the one that begins here comes first.
        found.sort_by_key(|mark| (mark.span.end == offset, mark.span.size_bytes()));
        found
    }

    /// Returns the marks of a text.
    pub fn marks_of(&self, source: usize) -> &[Mark] {
        let start = self.marks.partition_point(|mark| mark.source < source);
        let end = self.marks.partition_point(|mark| mark.source <= source);
        self.marks.get(start..end).unwrap_or_default()
    }

    /// Returns the name at a byte of a text.
    pub fn name_at(&self, source: usize, offset: usize) -> Option<(&Mark, &Name)> {
        self.marks_at(source, offset).into_iter().find_map(|mark| Some((mark, mark.name()?)))
    }

    /// Returns the definitions and uses of a name.
    pub fn uses<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Mark> {
        self.marks.iter().filter(move |mark| mark.name() == Some(name))
    }

    /// Returns the definitions of a name.
    pub fn definitions<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Mark> {
        self.uses(name).filter(|mark| matches!(mark.kind, MarkKind::Definition { .. }))
    }
}

impl Mark {
    /// Returns the name that the mark defines or uses.
    pub const fn name(&self) -> Option<&Name> {
        match &self.kind {
            MarkKind::Definition { name, .. } | MarkKind::Reference(name) => Some(name),
            _ => None,
        }
    }
}

impl Name {
    /// Returns the name of a label or symbol.
    pub fn symbol(text: &str) -> Self {
        Self { text: text.to_owned(), space: Space::Symbols }
    }

    /// Returns the name of a macro; case is ignored.
    pub fn of_macro(text: &str) -> Self {
        Self { text: text.to_ascii_lowercase(), space: Space::Macros }
    }

    /// Returns a name that is known in a part of the text.
    pub fn in_part(text: &str, part: usize) -> Self {
        Self { text: text.to_owned(), space: Space::Part(part) }
    }
}
