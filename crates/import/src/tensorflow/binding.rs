//! [`Binding`]: the translation of a node; [`Item`]: one of its results.

use std::rc::Rc;

use npukit_graph::ValueId;

/// Translation of a node.
pub(super) enum Binding {
    /// Supported results of the node.
    Values(Vec<ValueId>),
    /// A list of tensors.
    List(Rc<List>),
    /// The node could not be imported; the problem is already recorded.
    Failed,
}

/// Result of a node: a value, or a list of tensors.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Value(ValueId),
    List(Rc<List>),
}

/// A list with possibly unset elements, which become zeros when their shape is known.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) elements: Vec<Option<ValueId>>,
}
