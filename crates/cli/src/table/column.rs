//! What a table is of: [`Column`]s, and [`Row`]s of [`Cell`]s.

use super::number::{percent, thousands};
use crate::colour::Mark;
use crate::printable::on_a_line;

/// What a column holds, and by that what becomes of it where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names, on the left; their middle may go.
    Names,
    /// Sentences, on the left; they may take several lines.
    Texts,
    /// Numbers, on the right; they are whole or not there.
    Figures,
    /// Bars, on the left; they are whole or not there.
    Bars,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// What stands above it.
    pub heading: &'a str,
    /// What it holds.
    pub kind: Kind,
    /// How little it matters: where there is no room, the columns with the most go first.
    pub rank: u8,
    /// How a sum of it reads; none where a sum means nothing.
    pub sum: Option<fn(f64) -> String>,
    /// Whether its figures are drawn, too.
    pub has_bar: bool,
    /// Whether rows are of interest for how much they have of it.
    pub leads: bool,
    name: &'a str,
}

impl<'a> Column<'a> {
    /// Of names.
    pub const fn left(heading: &'a str) -> Self {
        Self { heading, kind: Kind::Names, rank: 0, sum: None, has_bar: false, leads: false, name: heading }
    }

    /// Of sentences.
    pub const fn text(heading: &'a str) -> Self {
        Self { kind: Kind::Texts, ..Self::left(heading) }
    }

    /// Of numbers.
    pub const fn right(heading: &'a str) -> Self {
        Self { kind: Kind::Figures, ..Self::left(heading) }
    }

    /// Of bars for the figures beside it; it goes after columns of more than rank 1.
    pub const fn bar() -> Self {
        Self { kind: Kind::Bars, rank: 1, ..Self::left("") }
    }

    /// The same, called otherwise on the command line than by its heading.
    pub const fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The same, of less importance the larger `rank` is.
    pub const fn minor(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// The same, whose numbers add up to counts.
    pub const fn adds(self) -> Self {
        Self { sum: Some(|sum| thousands(sum as u64)), ..self }
    }

    /// The same, whose numbers are shares of a whole.
    pub const fn shares(self) -> Self {
        Self { sum: Some(percent), has_bar: true, ..self }
    }

    /// The same, whose numbers are shares of different wholes.
    pub const fn bars(self) -> Self {
        Self { has_bar: true, ..self }
    }

    /// The same, of which rows are of interest that have much.
    pub const fn leads(self) -> Self {
        Self { leads: true, ..self }
    }

    /// What it is called on the command line, as `above-its-bound`.
    pub fn name(&self) -> String {
        plain(self.name)
    }

    /// Whether that is what `name` means.
    pub fn is_called(&self, name: &str) -> bool {
        plain(name) == plain(self.name)
    }
}

/// Lower case, with a hyphen for all between words.
fn plain(name: &str) -> String {
    let name = name.replace('\'', "");
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// A text, and the number that it tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// As it is shown.
    pub text: String,
    /// What rows are sorted by; none of what is no number.
    pub figure: Option<f64>,
}

impl Cell {
    /// A number that reads as `text`.
    pub fn figure(text: impl Into<String>, figure: f64) -> Self {
        Self { text: text.into(), figure: Some(figure) }
    }

    /// A number of things.
    pub fn count(count: u64) -> Self {
        Self::figure(thousands(count), count as f64)
    }

    /// A share, as a percentage.
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

/// A row of a table, with a cell for each column.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its cells.
    pub cells: Vec<Cell>,
    /// What it stands out for.
    pub mark: Option<Mark>,
}

impl Row {
    /// Of these cells, which stands out for `mark`.
    pub fn new(cells: Vec<Cell>, mark: Option<Mark>) -> Self {
        Self { cells, mark }
    }

    /// The same, as a terminal shows it.
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
    }
}
