//! [`Template`]: the parsed syntax of a [`Form`](crate::Form).

use crate::spec::InstructionSpec;
use crate::token::tokens;

/// Parsed syntax, for matching and printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Pieces in the order of the text.
    pub pieces: Vec<Piece>,
}

/// Piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text. Input must have its tokens; its spaces matter only for printing.
    Text {
        /// Text for printing.
        text: String,
        /// Tokens for matching.
        tokens: Vec<String>,
    },
    /// Index of a field.
    Field(usize),
    /// Part that may be omitted.
    Optional(Vec<Piece>),
    /// Operands in any order, separated by commas.
    Operands(Vec<Operand>),
    /// A `{name}` that is not a field: an error in the table, which `IsaSpec::check` reports.
    Unknown(String),
}

/// Operand of [`Piece::Operands`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Syntax of the operand.
    pub pieces: Vec<Piece>,
    /// Whether the operand may be omitted.
    pub optional: bool,
}

const FIELD: (&str, &str) = ("{", "}");
const OPTIONAL: (&str, &str) = ("(?", "?)");
const OPERANDS: (&str, &str) = ("(*", "*)");
const BETWEEN_OPERANDS: char = ';';
const OPTIONAL_OPERAND: char = '?';

impl Template {
    /// Parses `syntax`. It never fails; errors become [`Piece::Unknown`].
    pub fn new(instruction: &InstructionSpec, syntax: &str) -> Self {
        let mut rest = syntax;
        let mut pieces = Vec::new();
        // An unmatched end of an optional part leaves a rest, which is parsed as the text that
        // follows.
        while !rest.is_empty() {
            pieces.extend(cut(instruction, &mut rest));
        }
        Self { pieces }
    }

    /// Returns the first word.
    pub fn mnemonic(&self) -> Option<&str> {
        match self.pieces.first()? {
            Piece::Text { tokens, .. } => tokens.first().map(String::as_str),
            _ => None,
        }
    }

    /// Returns the indices of the fields that occur.
    pub fn fields(&self) -> Vec<usize> {
        let mut fields = Vec::new();
        visit(&self.pieces, &mut |piece| {
            if let Piece::Field(index) = piece {
                fields.push(*index);
            }
        });
        fields
    }

    /// Returns the placeholders that are not fields.
    pub fn unknown(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        visit(&self.pieces, &mut |piece| {
            if let Piece::Unknown(name) = piece {
                unknown.push(name.clone());
            }
        });
        unknown
    }
}

/// Calls `each` for every piece, including pieces within optional parts.
pub fn visit(pieces: &[Piece], each: &mut impl FnMut(&Piece)) {
    for piece in pieces {
        each(piece);
        match piece {
            Piece::Optional(inner) => visit(inner, each),
            Piece::Operands(operands) => operands.iter().for_each(|operand| visit(&operand.pieces, each)),
            Piece::Text { .. } | Piece::Field(_) | Piece::Unknown(_) => {}
        }
    }
}

/// Parses up to the end of the text or of the enclosing optional part.
fn cut(instruction: &InstructionSpec, rest: &mut &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(OPTIONAL.1) {
            *rest = after;
            break;
        }
        if let Some(after) = rest.strip_prefix(OPTIONAL.0) {
            *rest = after;
            pieces.push(Piece::Optional(cut(instruction, rest)));
        } else if let Some(after) = rest.strip_prefix(OPERANDS.0) {
            let (inside, after) = after.split_once(OPERANDS.1).unwrap_or((after, ""));
            *rest = after;
            let operands = inside.split(BETWEEN_OPERANDS).map(|text| operand(instruction, text.trim()));
            pieces.push(Piece::Operands(operands.collect()));
        } else if let Some(after) = rest.strip_prefix(FIELD.0) {
            let (name, after) = after.split_once(FIELD.1).unwrap_or((after, ""));
            *rest = after;
            pieces
                .push(instruction.field(name).map_or_else(|| Piece::Unknown(name.to_owned()), Piece::Field));
        } else {
            let special = [FIELD.0, OPTIONAL.0, OPTIONAL.1, OPERANDS.0];
            let end = special.iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            *rest = after;
            let tokens = tokens(text, 0).iter().map(|token| token.text.to_owned()).collect();
            pieces.push(Piece::Text { text: text.to_owned(), tokens });
        }
    }
    pieces
}

fn operand(instruction: &InstructionSpec, text: &str) -> Operand {
    let (mut rest, optional) = match text.strip_suffix(OPTIONAL_OPERAND) {
        Some(text) => (text, true),
        None => (text, false),
    };
    Operand { pieces: cut(instruction, &mut rest), optional }
}
