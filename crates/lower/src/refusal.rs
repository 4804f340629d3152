//! Why a node cannot be lowered: [`Reject`] while it is tried, [`Problem`] when it is told.

use std::convert::Infallible;

use serde::Serialize;

/// Why a node cannot be lowered. `Shortage` is what a target says of a node that more memory would take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reject<Shortage = Infallible> {
    /// The machine cannot do it.
    Unsupported {
        /// What the machine cannot do.
        reason: String,
        /// What would help.
        hint: String,
    },
    /// All there is to say is that another node or input, which is reported, is refused.
    Consequence,
    /// The machine could do it, with more memory.
    Shortage(Shortage),
}

impl<Shortage> Reject<Shortage> {
    /// A reason and what would help.
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
    /// Its operator.
    pub op: String,
    /// Why it cannot be lowered.
    pub reason: String,
    /// What to change.
    pub hint: String,
}

impl Problem {
    /// A reason against `op` of `node`, and what to change.
    pub fn new(node: &str, op: &str, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { node: node.to_owned(), op: op.to_owned(), reason: reason.into(), hint: hint.into() }
    }
}

/// Problems below a sentence that counts them, a line each.
pub fn list(problems: &[Problem]) -> String {
    let line = |Problem { node, op, reason, hint }: &Problem| format!("\n  {node} ({op}): {reason}; {hint}");
    problems.iter().map(line).collect()
}

/// The refusals of a graph, in the order in which they were found.
#[derive(Clone, Debug)]
pub struct Refusals<Shortage> {
    /// Every node that the machine cannot do.
    pub problems: Vec<Problem>,
    /// What each node lacked that more memory would take.
    pub shortages: Vec<Shortage>,
}

impl<Shortage> Refusals<Shortage> {
    /// None.
    pub const fn none() -> Self {
        Self { problems: Vec::new(), shortages: Vec::new() }
    }

    /// Notes that `op` of `node` stands in the way.
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
