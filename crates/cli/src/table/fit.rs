//! Column widths if there is not enough space for all: first headings are folded, then names and
//! sentences are shortened, then the least important columns are omitted.

use super::column::{Column, Kind};
use super::elide::width;

/// Characters between two columns.
pub const GAP: usize = 2;
/// Minimum width of names before a column is omitted.
const LEAST_NAME: usize = 20;
/// Maximum width of names, also without a limit of the line: fused layers have names of hundreds of
/// characters.
const MOST_NAME: usize = 72;
/// Minimum width of sentences with short words before a column is omitted.
const LEAST_TEXT: usize = 20;
/// Maximum length of words that are not broken.
const LONG_WORD: usize = 30;

/// Space that a column needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Width with each cell on one line.
    all: usize,
    /// Width with a folded heading.
    folded: usize,
    /// Width with names and sentences as short as possible.
    least: usize,
    rank: u8,
    kind: Kind,
}

impl Need {
    /// Returns the space that a column with these texts needs.
    pub fn of<'a>(column: &Column<'_>, texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let most = if column.kind == Kind::Names { MOST_NAME } else { usize::MAX };
        // Default: an empty column is drawn, too.
        let content = texts.clone().map(width).max().unwrap_or(0).clamp(1, most);
        let word = longest_word(column.heading);
        let folded = content.max(word);
        let least = match column.kind {
            Kind::Figures | Kind::Bars => folded,
            Kind::Names => folded.min(LEAST_NAME.max(word)),
            Kind::Texts => {
                let long = texts.map(longest_word).max().unwrap_or(0).min(LONG_WORD);
                folded.min(LEAST_TEXT.max(word).max(long))
            }
        };
        let Column { rank, kind, .. } = *column;
        Self { all: content.max(width(column.heading)), folded, least, rank, kind }
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(width).max().unwrap_or(0) // Default: an empty text has width 0.
}

/// Columns that fit, with their widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Indices of the columns.
    pub kept: Vec<usize>,
    /// Widths of the columns.
    pub widths: Vec<usize>,
}

/// Fits columns into lines of `room` characters; with `stay`, all columns are kept.
pub fn fit(needs: &[Need], room: usize, stay: bool) -> Fit {
    let mut kept: Vec<usize> = (0..needs.len()).collect();
    loop {
        let those: Vec<Need> = kept.iter().filter_map(|&i| needs.get(i).copied()).collect();
        let widths = widths(&those, room);
        if stay || total(&widths) <= room {
            return Fit { kept, widths };
        }
        match least_important(&those) {
            Some(place) => kept.remove(place),
            None => return Fit { kept, widths: those.iter().map(|need| alone(need, room)).collect() },
        };
    }
}

/// Returns widths that exceed `room` by as little as possible.
fn widths(needs: &[Need], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = needs.iter().map(|need| need.all).collect();
    shrink(&mut widths, needs.iter().map(|need| need.folded), room);
    shrink(&mut widths, needs.iter().map(|need| need.least), room);
    widths
}

/// Shrinks the columns with the most spare width until the total fits.
fn shrink(widths: &mut [usize], least: impl Iterator<Item = usize> + Clone, room: usize) {
    for _ in room..total(widths) {
        let pairs = widths.iter_mut().zip(least.clone());
        let Some((width, _)) =
            pairs.filter(|(width, least)| **width > *least).max_by_key(|(width, least)| **width - least)
        else {
            return;
        };
        *width -= 1;
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Returns the column to omit next: never the first, which identifies the rows.
fn least_important(needs: &[Need]) -> Option<usize> {
    (1..needs.len()).max_by_key(|&i| (needs[i].rank, i))
}

/// Returns the width of a single remaining column.
fn alone(need: &Need, room: usize) -> usize {
    if need.kind == Kind::Figures { need.folded } else { need.folded.min(room) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs() -> Vec<Need> {
        let name = Need::of(&Column::left("layer"), ["a name of twenty-five let"].into_iter());
        let figure = Need::of(&Column::right("three words long"), ["1,234"].into_iter());
        let minor = Need::of(&Column::right("less").minor(1), ["5"].into_iter());
        vec![name, figure, minor]
    }

    fn fitted(room: usize) -> (Vec<usize>, Vec<usize>) {
        let Fit { kept, widths } = fit(&needs(), room, false);
        (kept, widths)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(fitted(49), (vec![0, 1, 2], vec![25, 16, 4]));
        assert_eq!(fitted(1000), fitted(49));
    }

    #[test]
    fn headings_fold_first_and_names_give_way_then() {
        assert_eq!(fitted(48), (vec![0, 1, 2], vec![25, 15, 4]));
        assert_eq!(fitted(38), (vec![0, 1, 2], vec![25, 5, 4]));
        assert_eq!(fitted(33), (vec![0, 1, 2], vec![20, 5, 4]));
    }

    #[test]
    fn the_least_important_column_goes_next() {
        assert_eq!(fitted(32), (vec![0, 1], vec![25, 5]));
        assert_eq!(fitted(27), (vec![0, 1], vec![20, 5]));
    }

    #[test]
    fn an_empty_column_takes_a_character() {
        let empty = Need::of(&Column::bar(), ["", ""].into_iter());
        assert_eq!(fit(&[empty], 10, false).widths, [1]);
    }

    #[test]
    fn the_first_column_stays() {
        assert_eq!(fitted(26), (vec![0], vec![25]));
        assert_eq!(fitted(3), (vec![0], vec![3]));
        assert_eq!(fit(&[], 3, false), Fit { kept: vec![], widths: vec![] });
    }

    #[test]
    fn columns_that_are_asked_for_stay() {
        assert_eq!(fit(&needs(), 10, true), Fit { kept: vec![0, 1, 2], widths: vec![20, 5, 4] });
    }
}
