//! Drawing of rows and columns that fit.

use super::column::{Column, Kind, Row};
use super::elide::{elide, width};
use super::fit::{Fit, GAP};
use super::fold::lines;
use super::screen::Screen;
use super::texts;
use crate::color::Mark;

/// Column that is shown.
#[derive(Clone, Copy)]
struct VisibleColumn<'a> {
    /// Index of its cells in the rows.
    place: usize,
    column: Column<'a>,
    room: usize,
}

/// Column with formatted cells.
struct Drawn {
    /// Lines of its cells, the heading first.
    cells: Vec<Vec<String>>,
    width: usize,
    is_figures: bool,
}

/// Draws the columns of `fit`, in its widths.
pub fn draw(columns: &[Column<'_>], rows: &[Row], fit: &Fit, screen: Screen) -> String {
    let kept = fit.kept.iter().zip(&fit.widths);
    let kept: Vec<_> = kept
        .filter_map(|(&place, &room)| Some(VisibleColumn { place, column: *columns.get(place)?, room }))
        .collect();
    let cells = kept.iter().zip(headings(&kept));
    let drawn: Vec<Drawn> =
        cells.map(|(kept, heading)| kept.drawn(heading, cells_of(kept, rows, screen))).collect();
    let marks = std::iter::once(None).chain(rows.iter().map(|row| row.mark));
    marks.enumerate().flat_map(|(row, mark)| drawn_row(&drawn, row, mark)).collect()
}

/// Returns the headings, which end on the same line.
fn headings(kept: &[VisibleColumn<'_>]) -> Vec<Vec<String>> {
    let folded: Vec<_> = kept.iter().map(|kept| lines(kept.column.heading, kept.room)).collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(1); // Default: an empty table has one heading line.
    let above = |heading: &Vec<String>| vec![String::new(); height - heading.len()];
    folded.iter().map(|heading| [above(heading), heading.clone()].concat()).collect()
}

/// Returns the cells of a column, fitted to its width.
fn cells_of(kept: &VisibleColumn<'_>, rows: &[Row], screen: Screen) -> Vec<Vec<String>> {
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

impl VisibleColumn<'_> {
    fn drawn(&self, heading: Vec<String>, cells: Vec<Vec<String>>) -> Drawn {
        let cells = [vec![heading], cells].concat();
        let width = cells.iter().flatten().map(|line| width(line)).max().unwrap_or(0); // Default: without lines the width is 0.
        Drawn { cells, width: width.max(1), is_figures: self.column.kind == Kind::Figures }
    }
}

impl Drawn {
    /// Returns a line of a cell, padded to the whole width; spaces if the cell has fewer lines.
    fn line(&self, row: usize, line: usize) -> String {
        let text = self.cells.get(row).and_then(|lines| lines.get(line)).map_or("", String::as_str); // Default: spaces.
        let space = " ".repeat(self.width - width(text));
        if self.is_figures { space + text } else { format!("{text}{space}") }
    }
}

/// Returns the lines of a row, marked if the row is.
fn drawn_row(drawn: &[Drawn], row: usize, mark: Option<Mark>) -> Vec<String> {
    let height = drawn.iter().filter_map(|column| column.cells.get(row)).map(Vec::len).max();
    let text = |line: usize| {
        let cells: Vec<String> = drawn.iter().map(|column| column.line(row, line)).collect();
        marked(&cells.join(&" ".repeat(GAP)), mark)
    };
    (0..height.unwrap_or(0)).map(text).collect() // Default: without columns there are no lines.
}

/// Returns a line of the table, with its mark.
fn marked(line: &str, mark: Option<Mark>) -> String {
    mark.map(Mark::sign).into_iter().chain(line.trim_end().chars()).chain(['\n']).collect()
}
