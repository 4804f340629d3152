//! [`TableArgs`]: which columns and rows of a table are wanted, and in what order; [`View`] is what a table makes of it.

use std::cmp::Ordering;

use clap::Args;

use super::column::{Cell, Column, Row};
use super::number::counted;
use crate::failure::Failure;

/// What is wanted of a table. `--json` has everything in any case.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct TableArgs {
    /// Columns and their order, as `layer,cycles`
    ///
    /// They are called by their headings. --json has all of them.
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Column that rows are sorted by
    ///
    /// Figures come from the largest on, texts by letter, unless it says which. --json keeps their order.
    #[arg(long, value_name = "NAME[:asc|desc]", value_parser = sort)]
    pub sort: Option<Sort>,
    /// Show N rows alone
    ///
    /// The first ones by --sort, or else those with most cycles or error where the table has such. --json has all of them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rows: Option<u32>,
}

/// What is shown of a table, its columns by their indices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The columns and their order; none for all there is room for.
    pub columns: Option<Vec<usize>>,
    /// Whether the command takes `--columns`.
    pub has_columns: bool,
    sort: Option<(usize, Order)>,
    rows: Option<usize>,
}

/// A column that rows are sorted by, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    column: String,
    order: Order,
}

/// In what order rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    /// Figures from the largest on, texts by letter.
    Natural,
}

impl TableArgs {
    /// What is shown of a table of `columns`.
    ///
    /// # Errors
    ///
    /// [`Failure::Column`] for a column that it does not have.
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

/// `cycles` or `cycles:asc`
fn sort(text: &str) -> Result<Sort, String> {
    let (column, order) = match text.split_once(':') {
        None => (text, Order::Natural),
        Some((column, "asc")) => (column, Order::Ascending),
        Some((column, "desc")) => (column, Order::Descending),
        Some(_) => return Err("must be a column, alone or with `:asc` or `:desc` behind it".to_owned()),
    };
    Ok(Sort { column: column.to_owned(), order })
}

fn index(columns: &[Column<'_>], name: &str) -> Result<usize, Failure> {
    let found = columns.iter().position(|column| column.is_called(name));
    found.ok_or_else(|| Failure::column(name, &columns.iter().map(Column::name).collect::<Vec<_>>()))
}

impl View {
    /// The columns that are wanted, in their order, and rows of these.
    pub fn choose<'a>(&self, columns: &[Column<'a>], rows: Vec<Row>) -> (Vec<Column<'a>>, Vec<Row>) {
        let Some(places) = &self.columns else { return (columns.to_vec(), rows) };
        // Default: a row that is too short ends in empty cells.
        let cell = |row: &Row, place: usize| row.cells.get(place).cloned().unwrap_or_default();
        let row = |row: Row| Row::new(places.iter().map(|&place| cell(&row, place)).collect(), row.mark);
        let chosen = places.iter().filter_map(|&place| columns.get(place).copied());
        (chosen.collect(), rows.into_iter().map(row).collect())
    }

    /// Puts rows of `columns` in order and leaves out what is too many; gives a line on those left out.
    pub fn take(&self, columns: &[Column<'_>], rows: &mut Vec<Row>) -> Option<String> {
        let leading = || columns.iter().position(|column| column.leads).filter(|_| self.rows.is_some());
        if let Some((place, order)) = self.sort.or_else(|| Some((leading()?, Order::Natural))) {
            rows.sort_by(|a, b| compare(a.cells.get(place), b.cells.get(place), order));
        }
        let left_out = rows.split_off(self.rows.unwrap_or(rows.len()).min(rows.len()));
        (!left_out.is_empty()).then(|| summary(columns, &left_out))
    }
}

/// How two cells are ordered; those without figures come last among figures.
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

/// How many rows are not shown, and what they add up to.
fn summary(columns: &[Column<'_>], rows: &[Row]) -> String {
    let sum = |(place, column): (usize, &Column<'_>)| {
        let sum: f64 = rows.iter().filter_map(|row| row.cells.get(place)?.figure).sum();
        Some(format!("{} {}", column.heading, (column.sum?)(sum)))
    };
    let sums: Vec<String> = columns.iter().enumerate().filter_map(sum).collect();
    let colon = if sums.is_empty() { "" } else { ": " };
    format!("and {} more{colon}{}", counted(rows.len() as u64, "row"), sums.join(", "))
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
            ("a".to_owned(), Some("and 2 rows more: cycles 19, share 1.9 %".to_owned()))
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
            "there is no column `cycle` (did you mean `cycles`?); there are layer, cycles, share"
        );
    }
}
