//! Reasons why a node cannot be lowered: [`Reject`] during lowering, [`Problem`] in reports.

use std::convert::Infallible;

use serde::Serialize;

/// Reason why a node cannot be lowered. `Shortage` is the target's description of a failure that
/// more memory would avoid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reject<Shortage = Infallible> {
    /// The machine cannot compute the node.
    Unsupported {
        /// Feature that the machine lacks.
        reason: String,
        /// Suggested change.
        hint: String,
    },
    /// The node fails only because another node or input was refused, which is reported already.
    Consequence,
    /// The machine could compute the node with more memory.
    Shortage(Shortage),
}

impl<Shortage> Reject<Shortage> {
    /// Creates a reason with a suggested change.
    pub fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unsupported { reason: reason.into(), hint: hint.into() }
    }
}

/// A node that a target cannot lower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Name of the node.
    pub node: String,
    /// Operator of the node.
    pub op: String,
    /// Reason why it cannot be lowered.
    pub reason: String,
    /// Suggested change.
    pub hint: String,
}

impl Problem {
    /// Creates the problem of operator `op` of `node`.
    pub fn new(node: &str, op: &str, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { node: node.to_owned(), op: op.to_owned(), reason: reason.into(), hint: hint.into() }
    }
}

/// Formats the problems, each on its own line after a line break.
pub fn list(problems: &[Problem]) -> String {
    let line = |Problem { node, op, reason, hint }: &Problem| format!("\n  {node} ({op}): {reason}; {hint}");
    problems.iter().map(line).collect()
}

/// Refusals of a graph, in the order in which they were found.
#[derive(Clone, Debug)]
pub struct Refusals<Shortage> {
    /// Nodes that the machine cannot compute.
    pub problems: Vec<Problem>,
    /// Shortages of the nodes that more memory would allow.
    pub shortages: Vec<Shortage>,
}

impl<Shortage> Refusals<Shortage> {
    /// Creates an empty list.
    pub const fn none() -> Self {
        Self { problems: Vec::new(), shortages: Vec::new() }
    }

    /// Records that operator `op` of `node` cannot be lowered.
    pub fn add(&mut self, node: &str, op: &str, reject: Reject<Shortage>) {
        match reject {
            Reject::Unsupported { reason, hint } => self.problems.push(Problem::new(node, op, reason, hint)),
            Reject::Consequence => {}
            Reject::Shortage(shortage) => self.shortages.push(shortage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consequences_are_not_told_and_shortages_are_kept_apart() {
        let mut refusals = Refusals::none();
        refusals.add("a", "Conv", Reject::Consequence);
        refusals.add("b", "Conv", Reject::Shortage(7));
        refusals.add("c", "Gemm", Reject::Shortage(9));
        refusals.add("d", "Lrn", Reject::new("no power", "leave it out"));
        assert_eq!(refusals.shortages, [7, 9]);
        assert_eq!(list(&refusals.problems), "\n  d (Lrn): no power; leave it out");
    }
}
