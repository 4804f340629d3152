//! [`Binding`]: what became of a node; [`Item`]: what one of its results is.

use std::rc::Rc;

use npukit_graph::ValueId;

/// What became of a node.
pub(super) enum Binding {
    /// Its results, as far as we compute them.
    Values(Vec<ValueId>),
    /// A list of tensors.
    List(Rc<List>),
    /// It could not be imported; the problem is already recorded.
    Failed,
}

/// What a node gives: a value, or a list of tensors.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Value(ValueId),
    List(Rc<List>),
}

/// A list, some of whose elements are not set: zeros, as soon as it is known of what shape.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) elements: Vec<Option<ValueId>>,
}
