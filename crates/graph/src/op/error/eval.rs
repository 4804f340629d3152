//! Why a graph cannot be evaluated: [`EvalError`].

use npukit_numeric::ElementType;

use super::OpError;

/// Why a graph cannot be evaluated.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum EvalError {
    /// Too few or too many tensors were given.
    #[error("the graph has {expected} inputs ({names}), but {found} tensors were given")]
    InputCount {
        /// Inputs of the graph.
        expected: usize,
        /// Tensors given.
        found: usize,
        /// The inputs' names.
        names: String,
    },
    /// A tensor's shape is not that of the input.
    #[error("input `{name}` has shape {expected:?}, but the tensor given for it has {found:?}")]
    InputShape {
        /// The input.
        name: String,
        /// Its shape.
        expected: Vec<usize>,
        /// The shape of the tensor given.
        found: Vec<usize>,
    },
    /// A tensor's element type is not that of the input.
    #[error("input `{name}` has elements of {expected:?}, but the tensor given for it has {found:?}")]
    InputElement {
        /// The input.
        name: String,
        /// Its element type.
        expected: ElementType,
        /// That of the tensor given.
        found: ElementType,
    },
    /// A node failed.
    #[error("node `{node}` ({op}): {error}")]
    Node {
        /// The node.
        node: String,
        /// Its operator.
        op: &'static str,
        /// What went wrong.
        #[source]
        error: OpError,
    },
    /// A value is used that nothing before produces, or that is not there at all.
    #[error("{user} uses value {value}, which nothing before it produces")]
    Missing {
        /// Who uses it: a node's name or `outputs`.
        user: String,
        /// The value's name, or its number when there is no such value.
        value: String,
    },
}
