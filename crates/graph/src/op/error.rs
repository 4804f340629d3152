//! Errors of operators about their operands or attributes: [`OpError`].

mod eval;

use npukit_numeric::{ElementError, ElementType};

pub use eval::EvalError;

/// Reason why an operator rejects its operands or attributes. Axes count from 0.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum OpError {
    /// Too few or too many operands.
    #[error("{op} takes {} operands, found {found}", span(*least, *most))]
    OperandCount {
        /// Name of the operator.
        op: &'static str,
        /// Minimum number of operands.
        least: usize,
        /// Maximum number of operands.
        most: usize,
        /// Actual number of operands.
        found: usize,
    },
    /// The number of result names differs from the number of results.
    #[error("{op} has {expected} results, but {found} names were given for them")]
    ResultCount {
        /// Name of the operator.
        op: &'static str,
        /// Number of results.
        expected: usize,
        /// Number of names.
        found: usize,
    },
    /// An operand has an element type that the operator does not support.
    #[error("{op}: elements of the {operand} are {found:?}, but must be one of {legal:?}")]
    ElementType {
        /// Name of the operator.
        op: &'static str,
        /// Name of the operand.
        operand: &'static str,
        /// Element type of the operand.
        found: ElementType,
        /// Supported types.
        legal: Vec<ElementType>,
    },
    /// An operand has too few or too many axes.
    #[error("{op}: the {operand} must have {} axes, found shape {shape:?}", span(*least, *most))]
    Rank {
        /// Name of the operator.
        op: &'static str,
        /// Name of the operand.
        operand: &'static str,
        /// Minimum number of axes.
        least: usize,
        /// Maximum number of axes.
        most: usize,
        /// Shape of the operand.
        shape: Vec<usize>,
    },
    /// A size does not match what other operands or attributes require.
    #[error("{op}: {what} must be {expected}, found {found}")]
    Size {
        /// Name of the operator.
        op: &'static str,
        /// Description of the size.
        what: &'static str,
        /// Required size.
        expected: usize,
        /// Actual size.
        found: usize,
    },
    /// A size is not a multiple of another.
    #[error("{op}: {what} {found} must be a positive multiple of {divisor}")]
    Multiple {
        /// Name of the operator.
        op: &'static str,
        /// Description of the size.
        what: &'static str,
        /// Actual size.
        found: usize,
        /// Required divisor of the size.
        divisor: usize,
    },
    /// Two shapes neither agree nor broadcast.
    #[error("{op}: shapes {left:?} and {right:?} do not fit together")]
    Shapes {
        /// Name of the operator.
        op: &'static str,
        /// Shape of the first operand.
        left: Vec<usize>,
        /// Shape of the second operand.
        right: Vec<usize>,
    },
    /// An axis that the operand does not have, or one out of place.
    #[error("{op}: axis {axis} is not one of the {rank} axes of the operand")]
    Axis {
        /// Name of the operator.
        op: &'static str,
        /// Number of the axis, from 0.
        axis: usize,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// A list of axes is not a permutation.
    #[error("{op}: {perm:?} is not a permutation of the {rank} axes of the operand")]
    Permutation {
        /// Name of the operator.
        op: &'static str,
        /// List of axes.
        perm: Vec<usize>,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// An attribute is outside its legal range.
    #[error("{op}: {attribute} is {found}, must be {legal}")]
    Attribute {
        /// Name of the operator.
        op: &'static str,
        /// Name of the attribute.
        attribute: &'static str,
        /// Value, as text.
        found: String,
        /// Legal values.
        legal: &'static str,
    },
    /// A window does not fit into the padded image.
    #[error(
        "a window over {reach} {} does not fit into {padded} (including padding)",
        if *axis == 0 { "rows" } else { "columns" }
    )]
    WindowTooLarge {
        /// 0 for rows, 1 for columns.
        axis: usize,
        /// Number of elements from the first to the last tap, inclusive.
        reach: usize,
        /// Size of the padded image.
        padded: usize,
    },
    /// A range extends beyond its axis.
    #[error("{op}: {length} elements from {start} in steps of {step} exceed axis {axis} of size {size}")]
    Range {
        /// Name of the operator.
        op: &'static str,
        /// Number of the axis, from 0.
        axis: usize,
        /// Size of the axis.
        size: usize,
        /// Index of the first element.
        start: usize,
        /// Number of elements.
        length: usize,
        /// Distance between elements.
        step: isize,
    },
    /// Padding crops too much, or needs elements that do not exist.
    #[error("{op}: padding by {before} and {after} is not possible on axis {axis} of size {size}: {reason}")]
    Padding {
        /// Name of the operator.
        op: &'static str,
        /// Number of the axis, from 0.
        axis: usize,
        /// Size of the axis.
        size: usize,
        /// Number of elements to add at the start; negative to crop.
        before: isize,
        /// Number of elements to add at the end; negative to crop.
        after: isize,
        /// Reason why the padding is impossible.
        reason: &'static str,
    },
    /// An index is outside its axis.
    #[error("{op}: index {index} is outside axis {axis}; the legal range is -{size} to {size} exclusive")]
    Index {
        /// Name of the operator.
        op: &'static str,
        /// Number of the axis, from 0.
        axis: usize,
        /// Value of the index.
        index: i64,
        /// Size of the axis.
        size: usize,
    },
    /// The elements of a result do not fit its type.
    #[error("{op}: {error}")]
    Element {
        /// Name of the operator.
        op: &'static str,
        /// Error of the elements.
        error: ElementError,
    },
    /// An integer is divided by zero.
    #[error("{op}: element {position} divides an integer by zero")]
    DivisionByZero {
        /// Name of the operator.
        op: &'static str,
        /// Position of the divisor among the elements of the result.
        position: usize,
    },
    /// The body of a loop or scan cannot be computed.
    #[error("{op}: {error}")]
    Body {
        /// Name of the operator.
        op: &'static str,
        /// Error inside the body.
        error: Box<EvalError>,
    },
    /// A value has another shape inside a body than outside it, or after an iteration than before.
    #[error("{op}: operand {index} has shape {expected:?}, but {found:?} in an iteration")]
    Carried {
        /// Name of the operator.
        op: &'static str,
        /// Index of the operand.
        index: usize,
        /// Shape of the operand.
        expected: Vec<usize>,
        /// Shape inside the body.
        found: Vec<usize>,
    },
    /// A loop does not end.
    #[error("{op}: still running after {limit} iterations")]
    Endless {
        /// Name of the operator.
        op: &'static str,
        /// Maximum number of iterations.
        limit: i64,
    },
    /// A tensor is too large.
    #[error("shape {shape:?} exceeds the limit of {limit} elements")]
    TooLarge {
        /// Shape of the tensor.
        shape: Vec<usize>,
        /// Maximum number of elements.
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
