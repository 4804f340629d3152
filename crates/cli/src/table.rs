//! Aligned tables and numbers for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use npukit::plural;

use crate::printable::on_a_line;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column<'a> {
    /// Text.
    Left(&'a str),
    /// Numbers.
    Right(&'a str),
}

/// A table with a line of headings; ends in a newline.
pub fn table(columns: &[Column<'_>], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| match column {
        Column::Left(name) | Column::Right(name) => *name,
    }));
    for row in rows {
        table.add_row(row.iter().map(|cell| on_a_line(cell)));
    }
    for (i, column) in columns.iter().enumerate() {
        let alignment = match column {
            Column::Left(_) => CellAlignment::Left,
            Column::Right(_) => CellAlignment::Right,
        };
        if let Some(found) = table.column_mut(i) {
            found.set_cell_alignment(alignment);
        }
    }
    // The first column's left padding is of no use without borders.
    table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned() + "\n").collect()
}

/// Names and values, one a line; ends in a newline. What has no value is left out.
pub fn facts<N: AsRef<str>>(facts: impl IntoIterator<Item = (N, String)>) -> String {
    let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = facts.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{:width$}  {}\n", name.as_ref(), on_a_line(value))).collect()
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> =
        Some(head.to_owned()).filter(|head| !head.is_empty()).into_iter().chain(groups).collect();
    groups.join(",")
}

/// A number of things, as `1 node` or `1,234 nodes`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", thousands(count), plural(count, noun))
}

/// A share as a percentage with a decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567")]
        {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn numbers_are_right_aligned() {
        let text = table(&[Column::Left("a"), Column::Right("cycles")], [vec!["x".into(), "7".into()]]);
        assert_eq!(text, "a  cycles\nx       7\n");
    }

    #[test]
    fn facts_line_up() {
        assert_eq!(facts([("a", "1".to_owned()), ("bcd", "2".to_owned())]), "a    1\nbcd  2\n");
    }
}
