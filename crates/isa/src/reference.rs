//! [`Reference`]: the instruction table as a page, in text, Markdown or JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::spec::{ByteOrder, Field, FieldKind, Form, InstructionSpec, IsaSpec, When};
use crate::syntax::{Operand, Piece, Template};

/// Page for an instruction set, or for some of its instructions.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    spec: &'a IsaSpec,
    instructions: Vec<&'a InstructionSpec>,
}

impl IsaSpec {
    /// Returns the page of all instructions.
    pub fn reference(&self) -> Reference<'_> {
        Reference { spec: self, instructions: self.instructions.iter().collect() }
    }

    /// Returns the page of the instructions with this name or mnemonic, ignoring case; `None` if
    /// no instruction matches.
    pub fn reference_of(&self, name: &str) -> Option<Reference<'_>> {
        let instructions: Vec<_> = self.instructions.iter().filter(|row| row.is_called(name)).collect();
        (!instructions.is_empty()).then_some(Reference { spec: self, instructions })
    }

    /// Returns names and mnemonics, for suggestions and listings.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in &self.instructions {
            for name in row.mnemonics().into_iter().chain([row.name.clone()]) {
                if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    names.push(name);
                }
            }
        }
        names
    }
}

impl InstructionSpec {
    /// Returns the first words of the instruction's forms.
    pub fn mnemonics(&self) -> Vec<String> {
        let templates = self.forms.iter().map(|form| Template::new(self, &form.syntax));
        templates.filter_map(|template| template.mnemonic().map(str::to_owned)).collect()
    }

    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.mnemonics().iter().any(|mnemonic| mnemonic.eq_ignore_ascii_case(name))
    }

    /// Returns the forms in readable notation: `<field>`, and `( )?` around optional parts.
    pub fn usages(&self) -> Vec<String> {
        self.forms.iter().map(|form| self.usage(form, &Template::new(self, &form.syntax).pieces)).collect()
    }

    fn usage(&self, form: &Form, pieces: &[Piece]) -> String {
        let part = |piece: &Piece| match piece {
            Piece::Text { text, .. } => text.clone(),
            Piece::Field(index) => {
                self.fields.get(*index).map_or_else(String::new, |field| field_usage(form, field))
            }
            Piece::Optional(inner) => format!("({})?", self.usage(form, inner)),
            Piece::Operands(operands) => {
                let one = |operand: &Operand| match operand.optional {
                    true => format!("({})?", self.usage(form, &operand.pieces)),
                    false => self.usage(form, &operand.pieces),
                };
                operands.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            Piece::Unknown(name) => format!("<{name}>"),
        };
        pieces.iter().map(part).collect()
    }

    fn reserved_text(&self) -> String {
        self.reserved().ranges().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

fn field_usage(form: &Form, field: &Field) -> String {
    let set =
        |when: &When| matches!(when, When::OneOf(name, values) if *name == field.name && values == &[1]);
    match &field.kind {
        FieldKind::Flag { text } if form.when.iter().any(set) => text.clone(),
        FieldKind::Flag { text } => format!("({text})?"),
        _ => format!("<{}>", field.name),
    }
}

impl Reference<'_> {
    /// Renders the page for a terminal.
    pub fn text(&self) -> String {
        let mut page = format!("{}\n\n{}\n", self.spec.name, self.spec.doc);
        for row in &self.instructions {
            // Writing to a String cannot fail.
            let _ = write!(page, "\n{} - {}{}\n", row.name, row.meaning, in_context(row));
            for usage in row.usages() {
                let _ = writeln!(page, "    {usage}");
            }
            page.push_str(&text_table(row));
            page.extend(row.fields.iter().filter(|field| is_listed(field)).map(text_list));
            if !row.doc.is_empty() {
                let _ = writeln!(page, "  {}", row.doc);
            }
        }
        page
    }

    /// Renders the page as Markdown.
    pub fn markdown(&self) -> String {
        let mut page = format!("# {}\n\n{}\n", self.spec.name, self.spec.doc);
        for row in &self.instructions {
            let _ = write!(page, "\n## {}\n\n{}{}\n\n```text\n", row.name, row.meaning, in_context(row));
            for usage in row.usages() {
                let _ = writeln!(page, "{usage}");
            }
            page.push_str("```\n\n| bits | name | values | meaning |\n|---|---|---|---|\n");
            for [bits, name, values, meaning] in cells(row) {
                let _ = writeln!(page, "| {bits} | `{name}` | {} | {meaning} |", values.replace('|', "\\|"));
            }
            page.extend(row.fields.iter().filter(|field| is_listed(field)).map(markdown_list));
            if !row.doc.is_empty() {
                let _ = write!(page, "\n{}\n", row.doc);
            }
        }
        page
    }

    /// Returns the page as JSON, with each bit range as `lo` and `width`.
    pub fn json(&self) -> Value {
        let order = match self.spec.byte_order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        };
        let instructions: Vec<Value> = self.instructions.iter().map(|row| json_row(row)).collect();
        json!({
            "name": self.spec.name, "doc": self.spec.doc, "byte_order": order, "instructions": instructions,
        })
    }
}

fn in_context(row: &InstructionSpec) -> String {
    row.context.as_ref().map(|context| format!(" (in {context})")).unwrap_or_default()
}

/// Returns bits, name, values and meaning of each part of the word, highest bits first.
fn cells(row: &InstructionSpec) -> Vec<[String; 4]> {
    let mut parts: Vec<(u32, [String; 4])> = Vec::new();
    for part in &row.patterns {
        let value = format!("{:#x}", part.value);
        parts.push((part.bits.lo, [part.bits.to_string(), part.name.clone(), value, String::new()]));
    }
    for field in &row.fields {
        let cells = [field.bits.to_string(), field.name.clone(), values(field), field.meaning.clone()];
        parts.push((field.bits.lo, cells));
    }
    for bits in row.reserved().ranges() {
        parts.push((bits.lo, [bits.to_string(), "reserved".to_owned(), "0".to_owned(), String::new()]));
    }
    parts.sort_by_key(|(lo, _)| std::cmp::Reverse(*lo));
    parts.into_iter().map(|(_, cells)| cells).collect()
}

/// Longest list of values in a table, in characters. A longer one is below the table.
const MAX_LIST: usize = 90;

/// Whether the values of a field are listed below the table.
fn is_listed(field: &Field) -> bool {
    let is_long = || field.legal().chars().count() > MAX_LIST;
    matches!(field.kind, FieldKind::Choice { .. }) && (!field.meanings.is_empty() || is_long())
}

/// Returns name, code and meaning of each named value.
fn named(field: &Field) -> Vec<(&str, u64, &str)> {
    let FieldKind::Choice { names, .. } = &field.kind else { return Vec::new() };
    // Default: a name that needs no explanation.
    let meaning = |code| field.meaning_of(code).unwrap_or_default();
    names.iter().map(|(code, name)| (name.as_str(), *code, meaning(*code))).collect()
}

/// Lists the named values of a field, one per line.
fn text_list(field: &Field) -> String {
    let named: Vec<_> =
        named(field).into_iter().map(|(name, code, text)| (format!("{name} ({code})"), text)).collect();
    let width = named.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0); // Default: no names.
    let line =
        |(name, text): &(String, &str)| format!("    {name:<width$}  {text}").trim_end().to_owned() + "\n";
    format!("  {}:\n", field.name) + &named.iter().map(line).collect::<String>()
}

/// Lists the named values of a field as a table.
fn markdown_list(field: &Field) -> String {
    let line = |(name, code, text): (&str, u64, &str)| {
        format!("| `{name}` | {code} | {} |\n", text.replace('|', "\\|"))
    };
    let lines: String = named(field).into_iter().map(line).collect();
    format!("\n| `{}` | code | meaning |\n|---|---|---|\n{lines}", field.name)
}

fn values(field: &Field) -> String {
    match field.bias() {
        _ if is_listed(field) => match &field.kind {
            FieldKind::Choice { names, open: true } if names.len() as u64 <= field.max() => {
                format!("listed below, or up to {}", field.max())
            }
            _ => "listed below".to_owned(),
        },
        _ if matches!(field.kind, FieldKind::Power { .. }) => format!("{}, stored as log2", field.legal()),
        0 => field.legal(),
        bias => format!("{}, stored less {bias}", field.legal()),
    }
}

fn text_table(row: &InstructionSpec) -> String {
    let cells = cells(row);
    let width = |column: usize| cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut table = String::new();
    for [bits, name, values, meaning] in &cells {
        let [w0, w1, w2] = widths;
        let line = format!("  {bits:>w0$}  {name:<w1$}  {values:<w2$}  {meaning}");
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

fn json_row(row: &InstructionSpec) -> Value {
    let patterns: Vec<Value> = row
        .patterns
        .iter()
        .map(|part| json!({ "name": part.name, "lo": part.bits.lo, "width": part.bits.width, "value": part.value }))
        .collect();
    json!({
        "name": row.name, "meaning": row.meaning, "doc": row.doc, "context": row.context,
        "size_bytes": row.size_bytes, "syntax": row.usages(), "patterns": patterns,
        "fields": row.fields.iter().map(json_field).collect::<Vec<_>>(), "reserved": row.reserved_text(),
    })
}

fn json_field(field: &Field) -> Value {
    let mut value = json!({
        "name": field.name, "meaning": field.meaning, "lo": field.bits.lo, "width": field.bits.width,
        "min": field.kind.default_value(), "max": field.max(), "bias": field.bias(),
    });
    if let FieldKind::Choice { names, open } = &field.kind {
        let names: serde_json::Map<String, Value> =
            names.iter().map(|(code, name)| (name.clone(), (*code).into())).collect();
        value["names"] = names.into();
        value["open"] = (*open).into();
    }
    if !field.meanings.is_empty() {
        let meanings = named(field).into_iter().map(|(name, _, meaning)| (name.to_owned(), meaning.into()));
        value["meanings"] = meanings.collect::<serde_json::Map<String, Value>>().into();
    }
    match field.kind {
        FieldKind::Signed { min, max } => {
            value["min"] = min.into();
            value["max"] = max.into();
            value["signed"] = true.into();
        }
        FieldKind::Power { .. } => value["log2"] = true.into(),
        _ => {}
    }
    if let FieldKind::Set { names } = &field.kind {
        let bits: serde_json::Map<String, Value> =
            names.iter().map(|(bit, name)| (name.clone(), (*bit).into())).collect();
        value["bits"] = bits.into();
    }
    value
}
