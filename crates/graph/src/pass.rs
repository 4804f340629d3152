//! Passes: rewritings that keep what a graph computes. One file each; adding one is its file, its
//! `mod` and a line in the list below. [`simplify`] runs them until none finds anything to do.
//!
//! Inputs and outputs of the graph keep their names, order and shapes. Values and nodes may be
//! numbered anew.

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
mod normalisation_forms;
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

/// Why a pass gave up.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PassError {
    /// The graph was not valid to begin with, or, by a fault of ours, became so.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A rewritten operator does not take its operands: a fault of ours.
    #[error("rewriting node `{node}`: {error}")]
    Op {
        /// The node.
        node: String,
        /// What the operator says.
        #[source]
        error: OpError,
    },
    /// The passes undo each other's work: a fault of ours.
    #[error("pass `{pass}` still finds something to do after {runs} runs that changed the graph")]
    NoFixedPoint {
        /// The pass.
        pass: &'static str,
        /// Runs of passes so far.
        runs: usize,
    },
}

/// A rewriting of graphs; `tests/passes/graph` has small graphs before and after each.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name, as its file is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// Rewrites a valid graph and says whether it changed anything.
    pub run: fn(&mut Graph) -> Result<bool, PassError>,
}

macro_rules! passes {
    ($($module:ident),* $(,)?) => {
        /// All passes, in the order in which [`simplify`] tries them.
        pub fn passes() -> &'static [Pass] {
            &[$($module::PASS),*]
        }
    };
}

// Each pass sees a graph in which those before it find nothing to do.
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
    normalisation_forms,
    batch_norm_folding,
    affine_merging,
    pad_merging,
    trivial_transposes,
}

/// Runs all passes until none finds anything to do: after a change it begins again with the first.
///
/// # Errors
///
/// [`PassError::Graph`] for a graph that is not valid. [`PassError::Op`] and [`PassError::NoFixedPoint`] are
/// faults of a pass: an operand that an operator refuses, passes that never end.
pub fn simplify(graph: &mut Graph) -> Result<(), PassError> {
    simplify_counting(graph).map(|_| ())
}

/// As [`simplify`]; gives how many runs of a pass changed the graph. There are as many for a large graph as for a
/// small one of the same kind, since a run does all it finds.
///
/// # Errors
///
/// Those of [`simplify`].
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
