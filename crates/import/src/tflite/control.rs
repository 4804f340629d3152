//! [`Control`]: operators that hold graphs or use variables.

use super::model::Operator;

/// Kind of such an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    If,
    While,
    Once,
    Handle,
    Read,
    Assign,
}

/// Operators with their numbers and names.
const ALL: [(i32, &str, Control); 6] = [
    (118, "IF", Control::If),
    (119, "WHILE", Control::While),
    (129, "CALL_ONCE", Control::Once),
    (142, "VAR_HANDLE", Control::Handle),
    (143, "READ_VARIABLE", Control::Read),
    (144, "ASSIGN_VARIABLE", Control::Assign),
];

/// Returns the kind of an operator, or `None` if it is another operator.
pub(super) fn of(operator: &Operator<'_>) -> Option<Control> {
    ALL.iter().find(|(code, ..)| *code == operator.code).map(|&(.., control)| control)
}

/// Names of the operators.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|&(_, name, _)| name)
}
