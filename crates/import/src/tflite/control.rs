//! [`Control`]: what operators are that hold graphs or stand for variables.

use super::model::Operator;

/// What such an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    If,
    While,
    Once,
    Handle,
    Read,
    Assign,
}

/// The operators, by number.
const ALL: [(i32, &str, Control); 6] = [
    (118, "IF", Control::If),
    (119, "WHILE", Control::While),
    (129, "CALL_ONCE", Control::Once),
    (142, "VAR_HANDLE", Control::Handle),
    (143, "READ_VARIABLE", Control::Read),
    (144, "ASSIGN_VARIABLE", Control::Assign),
];

/// What an operator is, when it is one of these.
pub(super) fn of(operator: &Operator<'_>) -> Option<Control> {
    ALL.iter().find(|(code, ..)| *code == operator.code).map(|&(.., control)| control)
}

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|&(_, name, _)| name)
}
