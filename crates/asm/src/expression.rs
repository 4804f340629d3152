//! [`evaluate`]: evaluates a number, or an expression of numbers and names, in operands and
//! directives.
//!
//! Operators and their precedence follow C: `|`, `^`, `&`, `<< >>`, `+ -`, `* / %`, then `- +
//! ~` before a value. Conditions also have `||`, `&&`, `== !=`, `< > <= >=` and `!`, where 1 is
//! true and 0 is false. These are not allowed in operands, whose forms may contain such characters.
//! All computations use signed 128-bit numbers; overflow is a fault and never wraps.

use npukit_base::Span;
use npukit_isa::token::{Token, number};

/// Maximum nesting depth of signs and parentheses.
const MAX_DEPTH: usize = 64;

/// Reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A value is missing at this token index; an index after the last token means the end of the
    /// text.
    Missing { at: usize },
    /// A parenthesis is not closed at this token index.
    Unclosed { at: usize },
    /// The tokens have no value.
    Value { reason: String, span: Span },
}

/// Returns the value of the expression at the start of `tokens`, and its number of tokens.
///
/// # Errors
///
/// The first [`Fault`].
pub(crate) fn evaluate(
    tokens: &[Token<'_>],
    value_of: &dyn Fn(&str) -> Option<i128>,
) -> Result<(i128, usize), Fault> {
    parse(tokens, value_of, false)
}

/// Like [`evaluate`], with comparisons.
///
/// # Errors
///
/// The first [`Fault`].
pub(crate) fn evaluate_condition(
    tokens: &[Token<'_>],
    value_of: &dyn Fn(&str) -> Option<i128>,
) -> Result<(i128, usize), Fault> {
    parse(tokens, value_of, true)
}

fn parse(
    tokens: &[Token<'_>],
    value_of: &dyn Fn(&str) -> Option<i128>,
    compares: bool,
) -> Result<(i128, usize), Fault> {
    let mut parser = Parser { tokens, value_of, compares, at: 0, depth: 0 };
    let value = parser.binary(0)?;
    Ok((value, parser.at))
}

/// Whether `token` continues an expression.
pub(crate) fn is_operator(token: &Token<'_>) -> bool {
    matches!(token.text, "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<" | ">")
}

/// Whether an expression may begin with `token`, apart from names.
pub(crate) fn begins(token: &Token<'_>) -> bool {
    token.is_number() || matches!(token.text, "+" | "-" | "~" | "(")
}

/// Binary operators, with their precedence.
#[rustfmt::skip]
const OPERATORS: [(&str, u8); 18] = [
    ("||", 0), ("&&", 1), ("|", 2), ("^", 3), ("&", 4), ("==", 5), ("!=", 5),
    ("<=", 6), (">=", 6), ("<", 6), (">", 6),
    ("<<", 7), (">>", 7), ("+", 8), ("-", 8), ("*", 9), ("/", 9), ("%", 9),
];
const TIGHTEST: u8 = 9;

/// Whether a precedence level is only allowed in conditions.
const fn is_comparison(level: u8) -> bool {
    matches!(level, 0 | 1 | 5 | 6)
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    value_of: &'a dyn Fn(&str) -> Option<i128>,
    compares: bool,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn binary(&mut self, level: u8) -> Result<i128, Fault> {
        if level > TIGHTEST {
            return self.unary();
        }
        let start = self.at;
        let mut left = self.binary(level + 1)?;
        while let Some((operator, size)) = self.operator(level) {
            self.at += size;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right).map_err(|reason| self.fault(start, reason))?;
        }
        Ok(left)
    }

    /// Returns the operator of that level at the current position, and its number of tokens.
    fn operator(&self, level: u8) -> Option<(&'static str, usize)> {
        let first = self.tokens.get(self.at)?;
        let second = self.tokens.get(self.at + 1).filter(|second| second.span.start == first.span.end);
        let is_pair =
            |text: &str| second.is_some_and(|second| text.strip_prefix(first.text) == Some(second.text));
        let known = OPERATORS.iter().filter(|(_, level)| self.compares || !is_comparison(*level));
        let pair = known.clone().find(|(text, _)| is_pair(text)).map(|&(text, level)| (text, level, 2));
        // Two adjacent signs that form an operator are not two operators.
        let here = pair.or_else(|| {
            known.clone().find(|(text, _)| *text == first.text).map(|&(text, level)| (text, level, 1))
        });
        here.filter(|(_, found, _)| *found == level).map(|(text, _, size)| (text, size))
    }

    fn unary(&mut self) -> Result<i128, Fault> {
        let start = self.at;
        let Some(token) = self.tokens.get(self.at).copied() else {
            return Err(Fault::Missing { at: self.at });
        };
        self.at += 1;
        match token.text {
            "-" | "+" | "~" | "(" => self.nested(token.text, start),
            "!" if self.compares => self.nested(token.text, start),
            _ if token.is_number() => self.literal(token),
            name => (self.value_of)(name).ok_or(Fault::Missing { at: start }),
        }
    }

    fn nested(&mut self, sign: &str, start: usize) -> Result<i128, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(start, format!("has more than {MAX_DEPTH} nested signs and parentheses")));
        }
        let value = if sign == "(" { self.binary(0)? } else { self.unary()? };
        self.depth -= 1;
        match sign {
            "-" => value.checked_neg().ok_or_else(|| self.fault(start, TOO_LARGE.to_owned())),
            "~" => Ok(!value),
            "!" => Ok(i128::from(value == 0)),
            "(" => match self.tokens.get(self.at) {
                Some(token) if token.text == ")" => {
                    self.at += 1;
                    Ok(value)
                }
                _ => Err(Fault::Unclosed { at: self.at }),
            },
            _ => Ok(value),
        }
    }

    fn literal(&self, token: Token<'_>) -> Result<i128, Fault> {
        let reason = || "is not a number of at most 64 bits: write 64, 0x40 or 0b100_0000".to_owned();
        number(token.text).map(i128::from).ok_or_else(|| Fault::Value { reason: reason(), span: token.span })
    }

    /// Returns a fault for the tokens read since token `start`.
    fn fault(&self, start: usize, reason: String) -> Fault {
        let read = self.tokens.get(start..self.at).unwrap_or_default();
        // Default: at least one token has been read, which has a span.
        let span = read.iter().map(|token| token.span).reduce(Span::to).unwrap_or_default();
        Fault::Value { reason, span }
    }
}

const TOO_LARGE: &str = "does not fit 128 bits";

fn apply(operator: &str, left: i128, right: i128) -> Result<i128, String> {
    if matches!(operator, "/" | "%") && right == 0 {
        return Err("divides by zero".to_owned());
    }
    let shift = || {
        u32::try_from(right)
            .ok()
            .filter(|bits| *bits < i128::BITS)
            .ok_or_else(|| format!("shifts by {right} bits: legal are 0 to {}", i128::BITS - 1))
    };
    let value = match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "<<" => {
            let bits = shift()?;
            left.checked_shl(bits).filter(|value| value >> bits == left)
        }
        ">>" => Some(left >> shift()?),
        "&" => Some(left & right),
        "^" => Some(left ^ right),
        "|" => Some(left | right),
        comparison => Some(i128::from(compare(comparison, left, right))),
    };
    value.ok_or_else(|| TOO_LARGE.to_owned())
}

fn compare(operator: &str, left: i128, right: i128) -> bool {
    match operator {
        "==" => left == right,
        "!=" => left != right,
        "<=" => left <= right,
        ">=" => left >= right,
        "<" => left < right,
        ">" => left > right,
        "&&" => left != 0 && right != 0,
        _ => left != 0 || right != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use npukit_isa::token::tokens;

    fn read(text: &str) -> Result<(i128, usize), Fault> {
        evaluate(&tokens(text, 0), &|name| (name == "act").then_some(0x100))
    }

    #[test]
    fn operators_bind_as_in_c() {
        let cases = [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("100 / 7 % 5", 4),
            ("1 << 4 + 1", 32),
            ("act >> 4 | 1", 0x11),
            ("0xff & ~0xf ^ 0b1", 0xf1),
            ("-3 * -2", 6),
            ("- - +5", 5),
            ("-7 / 2", -3),
            ("act/2-0x80", 0),
        ];
        for (text, value) in cases {
            assert_eq!(read(text), Ok((value, tokens(text, 0).len())), "{text}");
        }
    }

    #[test]
    fn an_expression_ends_where_nothing_goes_on_with_it() {
        assert_eq!(read("act + 2, 4"), Ok((0x102, 3)));
        assert_eq!(read("4 < 5"), Ok((4, 1)));
        assert_eq!(read("4 < < 5"), Ok((4, 1)));
        assert_eq!(read("4] <- 5"), Ok((4, 1)));
    }

    #[test]
    fn conditions_compare() {
        let condition =
            |text: &str| evaluate_condition(&tokens(text, 0), &|name| (name == "act").then_some(0x100));
        let cases = [
            ("act == 256 && 1 + 1 != 3", 1),
            ("act<256 || 2>=2", 1),
            ("act <= 255 || 2 > 2", 0),
            ("!act | !0", 1),
            ("!(act == 256)", 0),
            ("1 << 2 < 5", 1),
            ("3 & 2 == 2", 1),
            ("act<-3", 0),
        ];
        for (text, value) in cases {
            assert_eq!(condition(text), Ok((value, tokens(text, 0).len())), "{text}");
        }
        assert_eq!(read("4 == 4"), Ok((4, 1)));
        assert_eq!(read("4 | | 4"), Err(Fault::Missing { at: 2 }));
        assert_eq!(read("!4"), Err(Fault::Missing { at: 0 }));
    }

    #[test]
    fn what_has_no_value_says_why() {
        let value = |reason: &str, start, end| {
            Err(Fault::Value { reason: reason.to_owned(), span: Span::new(start, end) })
        };
        assert_eq!(read("1 + 4 / (2 - 2)"), value("divides by zero", 4, 15));
        assert_eq!(read("4 % 0"), value("divides by zero", 0, 5));
        assert_eq!(read("1 << 128"), value("shifts by 128 bits: legal are 0 to 127", 0, 8));
        assert_eq!(read("1 << 127"), value("does not fit 128 bits", 0, 8));
        assert_eq!(read("1 >> -1"), value("shifts by -1 bits: legal are 0 to 127", 0, 7));
        assert_eq!(read("(1 << 126) * 4"), value("does not fit 128 bits", 0, 14));
        assert_eq!(
            read("2 + 1z"),
            value("is not a number of at most 64 bits: write 64, 0x40 or 0b100_0000", 4, 6)
        );
        assert_eq!(read("2 + other"), Err(Fault::Missing { at: 2 }));
        assert_eq!(read("2 +"), Err(Fault::Missing { at: 2 }));
        assert_eq!(read("(2 + 3"), Err(Fault::Unclosed { at: 4 }));
        assert!(matches!(read(&"(".repeat(100_000)), Err(Fault::Value { .. })));
        assert!(matches!(read(&"-".repeat(100_000)), Err(Fault::Value { .. })));
    }
}
