//! Errors of evaluation: [`EvalError`].

use npukit_numeric::ElementType;

use super::OpError;

/// Reason why a graph cannot be evaluated.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum EvalError {
    /// Too few or too many tensors were given.
    #[error("the graph has {expected} inputs ({names}), but {found} tensors were given")]
    InputCount {
        /// Number of graph inputs.
        expected: usize,
        /// Number of tensors.
        found: usize,
        /// Names of the inputs.
        names: String,
    },
    /// A tensor has the wrong shape for its input.
    #[error("input `{name}` has shape {expected:?}, but the tensor given for it has {found:?}")]
    InputShape {
        /// Name of the input.
        name: String,
        /// Shape of the input.
        expected: Vec<usize>,
        /// Shape of the tensor.
        found: Vec<usize>,
    },
    /// A tensor has the wrong element type for its input.
    #[error("input `{name}` has elements of {expected:?}, but the tensor given for it has {found:?}")]
    InputElement {
        /// Name of the input.
        name: String,
        /// Element type of the input.
        expected: ElementType,
        /// Element type of the tensor.
        found: ElementType,
    },
    /// A node failed.
    #[error("node `{node}` ({op}): {error}")]
    Node {
        /// Name of the node.
        node: String,
        /// Operator of the node.
        op: &'static str,
        /// Error of the operator.
        #[source]
        error: OpError,
    },
    /// A value is used that no earlier node produces, or that does not exist.
    #[error("{user} uses value {value}, which nothing before it produces")]
    Missing {
        /// Where it is used: a node's name or `outputs`.
        user: String,
        /// Name of the value, or its number if it does not exist.
        value: String,
    },
}
