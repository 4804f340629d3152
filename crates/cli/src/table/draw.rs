//! Rows and columns that fit, as text.

use super::column::{Column, Kind, Row};
use super::elide::{elide, width};
use super::fit::{Fit, GAP};
use super::fold::lines;
use super::screen::Screen;
use super::texts;
use crate::colour::Mark;

/// A column that there is room for.
#[derive(Clone, Copy)]
struct Kept<'a> {
    /// Where its cells are in rows.
    place: usize,
    column: Column<'a>,
    room: usize,
}

/// A column as it is drawn.
struct Drawn {
    /// Lines of its cells, the heading first.
    cells: Vec<Vec<String>>,
    width: usize,
    is_figures: bool,
}

/// The columns of `fit`, in its widths.
pub fn draw(columns: &[Column<'_>], rows: &[Row], fit: &Fit, screen: Screen) -> String {
    let kept = fit.kept.iter().zip(&fit.widths);
    let kept: Vec<_> =
        kept.filter_map(|(&place, &room)| Some(Kept { place, column: *columns.get(place)?, room })).collect();
    let cells = kept.iter().zip(headings(&kept));
    let drawn: Vec<Drawn> =
        cells.map(|(kept, heading)| kept.drawn(heading, cells_of(kept, rows, screen))).collect();
    let marks = std::iter::once(None).chain(rows.iter().map(|row| row.mark));
    marks.enumerate().flat_map(|(row, mark)| drawn_row(&drawn, row, mark)).collect()
}

/// Headings that end on the same line.
fn headings(kept: &[Kept<'_>]) -> Vec<Vec<String>> {
    let folded: Vec<_> = kept.iter().map(|kept| lines(kept.column.heading, kept.room)).collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(1); // Default: nothing takes no second line.
    let above = |heading: &Vec<String>| vec![String::new(); height - heading.len()];
    folded.iter().map(|heading| [above(heading), heading.clone()].concat()).collect()
}

/// The cells of a column in its room.
fn cells_of(kept: &Kept<'_>, rows: &[Row], screen: Screen) -> Vec<Vec<String>> {
    let texts = texts(rows, kept.place);
    let one = |text: &str| text.split('\n').map(str::to_owned).collect();
    match kept.column.kind {
        Kind::Names => {
            let names = elide(&texts.collect::<Vec<_>>(), kept.room, screen.ellipsis());
            names.iter().map(|name| one(name)).collect()
        }
        Kind::Texts => texts.map(|text| lines(text, kept.room)).collect(),
        Kind::Figures | Kind::Bars => texts.map(one).collect(),
    }
}

impl Kept<'_> {
    fn drawn(&self, heading: Vec<String>, cells: Vec<Vec<String>>) -> Drawn {
        let cells = [vec![heading], cells].concat();
        let width = cells.iter().flatten().map(|line| width(line)).max().unwrap_or(0); // Default: there are no lines.
        Drawn { cells, width: width.max(1), is_figures: self.column.kind == Kind::Figures }
    }
}

impl Drawn {
    /// A line of a cell over the whole width; spaces where the cell has fewer.
    fn line(&self, row: usize, line: usize) -> String {
        let text = self.cells.get(row).and_then(|lines| lines.get(line)).map_or("", String::as_str); // Default: spaces.
        let space = " ".repeat(self.width - width(text));
        if self.is_figures { space + text } else { format!("{text}{space}") }
    }
}

/// The lines of a row, which stand out if it does.
fn drawn_row(drawn: &[Drawn], row: usize, mark: Option<Mark>) -> Vec<String> {
    let height = drawn.iter().filter_map(|column| column.cells.get(row)).map(Vec::len).max();
    let text = |line: usize| {
        let cells: Vec<String> = drawn.iter().map(|column| column.line(row, line)).collect();
        marked(&cells.join(&" ".repeat(GAP)), mark)
    };
    (0..height.unwrap_or(0)).map(text).collect() // Default: without columns there is nothing.
}

/// A line of the table, which stands out if it is to.
fn marked(line: &str, mark: Option<Mark>) -> String {
    mark.map(Mark::sign).into_iter().chain(line.trim_end().chars()).chain(['\n']).collect()
}
