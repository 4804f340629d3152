//! [`Verdict`]: whether a model fits a chip, how well, and what it would do there.

use std::collections::BTreeSet;

use npukit_graph::Graph;
use npukit_target::{MemoryReport, Problem, Survey};
use serde::Serialize;

use crate::run::speed::Speed;

/// Whether a model fits, and what it would do on the chip. Cycles, and some of the memories, are known of a program that
/// was compiled for this; of a model that does not fit there is only the share of its nodes that the chip would take.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// Whether the chip takes it as it is: that a program fits every memory is known when there is one.
    pub fits: bool,
    /// Whether nothing runs on the chip, and the host does all of it.
    pub is_idle: bool,
    /// Multiply-accumulates of the model; none of one that could not be read to its end.
    pub macs: Option<u64>,
    /// Those that the chip does; of a model that does not fit, those of nodes that it takes. None where that is not a
    /// matter of nodes.
    pub macs_on_chip: Option<u64>,
    /// The same as a share, 0 to 1; none of a model without any.
    pub share_of_macs_on_chip: Option<f64>,
    /// The chip's memories, as full as they get.
    pub memories: Vec<MemoryFill>,
    /// Of a sample, by `cost_model`.
    pub cycles: Option<u64>,
    /// The cost model that `npu time` leads with, as it calls it.
    pub cost_model: Option<String>,
    /// Of a sample, at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Whether values may leave the range of the chip's numbers; none of a model that does not fit.
    pub saturation: Option<SaturationRisk>,
    /// Steps that would be left to the host.
    pub host_steps: usize,
}

/// How full a memory gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryFill {
    /// Its name.
    pub name: String,
    /// Most in use at once.
    pub used: u64,
    /// Its size.
    pub of: u64,
    /// What is counted.
    pub unit: String,
    /// Used of its size, 0 to 1; none of a memory without a size.
    pub share: Option<f64>,
}

/// How likely values leave the range of the chip's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Risk {
    /// Numbers of the chip do not saturate.
    None,
    /// Nothing saturated on the samples.
    Low,
    /// Weights or values saturate.
    High,
    /// Weights fit, and nobody gave samples.
    Unknown,
}

/// Whether values may leave the range of the chip's numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SaturationRisk {
    /// How likely.
    pub risk: Risk,
    /// Why, in a sentence.
    pub reason: String,
    /// Elements of weights, or else constants of the program, that are beyond the chip's numbers.
    pub saturated_weights: u64,
    /// Samples that were run to find out.
    pub samples: usize,
    /// Inputs and results that saturated on them; none when there were no samples.
    pub saturated_values: Option<u64>,
}

impl Verdict {
    /// Of a model that does not fit; `graph` is the model as it entered the target, if it got so far.
    pub(crate) fn refused(graph: Option<&Graph>, problems: &[Problem]) -> Self {
        let macs = graph.map(Graph::macs);
        let on_chip = graph.and_then(|graph| taken(graph, problems));
        Self { macs, ..Self::default() }.on_chip(on_chip)
    }

    /// Of a model that fits.
    pub(crate) fn of(survey: &Survey, saturation: SaturationRisk) -> Self {
        let verdict = Self {
            fits: true,
            is_idle: survey.is_idle,
            macs: survey.macs,
            memories: survey.memory.iter().map(|(name, memory)| MemoryFill::of(name, memory)).collect(),
            saturation: Some(saturation),
            host_steps: survey.host_steps.len(),
            ..Self::default()
        };
        verdict.on_chip(survey.macs.map(|macs| macs.saturating_sub(survey.host_macs)))
    }

    fn on_chip(self, macs_on_chip: Option<u64>) -> Self {
        let all = self.macs.filter(|&macs| macs > 0);
        let share_of_macs_on_chip = macs_on_chip.zip(all).map(|(part, all)| part as f64 / all as f64);
        Self { macs_on_chip, share_of_macs_on_chip, ..self }
    }
}

/// Multiply-accumulates of the nodes that are no problem; none when a problem is of no node, input or output.
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

    /// Two products: `first` of 2 x 3, `second` of 3 x 4.
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
