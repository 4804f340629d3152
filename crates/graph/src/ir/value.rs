//! What flows through a graph: [`Value`]s and their ids, and the ids of nodes.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor};

/// Names a value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// Names a node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Shape and element type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Outermost axis first; empty for a scalar.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub element: ElementType,
}

/// A tensor that flows through the graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// The model's name for it; unique in the graph.
    pub name: String,
    /// Shape and element type.
    pub info: ValueInfo,
    /// The elements, when the model fixes them.
    pub constant: Option<Arc<Tensor>>,
}
