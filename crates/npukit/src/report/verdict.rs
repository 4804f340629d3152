//! [`Verdict`]: whether a model fits an accelerator, and its expected performance.

use std::collections::BTreeSet;

use npukit_graph::Graph;
use npukit_target::{CompileEstimate, MemoryReport, Problem};
use serde::Serialize;

use crate::run::latency::Speed;

/// Whether a model fits, and its expected performance on the accelerator. Cycles and the use of
/// some memories are only known for a compiled program. For a model that does not fit, only the
/// share of supported nodes is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// Whether the model runs unchanged. Whether the program fits every memory is only known after
    /// compilation.
    pub fits: bool,
    /// Whether the host computes everything and the accelerator nothing.
    pub is_idle: bool,
    /// Multiply-accumulates of the model; `None` if the model could not be read completely.
    pub macs: Option<u64>,
    /// Multiply-accumulates that the accelerator computes; for a model that does not fit, the
    /// ones of supported nodes. `None` if problems are not about single nodes.
    pub macs_on_chip: Option<u64>,
    /// Share of the multiply-accumulates on the accelerator, 0 to 1; `None` for a model without
    /// any.
    pub share_of_macs_on_chip: Option<f64>,
    /// Peak use of each memory.
    pub memories: Vec<MemoryFill>,
    /// Cycles of a sample, by `cost_model`.
    pub cycles: Option<u64>,
    /// Name of the cost model that `npu time` uses first.
    pub cost_model: Option<String>,
    /// Time of a sample at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Risk that values saturate; `None` for a model that does not fit.
    pub saturation: Option<SaturationRisk>,
    /// Number of steps that would run on the host.
    pub host_steps: usize,
}

/// Use of a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryFill {
    /// Name of the memory.
    pub name: String,
    /// Peak use, in `unit`.
    pub used: u64,
    /// Size, in `unit`.
    pub of: u64,
    /// Unit of `used` and `of`.
    pub unit: String,
    /// Share of the size in use, 0 to 1; `None` for a memory without a size.
    pub share: Option<f64>,
}

/// Level of the risk that values saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Risk {
    /// The accelerator's numbers do not saturate.
    None,
    /// Nothing saturated on the samples.
    Low,
    /// Weights or values saturate.
    High,
    /// Weights fit, but no samples were given.
    Unknown,
}

/// Risk that values saturate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SaturationRisk {
    /// Level of the risk.
    pub risk: Risk,
    /// Reason, in a sentence.
    pub reason: String,
    /// Number of elements of weights, or otherwise constants of the program, that saturate.
    pub saturated_weights: u64,
    /// Number of samples that were run.
    pub samples: usize,
    /// Number of inputs and results that saturated on them; `None` without samples.
    pub saturated_values: Option<u64>,
}

impl Verdict {
    /// Verdict for a model that does not fit. `graph` is the model as passed to the target, if it
    /// got that far.
    pub(crate) fn refused(graph: Option<&Graph>, problems: &[Problem]) -> Self {
        let macs = graph.map(Graph::macs);
        let on_chip = graph.and_then(|graph| taken(graph, problems));
        Self { macs, ..Self::default() }.on_chip(on_chip)
    }

    /// Verdict for a model that fits.
    pub(crate) fn of(estimate: &CompileEstimate, saturation: SaturationRisk) -> Self {
        let verdict = Self {
            fits: true,
            is_idle: estimate.is_idle,
            macs: estimate.macs,
            memories: estimate.memory.iter().map(|(name, memory)| MemoryFill::of(name, memory)).collect(),
            saturation: Some(saturation),
            host_steps: estimate.host_steps.len(),
            ..Self::default()
        };
        verdict.on_chip(estimate.macs.map(|macs| macs.saturating_sub(estimate.host_macs)))
    }

    fn on_chip(self, macs_on_chip: Option<u64>) -> Self {
        let all = self.macs.filter(|&macs| macs > 0);
        let share_of_macs_on_chip = macs_on_chip.zip(all).map(|(part, all)| part as f64 / all as f64);
        Self { macs_on_chip, share_of_macs_on_chip, ..self }
    }
}

/// Returns the multiply-accumulates of nodes without problems; `None` if a problem is not about a
/// node, input or output.
fn taken(graph: &Graph, problems: &[Problem]) -> Option<u64> {
    let refused: BTreeSet<&str> = problems.iter().map(|problem| &*problem.node).collect();
    let names = graph.nodes.iter().map(|node| &*node.name);
    let known: BTreeSet<&str> = names.chain(graph.values.iter().map(|value| &*value.name)).collect();
    let nodes = graph.nodes.iter().zip(graph.macs_by_node());
    let taken = nodes.filter(|(node, _)| !refused.contains(&*node.name));
    refused.is_subset(&known).then(|| taken.map(|(_, macs)| macs).fold(0, u64::saturating_add))
}

impl MemoryFill {
    fn of(name: &str, memory: &MemoryReport) -> Self {
        let MemoryReport { maximum: used, depth: of, unit, .. } = memory;
        let share = (*of > 0).then(|| *used as f64 / *of as f64);
        Self { name: name.to_owned(), used: *used, of: *of, unit: unit.clone(), share }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_graph::op::MatMul;
    use npukit_numeric::{ElementType, Tensor};

    use super::*;

    /// Graph of two products: `first` of 2 x 3, `second` of 3 x 4.
    fn graph() -> Graph {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
        let a = graph.add_constant("a", Tensor::from_f32(vec![2, 3], vec![1.0; 6]).unwrap());
        let b = graph.add_constant("b", Tensor::from_f32(vec![3, 4], vec![1.0; 12]).unwrap());
        let y = graph.add_node("first", MatMul.into(), vec![x, a], &["y"]).unwrap()[0];
        graph.outputs = graph.add_node("second", MatMul.into(), vec![y, b], &["z"]).unwrap();
        graph
    }

    fn refused(nodes: &[&str]) -> Verdict {
        let problem = |node: &&str| Problem {
            node: (*node).to_owned(),
            op: "MatMul".to_owned(),
            reason: String::new(),
            hint: String::new(),
        };
        Verdict::refused(Some(&graph()), &nodes.iter().map(problem).collect::<Vec<_>>())
    }

    #[test]
    fn nodes_that_are_refused_are_not_on_the_chip() {
        let found = |nodes: &[&str]| {
            let verdict = refused(nodes);
            (verdict.macs, verdict.macs_on_chip, verdict.share_of_macs_on_chip)
        };
        assert_eq!(found(&["second"]), (Some(18), Some(6), Some(6.0 / 18.0)));
        assert_eq!(found(&["first", "second"]), (Some(18), Some(0), Some(0.0)));
        assert_eq!(found(&["x"]), (Some(18), Some(18), Some(1.0)), "an input");
        assert_eq!(found(&["model"]), (Some(18), None, None), "a memory that is too small");
        assert_eq!(Verdict::refused(None, &[]), Verdict::default());
    }
}
