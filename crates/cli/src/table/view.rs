//! [`TableArgs`]: the requested columns and rows of a table, and their order; [`View`]: the same,
//! resolved for a table.

use std::cmp::Ordering;

use clap::Args;

use super::column::{Cell, Column, Row};
use super::number::counted;
use crate::failure::Failure;

/// Options of a table. `--json` always contains everything.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct TableArgs {
    /// Columns and their order, as `layer,cycles`
    ///
    /// Names are the headings. --json has all columns.
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Column by which rows are sorted
    ///
    /// By default figures are sorted descending, texts alphabetically. --json keeps the original
    /// order.
    #[arg(long, value_name = "NAME[:asc|desc]", value_parser = sort)]
    pub sort: Option<Sort>,
    /// Show only N rows
    ///
    /// The first rows by --sort, otherwise those with most cycles or the largest error if the table
    /// has such a column. --json has all rows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rows: Option<u32>,
}

/// Shown part of a table, with columns as indices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Columns in order; `None` for all that fit.
    pub columns: Option<Vec<usize>>,
    /// Whether the command has the option `--columns`.
    pub has_columns: bool,
    sort: Option<(usize, Order)>,
    rows: Option<usize>,
}

/// Column by which rows are sorted, and the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    column: String,
    order: Order,
}

/// Order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    /// Figures descending, texts alphabetically.
    Natural,
}

impl TableArgs {
    /// Returns the shown part of a table with these `columns`.
    ///
    /// # Errors
    ///
    /// [`Failure::Column`] for a column that the table does not have.
    pub fn view(&self, columns: &[Column<'_>]) -> Result<View, Failure> {
        let named = self.columns.iter().map(|name| index(columns, name)).collect::<Result<Vec<_>, _>>()?;
        let sort =
            self.sort.as_ref().map(|sort| Ok::<_, Failure>((index(columns, &sort.column)?, sort.order)));
        Ok(View {
            columns: Some(named).filter(|named| !named.is_empty()),
            has_columns: true,
            sort: sort.transpose()?,
            rows: self.rows.map(|rows| rows as usize),
        })
    }
}

/// Parses `cycles` or `cycles:asc`.
fn sort(text: &str) -> Result<Sort, String> {
    let (column, order) = match text.split_once(':') {
        None => (text, Order::Natural),
        Some((column, "asc")) => (column, Order::Ascending),
        Some((column, "desc")) => (column, Order::Descending),
        Some(_) => return Err("must be a column, optionally followed by `:asc` or `:desc`".to_owned()),
    };
    Ok(Sort { column: column.to_owned(), order })
}

fn index(columns: &[Column<'_>], name: &str) -> Result<usize, Failure> {
    let found = columns.iter().position(|column| column.is_called(name));
    found.ok_or_else(|| Failure::column(name, &columns.iter().map(Column::name).collect::<Vec<_>>()))
}

impl View {
    /// Returns the requested columns in order, and the rows with these columns.
    pub fn choose<'a>(&self, columns: &[Column<'a>], rows: Vec<Row>) -> (Vec<Column<'a>>, Vec<Row>) {
        let Some(places) = &self.columns else { return (columns.to_vec(), rows) };
        // Default: a row that is too short ends in empty cells.
        let cell = |row: &Row, place: usize| row.cells.get(place).cloned().unwrap_or_default();
        let row = |row: Row| Row::new(places.iter().map(|&place| cell(&row, place)).collect(), row.mark);
        let chosen = places.iter().filter_map(|&place| columns.get(place).copied());
        (chosen.collect(), rows.into_iter().map(row).collect())
    }

    /// Sorts the rows, and removes rows beyond the limit; returns a line about the removed ones.
    pub fn take(&self, columns: &[Column<'_>], rows: &mut Vec<Row>) -> Option<String> {
        let leading = || columns.iter().position(|column| column.leads).filter(|_| self.rows.is_some());
        if let Some((place, order)) = self.sort.or_else(|| Some((leading()?, Order::Natural))) {
            rows.sort_by(|a, b| compare(a.cells.get(place), b.cells.get(place), order));
        }
        let left_out = rows.split_off(self.rows.unwrap_or(rows.len()).min(rows.len()));
        (!left_out.is_empty()).then(|| summary(columns, &left_out))
    }
}

/// Compares two cells; cells without figures come last among figures.
fn compare(a: Option<&Cell>, b: Option<&Cell>, order: Order) -> Ordering {
    let figure = |cell: Option<&Cell>| cell.and_then(|cell| cell.figure);
    match (figure(a), figure(b)) {
        (Some(a), Some(b)) if order == Order::Ascending => a.total_cmp(&b),
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => {
            let order_of_texts = a.map(|cell| &cell.text).cmp(&b.map(|cell| &cell.text));
            if order == Order::Descending { order_of_texts.reverse() } else { order_of_texts }
        }
    }
}

/// Formats the number of omitted rows, and their sums.
fn summary(columns: &[Column<'_>], rows: &[Row]) -> String {
    let sum = |(place, column): (usize, &Column<'_>)| {
        let sum: f64 = rows.iter().filter_map(|row| row.cells.get(place)?.figure).sum();
        Some(format!("{} {}", column.heading, (column.sum?)(sum)))
    };
    let sums: Vec<String> = columns.iter().enumerate().filter_map(sum).collect();
    let colon = if sums.is_empty() { "" } else { ": " };
    format!("and {}{colon}{}", counted(rows.len() as u64, "more row"), sums.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const COLUMNS: [Column<'_>; 3] =
        [Column::left("layer"), Column::right("cycles").adds().leads(), Column::right("share").shares()];

    fn rows() -> Vec<Row> {
        [("b", 9), ("c", 10), ("a", 200)]
            .map(|(name, cycles)| {
                Row::from(vec![name.into(), Cell::count(cycles), Cell::share(cycles as f64 / 1000.0)])
            })
            .to_vec()
    }

    fn shown(args: &TableArgs) -> (String, Option<String>) {
        let mut rows = rows();
        let summary = args.view(&COLUMNS).unwrap().take(&COLUMNS, &mut rows);
        (rows.iter().map(|row| row.cells[0].text.as_str()).collect(), summary)
    }

    fn sorted(by: &str) -> String {
        shown(&TableArgs { sort: Some(sort(by).unwrap()), ..TableArgs::default() }).0
    }

    #[test]
    fn figures_sort_as_figures() {
        assert_eq!((sorted("cycles"), sorted("cycles:asc")), ("acb".to_owned(), "bca".to_owned()));
        assert_eq!((sorted("Layer"), sorted("layer:desc")), ("abc".to_owned(), "cba".to_owned()));
    }

    #[test]
    fn what_is_left_out_is_added_up() {
        let args = TableArgs { rows: Some(1), ..TableArgs::default() };
        assert_eq!(
            shown(&args),
            ("a".to_owned(), Some("and 2 more rows: cycles 19, share 1.9 %".to_owned()))
        );
        let args = TableArgs { sort: Some(sort("layer").unwrap()), rows: Some(3), ..TableArgs::default() };
        assert_eq!(shown(&args), ("abc".to_owned(), None));
    }

    #[test]
    fn rows_without_the_figure_come_last() {
        for order in [Order::Ascending, Order::Descending, Order::Natural] {
            assert_eq!(compare(Some(&"-".into()), Some(&Cell::count(1)), order), Ordering::Greater);
        }
    }

    #[test]
    fn columns_that_are_not_there_are_told() {
        let args = TableArgs { columns: vec!["cycle".to_owned()], ..TableArgs::default() };
        let text = args.view(&COLUMNS).unwrap_err().to_string();
        assert_eq!(
            text,
            "there is no column `cycle` (did you mean `cycles`?); columns are layer, cycles, share"
        );
    }
}
