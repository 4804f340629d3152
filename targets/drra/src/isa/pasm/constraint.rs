//! [`parse`]: expressions of `cstr`, which are comparisons of sums joined by `/\` and `\/`.

use npukit_asm::source_span;
use npukit_base::Span;

use super::error::PasmError;

/// Maximum nesting depth of parentheses.
const MAX_NESTED: usize = 64;

/// Condition of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All conditions hold.
    All(Vec<Self>),
    /// At least one condition holds.
    Any(Vec<Self>),
    /// A comparison of two sums.
    Compare(Sum, Relation, Sum),
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=` or `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Terms with their factors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum(pub Vec<(i64, Term)>);

/// Term of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The constant 1.
    One,
    /// The start of an operation, one of its events, or a variable.
    Name(Reference),
}

/// Name in a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name of the operation or variable.
    pub name: String,
    /// `.eLANE[INDEX]...`, outermost index first.
    pub event: Option<(usize, Vec<i64>)>,
    /// Span in the file.
    pub span: Span,
}

/// Parses a constraint; `start` is the offset of its first byte in the file.
///
/// # Errors
///
/// The first error.
pub fn parse(text: &str, start: usize) -> Result<Condition, PasmError> {
    let mut reader = Reader { text, start, at: 0, depth: 0 };
    let condition = reader.any()?;
    reader.blanks();
    if reader.rest().is_empty() { Ok(condition) } else { Err(reader.expected("`/\\`, `\\/` or the end")) }
}

struct Reader<'a> {
    text: &'a str,
    start: usize,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, PasmError>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, text: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn expected(&self, expected: &str) -> PasmError {
        let found = self.rest().chars().next();
        let size = found.map_or(0, char::len_utf8);
        // At the end of the text, the caret points to the last character.
        let back = usize::from(found.is_none() && !self.text.is_empty());
        let begin = self.start + self.at - back;
        PasmError::Syntax {
            expected: expected.to_owned(),
            found: found.map_or_else(|| "the end of the constraint".to_owned(), |found| format!("`{found}`")),
            span: source_span(Span::new(begin, begin + size.max(1))),
            help: None,
        }
    }

    fn any(&mut self) -> Read<Condition> {
        let mut list = vec![self.all()?];
        while self.take("\\/") {
            list.push(self.all()?);
        }
        Ok(one_or(list, Condition::Any))
    }

    fn all(&mut self) -> Read<Condition> {
        let mut list = vec![self.comparison()?];
        while self.take("/\\") {
            list.push(self.comparison()?);
        }
        Ok(one_or(list, Condition::All))
    }

    /// Reads a comparison or a condition in parentheses. The token after the parentheses decides.
    fn comparison(&mut self) -> Read<Condition> {
        let before = self.at;
        if self.take("(") {
            let inner = self.nested(Self::any);
            if let Ok(condition) = inner
                && self.take(")")
            {
                return Ok(condition);
            }
            self.at = before;
        }
        let left = self.sum()?;
        let relation = self.relation()?;
        let right = self.sum()?;
        Ok(Condition::Compare(left, relation, right))
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_NESTED {
            return Err(self.expected("fewer parentheses"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn relation(&mut self) -> Read<Relation> {
        let relations = [
            ("==", Relation::Equal),
            ("=", Relation::Equal),
            ("!=", Relation::NotEqual),
            ("<=", Relation::LessOrEqual),
            ("<", Relation::Less),
            (">=", Relation::GreaterOrEqual),
            (">", Relation::Greater),
        ];
        let found = relations.into_iter().find(|(text, _)| self.take(text));
        found.map(|(_, relation)| relation).ok_or_else(|| self.expected("`+`, `-`, `*` or a comparison"))
    }

    fn sum(&mut self) -> Read<Sum> {
        let mut sum = Sum::default();
        let mut sign = if self.take("-") { -1 } else { 1 };
        loop {
            let Sum(terms) = self.product()?;
            sum.0.extend(terms.into_iter().map(|(factor, term)| (factor.saturating_mul(sign), term)));
            sign = match (self.take("+"), self.take("-")) {
                (true, _) => 1,
                (_, true) => -1,
                _ => return Ok(sum),
            };
        }
    }

    /// Reads factors. At most one of them may be a name; all others are numbers.
    fn product(&mut self) -> Read<Sum> {
        let mut product = self.factor()?;
        while self.take("*") {
            let right = self.factor()?;
            product = match (number(&product), number(&right)) {
                (Some(by), _) => scaled(right, by),
                (_, Some(by)) => scaled(product, by),
                _ => return Err(self.expected("a number on one side of `*`")),
            };
        }
        Ok(product)
    }

    fn factor(&mut self) -> Read<Sum> {
        if self.take("(") {
            let sum = self.nested(Self::sum)?;
            return if self.take(")") { Ok(sum) } else { Err(self.expected("`)`")) };
        }
        self.blanks();
        match self.rest().chars().next() {
            Some('0'..='9') => Ok(Sum(vec![(self.number()?, Term::One)])),
            Some('a'..='z' | 'A'..='Z') => Ok(Sum(vec![(1, Term::Name(self.reference()?))])),
            _ => Err(self.expected("a number, an operation or a variable")),
        }
    }

    fn number(&mut self) -> Read<i64> {
        self.blanks();
        let text = self.word();
        let value = text.parse().ok().filter(|_| text.starts_with(|digit: char| digit.is_ascii_digit()));
        value.ok_or_else(|| {
            self.at -= text.len();
            self.expected("a decimal number of at most 63 bits")
        })
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        // Default: the word extends to the end of the text.
        let (word, _) = rest.split_at(end.unwrap_or(rest.len()));
        self.at += word.len();
        word
    }

    fn reference(&mut self) -> Read<Reference> {
        let start = self.at;
        let name = self.word().to_owned();
        let event = if self.take(".") { Some(self.event()?) } else { None };
        Ok(Reference { name, event, span: Span::new(self.start + start, self.start + self.at) })
    }

    fn event(&mut self) -> Read<(usize, Vec<i64>)> {
        if !self.take("e") {
            return Err(self.expected("an event, as `.e0`"));
        }
        // Default: a lane number that no operation has.
        let lane = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let mut indices = Vec::new();
        while self.take("[") {
            indices.push(self.number()?);
            if !self.take("]") {
                return Err(self.expected("`]`"));
            }
        }
        Ok((lane, indices))
    }
}

fn one_or(mut list: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match list.pop() {
        Some(one) if list.is_empty() => one,
        last => many(list.into_iter().chain(last).collect()),
    }
}

/// Value of a sum without names.
fn number(Sum(terms): &Sum) -> Option<i64> {
    terms.iter().try_fold(0_i64, |sum, (factor, term)| match term {
        Term::One => Some(sum.saturating_add(*factor)),
        Term::Name(_) => None,
    })
}

fn scaled(Sum(terms): Sum, by: i64) -> Sum {
    Sum(terms.into_iter().map(|(factor, term)| (factor.saturating_mul(by), term)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn names(Sum(terms): &Sum) -> Vec<(i64, String)> {
        let name = |term: &Term| match term {
            Term::One => String::new(),
            Term::Name(name) => format!("{}{:?}", name.name, name.event),
        };
        terms.iter().map(|(factor, term)| (*factor, name(term))).collect()
    }

    #[test]
    fn sums_and_anchors() {
        let Condition::Compare(left, relation, right) = parse("3*(a.e0[1][2] - 2) + b>=-t1*4", 0).unwrap()
        else {
            unreachable!("a comparison")
        };
        assert_eq!(relation, Relation::GreaterOrEqual);
        let a = "aSome((0, [1, 2]))".to_owned();
        assert_eq!(names(&left), [(3, a), (-6, String::new()), (1, "bNone".to_owned())]);
        assert_eq!(names(&right), [(-4, "t1None".to_owned())]);
    }

    #[test]
    fn conditions_join_and_nest() {
        let condition = parse("(a < b \\/ (b+1) < a) /\\ (c) == 2", 0).unwrap();
        let Condition::All(list) = condition else { unreachable!("a conjunction") };
        assert!(matches!(&list[..], [Condition::Any(two), Condition::Compare(..)] if two.len() == 2));
    }

    #[test]
    fn faults_have_places() {
        for (text, place) in
            [("", 10), ("a", 10), ("a <", 12), ("a*b<1", 13), ("a<b c", 14), ("a.x<1", 12), ("a<é", 12)]
        {
            let error = parse(text, 10).unwrap_err();
            assert_eq!(error.span().offset(), place, "{text}: {error}");
        }
        assert!(parse(&"(".repeat(9999), 0).is_err());
    }
}
