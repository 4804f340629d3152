//! [`Matcher`]: reads the tokens of a line according to a form.

use npukit_base::Span;
use npukit_isa::syntax::{Operand, Piece};
use npukit_isa::token::{Token, number, tokens};
use npukit_isa::{Field, FieldKind, When};

use crate::expression::{Fault, begins, evaluate, is_operator};
use crate::grammar::CompiledForm;
use crate::symbols::Symbols;

/// Value outside its field's range, or an expression without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    pub field: usize,
    pub text: String,
    pub span: Span,
    /// Value of the number; `None` if the expression has none.
    pub value: Option<i128>,
    /// Reason why there is no value.
    pub reason: Option<String>,
}

/// Value in a line, and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub field: usize,
    pub span: Span,
    /// Value; `None` if it is not legal for the field.
    pub value: Option<u64>,
    /// Whether the value is written as one of the field's names.
    pub is_name: bool,
}

/// Result of reading a line according to a form.
pub(crate) enum Outcome<'a> {
    /// The line fits the form.
    Matched {
        /// Value of each field of the instruction.
        values: Vec<u64>,
        /// Values that are out of range.
        bad: Vec<BadValue>,
        /// Values that are written in the line, in order.
        said: Vec<Said>,
    },
    /// The text fits, but the conditions of the form do not: another form applies.
    Excluded,
    /// Token `at` does not fit.
    Mismatch { at: usize, expected: Vec<Expected<'a>> },
}

/// Legal continuation at a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected<'a> {
    /// This text.
    Text(&'a str),
    /// A number for this field.
    Number(&'a Field),
    /// The end of the line.
    End,
}

/// State of reading a line according to a form.
struct Matcher<'a> {
    form: &'a CompiledForm<'a>,
    tokens: &'a [Token<'a>],
    symbols: &'a Symbols,
    at: usize,
    values: Vec<Option<u64>>,
    bad: Vec<BadValue>,
    said: Vec<Said>,
    /// Field that was read last, and the index of its token.
    wanted: Option<(usize, usize)>,
    /// Index of the furthest token that did not fit, and the legal continuations there.
    furthest: usize,
    expected: Vec<Expected<'a>>,
}

/// The token did not fit; details are in [`Matcher::furthest`].
struct Mismatch;

/// Reads `tokens` according to `form`, with the values of `symbols`.
pub(crate) fn read<'a>(
    form: &'a CompiledForm<'a>,
    tokens: &'a [Token<'a>],
    symbols: &'a Symbols,
) -> Outcome<'a> {
    let mut matcher = Matcher::new(form, tokens, symbols);
    let matched = matcher.pieces(&form.template.pieces).and_then(|()| matcher.end());
    if matched.is_err() {
        return Outcome::Mismatch { at: matcher.furthest, expected: matcher.expected };
    }
    matcher.finish()
}

/// Returns the legal continuations after `tokens`, the start of a line, and the field whose value
/// comes next.
pub(crate) fn expected_after<'a>(
    form: &'a CompiledForm<'a>,
    tokens: &'a [Token<'a>],
    symbols: &'a Symbols,
) -> (Vec<Expected<'a>>, Option<usize>) {
    let mut matcher = Matcher::new(form, tokens, symbols);
    // The result of the incomplete line is not needed.
    let _ = matcher.pieces(&form.template.pieces).and_then(|()| matcher.end());
    if matcher.furthest < tokens.len() {
        return (Vec::new(), None);
    }
    let wanted = matcher.wanted.filter(|(at, _)| *at == tokens.len()).map(|(_, field)| field);
    (matcher.expected, wanted)
}

impl<'a> Matcher<'a> {
    fn new(form: &'a CompiledForm<'a>, tokens: &'a [Token<'a>], symbols: &'a Symbols) -> Self {
        Self {
            form,
            tokens,
            symbols,
            at: 0,
            values: vec![None; form.instruction.fields.len()],
            bad: Vec::new(),
            said: Vec::new(),
            wanted: None,
            furthest: 0,
            expected: Vec::new(),
        }
    }

    /// Returns the flag of a piece, with its text.
    fn flag(&self, piece: &Piece) -> Option<(usize, &'a str)> {
        let Piece::Field(index) = piece else { return None };
        match &self.form.instruction.fields.get(*index)?.kind {
            FieldKind::Flag { text } => Some((*index, text)),
            _ => None,
        }
    }

    fn pieces(&mut self, pieces: &'a [Piece]) -> Result<(), Mismatch> {
        let mut rest = pieces;
        while let Some((piece, after)) = rest.split_first() {
            let flags: Vec<(usize, &'a str)> = rest.iter().map_while(|piece| self.flag(piece)).collect();
            if !flags.is_empty() {
                self.flags(&flags);
                rest = rest.get(flags.len()..).unwrap_or_default();
                continue;
            }
            rest = after;
            match piece {
                Piece::Text { tokens, .. } => self.texts(tokens.iter().map(String::as_str))?,
                Piece::Field(index) => self.field(*index)?,
                Piece::Optional(inner) => {
                    self.optional(inner);
                }
                Piece::Operands(operands) => self.operands(operands)?,
                Piece::Unknown(_) => return Err(Mismatch),
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Mismatch> {
        if self.at == self.tokens.len() { Ok(()) } else { self.mismatch([Expected::End]) }
    }

    fn texts(&mut self, texts: impl Iterator<Item = &'a str>) -> Result<(), Mismatch> {
        for text in texts {
            match self.tokens.get(self.at) {
                Some(token) if token.text.eq_ignore_ascii_case(text) => self.at += 1,
                _ => return self.mismatch([Expected::Text(text)]),
            }
        }
        Ok(())
    }

    /// Tries `pieces`, and backtracks if they do not fit; returns whether they consumed tokens.
    fn optional(&mut self, pieces: &'a [Piece]) -> bool {
        let (at, values, bad, said) = (self.at, self.values.clone(), self.bad.len(), self.said.len());
        if self.pieces(pieces).is_err() {
            self.at = at;
            self.values = values;
            self.bad.truncate(bad);
            self.said.truncate(said);
        }
        self.at > at
    }

    /// Reads operands in any order, each at most once, separated by commas.
    fn operands(&mut self, operands: &'a [Operand]) -> Result<(), Mismatch> {
        let mut left: Vec<&'a Operand> = operands.iter().collect();
        loop {
            let found = left.iter().position(|operand| self.optional(&operand.pieces));
            let Some(found) = found else { break };
            left.remove(found);
            match self.tokens.get(self.at) {
                Some(token) if token.text == "," && !left.is_empty() => self.at += 1,
                _ => break,
            }
        }
        match left.iter().find(|operand| !operand.optional) {
            Some(missing) => self.mismatch(first_text(missing).map(Expected::Text)),
            // A comma requires another operand.
            None if self.follows_comma() => {
                self.mismatch(left.into_iter().filter_map(first_text).map(Expected::Text))
            }
            None => Ok(()),
        }
    }

    fn follows_comma(&self) -> bool {
        self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).is_some_and(|token| token.text == ",")
    }

    /// Reads adjacent flags in any order, each once.
    fn flags(&mut self, flags: &[(usize, &'a str)]) {
        loop {
            let before = self.at;
            for &(index, text) in flags {
                self.one_flag(index, text);
            }
            if self.at == before {
                return;
            }
        }
    }

    fn one_flag(&mut self, index: usize, text: &'a str) {
        if self.values.get(index) == Some(&Some(1)) {
            return;
        }
        let at = self.at;
        match self.texts(tokens(text, 0).into_iter().map(|token| token.text)) {
            Ok(()) => {
                self.set(index, 1);
                self.say(index, at, Some(1), true);
            }
            Err(Mismatch) => self.at = at,
        }
    }

    fn field(&mut self, index: usize) -> Result<(), Mismatch> {
        let form = self.form;
        let Some(field) = form.instruction.fields.get(index) else { return Err(Mismatch) };
        if self.at >= self.tokens.len() {
            self.wanted = Some((self.at, index));
        }
        if let FieldKind::Set { names } = &field.kind {
            return self.set_of_names(index, field, names);
        }
        let Some(token) = self.tokens.get(self.at).copied() else { return self.mismatch(expected(field)) };
        let (start, named) = (self.at, field.code_of(token.text));
        match named {
            Some(value) => self.set(index, value),
            None if !takes_numbers(field) => return self.mismatch(expected(field)),
            None if token.is_number() && !self.goes_on() => self.number(index, field, token),
            None if begins(&token) || self.symbols.value(token.text).is_some() => {
                return self.expression(index, field);
            }
            None => return self.mismatch(expected(field)),
        }
        self.at += 1;
        let is_bad = self.bad.last().is_some_and(|bad| bad.span == token.span);
        let value = self.values.get(index).copied().flatten().filter(|_| !is_bad);
        self.say(index, start, value, named.is_some());
        Ok(())
    }

    /// Records the value of the tokens from `start` to the current one.
    fn say(&mut self, field: usize, start: usize, value: Option<u64>, is_name: bool) {
        let said = self.tokens.get(start..self.at).unwrap_or_default();
        let span = said.iter().map(|token| token.span).reduce(Span::to).unwrap_or_default();
        self.said.push(Said { field, span, value, is_name });
    }

    /// Whether an operator follows the next token.
    fn goes_on(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(is_operator)
    }

    /// Reads names of bits, separated by `|`, or `0`.
    fn set_of_names(
        &mut self,
        index: usize,
        field: &'a Field,
        names: &'a [(u32, String)],
    ) -> Result<(), Mismatch> {
        let (mut value, start) = (0, self.at);
        if self.texts(std::iter::once("0")).is_ok() {
            self.set(index, value);
            self.say(index, start, Some(value), false);
            return Ok(());
        }
        loop {
            let token = self.tokens.get(self.at).map_or("", |token| token.text);
            let Some((bit, _)) = names.iter().find(|(_, name)| name.eq_ignore_ascii_case(token)) else {
                return self.mismatch(expected(field));
            };
            value |= 1_u64.checked_shl(*bit).unwrap_or(0);
            self.at += 1;
            match self.tokens.get(self.at) {
                Some(token) if token.text == "|" => self.at += 1,
                _ => break,
            }
        }
        self.set(index, value);
        self.say(index, start, Some(value), true);
        Ok(())
    }

    /// Reads an expression, and records a value that is out of range or missing.
    fn expression(&mut self, index: usize, field: &'a Field) -> Result<(), Mismatch> {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let (value, used) = match evaluate(rest, &|name| self.symbols.value(name)) {
            Ok(found) => found,
            Err(Fault::Missing { at }) => {
                self.at += at;
                return self.mismatch(expected(field));
            }
            Err(Fault::Unclosed { at }) => {
                self.at += at;
                return self.mismatch([Expected::Text(")")]);
            }
            Err(Fault::Value { reason, span }) => {
                let text = text_in(rest, span);
                self.bad.push(BadValue { field: index, text, span, value: None, reason: Some(reason) });
                self.set(index, field.default_value());
                let start = self.at;
                self.at += extent(rest);
                self.say(index, start, None, false);
                return Ok(());
            }
        };
        let (start, code) = (self.at, coded(field, value).filter(|&value| field.allows(value)));
        match code {
            Some(value) => self.set(index, value),
            None => {
                let taken = rest.get(..used).unwrap_or_default();
                let span = taken.iter().map(|token| token.span).reduce(Span::to).unwrap_or_default();
                let text = text_in(taken, span);
                let literal = taken.iter().all(|token| token.is_number() || matches!(token.text, "-" | "+"));
                let text = if literal && used <= 2 { text } else { format!("{text} = {value}") };
                self.bad.push(BadValue { field: index, text, span, value: Some(value), reason: None });
                self.set(index, field.default_value());
            }
        }
        self.at += used;
        self.say(index, start, code, false);
        Ok(())
    }

    /// Reads a number, and records one that is out of range.
    fn number(&mut self, index: usize, field: &Field, token: Token<'_>) {
        match number(token.text) {
            Some(value) if field.allows(value) => self.set(index, value),
            found => {
                let (text, span) = (token.text.to_owned(), token.span);
                let value = found.map(i128::from);
                self.bad.push(BadValue { field: index, text, span, value, reason: None });
                self.set(index, field.default_value());
            }
        }
    }

    fn set(&mut self, index: usize, value: u64) {
        if let Some(slot) = self.values.get_mut(index) {
            *slot = Some(value);
        }
    }

    fn mismatch<T>(&mut self, expected: impl IntoIterator<Item = Expected<'a>>) -> Result<T, Mismatch> {
        if self.at > self.furthest {
            self.furthest = self.at;
            self.expected.clear();
        }
        if self.at == self.furthest {
            self.expected.extend(expected);
        }
        Err(Mismatch)
    }

    /// Applies the form's conditions and fills in fields that the text omits.
    fn finish(mut self) -> Outcome<'a> {
        for when in self.form.when {
            if !self.apply(when) {
                return Outcome::Excluded;
            }
        }
        let fields = &self.form.instruction.fields;
        let values = fields.iter().zip(&self.values);
        let values = values.map(|(field, value)| value.unwrap_or(field.default_value())).collect();
        Outcome::Matched { values, bad: self.bad, said: self.said }
    }

    /// Whether the condition holds; an omitted field first gets the value that the condition
    /// requires.
    fn apply(&mut self, when: &When) -> bool {
        match when {
            When::Is(field, wanted) => self.fill(field, *wanted) == Some(*wanted),
            When::OneOf(field, wanted) => self.value(field).is_some_and(|value| wanted.contains(&value)),
            When::Same(field, other) => match self.value(other) {
                Some(wanted) => self.fill(field, wanted) == Some(wanted),
                None => false,
            },
        }
    }

    fn value(&self, field: &str) -> Option<u64> {
        let index = self.form.instruction.field(field)?;
        self.values.get(index).copied().flatten()
    }

    /// Returns the value of `field`, which becomes `value` if it is not set.
    fn fill(&mut self, field: &str, value: u64) -> Option<u64> {
        let index = self.form.instruction.field(field)?;
        self.values.get_mut(index).map(|slot| *slot.get_or_insert(value))
    }
}

/// Converts a number to the field's value.
fn coded(field: &Field, value: i128) -> Option<u64> {
    match field.kind {
        FieldKind::Signed { .. } => i64::try_from(value).ok().map(i64::cast_unsigned),
        _ => u64::try_from(value).ok(),
    }
}

/// Returns the number of tokens of an expression without a value.
fn extent(tokens: &[Token<'_>]) -> usize {
    let mut open = 0_usize;
    let goes_on = |token: &&Token<'_>| {
        match token.text {
            "(" => open += 1,
            ")" if open > 0 => open -= 1,
            _ => {
                return token.is_number()
                    || is_operator(token)
                    || token.text == "~"
                    || Symbols::is_name(token.text);
            }
        }
        true
    };
    tokens.iter().take_while(goes_on).count()
}

/// Returns the tokens within `span`, without the text between them.
fn text_in(tokens: &[Token<'_>], span: Span) -> String {
    let within = tokens.iter().filter(|token| span.start <= token.span.start && token.span.end <= span.end);
    within.map(|token| token.text).collect()
}

const fn takes_numbers(field: &Field) -> bool {
    matches!(
        field.kind,
        FieldKind::Number { .. }
            | FieldKind::Signed { .. }
            | FieldKind::Power { .. }
            | FieldKind::Choice { open: true, .. }
    )
}

fn expected(field: &Field) -> Vec<Expected<'_>> {
    let names = match &field.kind {
        FieldKind::Choice { names, .. } => names.as_slice(),
        FieldKind::Set { names } => return names.iter().map(|(_, name)| Expected::Text(name)).collect(),
        _ => &[],
    };
    let names = names.iter().map(|(_, name)| Expected::Text(name));
    names.chain(takes_numbers(field).then_some(Expected::Number(field))).collect()
}

/// Returns the first word of an operand.
fn first_text(operand: &Operand) -> Option<&str> {
    match operand.pieces.first()? {
        Piece::Text { tokens, .. } => tokens.first().map(String::as_str),
        _ => None,
    }
}
