//! [`Report`]: whether a model can be compiled, and what stands in the way.

use std::collections::BTreeMap;

use npukit_target::{HostStepReport, Problem};
use serde::Serialize;

use crate::groups::{Group, groups};
use crate::quantise::report::Report as QuantisationReport;

/// Whether a model can be compiled, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whether it compiles as it is.
    pub supported: bool,
    /// Everything that stands in the way.
    pub problems: Vec<Problem>,
    /// The same by what is wrong, consequences under their cause.
    pub groups: Vec<Group>,
    /// Steps that would be left to the host.
    pub host_steps: Vec<HostStepReport>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<QuantisationReport>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

impl Report {
    /// Of a model with problems; those at places of `causes` are consequences.
    pub(crate) fn refused(problems: Vec<Problem>, causes: &BTreeMap<usize, usize>) -> Self {
        Self { groups: groups(&problems, causes), problems, ..Self::default() }
    }
}
