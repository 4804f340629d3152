//! [`Report`]: whether a model can be compiled, and what stands in the way.

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_target::{HostStepReport, Problem};
use serde::Serialize;

use super::diagnostic::Diagnostic;
use super::on_chip::OnChip;
use super::verdict::Verdict;
use super::{quantise, rescale};
use crate::model::groups::{Group, groups};

/// Whether a model can be compiled, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Whether it compiles as it is.
    pub supported: bool,
    /// The same, and what it would do on the chip.
    pub verdict: Verdict,
    /// Whether its program was compiled, by which cycles and all memories are known.
    pub is_compiled: bool,
    /// Everything that stands in the way.
    pub problems: Vec<Problem>,
    /// The same by what is wrong, consequences under their cause.
    pub groups: Vec<Group>,
    /// The problems again, in the form of all errors.
    pub diagnostics: Vec<Diagnostic>,
    /// How much of the model the chip would do.
    #[serde(flatten)]
    pub on_chip: OnChip,
    /// Steps that would be left to the host.
    pub host_steps: Vec<HostStepReport>,
    /// What came of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<rescale::Report>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

impl Report {
    /// Of a model with problems; those at places of `causes` are consequences. `graph` is the model as it entered the
    /// target, if it got so far.
    pub(crate) fn refused(
        graph: Option<&Graph>,
        problems: Vec<Problem>,
        causes: &BTreeMap<usize, usize>,
    ) -> Self {
        let (verdict, groups) = (Verdict::refused(graph, &problems), groups(&problems, causes));
        let diagnostics = problems.iter().map(Diagnostic::from).collect();
        let on_chip = OnChip { macs_on_chip: verdict.share_of_macs_on_chip, segments: 0 };
        Self { verdict, on_chip, groups, problems, diagnostics, ..Self::default() }
    }
}
