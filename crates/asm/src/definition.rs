//! [`definition`]: the lines `.equ NAME, VALUE`, `.set NAME, VALUE` and `NAME = VALUE`.

use npukit_base::Span;
use npukit_isa::token::Token;

use crate::error::{AsmError, source_span};
use crate::expression::{Fault, evaluate};
use crate::spans::span_of;
use crate::symbols::{Symbol, Symbols};

/// Line that assigns a value to a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'a> {
    pub name: Token<'a>,
    value: &'a [Token<'a>],
    directive: &'static str,
}

/// Error in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// The line does not have the form of a definition.
    Form { directive: &'static str, found: String, span: Span },
    /// The expression has no value.
    Value { text: String, reason: String, span: Span },
}

/// Returns the definition in a line without comment and label; `None` if the line is not a
/// definition.
pub(crate) fn definition<'a>(tokens: &'a [Token<'a>]) -> Option<Result<Definition<'a>, Malformed>> {
    match tokens {
        [dot, word, rest @ ..] if dot.text == "." => {
            let known = ["equ", "set"].into_iter().find(|known| word.text.eq_ignore_ascii_case(known));
            known.map(|directive| directed(directive, *word, rest))
        }
        [name, equals, value @ ..] if equals.text == "=" && Symbols::is_name(name.text) => {
            Some(Ok(Definition { name: *name, value, directive: "set" }))
        }
        _ => None,
    }
}

fn directed<'a>(
    directive: &'static str,
    word: Token<'a>,
    rest: &'a [Token<'a>],
) -> Result<Definition<'a>, Malformed> {
    let wrong = |found: String, span| Err(Malformed::Form { directive, found, span });
    match rest {
        [name, comma, value @ ..] if Symbols::is_name(name.text) && comma.text == "," => {
            Ok(Definition { name: *name, value, directive })
        }
        [first, second, ..] => wrong(format!("`{}{}`", first.text, second.text), span_of(rest)),
        _ => wrong("the end of the line".to_owned(), rest.last().unwrap_or(&word).span),
    }
}

impl Definition<'_> {
    /// Evaluates the expression, which must extend to the end of the line.
    ///
    /// # Errors
    ///
    /// [`Malformed`] with the place of the error.
    pub fn value(&self, value_of: &dyn Fn(&str) -> Option<i128>) -> Result<i128, Malformed> {
        let Self { name, value, directive } = *self;
        let text = || value.iter().map(|token| token.text).collect::<String>();
        let wrong = |found: String, span| Err(Malformed::Form { directive, found, span });
        match evaluate(value, value_of) {
            Ok((found, used)) if used == value.len() => Ok(found),
            Err(Fault::Value { reason, span }) => Err(Malformed::Value { text: text(), reason, span }),
            _ if value.is_empty() => wrong("the end of the line".to_owned(), name.span),
            _ => wrong(format!("the value `{}`", text()), name.span.to(span_of(value))),
        }
    }

    /// Returns the symbol for the name with this value.
    pub fn symbol(&self, value: Option<i128>) -> Symbol {
        if self.directive == "set" { Symbol::Variable(value) } else { Symbol::Fixed(value) }
    }
}

impl From<Malformed> for AsmError {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::Form { directive, found, span } => {
                Self::Equ { directive, found, span: source_span(span) }
            }
            Malformed::Value { text, reason, span } => {
                let help = "it is the value of a symbol".to_owned();
                Self::Expression { text, reason, span: source_span(span), help }
            }
        }
    }
}
