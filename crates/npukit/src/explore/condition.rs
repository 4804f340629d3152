//! [`Condition`]: a condition on points, such as `bram <= 140 and argmax_agree >= 0.99`.

use std::fmt;

use serde_json::Value;

/// Condition on parameters and metrics: comparisons of sums and products, joined by `and`, `or` and
/// `not`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    term: Term,
}

/// Syntax error in a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a condition: {reason}, at character {column}\n  {text}\n  {caret:>column$}",
    caret = "^"
)]
pub struct ConditionError {
    /// Text of the condition.
    pub text: String,
    /// Description of the syntax error.
    pub reason: String,
    /// Position of the error, in characters from 1.
    pub column: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(f64),
    Word(String),
    Name(String),
    Negated(Box<Self>),
    Not(Box<Self>),
    /// Operators of one precedence level, from left to right, each with its right operand. A list,
    /// so that long chains do not nest.
    Chain(Box<Self>, Vec<(Operator, Self)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Compared(Comparison),
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Other,
}

/// Value of a term.
#[derive(Clone, Debug, PartialEq)]
enum TermValue {
    Number(f64),
    Word(String),
    Truth(bool),
}

/// Binary operators by spelling, lowest precedence first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("<=", Operator::Compared(Comparison::AtMost)),
        (">=", Operator::Compared(Comparison::AtLeast)),
        ("==", Operator::Compared(Comparison::Equal)),
        ("!=", Operator::Compared(Comparison::Other)),
        ("<", Operator::Compared(Comparison::Less)),
        (">", Operator::Compared(Comparison::More)),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide)],
];
/// Precedence level of comparisons; `not` binds one level looser.
const COMPARISONS: usize = 2;
/// Maximum nesting of brackets; everything else is stored as a list.
const DEEPEST: usize = 64;

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    ///
    /// Returns a [`ConditionError`] with the position of the first syntax error.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let mut parser = Parser { text, place: 0, depth: 0 };
        let term = parser.binary(0)?;
        parser.skip();
        if parser.place < text.len() {
            return Err(parser.error("unexpected text after the condition"));
        }
        if !term.is_truth() {
            parser.place = 0;
            return Err(parser.error("a comparison is missing"));
        }
        Ok(Self { text: text.trim().to_owned(), term })
    }

    /// Evaluates the condition with the values of `lookup`. Returns `None` if the result depends on
    /// an unknown value.
    pub fn holds(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<bool> {
        match self.term.value(lookup)? {
            TermValue::Truth(truth) => Some(truth),
            _ => None,
        }
    }

    /// Returns the names in the condition, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.term.collect(&mut names);
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Term {
    fn is_truth(&self) -> bool {
        match self {
            Self::Not(_) => true,
            Self::Chain(_, rest) => {
                let is_truth =
                    |operator| matches!(operator, Operator::Or | Operator::And | Operator::Compared(_));
                rest.first().is_some_and(|&(operator, _)| is_truth(operator))
            }
            _ => false,
        }
    }

    fn collect<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Name(name) => names.push(name),
            Self::Negated(term) | Self::Not(term) => term.collect(names),
            Self::Chain(first, rest) => {
                first.collect(names);
                rest.iter().for_each(|(_, term)| term.collect(names));
            }
            Self::Number(_) | Self::Word(_) => {}
        }
    }

    fn value(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<TermValue> {
        Some(match self {
            Self::Number(number) => TermValue::Number(*number),
            Self::Word(word) => TermValue::Word(word.clone()),
            Self::Name(name) => match lookup(name)? {
                Value::Number(number) => TermValue::Number(number.as_f64()?),
                Value::String(word) => TermValue::Word(word),
                Value::Bool(truth) => TermValue::Truth(truth),
                _ => return None,
            },
            Self::Negated(term) => TermValue::Number(-term.number(lookup)?),
            Self::Not(term) => TermValue::Truth(!term.truth(lookup)?),
            Self::Chain(first, rest) => return chain(first, rest, lookup),
        })
    }

    fn truth(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<bool> {
        match self.value(lookup)? {
            TermValue::Truth(truth) => Some(truth),
            _ => None,
        }
    }

    fn number(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<f64> {
        match self.value(lookup)? {
            TermValue::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// Evaluates a chain of operators of one precedence level.
fn chain(
    first: &Term,
    rest: &[(Operator, Term)],
    lookup: &dyn Fn(&str) -> Option<Value>,
) -> Option<TermValue> {
    let terms = || std::iter::once(first).chain(rest.iter().map(|(_, term)| term));
    let (operator, _) = rest.first()?;
    Some(match operator {
        Operator::And => TermValue::Truth(all(terms().map(|term| term.truth(lookup)))?),
        Operator::Or => TermValue::Truth(!all(terms().map(|term| term.truth(lookup).map(|truth| !truth)))?),
        Operator::Compared(_) => {
            // `1 <= x <= 3` means two comparisons.
            let pairs = terms().zip(rest).map(|(left, (operator, right))| match operator {
                Operator::Compared(comparison) => comparison.of(&left.value(lookup)?, &right.value(lookup)?),
                _ => None,
            });
            TermValue::Truth(all(pairs)?)
        }
        _ => {
            let mut number = first.number(lookup)?;
            for (operator, term) in rest {
                number = operator.of(number, term.number(lookup)?);
            }
            TermValue::Number(number)
        }
    })
}

/// Whether all are true. One false operand decides, even if others are unknown.
fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut found = Some(true);
    for truth in truths {
        match truth {
            Some(false) => return truth,
            Some(true) => {}
            None => found = None,
        }
    }
    found
}

impl Operator {
    /// Applies the operator to two numbers.
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            _ => left / right,
        }
    }
}

impl Comparison {
    fn of(self, left: &TermValue, right: &TermValue) -> Option<bool> {
        let order = match (left, right) {
            (TermValue::Number(left), TermValue::Number(right)) => left.partial_cmp(right)?,
            (TermValue::Word(left), TermValue::Word(right)) => left.cmp(right),
            (TermValue::Truth(left), TermValue::Truth(right)) => left.cmp(right),
            // Values of different kinds are never equal.
            _ => return (self == Self::Other).then_some(true).or(Some(false)),
        };
        Some(match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::Other => order.is_ne(),
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    place: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.place..]
    }

    fn skip(&mut self) {
        self.place += self.rest().len() - self.rest().trim_start().len();
    }

    fn error(&self, reason: &str) -> ConditionError {
        let column = self.text[..self.place].chars().count() + 1;
        ConditionError { text: self.text.to_owned(), reason: reason.to_owned(), column }
    }

    /// Consumes `token` if it follows. A word must not be followed by another letter.
    fn takes(&mut self, token: &str) -> bool {
        self.skip();
        let Some(after) = self.rest().strip_prefix(token) else { return false };
        let is_word = token.chars().all(char::is_alphabetic);
        if is_word && after.starts_with(is_of_name) {
            return false;
        }
        self.place += token.len();
        true
    }

    fn binary(&mut self, level: usize) -> Result<Term, ConditionError> {
        if level == COMPARISONS && self.takes("not") {
            return self.repeated("not", Term::Not, |parser| parser.binary(level));
        }
        let Some(operators) = LEVELS.get(level) else { return self.atom() };
        let first = self.binary(level + 1)?;
        let mut rest = Vec::new();
        while let Some(&(_, operator)) = operators.iter().find(|(token, _)| self.takes(token)) {
            rest.push((operator, self.binary(level + 1)?));
        }
        Ok(if rest.is_empty() { first } else { Term::Chain(Box::new(first), rest) })
    }

    /// Parses the operand after `token`, which was consumed once and may be repeated. Two
    /// repetitions cancel out, so at most two are kept: the second still determines what kind of
    /// term may follow.
    fn repeated(
        &mut self,
        token: &str,
        of: fn(Box<Term>) -> Term,
        next: impl FnOnce(&mut Self) -> Result<Term, ConditionError>,
    ) -> Result<Term, ConditionError> {
        let mut is_odd = true;
        while self.takes(token) {
            is_odd = !is_odd;
        }
        let term = of(Box::new(next(self)?));
        Ok(if is_odd { term } else { of(Box::new(term)) })
    }

    fn atom(&mut self) -> Result<Term, ConditionError> {
        self.skip();
        if self.takes("(") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.error("brackets are nested too deeply"));
            }
            let term = self.binary(0)?;
            self.depth -= 1;
            return if self.takes(")") { Ok(term) } else { Err(self.error("`)` is missing")) };
        }
        if self.takes("-") {
            return self.repeated("-", Term::Negated, Self::atom);
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let word = rest[1..].split_once(quote).map(|(word, _)| word.to_owned());
                let word = word.ok_or_else(|| self.error("the closing quote is missing"))?;
                self.place += word.len() + 2;
                Ok(Term::Word(word))
            }
            Some(first) if first.is_ascii_digit() || first == '.' => {
                let end = number_end(rest);
                let number = rest[..end].parse().map_err(|_| self.error("this is not a number"))?;
                self.place += end;
                Ok(Term::Number(number))
            }
            Some(first) if is_of_name(first) => {
                let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
                let name = rest[..end].to_owned();
                self.place += end;
                Ok(Term::Name(name))
            }
            _ => Err(self.error("expected a name, a number or a quoted word")),
        }
    }
}

/// Returns the length of the number at the start of a text.
fn number_end(text: &str) -> usize {
    let mut before = ' ';
    let is_more = |c: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        before = c;
        !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign)
    };
    text.find(is_more).unwrap_or(text.len())
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    fn holds(text: &str) -> Option<bool> {
        let known =
            json!({ "bram": 100, "error": 0.5, "data_type": "FP16BP8", "ext": true, "timing.mhz": 1e3 });
        Condition::parse(text).unwrap().holds(&|name| known.get(name).cloned())
    }

    #[test]
    fn conditions_hold_or_do_not() {
        for text in [
            "bram <= 100 and error < 1",
            "bram*2 - 1 == 199 or 1 > 2",
            "not bram > 100",
            "50 <= bram <= 150",
            "data_type == 'FP16BP8' and data_type != \"FP32BP16\"",
            "timing.mhz >= 1e3",
            "-bram < -(99) and bram / 2 + 1 > 50",
            "not (bram < 1 or error > 1)",
        ] {
            assert_eq!(holds(text), Some(true), "{text}");
        }
        for text in ["bram < 100", "100 < bram <= 100", "data_type == 3", "1 == 1 and bram > 100"] {
            assert_eq!(holds(text), Some(false), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        assert_eq!(holds("lut < 3"), None);
        assert_eq!(holds("lut < 3 and bram > 100"), Some(false));
        assert_eq!(holds("lut < 3 or bram == 100"), Some(true));
        assert_eq!(Condition::parse("a < b and a > 1").unwrap().names(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_condition_is_told_with_the_place() {
        let error = |text: &str| Condition::parse(text).unwrap_err();
        for (text, reason, column) in [
            ("bram <=", "expected a name, a number or a quoted word", 8),
            ("bram", "a comparison is missing", 1),
            ("bram < 3 lut", "unexpected text after the condition", 10),
            ("(bram < 3", "`)` is missing", 10),
            ("a == 'x", "the closing quote is missing", 6),
            ("a < 1.2.3", "this is not a number", 5),
            ("", "expected a name, a number or a quoted word", 1),
        ] {
            assert_eq!((error(text).reason.as_str(), error(text).column), (reason, column), "{text}");
        }
        assert!(error("bram <=").to_string().ends_with("\n  bram <=\n         ^"), "{}", error("bram <="));
        assert!(error(&"(".repeat(1000)).reason.contains("too deep"));
    }

    /// Long conditions are parsed and evaluated without recursion; only brackets nest.
    #[test]
    fn chains_have_no_depth() {
        let many = |text: &str| text.repeat(100_000);
        for (text, known) in [
            (many("not ") + "bram > 5", Some(true)),
            (many("not ") + "not bram > 5", Some(false)),
            (many("-") + "bram == 100", Some(true)),
            (many("-") + "-bram == -100", Some(true)),
            (many("1 + ") + "bram == 100100", Some(true)),
            (many("bram / ") + "bram < 1", Some(true)),
            (many("bram > 5 and ") + "lut < 3", None),
            (many("bram < 5 or ") + "bram > 5", Some(true)),
            (many("1 <= ") + "bram", Some(true)),
            (many("100 >= ") + "bram < 100", Some(false)),
            (many("(not -") + "1", None),
        ] {
            let parsed = Condition::parse(&text);
            match &parsed {
                Err(error) => assert!(error.reason.contains("too deep") && text.starts_with('(')),
                Ok(parsed) => assert_eq!(parsed.clone(), *parsed),
            }
            assert!(parsed.is_err() || holds(&text) == known, "{}", &text[text.len() - 20..]);
        }
    }

    #[test]
    fn operators_go_from_left_to_right() {
        for text in
            ["10 - 3 - 2 == 5", "100 / 10 / 5 == 2", "8 - 2 * 3 + 1 == 3", "--3 == 3", "1 < 2 < 3 > 2"]
        {
            assert_eq!(holds(text), Some(true), "{text}");
        }
        assert_eq!((holds("not not bram"), holds("--data_type == 1")), (None, None));
        assert_eq!(holds("3 > 2 > lut"), None);
        assert_eq!(holds("2 > 3 > lut"), Some(false));
    }
}
