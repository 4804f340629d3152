//! [`format()`]: formats a text line by line.
//!
//! Labels are in column 0, instructions are indented, lines in a block are indented further, and
//! comments of consecutive lines are aligned. Nothing is assembled, and only white space changes.

use npukit_base::without_bom;

use crate::comment::{Comments, quoted};

/// Rules of the layout.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    /// Comment markers.
    pub comments: Comments,
    /// Columns before an instruction.
    pub instruction: usize,
    /// Additional columns for each block around a line.
    pub block: usize,
    /// Layout of multi-line statements; `None` if each line is formatted by itself.
    pub statements: Option<Statements<'a>>,
}

/// Layout of lines in an assembler's own syntax.
#[derive(Clone, Copy)]
pub struct Statements<'a> {
    /// Formats consecutive lines.
    pub lay_out: &'a dyn Fn(&str) -> String,
    /// Returns the number of open parentheses after a line, given the number before it; `None` for
    /// a line of another kind.
    pub opens: &'a dyn Fn(usize, &str) -> Option<usize>,
}

impl Style<'_> {
    /// Rules for most instruction sets.
    pub const COMMON: Self = Self { comments: Comments::COMMON, instruction: 4, block: 4, statements: None };
}

/// Maximum number of nested blocks that are indented.
const MAX_INDENTED: usize = 16;
/// Maximum code width for which comments after code are aligned.
const MAX_ALIGNED: usize = 60;

/// Formats `text`.
pub fn format(text: &str, style: &Style<'_>) -> String {
    let mut page = Page { style, rows: Vec::new(), depth: 0, run: String::new(), open: 0 };
    for line in without_bom(text).lines() {
        page.line(line);
    }
    page.flush();
    page.text()
}

/// Formatted line whose comment is not yet aligned.
struct Row {
    code: String,
    comment: String,
}

struct Page<'a> {
    style: &'a Style<'a>,
    rows: Vec<Row>,
    /// Number of blocks around the line.
    depth: usize,
    /// Statements that are formatted together.
    run: String,
    /// Number of open parentheses in these statements.
    open: usize,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        if let Some(open) = self.joins(line) {
            (self.run, self.open) = (std::mem::take(&mut self.run) + line + "\n", open);
            return;
        }
        self.flush();
        let (code, comment) = self.style.comments.split(line);
        let (code, comment) = (code.trim(), comment.trim_end());
        if code.is_empty() {
            return self.push(self.before_comment(line), comment);
        }
        let (before, after) = blocks(code);
        self.depth -= before.min(self.depth);
        self.push(self.code(code), comment);
        self.depth += after;
    }

    /// Returns the number of open parentheses after a line that is formatted together with the
    /// previous ones.
    fn joins(&self, line: &str) -> Option<usize> {
        let statements = self.style.statements?;
        match self.style.comments.split(line).0.trim() {
            // Comments and empty lines belong to the statements before them.
            "" => (!self.run.is_empty()).then_some(self.open),
            code if code.starts_with('.') => None,
            _ => (statements.opens)(self.open, line),
        }
    }

    /// Formats the collected statements.
    fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.open = 0;
        let Some(statements) = self.style.statements.filter(|_| !run.is_empty()) else { return };
        let indent = " ".repeat(self.indent(self.style.instruction));
        for line in (statements.lay_out)(&run).lines() {
            let code = if line.is_empty() { String::new() } else { format!("{indent}{line}") };
            self.rows.push(Row { code, comment: String::new() });
        }
        if run.lines().next_back().is_some_and(|last| last.trim().is_empty()) {
            self.push(String::new(), "");
        }
    }

    /// Returns the white space before a comment without code; a comment in column 0 stays there.
    fn before_comment(&self, line: &str) -> String {
        let is_first = !line.starts_with(char::is_whitespace) || line.trim().is_empty();
        let indent = if is_first { 0 } else { self.indent(self.style.instruction) };
        " ".repeat(indent)
    }

    fn push(&mut self, code: String, comment: &str) {
        let is_blank = code.trim().is_empty() && comment.is_empty();
        let follows_blank = self.rows.last().is_none_or(Row::is_blank);
        if !(is_blank && follows_blank) {
            let code = if is_blank { String::new() } else { code };
            self.rows.push(Row { code, comment: comment.to_owned() });
        }
    }

    fn indent(&self, own: usize) -> usize {
        own + self.style.block * self.depth.min(MAX_INDENTED)
    }

    /// Returns a line's code with normalized white space.
    fn code(&self, code: &str) -> String {
        let is_directive = code.starts_with('.') || is_assignment(code);
        let (label, rest) = label(code);
        let spaced = spaced(rest, !is_directive);
        let own = if is_directive { 0 } else { self.style.instruction };
        let indent = self.indent(own);
        match label {
            Some(label) if rest.is_empty() => format!("{label}:"),
            Some(label) => {
                format!("{:indent$} {spaced}", format!("{label}:"), indent = indent.saturating_sub(1))
            }
            None => format!("{}{spaced}", " ".repeat(indent)),
        }
    }

    fn text(mut self) -> String {
        while self.rows.last().is_some_and(Row::is_blank) {
            self.rows.pop();
        }
        let runs = self.rows.chunk_by(|one, other| one.has_both() && other.has_both());
        runs.flat_map(|rows| {
            let widths = rows.iter().map(Row::width).filter(|width| *width <= MAX_ALIGNED);
            let width = widths.max().unwrap_or(0);
            rows.iter().map(move |row| row.text(width))
        })
        .collect()
    }
}

impl Row {
    fn is_blank(&self) -> bool {
        self.code.trim().is_empty() && self.comment.is_empty()
    }

    /// Whether the comment is after code.
    fn has_both(&self) -> bool {
        !self.code.trim().is_empty() && !self.comment.is_empty()
    }

    fn width(&self) -> usize {
        self.code.chars().count()
    }

    /// Returns the line with its comment after `width` columns of code.
    fn text(&self, width: usize) -> String {
        let Self { code, comment } = self;
        if self.has_both() { format!("{code:width$} {comment}\n") } else { format!("{code}{comment}\n") }
    }
}

/// Returns the numbers of blocks that a line ends before it, and begins after it.
fn blocks(code: &str) -> (usize, usize) {
    let Some(directive) = code.strip_prefix('.').map(str::trim_start) else { return (0, 0) };
    let end = directive.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(directive.len());
    match directive.get(..end).unwrap_or_default().to_ascii_lowercase().as_str() {
        "macro" | "rept" | "if" | "ifdef" | "ifndef" => (0, 1),
        "else" | "elseif" => (1, 1),
        "endm" | "endr" | "endif" => (1, 0),
        _ => (0, 0),
    }
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the name at the start of a line, and the text after it.
fn name(code: &str) -> Option<(&str, &str)> {
    let end = code.find(|c| !is_word(c)).unwrap_or(code.len());
    let (name, rest) = code.split_at_checked(end)?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then(|| (name, rest.trim_start()))
}

/// Whether the line is `NAME = VALUE`.
fn is_assignment(code: &str) -> bool {
    name(code).is_some_and(|(_, rest)| rest.starts_with('='))
}

/// Splits `NAME:` off a line. A name may contain macro parameters.
fn label(code: &str) -> (Option<&str>, &str) {
    let end = code.find(|c| !is_word(c) && !matches!(c, '\\' | '@')).unwrap_or(code.len());
    let Some((name, rest)) = code.split_at_checked(end).filter(|(name, _)| !name.is_empty()) else {
        return (None, code);
    };
    match rest.trim_start().strip_prefix(':') {
        Some(rest) => (Some(name), rest.trim_start()),
        None => (None, code),
    }
}

/// Returns code with the white space of listings: one space after commas except in lists, no
/// space inside of brackets, and one around the arrows of instructions.
fn spaced(code: &str, is_instruction: bool) -> String {
    let (mut spaced, mut at, mut listed) = (String::new(), 0, 0_usize);
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let size = quoted(rest).or_else(|| rest.chars().next().map(char::len_utf8)).unwrap_or(1);
        let piece = rest.get(..size).unwrap_or_default();
        at += size;
        match piece {
            "[" => listed += 1,
            "]" => listed = listed.saturating_sub(1),
            _ => {}
        }
        match piece {
            _ if piece.trim().is_empty() => space(&mut spaced),
            "," => {
                spaced.truncate(spaced.trim_end().len());
                spaced += if listed > 0 { "," } else { ", " };
            }
            ")" | "]" => {
                // White space between `\(` and `)` decides whether it is the empty separator.
                if !spaced.trim_end().ends_with("\\(") {
                    spaced.truncate(spaced.trim_end().len());
                }
                spaced += piece;
            }
            "<" if is_instruction && rest.starts_with("<-") && !spaced.ends_with('<') => {
                space(&mut spaced);
                spaced += "<- ";
                at += 1;
            }
            _ => spaced += piece,
        }
    }
    spaced.truncate(spaced.trim_end().len());
    spaced
}

/// Appends a space, unless there is one already or a bracket opens.
fn space(text: &mut String) {
    let is_parameter = text.ends_with("\\(");
    let is_list = text.ends_with(',');
    if is_parameter || !text.is_empty() && !is_list && !text.ends_with([' ', '(', '[']) {
        text.push(' ');
    }
}
