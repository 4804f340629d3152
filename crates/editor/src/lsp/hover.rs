//! [`hover`]: explanation of the word at a place.

use std::fmt::Write as _;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};
use npukit_asm::analysis::{Analysis, AnalyzedWord, Language, Mark, MarkKind, directive_named};
use npukit_base::Span;
use npukit_isa::{Field, FieldKind, InstructionSpec};
use npukit_target::{LINTS_OF_TEXTS, text_target};

use crate::lsp::document::{Document, Target};

/// Returns the explanation of the word at a place.
pub fn hover(document: &Document, known: &Analysis, position: Position) -> Option<Hover> {
    let offset = document.offset(position);
    let (span, text) = of_comment(document, offset).or_else(|| of_marks(document, known, offset))?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Some(Hover { contents, range: Some(document.range(span)) })
}

/// Explains an `npu:` comment.
fn of_comment(document: &Document, offset: usize) -> Option<(Span, String)> {
    let text = document.plain();
    let holds = |span: &Span| span.start <= offset && offset <= span.end;
    if let Some((span, spec)) = text_target(text).filter(|(span, _)| holds(span)) {
        let what = match &document.target {
            Target::Known(known) if known.spec == spec => format!("target {}", known.instance.info().name),
            Target::Wrong { reason, .. } => reason.clone(),
            _ => format!("target {spec}"),
        };
        return Some((span, what));
    }
    let (span, code) = allowed_code(document, offset)?;
    let own = document.instance().map(|instance| instance.info().lints).unwrap_or_default(); // Default: no lints without a target.
    let lint = own.iter().chain(LINTS_OF_TEXTS).find(|lint| lint.code == code)?;
    Some((
        span,
        format!("**{}** ({}): {}\n\n{}", lint.code, lint.severity.name(), lint.meaning, lint.explanation),
    ))
}

/// Returns the word at a byte offset in a comment that allows findings.
fn allowed_code(document: &Document, offset: usize) -> Option<(Span, &str)> {
    let text = document.plain();
    let before = text.get(..offset)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    let (code, comment) = document.language()?.comments().split(line);
    let at = comment.find("npu:")? + code.len();
    let is_code = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let word = before.trim_end_matches(is_code).len();
    let rest = text.get(word..)?;
    let size = rest.find(|c| !is_code(c)).unwrap_or(rest.len());
    (word >= start + at && size > 0).then(|| (Span::new(word, word + size), &rest[..size]))
}

fn of_marks(document: &Document, known: &Analysis, offset: usize) -> Option<(Span, String)> {
    let language = document.language()?;
    let marks = known.marks_at(0, offset);
    let texts =
        marks.iter().filter_map(|mark| Some((mark.span, of_mark(document, known, &**language, mark)?)));
    let all: Vec<(Span, String)> = texts.collect();
    let span = all.first()?.0;
    // The enclosing mark is more informative: the field whose value a symbol is.
    let around = all.into_iter().filter(|(other, _)| other.start <= span.start && span.end <= other.end);
    Some((span, around.map(|(_, text)| text).collect::<Vec<_>>().join("\n\n---\n\n")))
}

fn of_mark(document: &Document, known: &Analysis, language: &dyn Language, mark: &Mark) -> Option<String> {
    let row = |row: usize| language.spec().instructions.get(row);
    match &mark.kind {
        MarkKind::Mnemonic { row: index, word } => {
            let word_index = word.filter(|index| known.words.len() > *index);
            let word = word_index.and_then(|index| known.words.get(index));
            let cycles = document.checked.as_ref().filter(|checked| checked.version == document.version);
            let cycles =
                cycles.zip(word_index).and_then(|(checked, index)| checked.cycles.get(index)).copied();
            Some(instruction(language, row(*index)?, word, cycles))
        }
        MarkKind::Key { row: index, field } => {
            let row = row(*index)?;
            Some(of_field(row, row.fields.get(*field)?, None))
        }
        MarkKind::Value { row: index, field, value, .. } => {
            let row = row(*index)?;
            Some(of_field(row, row.fields.get(*field)?, *value))
        }
        MarkKind::Definition { .. } | MarkKind::Reference(_) => of_name(document, known, mark),
        MarkKind::Directive(name) => {
            let directive = directive_named(name)?;
            Some(format!("```text\n{}\n```\n{}", directive.usage, directive.meaning))
        }
        MarkKind::Include(path) => Some(format!("the lines of `{path}`")),
        MarkKind::Keyword => None,
    }
}

/// Explains a name: its value, and the line that defines it.
fn of_name(document: &Document, known: &Analysis, mark: &Mark) -> Option<String> {
    let name = mark.name()?;
    // For a variable, the last definition before the place.
    let before = |other: &&Mark| (other.source, other.span.start) <= (mark.source, mark.span.start);
    let definition =
        known.definitions(name).filter(before).last().or_else(|| known.definitions(name).next())?;
    let MarkKind::Definition { of, value, .. } = &definition.kind else { return None };
    let number = match value {
        Some(value) if *value > 9 => format!(" = {value} ({value:#x})"),
        Some(value) => format!(" = {value}"),
        None => String::new(),
    };
    let line = known.sources.texts().nth(definition.source).and_then(|(_, text)| {
        let start = text.get(..definition.span.start)?.rfind('\n').map_or(0, |end| end + 1);
        text.get(start..)?.lines().next()
    });
    let file = known.sources.texts().nth(definition.source).filter(|_| definition.source != 0);
    let file = file.map_or_else(String::new, |(name, _)| format!(" of `{name}`"));
    let shown = document.plain().get(mark.span.start..mark.span.end).unwrap_or(&name.text);
    let shown = if mark.source == 0 { shown } else { &name.text };
    Some(format!(
        "{} `{shown}`{number}{file}\n```text\n{}\n```",
        of.word(),
        line.map(str::trim).unwrap_or_default() // Default: the text was closed.
    ))
}

/// Explains a field of an instruction: its meaning, legal values and current value.
fn of_field(row: &InstructionSpec, field: &Field, value: Option<u64>) -> String {
    let mut text = format!("field `{}` of {}: {}\n", field.name, row.name, field.meaning);
    // Writing to a String cannot fail.
    let _ = write!(text, "\nlegal: {}", field.legal());
    let _ = write!(text, "\n\nbits {}", field.bits);
    if let Some(value) = value {
        let stored = field.stored(value);
        let width = field.bits.width as usize;
        let _ = write!(text, " hold `{stored:0width$b}` for {}", shown(field, value));
    }
    text
}

/// Formats a value as in an assembly program.
fn shown(field: &Field, value: u64) -> String {
    match &field.kind {
        FieldKind::Signed { .. } => value.cast_signed().to_string(),
        _ => match field.name_of(value) {
            Some(name) => format!("{name} ({value})"),
            None => value.to_string(),
        },
    }
}

/// Returns the table of the bits of an instruction, with the values of a word if one is known.
fn bits_table(language: &dyn Language, row: &InstructionSpec, word: Option<&AnalyzedWord>) -> String {
    let value = |index: usize| word.and_then(|word| word.values.get(index)).copied();
    let head = if word.is_some() {
        "| bits | word | field | value | legal | meaning |"
    } else {
        "| bits | field | legal | meaning |"
    };
    let mut text = format!("{head}\n|{}\n", "---|".repeat(head.matches('|').count() - 1));
    let number = word.map(|word| language.spec().word(&word.bytes));
    let mut rows: Vec<(u32, String)> = Vec::new();
    for pattern in &row.patterns {
        let bits = number.map(|number| {
            let width = pattern.bits.width as usize;
            format!(" `{:0width$b}` |", number.get(pattern.bits))
        });
        let value = if word.is_some() { format!(" {} |", pattern.value) } else { String::new() };
        let bits = bits.unwrap_or_default(); // Default: no word is known here.
        rows.push((
            pattern.bits.lo,
            format!("| {} |{bits} {} |{value} {} | |", pattern.bits, pattern.name, pattern.value),
        ));
    }
    for (index, field) in row.fields.iter().enumerate() {
        let bits = number.map(|number| {
            let width = field.bits.width as usize;
            format!(" `{:0width$b}` |", number.get(field.bits))
        });
        let said = if word.is_some() {
            let said = value(index).map(|value| shown(field, value));
            format!(" {} |", said.unwrap_or_default()) // Default: the word has no value here.
        } else {
            String::new()
        };
        let bits = bits.unwrap_or_default(); // Default: no word is known here.
        let (legal, meaning) = (field.legal().replace('|', "\\|"), field.meaning.replace('|', "\\|"));
        rows.push((
            field.bits.lo,
            format!("| {} |{bits} `{}` |{said} {legal} | {meaning} |", field.bits, field.name),
        ));
    }
    // The highest bits come first, as usual.
    rows.sort_by_key(|(lo, _)| u32::MAX - lo);
    rows.iter().for_each(|(_, row)| text += &format!("{row}\n"));
    text
}

/// Explains an instruction: its syntax, its fields, and the bits of the word at this place.
fn instruction(
    language: &dyn Language,
    row: &InstructionSpec,
    word: Option<&AnalyzedWord>,
    cycles: Option<u64>,
) -> String {
    let context = row.context.as_ref().map(|context| format!(" (of {context})"));
    let mut text = format!("**{}**: {}{}\n\n```text\n", row.name, row.meaning, context.unwrap_or_default()); // Default: none.
    for usage in row.usages() {
        let _ = writeln!(text, "{usage}");
    }
    text += "```\n\n";
    text += &bits_table(language, row, word);
    if !row.doc.is_empty() {
        let _ = writeln!(text, "\n{}", row.doc);
    }
    if let Some(AnalyzedWord { bytes, address, .. }) = word {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(text, "\nword `{hex}` at {address}");
        if let Some(cycles) = cycles {
            let _ = write!(text, ", {cycles} {}", npukit_base::plural(cycles, "cycle"));
        }
        text.push('\n');
    }
    text
}
