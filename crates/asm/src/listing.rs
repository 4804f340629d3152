//! [`Listing`]: the result of each line of a program, followed by the symbols.

use std::fmt::Write as _;

use crate::expand::{Line, Sources};
use crate::symbols::Symbols;

/// Instruction of a line.
pub(crate) struct Word {
    pub address: String,
    /// Bytes in hexadecimal, in file order.
    pub bytes: String,
}

/// Formats bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lines of a listing, in order.
#[derive(Default)]
pub(crate) struct Listing {
    rows: Vec<Row>,
    source: Option<usize>,
}

struct Row {
    address: String,
    bytes: String,
    text: String,
}

impl Listing {
    /// Adds a line with its instructions: the first one next to it, the others below.
    pub fn line(&mut self, sources: &Sources, line: &Line, words: &[Word]) {
        if self.source != Some(line.origin.source) {
            self.source = Some(line.origin.source);
            self.row(None, format!("       {}", sources.name(line.origin.source)));
        }
        let marks = "+".repeat(line.depth);
        let text = format!("{:6} {marks:<2} {}", line.origin.number, line.text.trim_end());
        self.row(words.first(), text.trim_end().to_owned());
        words.iter().skip(1).for_each(|word| self.row(Some(word), String::new()));
    }

    fn row(&mut self, word: Option<&Word>, text: String) {
        let (address, bytes) =
            word.map(|word| (word.address.clone(), word.bytes.clone())).unwrap_or_default();
        self.rows.push(Row { address, bytes, text });
    }

    /// Returns the listing, with a table of the symbols.
    pub fn finish(self, symbols: &Symbols) -> String {
        let widest = |of: fn(&Row) -> &str, least: &str| {
            self.rows.iter().map(|row| of(row).len()).max().unwrap_or(0).max(least.len())
        };
        let (address, bytes) = (widest(|row| &row.address, "address"), widest(|row| &row.bytes, "bytes"));
        let mut text = format!("{:address$}  {:bytes$}    line    source\n", "address", "bytes");
        for row in &self.rows {
            let line = format!("{:address$}  {:bytes$}  {}", row.address, row.bytes, row.text);
            // Default: writing to a String cannot fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text + &table(symbols)
    }
}

/// Formats the name and the value of each symbol.
fn table(symbols: &Symbols) -> String {
    let width = symbols.all().map(|(name, _)| name.len()).max().unwrap_or(0).max("symbol".len());
    let row = |(name, value): (&str, Option<i128>)| match value {
        Some(value) if value > 9 => format!("{name:width$}  {value:#x} = {value}\n"),
        Some(value) => format!("{name:width$}  {value}\n"),
        None => format!("{name:width$}  none\n"),
    };
    let rows: String = symbols.all().map(row).collect();
    if rows.is_empty() { rows } else { format!("\n{:width$}  value\n{rows}", "symbol") }
}
