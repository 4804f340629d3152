//! [`Equation`]: the equation of an Einsum, for example `bij,bjk->bik`.

use crate::error::Reason;

/// Label of an axis of an operand or result: a letter, or one of the axes that an ellipsis
/// represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    /// Axis of the ellipsis, counted from the last one.
    Ellipsis(usize),
    /// A letter.
    Letter(char),
}

/// Labels of the axes of the operands and the result.
#[derive(Debug, PartialEq)]
pub(crate) struct Equation {
    /// One label per axis, for each operand.
    pub(crate) operands: Vec<Vec<Label>>,
    /// One label per axis of the result, without repetition.
    pub(crate) result: Vec<Label>,
}

impl Equation {
    /// Parses an equation for operands with the given ranks.
    ///
    /// # Errors
    ///
    /// [`Reason::AttributeValue`] if the equation is invalid or does not fit the ranks.
    pub(crate) fn parse(text: &str, ranks: &[usize]) -> Result<Self, Reason> {
        let wrong = |legal: String| {
            let shown: String = text.chars().take(80).collect();
            Reason::AttributeValue { name: "equation", found: format!("{shown:?}"), legal }
        };
        let compact: String = text.chars().filter(|letter| *letter != ' ').collect();
        let (left, right) = match compact.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (compact.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(wrong(format!("a term for each of {} operands, not {}", ranks.len(), terms.len())));
        }
        let axes = |(term, rank): (&&str, &usize)| labels(term, *rank).map_err(wrong);
        let operands: Vec<Vec<Label>> = terms.iter().zip(ranks).map(axes).collect::<Result<_, _>>()?;
        let widest = operands.iter().flatten().filter_map(Label::ellipsis_axis).max();
        let result = match right {
            None => implicit(&operands),
            Some(term) => {
                let open = widest.map_or(0, |axis| axis + 1);
                let letters = term.chars().filter(char::is_ascii_alphabetic).count();
                if open > 0 && !term.contains("...") {
                    return Err(wrong("an ellipsis in the result, as the operands have one".to_owned()));
                }
                labels(term, letters + open).map_err(wrong)?
            }
        };
        for (index, label) in result.iter().enumerate() {
            if result[..index].contains(label) || !operands.iter().any(|labels| labels.contains(label)) {
                return Err(wrong(format!("{label} once in the result and in an operand")));
            }
        }
        Ok(Self { operands, result })
    }
}

impl Label {
    fn ellipsis_axis(&self) -> Option<usize> {
        match self {
            Self::Ellipsis(axis) => Some(*axis),
            Self::Letter(_) => None,
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ellipsis(_) => f.write_str("\"...\""),
            Self::Letter(letter) => write!(f, "{letter:?}"),
        }
    }
}

/// Parses the labels of a term for `rank` axes. The error describes what is legal.
fn labels(term: &str, rank: usize) -> Result<Vec<Label>, String> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    // Default: without an ellipsis, nothing follows it; the same holds below.
    let letters = before.chars().chain(after.unwrap_or_default().chars());
    if let Some(letter) = letters.clone().find(|letter| !letter.is_ascii_alphabetic()) {
        return Err(format!("letters, commas, \"->\" and one ellipsis per term, not {letter:?}"));
    }
    let count = letters.count();
    let width = match after {
        Some(_) => rank.checked_sub(count),
        None => (rank == count).then_some(0),
    };
    let Some(width) = width else {
        return Err(format!("one letter per axis: {term:?} names {count} of {rank}"));
    };
    let letter = Label::Letter;
    let open = (0..width).rev().map(Label::Ellipsis);
    Ok(before.chars().map(letter).chain(open).chain(after.unwrap_or_default().chars().map(letter)).collect())
}

/// Implicit result of an equation: the ellipsis, then the letters that occur once, in alphabetical
/// order.
fn implicit(operands: &[Vec<Label>]) -> Vec<Label> {
    let mut all: Vec<Label> = operands.concat();
    all.sort_unstable();
    let widest = all.iter().filter_map(Label::ellipsis_axis).max().map_or(0, |axis| axis + 1);
    let once = |label: &&Label| all.iter().filter(|other| other == label).count() == 1;
    let letters = all.iter().filter(|label| label.ellipsis_axis().is_none()).filter(once).copied();
    (0..widest).rev().map(Label::Ellipsis).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(labels: &[Label]) -> String {
        let one = |label: &Label| match label {
            Label::Letter(letter) => letter.to_string(),
            Label::Ellipsis(axis) => axis.to_string(),
        };
        labels.iter().map(one).collect()
    }

    #[test]
    fn ellipses_stand_for_axes_from_the_end() {
        let equation = Equation::parse("b... i, ...ij -> ...j", &[4, 3]);
        let equation = equation.map(|e| (show(&e.operands[0]), show(&e.operands[1]), show(&e.result)));
        assert_eq!(equation, Ok(("b10i".to_owned(), "0ij".to_owned(), "10j".to_owned())));
    }

    #[test]
    fn results_that_are_not_named_are_in_alphabetical_order() {
        let result = |text: &str, ranks: &[usize]| Equation::parse(text, ranks).map(|e| show(&e.result));
        assert_eq!(result("zj,jA", &[2, 2]), Ok("Az".to_owned()));
        assert_eq!(result("...ii", &[4]), Ok("10".to_owned()));
    }

    #[test]
    fn mistakes_are_named() {
        let mistake = |text: &str, ranks: &[usize]| match Equation::parse(text, ranks) {
            Err(Reason::AttributeValue { legal, .. }) => legal,
            other => format!("{other:?}"),
        };
        assert_eq!(mistake("ij,jk->ik", &[2]), "a term for each of 1 operands, not 2");
        assert_eq!(mistake("ij->k", &[2]), "'k' once in the result and in an operand");
        assert_eq!(mistake("ij->ii", &[2]), "'i' once in the result and in an operand");
        assert_eq!(mistake("ij", &[3]), "one letter per axis: \"ij\" names 2 of 3");
        assert_eq!(mistake("...i->i", &[2]), "an ellipsis in the result, as the operands have one");
        assert_eq!(mistake("i2->i", &[2]), "letters, commas, \"->\" and one ellipsis per term, not '2'");
    }
}
