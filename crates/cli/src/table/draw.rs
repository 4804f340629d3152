//! Rows and columns that fit, as text.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::column::{Column, Kind, Row};
use super::elide::elide;
use super::fit::Fit;
use super::fold::lines;
use super::screen::Screen;
use super::texts;
use crate::colour::Mark;

/// The columns of `fit`, in its widths.
pub fn draw(columns: &[Column<'_>], rows: &[Row], fit: &Fit, screen: Screen) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let kept = || fit.kept.iter().zip(&fit.widths).filter_map(|(&i, &room)| Some((i, columns.get(i)?, room)));
    let (headings, head_height) =
        headings(kept().map(|(_, column, room)| lines(column.heading, room)).collect());
    table.set_header(headings);
    let mut texts: Vec<_> =
        kept().map(|(i, column, room)| cells(i, column, rows, room, screen).into_iter()).collect();
    let mut marks = vec![None; head_height];
    for row in rows {
        let cells: Vec<String> = texts.iter_mut().filter_map(Iterator::next).collect();
        let height = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
        marks.extend(vec![row.mark; height]);
        table.add_row(cells);
    }
    for (place, (_, column, _)) in kept().enumerate() {
        if let Some(found) = table.column_mut(place) {
            found.set_cell_alignment(alignment(column.kind));
        }
    }
    let marked = |(line, mark): (String, Option<Mark>)| {
        // The first column's left padding is of no use without borders.
        let line = line.strip_prefix(' ').unwrap_or(&line).trim_end();
        mark.map(Mark::sign).into_iter().chain(line.chars()).chain(['\n']).collect::<String>()
    };
    table.lines().zip(marks).map(marked).collect()
}

/// Headings that end on the same line, and how many lines they take.
fn headings(folded: Vec<Vec<String>>) -> (Vec<String>, usize) {
    let height = folded.iter().map(Vec::len).max().unwrap_or(1);
    let padded = |heading: Vec<String>| "\n".repeat(height - heading.len()) + &heading.join("\n");
    (folded.into_iter().map(padded).collect(), height)
}

/// The texts of a column in its room.
fn cells(place: usize, column: &Column<'_>, rows: &[Row], room: usize, screen: Screen) -> Vec<String> {
    let texts = texts(rows, place);
    match column.kind {
        Kind::Names => elide(&texts.collect::<Vec<_>>(), room, screen.ellipsis()),
        Kind::Texts => texts.map(|text| lines(text, room).join("\n")).collect(),
        Kind::Figures | Kind::Bars => texts.map(str::to_owned).collect(),
    }
}

fn alignment(kind: Kind) -> CellAlignment {
    if kind == Kind::Figures { CellAlignment::Right } else { CellAlignment::Left }
}
