//! Removal of nodes and values that no output needs.

use super::{Pass, PassError};
use crate::ir::Graph;

pub(super) const PASS: Pass = Pass {
    name: "dead-nodes",
    description: "removes nodes and values that no output of the graph needs",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    Ok(graph.remove_dead())
}
