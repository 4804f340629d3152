//! [`Matcher`]: reads the tokens of a line by a form.

use npukit_base::Span;
use npukit_isa::syntax::{Operand, Piece};
use npukit_isa::token::{Token, number, tokens};
use npukit_isa::{Field, FieldKind, When};

use crate::expression::{Fault, begins, evaluate, is_operator};
use crate::grammar::CompiledForm;
use crate::symbols::Symbols;

/// A value outside its field's range, or an expression that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    pub field: usize,
    pub text: String,
    pub span: Span,
    /// The number.
    pub value: Option<i128>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// A value in a line, and the bytes that say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub field: usize,
    pub span: Span,
    /// None for one that the field cannot have.
    pub value: Option<u64>,
    /// Whether it is a word of the field's own.
    pub is_name: bool,
}

/// What came of reading a line by a form.
pub(crate) enum Outcome<'a> {
    /// All of it fits the form.
    Matched {
        /// A value for each field of the instruction.
        values: Vec<u64>,
        /// Those out of range.
        bad: Vec<BadValue>,
        /// Those that the text says, in its order.
        said: Vec<Said>,
    },
    /// The text fits, but not the form's conditions: another form is meant.
    Excluded,
    /// The token `at` does not fit.
    Mismatch { at: usize, expected: Vec<Expected<'a>> },
}

/// What a token could have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected<'a> {
    /// This text.
    Text(&'a str),
    /// A number for this field.
    Number(&'a Field),
    /// Nothing: the line should have ended.
    End,
}

/// The reading of a line by a form.
struct Matcher<'a> {
    form: &'a CompiledForm<'a>,
    tokens: &'a [Token<'a>],
    symbols: &'a Symbols,
    at: usize,
    values: Vec<Option<u64>>,
    bad: Vec<BadValue>,
    said: Vec<Said>,
    /// The field that was looked for last, and at which token.
    wanted: Option<(usize, usize)>,
    /// The furthest token that did not fit, and what would have.
    furthest: usize,
    expected: Vec<Expected<'a>>,
}

/// The token did not fit; [`Matcher::furthest`] says more.
struct Mismatch;

/// Reads `tokens` by `form`; `symbols` stand for numbers.
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

/// What may follow `tokens`, the beginning of a line, and the field whose value comes next.
pub(crate) fn expected_after<'a>(
    form: &'a CompiledForm<'a>,
    tokens: &'a [Token<'a>],
    symbols: &'a Symbols,
) -> (Vec<Expected<'a>>, Option<usize>) {
    let mut matcher = Matcher::new(form, tokens, symbols);
    // What it is so far is of no matter.
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

    /// The flag a piece is, with its text.
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

    /// Tries `pieces`, and goes back when they do not fit; gives whether they took any tokens.
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

    /// Reads operands in any order, each at most once, commas between them.
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
            // A comma promised another operand.
            None if self.follows_comma() => {
                self.mismatch(left.into_iter().filter_map(first_text).map(Expected::Text))
            }
            None => Ok(()),
        }
    }

    fn follows_comma(&self) -> bool {
        self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).is_some_and(|token| token.text == ",")
    }

    /// Reads flags that stand side by side, in any order, each once.
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

    /// Notes what the tokens from `start` up to here say.
    fn say(&mut self, field: usize, start: usize, value: Option<u64>, is_name: bool) {
        let said = self.tokens.get(start..self.at).unwrap_or_default();
        let span = said.iter().map(|token| token.span).reduce(Span::to).unwrap_or_default();
        self.said.push(Said { field, span, value, is_name });
    }

    /// Whether an operator follows the next token.
    fn goes_on(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(is_operator)
    }

    /// Names of bits, `|` between them; or `0`.
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

    /// Takes an expression, noting one that is out of range or has no value.
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

    /// Takes a number, noting one that is out of range.
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

    /// Applies the form's conditions and fills in what the text left unsaid.
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

    /// Whether the condition holds, after giving a field left unsaid the value it asks for.
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

    /// The value of `field`, made `value` when there is none.
    fn fill(&mut self, field: &str, value: u64) -> Option<u64> {
        let index = self.form.instruction.field(field)?;
        self.values.get_mut(index).map(|slot| *slot.get_or_insert(value))
    }
}

/// A number as the field's value.
fn coded(field: &Field, value: i128) -> Option<u64> {
    match field.kind {
        FieldKind::Signed { .. } => i64::try_from(value).ok().map(i64::cast_unsigned),
        _ => u64::try_from(value).ok(),
    }
}

/// How many tokens an expression without a value takes.
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

/// The tokens within `span`, without what is between them.
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

/// The word an operand begins with.
fn first_text(operand: &Operand) -> Option<&str> {
    match operand.pieces.first()? {
        Piece::Text { tokens, .. } => tokens.first().map(String::as_str),
        _ => None,
    }
}
