//! [`passages`]: prose of a file, line by line, without code.

use proc_macro2::{TokenStream, TokenTree};

use crate::Error;
use crate::source::SourceFile;

/// Kind of a passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Line of a comment.
    Comment,
    /// String of more than one word.
    Message,
    /// Line of a page.
    Page,
}

/// Line of prose. Text in backticks is `x`: names are not prose.
#[derive(Debug, PartialEq)]
pub struct Passage {
    /// From 1.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
    /// Whether a comment or paragraph begins here.
    pub is_first: bool,
    /// Columns of the whole line; 0 where code shares it, and for strings.
    pub columns: usize,
}

/// Passages of Rust and Markdown; other files have none.
pub fn passages(file: &SourceFile) -> Result<Vec<Passage>, Error> {
    if file.path.ends_with(".md") {
        return Ok(page(&file.text));
    }
    if !file.path.ends_with(".rs") {
        return Ok(Vec::new());
    }
    let mut passages = comments(&file.text);
    let tokens: TokenStream = file.text.parse().map_err(|error: proc_macro2::LexError| Error::Syntax {
        path: file.path.clone(),
        error: error.into(),
    })?;
    messages(tokens, &mut passages);
    Ok(passages)
}

/// `text` with each part in backticks replaced by `x`.
fn without_code(text: &str) -> String {
    let mut parts = text.split('`');
    let mut prose = parts.next().map_or(String::new(), str::to_owned);
    while let (Some(_), Some(after)) = (parts.next(), parts.next()) {
        prose += "`x`";
        prose += after;
    }
    prose
}

/// Returns a format string without what is inserted, as `{path}`.
fn without_values(text: &str) -> String {
    let mut parts = text.split('{');
    let mut prose = parts.next().map_or(String::new(), str::to_owned);
    for part in parts {
        let is_value = |value: &str| !value.contains(char::is_whitespace);
        match part.split_once('}').filter(|(value, _)| is_value(value)) {
            Some((_, after)) => prose += after,
            None => {
                prose.push('{');
                prose += part;
            }
        }
    }
    prose
}

fn page(text: &str) -> Vec<Passage> {
    let (mut passages, mut is_code, mut is_first) = (Vec::new(), false, true);
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let (text, columns) = (without_code(line), line.chars().count());
            passages.push(Passage { line: index + 1, kind: Kind::Page, text, is_first, columns });
            is_first = line.trim().is_empty();
        }
    }
    passages
}

/// Lines of comments that begin a line, and comments after code.
fn comments(text: &str) -> Vec<Passage> {
    let (mut passages, mut is_code, mut is_first) = (Vec::new(), false, true);
    for (index, line) in text.lines().enumerate() {
        let whole = line.trim_start();
        let comment = ["///", "//!", "//"].iter().find_map(|marker| whole.strip_prefix(marker));
        match comment {
            Some(comment) if comment.trim_start().starts_with("```") => is_code = !is_code,
            Some(comment) if !is_code => {
                let (text, columns) = (without_code(comment.trim()), line.chars().count());
                passages.push(Passage { line: index + 1, kind: Kind::Comment, text, is_first, columns });
            }
            Some(_) => {}
            None => {
                is_code = false;
                if let Some((_, comment)) = line.split_once(" // ") {
                    let (text, columns) = (without_code(comment), 0);
                    passages.push(Passage {
                        line: index + 1,
                        kind: Kind::Comment,
                        text,
                        is_first: false,
                        columns,
                    });
                }
            }
        }
        is_first = comment.is_none();
    }
    passages
}

/// Adds the strings of `tokens` with several words. Skips documentation, which is
/// `#[doc = "..."]` in tokens.
fn messages(tokens: TokenStream, passages: &mut Vec<Passage>) {
    let is_doc = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "doc");
    for token in tokens {
        match token {
            TokenTree::Group(group)
                if group.stream().into_iter().next().is_some_and(|first| is_doc(&first)) => {}
            TokenTree::Group(group) => messages(group.stream(), passages),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let inner = text.trim_matches('"');
                if text.starts_with('"') && inner.trim().contains(' ') {
                    let line = literal.span().start().line;
                    let text = without_code(&without_values(inner));
                    passages.push(Passage { line, kind: Kind::Message, text, is_first: true, columns: 0 });
                }
            }
            _ => {}
        }
    }
}
