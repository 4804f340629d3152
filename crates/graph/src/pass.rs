//! Passes: rewrites that keep what a graph computes, one per file. To add one, add its file, its
//! `mod` and a line in the list below. [`simplify`] runs them to a fixed point.
//!
//! Inputs and outputs of the graph keep their names, order and shapes. Values and nodes may be
//! renumbered.

mod activation_forms;
mod affine;
mod affine_merging;
mod batch_norm_folding;
mod constant_folding;
mod dead_nodes;
mod duplicates;
mod edit;
mod flatten_weights;
mod gemm_form;
mod identities;
mod matching;
mod nan_guards;
mod normalization_forms;
mod pad_merging;
mod reduce_crossing;
mod reshape_sinking;
mod rotary_forms;
mod shared_heads;
mod single_precision;
mod softmax_forms;
mod softmax_last;
mod transpose_crossing;
mod transpose_fusion;
mod transpose_sinking;
mod trivial_transposes;
mod variance_forms;

pub use affine::Affine;

use crate::graph::GraphError;
use crate::ir::Graph;
use crate::op::OpError;

/// Error of a pass.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PassError {
    /// The graph is invalid, either from the start or because of a bug in a pass.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A rewritten operator rejects its operands; this is a bug in npukit.
    #[error("rewriting node `{node}`: {error}")]
    Op {
        /// Name of the node.
        node: String,
        /// Error of the operator.
        #[source]
        error: OpError,
    },
    /// The passes undo each other's work; this is a bug in npukit.
    #[error("pass `{pass}` still changes the graph after {runs} runs")]
    NoFixedPoint {
        /// Name of the pass that ran last.
        pass: &'static str,
        /// Number of runs of passes that changed the graph.
        runs: usize,
    },
}

/// A graph rewrite; `tests/passes/graph` has small graphs before and after each.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Name of the pass, equal to the name of its file.
    pub name: &'static str,
    /// Description in one sentence.
    pub description: &'static str,
    /// Rewrites a valid graph and returns whether it changed anything.
    pub run: fn(&mut Graph) -> Result<bool, PassError>,
}

macro_rules! passes {
    ($($module:ident),* $(,)?) => {
        /// Returns all passes, in the order in which [`simplify`] tries them.
        pub fn passes() -> &'static [Pass] {
            &[$($module::PASS),*]
        }
    };
}

// Each pass sees a graph in which the passes before it find nothing to do.
passes! {
    single_precision,
    dead_nodes,
    constant_folding,
    identities,
    duplicates,
    nan_guards,
    rotary_forms,
    shared_heads,
    transpose_fusion,
    transpose_crossing,
    reduce_crossing,
    flatten_weights,
    transpose_sinking,
    reshape_sinking,
    softmax_last,
    gemm_form,
    activation_forms,
    softmax_forms,
    variance_forms,
    normalization_forms,
    batch_norm_folding,
    affine_merging,
    pad_merging,
    trivial_transposes,
}

/// Runs all passes to a fixed point: after each change it starts again with the first pass.
///
/// # Errors
///
/// [`PassError::Graph`] for an invalid graph. [`PassError::Op`] and [`PassError::NoFixedPoint`] are
/// bugs of a pass: an operator rejects an operand, or the passes do not terminate.
pub fn simplify(graph: &mut Graph) -> Result<(), PassError> {
    simplify_counting(graph).map(|_| ())
}

/// Like [`simplify`], but returns the number of pass runs that changed the graph. The number does
/// not grow with the size of the graph, since one run rewrites all matches.
///
/// # Errors
///
/// See [`simplify`].
pub fn simplify_counting(graph: &mut Graph) -> Result<usize, PassError> {
    run_all(graph, passes())
}

fn run_all(graph: &mut Graph, passes: &[Pass]) -> Result<usize, PassError> {
    graph.validate()?;
    // Far above what any graph needs.
    let limit = 100 + 10 * graph.nodes.len();
    let (mut index, mut runs) = (0, 0);
    while let Some(pass) = passes.get(index) {
        let nodes = graph.nodes.len();
        if !(pass.run)(graph)? {
            index += 1;
            continue;
        }
        tracing::debug!(pass = pass.name, nodes, left = graph.nodes.len(), "graph changed");
        (index, runs) = (0, runs + 1);
        if runs > limit {
            return Err(PassError::NoFixedPoint { pass: pass.name, runs });
        }
    }
    graph.forget_names();
    graph.validate()?;
    Ok(runs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::ElementType;

    use super::*;
    use crate::ir::ValueInfo;
    use crate::op::Relu;

    /// Two rectifiers, one after the other.
    fn graph() -> Graph {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1], element: ElementType::F32 });
        let y = graph.add_node("first", Relu.into(), vec![x], &["y"]).unwrap();
        graph.outputs = graph.add_node("second", Relu.into(), y, &["z"]).unwrap();
        graph
    }

    fn longer(graph: &mut Graph, most: usize) -> bool {
        graph.name.push('x');
        graph.name.len() <= most
    }

    /// A graph of two nodes may change 120 times.
    #[test]
    fn passes_that_never_end_are_an_error() {
        let pass = |run| [Pass { name: "longer", description: "makes the name longer", run }];
        let mut named = graph();
        assert_eq!(run_all(&mut named, &pass(|graph| Ok(longer(graph, 120)))), Ok(120));
        assert_eq!(named.name.len(), 121);
        let refused = run_all(&mut graph(), &pass(|graph| Ok(longer(graph, 121))));
        assert_eq!(refused, Err(PassError::NoFixedPoint { pass: "longer", runs: 121 }));
    }
}
