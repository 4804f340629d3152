//! Tables and facts for people: [`table`] formats rows for the [`Screen`], with the options of
//! [`TableArgs`].
//!
//! In a pipe, lines have any length. On a terminal they are fitted to the width by `fit`. Long
//! names are shortened in both.

mod bar;
mod column;
mod draw;
mod elide;
mod fit;
mod fold;
mod number;
mod screen;
mod view;

use column::Kind;
use fit::{Fit, Need, fit};

use crate::printable::on_a_line;
pub use column::{Cell, Column, Row};
pub use elide::{fitting, width};
pub use fold::{folded, folded_page};
pub use number::{counted, percent, thousands};
pub use screen::Screen;
pub use view::{TableArgs, View};

/// Formats a table with a line of headings; ends in a newline.
pub fn table<R: Into<Row>>(columns: &[Column<'_>], rows: impl IntoIterator<Item = R>) -> String {
    viewed(columns, rows, &View::default())
}

/// Formats a table with the rows and columns of a view.
pub fn viewed<R: Into<Row>>(
    columns: &[Column<'_>],
    rows: impl IntoIterator<Item = R>,
    view: &View,
) -> String {
    let rows = rows.into_iter().map(|row| row.into().escaped()).collect();
    laid_out(columns, rows, view, Screen::current())
}

fn laid_out(columns: &[Column<'_>], mut rows: Vec<Row>, view: &View, screen: Screen) -> String {
    let summary = view.take(columns, &mut rows);
    let (mut columns, mut rows) = view.choose(columns, rows);
    if screen.width.is_some() {
        add_bars(&mut columns, &mut rows, screen);
    }
    let needs: Vec<Need> =
        (0..).zip(&columns).map(|(place, column)| Need::of(column, texts(&rows, place))).collect();
    let fit = fit(&needs, screen.width.unwrap_or(usize::MAX), view.columns.is_some());
    let notes = summary.into_iter().chain(missing(&columns, &fit, view));
    draw::draw(&columns, &rows, &fit, screen)
        + &notes.map(|note| folded(&note, 4, screen)).collect::<String>()
}

/// Returns the texts of a column.
fn texts(rows: &[Row], place: usize) -> impl Iterator<Item = &str> + Clone {
    // Default: a row that is too short ends in empty cells.
    rows.iter().map(move |row| row.cells.get(place).map_or("", |cell| cell.text.as_str()))
}

/// Adds bars next to figures, the longest for the largest figure.
fn add_bars(columns: &mut Vec<Column<'_>>, rows: &mut [Row], screen: Screen) {
    let drawn = columns.iter().enumerate().filter(|(_, column)| column.has_bar);
    // From right to left, since inserting a column moves the ones to its right.
    for place in drawn.map(|(place, _)| place).rev().collect::<Vec<_>>() {
        let figure = |row: &Row| row.cells.get(place).and_then(|cell| cell.figure);
        let largest = rows.iter().filter_map(figure).fold(0.0, f64::max);
        columns.insert(place + 1, Column::bar());
        for row in rows.iter_mut() {
            // Default: a cell without a number has no bar.
            let bar = figure(row).map_or_else(String::new, |it| bar::bar(it, largest, screen.is_unicode));
            row.cells.insert((place + 1).min(row.cells.len()), bar.into());
        }
    }
}

/// Names the columns that did not fit.
fn missing(columns: &[Column<'_>], fit: &Fit, view: &View) -> Option<String> {
    let is_missing = |(i, column): &(usize, &Column<'_>)| column.kind != Kind::Bars && !fit.kept.contains(i);
    let names: Vec<String> =
        columns.iter().enumerate().filter(is_missing).map(|(_, column)| column.name()).collect();
    let what = if view.has_columns { "--columns shows them" } else { "a larger --width shows them" };
    (!names.is_empty()).then(|| format!("columns left out: {}; {what}", names.join(", ")))
}

/// Formats names and values, one per line; ends in a newline. Names without a value are omitted.
pub fn facts<N: AsRef<str>>(facts: impl IntoIterator<Item = (N, String)>) -> String {
    let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let column = facts.iter().map(|(name, _)| width(name.as_ref())).max().unwrap_or(0);
    let fact = |(name, value): &(N, String)| {
        let name = name.as_ref();
        let space = " ".repeat(column - width(name) + fit::GAP);
        folded(&format!("{name}{space}{}", on_a_line(value)), column + fit::GAP, Screen::current())
    };
    facts.iter().map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Mark;
    use proptest::prelude::*;

    const COLUMNS: [Column<'_>; 4] = [
        Column::left("layer"),
        Column::right("cycles").adds(),
        Column::right("share").shares(),
        Column::right("less important").minor(2),
    ];

    fn rows() -> Vec<Row> {
        let row = |name: &str, cycles, share| -> Row {
            vec![name.into(), Cell::count(cycles), Cell::share(share), Cell::count(0)].into()
        };
        vec![row("conv", 7, 0.25), row("/block/layer/part/conv", 21, 0.75)]
    }

    fn on(width: Option<usize>) -> String {
        laid_out(&COLUMNS, rows(), &View::default(), Screen { width, is_unicode: true })
    }

    #[test]
    fn a_pipe_takes_any_width_and_no_bars() {
        let lines = [
            "layer                   cycles   share  less important",
            "conv                         7  25.0 %               0",
            "/block/layer/part/conv      21  75.0 %               0",
        ];
        assert_eq!(on(None), lines.join("\n") + "\n");
    }

    /// A pipe, too, shows names of hundreds of characters in a bounded column with their ends.
    #[test]
    fn names_of_fused_layers_are_shortened() {
        let row = |end: &str| -> Row {
            vec![Cell::from(format!("model/{}{end}", "conv2d/BiasAdd;".repeat(30))), Cell::count(7)].into()
        };
        let columns = [Column::left("layer"), Column::right("cycles")];
        for screen in [None, Some(1000)].map(|width| Screen { width, is_unicode: true }) {
            let text = laid_out(&columns, vec![row("relu1"), row("add_2")], &View::default(), screen);
            assert!(text.lines().all(|line| width(line) <= 72 + 2 + 6), "{text}");
            assert!(text.contains("relu1 ") && text.contains("add_2 ") && text.contains('…'), "{text}");
        }
    }

    #[test]
    fn a_wide_screen_shows_bars() {
        let lines = [
            "layer                   cycles   share            less important",
            "conv                         7  25.0 %  ██▋                    0",
            "/block/layer/part/conv      21  75.0 %  ████████               0",
        ];
        assert_eq!(on(Some(64)), lines.join("\n") + "\n");
        assert_eq!(on(Some(1000)), on(Some(64)));
    }

    #[test]
    fn headings_fold_where_that_is_enough() {
        let lines = [
            "                                                       less",
            "layer                   cycles   share            important",
            "conv                         7  25.0 %  ██▋               0",
            "/block/layer/part/conv      21  75.0 %  ████████          0",
        ];
        assert_eq!(on(Some(59)), lines.join("\n") + "\n");
    }

    #[test]
    fn names_give_way_and_columns_go() {
        let lines = [
            "layer               cycles   share",
            "conv                     7  25.0 %",
            "/block/…/part/conv      21  75.0 %",
            "columns left out: less-important; a",
            "    larger --width shows them",
        ];
        assert_eq!(on(Some(36)), lines.join("\n") + "\n");
    }

    #[test]
    fn hardly_any_room_leaves_the_names() {
        let text = on(Some(5));
        assert!(text.starts_with("layer\nconv\n/b…nv\n"), "{text}");
    }

    #[test]
    fn what_stands_out_is_marked_on_each_of_its_lines() {
        let columns = [Column::text("what")];
        let row = Row::new(vec!["one two three four five six".into()], Some(Mark::Fault));
        let screen = Screen { width: Some(14), is_unicode: true };
        let text = laid_out(&columns, vec![row], &View::default(), screen);
        assert_eq!(text, "what\n\u{2}one two three\n\u{2}four five six\n");
    }

    #[test]
    fn facts_line_up() {
        assert_eq!(facts([("a", "1".to_owned()), ("bcd", "2".to_owned())]), "a    1\nbcd  2\n");
    }

    #[test]
    fn a_selector_takes_the_room_that_is_shown() {
        let columns = [Column::text("what it is")];
        let cell: Cell = "*\u{fe0f}aaaaaaaaaaaaaaaaaaaa".into();
        let rows = vec![Row::from(vec![cell]).escaped()];
        let text = laid_out(&columns, rows, &View::default(), Screen { width: Some(12), is_unicode: false });
        assert_eq!(text, "what it is\n*\\u{fe0f}aaa\naaaaaaaaaaaa\naaaaa\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(
            names in prop::collection::vec(("\\PC{0,60}", "\\PC{0,90}", any::<u64>()), 0..6),
            width in 30_usize..140,
            is_unicode: bool,
        ) {
            let columns = [
                Column::left("name of it"),
                Column::right("a large number").bars(),
                Column::text("what it is"),
                Column::right("share").minor(3),
            ];
            let row = |(name, text, number): &(String, String, u64)| -> Row {
                vec![name.as_str().into(), Cell::count(*number), text.as_str().into(), Cell::share(0.5)].into()
            };
            let rows = names.iter().map(|names| row(names).escaped()).collect();
            let text = laid_out(&columns, rows, &View::default(), Screen { width: Some(width), is_unicode });
            for line in text.lines() {
                prop_assert!(unicode_width::UnicodeWidthStr::width(line) <= width, "{line}");
            }
        }
    }
}
