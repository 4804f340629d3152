//! Rows and columns that fit, as text.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::column::{Column, Kind, Row};
use super::elide::elide;
use super::fit::Fit;
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

/// The columns of `fit`, in its widths.
pub fn draw(columns: &[Column<'_>], rows: &[Row], fit: &Fit, screen: Screen) -> String {
    let kept = fit.kept.iter().zip(&fit.widths);
    let kept: Vec<_> =
        kept.filter_map(|(&place, &room)| Some(Kept { place, column: *columns.get(place)?, room })).collect();
    let headings = headings(&kept);
    let mut marks = vec![None; height(&headings)];
    let mut table = headed(headings, &kept);
    let mut texts: Vec<_> = kept.iter().map(|kept| cells(kept, rows, screen).into_iter()).collect();
    for row in rows {
        let cells: Vec<String> = texts.iter_mut().filter_map(Iterator::next).collect();
        marks.extend(vec![row.mark; height(&cells)]);
        table.add_row(cells);
    }
    table.lines().zip(marks).map(|(line, mark)| marked(&line, mark)).collect()
}

/// Headings that end on the same line.
fn headings(kept: &[Kept<'_>]) -> Vec<String> {
    let folded: Vec<_> = kept.iter().map(|kept| lines(kept.column.heading, kept.room)).collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(1); // Default: nothing takes no second line.
    folded.iter().map(|heading| "\n".repeat(height - heading.len()) + &heading.join("\n")).collect()
}

/// How many lines cells beside each other take.
fn height(cells: &[String]) -> usize {
    cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1) // Default: an empty row is a line.
}

/// A table without rows.
fn headed(headings: Vec<String>, kept: &[Kept<'_>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings);
    for (found, kept) in table.column_iter_mut().zip(kept) {
        let is_figures = kept.column.kind == Kind::Figures;
        found.set_cell_alignment(if is_figures { CellAlignment::Right } else { CellAlignment::Left });
    }
    table
}

/// A line of the table, which stands out if it is to.
fn marked(line: &str, mark: Option<Mark>) -> String {
    // The first column's left padding is of no use without borders.
    let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
    mark.map(Mark::sign).into_iter().chain(line.chars()).chain(['\n']).collect()
}

/// The texts of a column in its room.
fn cells(kept: &Kept<'_>, rows: &[Row], screen: Screen) -> Vec<String> {
    let texts = texts(rows, kept.place);
    match kept.column.kind {
        Kind::Names => elide(&texts.collect::<Vec<_>>(), kept.room, screen.ellipsis()),
        Kind::Texts => texts.map(|text| lines(text, kept.room).join("\n")).collect(),
        Kind::Figures | Kind::Bars => texts.map(str::to_owned).collect(),
    }
}
