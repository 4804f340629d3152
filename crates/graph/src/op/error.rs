//! Why an operator cannot take its operands or attributes: [`OpError`].

mod eval;

use npukit_numeric::{ElementError, ElementType};

pub use eval::EvalError;

/// Why an operator cannot take its operands or attributes. Axes count from 0.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum OpError {
    /// Too few or too many operands.
    #[error("{op} takes {} operands, found {found}", span(*least, *most))]
    OperandCount {
        /// The operator.
        op: &'static str,
        /// Fewest operands it takes.
        least: usize,
        /// Most operands it takes.
        most: usize,
        /// Operands found.
        found: usize,
    },
    /// Names given for results differ in number from the results.
    #[error("{op} has {expected} results, but {found} names were given for them")]
    ResultCount {
        /// The operator.
        op: &'static str,
        /// Results it has.
        expected: usize,
        /// Names given.
        found: usize,
    },
    /// An operand's elements have a type that the operator does not take.
    #[error("{op}: elements of the {operand} are {found:?}, legal are {legal:?}")]
    ElementType {
        /// The operator.
        op: &'static str,
        /// Which operand.
        operand: &'static str,
        /// Its element type.
        found: ElementType,
        /// The types the operator takes there.
        legal: Vec<ElementType>,
    },
    /// An operand has too few or too many axes.
    #[error("{op}: the {operand} must have {} axes, found shape {shape:?}", span(*least, *most))]
    Rank {
        /// The operator.
        op: &'static str,
        /// Which operand.
        operand: &'static str,
        /// Fewest axes.
        least: usize,
        /// Most axes.
        most: usize,
        /// The operand's shape.
        shape: Vec<usize>,
    },
    /// A size does not match the one that other operands or attributes ask for.
    #[error("{op}: {what} must be {expected}, found {found}")]
    Size {
        /// The operator.
        op: &'static str,
        /// What has the size.
        what: &'static str,
        /// The size asked for.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A size is not a multiple of another.
    #[error("{op}: {what} {found} must be a positive multiple of {divisor}")]
    Multiple {
        /// The operator.
        op: &'static str,
        /// What has the size.
        what: &'static str,
        /// The size found.
        found: usize,
        /// What must divide it.
        divisor: usize,
    },
    /// Shapes that neither agree nor broadcast.
    #[error("{op}: shapes {left:?} and {right:?} do not fit together")]
    Shapes {
        /// The operator.
        op: &'static str,
        /// Shape of the first operand.
        left: Vec<usize>,
        /// Shape of the other.
        right: Vec<usize>,
    },
    /// An axis that the operand does not have, or one out of place.
    #[error("{op}: axis {axis} is not one of the {rank} axes of the operand")]
    Axis {
        /// The operator.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// A list of axes that is not a permutation.
    #[error("{op}: {perm:?} is not a permutation of the {rank} axes of the operand")]
    Permutation {
        /// The operator.
        op: &'static str,
        /// The list.
        perm: Vec<usize>,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// An attribute outside its legal range.
    #[error("{op}: {attribute} is {found}, legal is {legal}")]
    Attribute {
        /// The operator.
        op: &'static str,
        /// The attribute.
        attribute: &'static str,
        /// Its value, as text.
        found: String,
        /// What is legal.
        legal: &'static str,
    },
    /// A window that does not fit into the padded image.
    #[error(
        "a window reaching over {reach} {} does not fit into {padded} (padding included)",
        if *axis == 0 { "rows" } else { "columns" }
    )]
    WindowTooLarge {
        /// 0 for rows, 1 for columns.
        axis: usize,
        /// Elements from the first to the last tap, both included.
        reach: usize,
        /// Size of the padded image.
        padded: usize,
    },
    /// A part that reaches beyond its axis.
    #[error("{op}: {length} elements from {start} in steps of {step} leave axis {axis} of size {size}")]
    Range {
        /// The operator.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Size of the axis.
        size: usize,
        /// First element.
        start: usize,
        /// Number of elements.
        length: usize,
        /// Distance of elements.
        step: isize,
    },
    /// Padding that crops too much, or that needs elements that are not there.
    #[error("{op}: padding by {before} and {after} is not possible on axis {axis} of size {size}: {reason}")]
    Padding {
        /// The operator.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// Size of the axis.
        size: usize,
        /// Elements to add in front.
        before: isize,
        /// Elements to add after.
        after: isize,
        /// What stands against it.
        reason: &'static str,
    },
    /// An index outside its axis.
    #[error("{op}: index {index} is outside axis {axis}, legal is -{size} to {size} exclusive")]
    Index {
        /// The operator.
        op: &'static str,
        /// The axis.
        axis: usize,
        /// The index.
        index: i64,
        /// Size of the axis.
        size: usize,
    },
    /// A result that its type does not have.
    #[error("{op}: {error}")]
    Element {
        /// The operator.
        op: &'static str,
        /// What stands against it.
        error: ElementError,
    },
    /// An integer divided by zero.
    #[error("{op}: element {position} divides an integer by zero")]
    DivisionByZero {
        /// The operator.
        op: &'static str,
        /// Position of the divisor among the elements of the result.
        position: usize,
    },
    /// What an operator repeats cannot be computed.
    #[error("{op}: {error}")]
    Body {
        /// The operator.
        op: &'static str,
        /// What went wrong within it.
        error: Box<EvalError>,
    },
    /// A value that has another shape within a repetition than around it, or after a round than before.
    #[error("{op}: operand {index} has shape {expected:?} and {found:?} in a round")]
    Carried {
        /// The operator.
        op: &'static str,
        /// Which operand.
        index: usize,
        /// Its shape.
        expected: Vec<usize>,
        /// Its shape within.
        found: Vec<usize>,
    },
    /// A repetition that does not end.
    #[error("{op}: it goes on after {limit} rounds")]
    Endless {
        /// The operator.
        op: &'static str,
        /// Most rounds computed.
        limit: i64,
    },
    /// A tensor of absurd size.
    #[error("shape {shape:?} is beyond the {limit} elements a tensor may have")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// Most elements.
        limit: usize,
    },
}

fn span(least: usize, most: usize) -> String {
    match most {
        usize::MAX => format!("at least {least}"),
        _ if least == most => least.to_string(),
        _ => format!("{least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_as_one_says_them() {
        for (least, most, expected) in [(1, 1, "1"), (2, 3, "2 to 3"), (1, usize::MAX, "at least 1")] {
            let error = OpError::OperandCount { op: "Concat", least, most, found: 0 };
            assert_eq!(error.to_string(), format!("Concat takes {expected} operands, found 0"));
        }
    }
}
