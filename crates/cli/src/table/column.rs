//! Contents of tables: [`Column`]s, and [`Row`]s of [`Cell`]s.

use super::number::{percent, thousands};
use crate::color::Mark;
use crate::printable::on_a_line;

/// Kind of a column, which determines its alignment and how it is shortened if space is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names, left-aligned; the middle may be omitted.
    Names,
    /// Sentences, left-aligned; they may be wrapped.
    Texts,
    /// Numbers, right-aligned; never shortened.
    Figures,
    /// Bars, left-aligned; never shortened.
    Bars,
}

/// Column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Heading above the column.
    pub heading: &'a str,
    /// Kind of the contents.
    pub kind: Kind,
    /// Unimportance: if space is lacking, columns with the highest rank are omitted first.
    pub rank: u8,
    /// Formats the sum of the column; `None` if a sum is meaningless.
    pub sum: Option<fn(f64) -> String>,
    /// Whether its figures are also drawn as bars.
    pub has_bar: bool,
    /// Whether rows with large figures in this column are the interesting ones.
    pub leads: bool,
    name: &'a str,
    alias: &'a str,
}

impl<'a> Column<'a> {
    /// Creates a left-aligned column of names.
    pub const fn left(heading: &'a str) -> Self {
        Self {
            heading,
            kind: Kind::Names,
            rank: 0,
            sum: None,
            has_bar: false,
            leads: false,
            name: heading,
            alias: heading,
        }
    }

    /// Creates a left-aligned column of wrapped text.
    pub const fn text(heading: &'a str) -> Self {
        Self { kind: Kind::Texts, ..Self::left(heading) }
    }

    /// Creates a right-aligned numeric column.
    pub const fn right(heading: &'a str) -> Self {
        Self { kind: Kind::Figures, ..Self::left(heading) }
    }

    /// Creates a column of bars for the figures next to it; it is omitted after columns with a rank
    /// above 1.
    pub const fn bar() -> Self {
        Self { kind: Kind::Bars, rank: 1, ..Self::left("") }
    }

    /// Gives the column a name on the command line other than its heading.
    pub const fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// Gives the column another name on the command line, which it had before.
    pub const fn alias(self, alias: &'a str) -> Self {
        Self { alias, ..self }
    }

    /// Sets the rank of the column: the larger, the less important.
    pub const fn minor(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Marks the column's numbers as counts that can be added.
    pub const fn adds(self) -> Self {
        Self { sum: Some(|sum| thousands(sum as u64)), ..self }
    }

    /// Marks the column's numbers as shares of a whole.
    pub const fn shares(self) -> Self {
        Self { sum: Some(percent), has_bar: true, ..self }
    }

    /// Marks the column's numbers as shares of different wholes, drawn as bars.
    pub const fn bars(self) -> Self {
        Self { has_bar: true, ..self }
    }

    /// Marks rows with large figures in this column as the interesting ones.
    pub const fn leads(self) -> Self {
        Self { leads: true, ..self }
    }

    /// Returns the column's name on the command line, such as `vs-roofline`.
    pub fn name(&self) -> String {
        plain(self.name)
    }

    /// Whether `name` means this column.
    pub fn is_called(&self, name: &str) -> bool {
        [self.name, self.alias].iter().any(|own| plain(name) == plain(own))
    }
}

/// Returns the name in lower case, with hyphens between words.
fn plain(name: &str) -> String {
    let name = name.replace('\'', "");
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Text with the number that it represents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text as shown.
    pub text: String,
    /// Number for sorting; `None` if the cell is not a number.
    pub figure: Option<f64>,
}

impl Cell {
    /// Creates a cell with a number shown as `text`.
    pub fn figure(text: impl Into<String>, figure: f64) -> Self {
        Self { text: text.into(), figure: Some(figure) }
    }

    /// Creates a cell with a count.
    pub fn count(count: u64) -> Self {
        Self::figure(thousands(count), count as f64)
    }

    /// Creates a cell with a share, shown as a percentage.
    pub fn share(share: f64) -> Self {
        Self::figure(percent(share), share)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, figure: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Row of a table, with one cell per column.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Cells of the row.
    pub cells: Vec<Cell>,
    /// Mark of the row, if it has one.
    pub mark: Option<Mark>,
}

impl Row {
    /// Creates a row of these cells with a mark.
    pub fn new(cells: Vec<Cell>, mark: Option<Mark>) -> Self {
        Self { cells, mark }
    }

    /// Returns the row with escaped control characters.
    pub fn escaped(mut self) -> Self {
        for cell in &mut self.cells {
            cell.text = on_a_line(&cell.text).into_owned();
        }
        self
    }
}

impl<C: Into<Cell>> From<Vec<C>> for Row {
    fn from(cells: Vec<C>) -> Self {
        Self::new(cells.into_iter().map(Into::into).collect(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_called_by_their_headings() {
        let column = Column::right("own error, largest");
        assert_eq!(column.name(), "own-error-largest");
        assert_eq!(Column::right("chain's RMS").name(), "chains-rms");
        assert!(column.is_called("Own_error,largest") && !column.is_called("own"));
        assert!(Column::right("RMS").named("own-rms").is_called("own-rms"));
        assert!(Column::right("vs roofline").alias("above its bound").is_called("above-its-bound"));
    }
}
