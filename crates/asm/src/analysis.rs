//! [`Analysis`]: everything that is known of a text, for editors: what each part of it is, what it defines and refers to,
//! what its instructions became, what is wrong. Half a program has one, too.
//!
//! A [`Language`] makes it. [`Recorder`] collects it while a text is read.

mod candidates;
mod fault;
mod language;
mod recorder;
mod spec_language;

use npukit_base::Span;

use crate::expand::Sources;
use crate::place::Place;

pub use fault::{Fix, TextFault};
pub use language::{
    Directive, Language, LanguageError, Parameter, Proposal, ProposalKind, Proposals, Signature, Signatures,
    before_word, directive_named, directives, mnemonic_of,
};
pub use recorder::Recorder;
pub use spec_language::{Beginning, SpecLanguage};

/// What is known of a text and of those that it includes.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The texts.
    pub sources: Sources,
    /// What parts of them are: by text, then by their first byte, those around others first.
    pub marks: Vec<Mark>,
    /// The instructions, in the order of the program.
    pub words: Vec<AnalysedWord>,
    /// Blocks of lines, in the order in which they end.
    pub blocks: Vec<Block>,
    /// What is wrong, the first 100 of it.
    pub faults: Vec<TextFault>,
    /// How much more is.
    pub more_faults: usize,
}

/// What a part of a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which of the texts.
    pub source: usize,
    /// The bytes.
    pub span: Span,
    /// What they are.
    pub kind: MarkKind,
}

/// What a part of a text may be. Rows are those of [`Language::spec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// `.equ`, with its dot: the name without it.
    Directive(String),
    /// A word that the language has for itself.
    Keyword,
    /// What an instruction begins with.
    Mnemonic {
        /// Its row.
        row: usize,
        /// Its place in [`Analysis::words`]; none when it has become nothing.
        word: Option<usize>,
    },
    /// The name of a field, where texts have them.
    Key {
        /// Row of the instruction.
        row: usize,
        /// The field, by its place in the row.
        field: usize,
    },
    /// The value of a field.
    Value {
        /// Row of the instruction.
        row: usize,
        /// The field, by its place in the row.
        field: usize,
        /// The value; none for one that it cannot have.
        value: Option<u64>,
        /// Whether it is a word of the field's own.
        is_name: bool,
    },
    /// A name begins to stand for something.
    Definition {
        /// The name.
        name: Name,
        /// For what.
        of: Definition,
        /// Its number, where it has one.
        value: Option<i128>,
    },
    /// A name that stands for something.
    Reference(Name),
    /// The name of a file that is included, as it is read.
    Include(String),
}

/// A name, and among which others it counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it is known.
    pub space: Space,
}

/// Which names know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Labels and symbols.
    Symbols,
    /// Macros.
    Macros,
    /// Names of a part of the text alone: of the parameters of a macro, for instance.
    Part(usize),
}

/// What a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// For an instruction.
    Label,
    /// For a number for good.
    Constant,
    /// For a number until the next definition.
    Variable,
    /// For lines.
    Macro,
    /// For what a caller gives.
    Parameter,
    /// For a part of the program.
    Part,
}

/// An instruction in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysedWord {
    /// The text that it was made of.
    pub place: Place,
    /// Its row; none for a word without meaning.
    pub row: Option<usize>,
    /// The value of each field of the row, in their order.
    pub values: Vec<u64>,
    /// As in a file.
    pub bytes: Vec<u8>,
    /// Where it lies in the program.
    pub address: String,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// From the first byte of what begins it to the last of what ends it.
    pub span: Span,
    /// What an outline has it by; none for a block that has no name.
    pub name: Option<String>,
    /// Where that stands.
    pub name_span: Span,
    /// What it is, in a word.
    pub what: &'static str,
}

impl Analysis {
    /// The marks of a text that hold a byte or end before it, the smallest first.
    pub fn marks_at(&self, source: usize, offset: usize) -> Vec<&Mark> {
        let holds = |mark: &&Mark| mark.span.start <= offset && offset <= mark.span.end;
        let mut found: Vec<&Mark> = self.marks_of(source).iter().filter(holds).collect();
        // Between two that touch, the one that begins here.
        found.sort_by_key(|mark| (mark.span.end == offset, mark.span.size_bytes()));
        found
    }

    /// The marks of a text.
    pub fn marks_of(&self, source: usize) -> &[Mark] {
        let start = self.marks.partition_point(|mark| mark.source < source);
        let end = self.marks.partition_point(|mark| mark.source <= source);
        self.marks.get(start..end).unwrap_or_default()
    }

    /// The name that a byte of a text belongs to.
    pub fn name_at(&self, source: usize, offset: usize) -> Option<(&Mark, &Name)> {
        self.marks_at(source, offset).into_iter().find_map(|mark| Some((mark, mark.name()?)))
    }

    /// Where a name is defined and used.
    pub fn uses<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Mark> {
        self.marks.iter().filter(move |mark| mark.name() == Some(name))
    }

    /// Where a name is defined.
    pub fn definitions<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Mark> {
        self.uses(name).filter(|mark| matches!(mark.kind, MarkKind::Definition { .. }))
    }
}

impl Mark {
    /// The name that it defines or refers to.
    pub const fn name(&self) -> Option<&Name> {
        match &self.kind {
            MarkKind::Definition { name, .. } | MarkKind::Reference(name) => Some(name),
            _ => None,
        }
    }
}

impl Name {
    /// The name of a label or symbol.
    pub fn symbol(text: &str) -> Self {
        Self { text: text.to_owned(), space: Space::Symbols }
    }

    /// The name of a macro, whose case does not count.
    pub fn of_macro(text: &str) -> Self {
        Self { text: text.to_ascii_lowercase(), space: Space::Macros }
    }

    /// A name that is known in a part of the text.
    pub fn in_part(text: &str, part: usize) -> Self {
        Self { text: text.to_owned(), space: Space::Part(part) }
    }
}
