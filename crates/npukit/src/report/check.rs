//! [`Report`]: whether a model can be compiled, and the problems that prevent it.

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_target::{HostStepReport, Problem};
use serde::Serialize;

use super::coverage::Coverage;
use super::diagnostic::Diagnostic;
use super::verdict::Verdict;
use super::{quantize, rescale};
use crate::model::problem_groups::{Group, groups};

/// Whether a model can be compiled, and the problems that prevent it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// Whether the model compiles unchanged.
    pub supported: bool,
    /// Summary: whether the model fits, and its expected performance on the accelerator.
    pub verdict: Verdict,
    /// Whether the program was compiled, so that cycles and the use of all memories are known.
    pub is_compiled: bool,
    /// All problems that prevent compilation.
    pub problems: Vec<Problem>,
    /// Problems grouped by reason, with consequences below their cause.
    pub groups: Vec<Group>,
    /// Problems in the form of all errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Share of the model that the accelerator would compute.
    #[serde(flatten)]
    pub on_chip: Coverage,
    /// Steps that would run on the host.
    pub host_steps: Vec<HostStepReport>,
    /// Result of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<rescale::Report>,
    /// Result of the quantization, for integer-only targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization: Option<quantize::Report>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Report {
    /// Creates the report of a model with problems; those at places in `causes` are consequences.
    /// `graph` is the model as passed to the target, if it got that far.
    pub(crate) fn refused(
        target: &str,
        graph: Option<&Graph>,
        problems: Vec<Problem>,
        causes: &BTreeMap<usize, usize>,
    ) -> Self {
        let (verdict, groups) = (Verdict::refused(graph, &problems), groups(&problems, causes));
        let diagnostics = problems.iter().map(Diagnostic::from).collect();
        let on_chip = Coverage { macs_on_chip: verdict.share_of_macs_on_chip, segments: 0 };
        let target = target.to_owned();
        Self { target, verdict, on_chip, groups, problems, diagnostics, ..Self::default() }
    }
}
