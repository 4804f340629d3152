//! [`Report`]: the result of verifying a program against its model.

use npukit_verify::{Agreement, Counterexample as Found, ValuePlace};
use serde::Serialize;

use super::bounds;

/// Result of verifying a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the program.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Whether every output was compared, and equals the model for all inputs.
    pub proved: bool,
    /// Outputs of the model, in order.
    pub outputs: Vec<OutputReport>,
    /// Parts that were not compared, and why.
    pub uncovered: Vec<Uncovered>,
    /// Assumptions of the proof.
    pub assumptions: Vec<String>,
    /// First place where the program computes another polynomial than the model; null if there is
    /// none.
    pub counterexample: Option<Counterexample>,
    /// Input for which machine and model differ by more than rounding explains; only this refutes
    /// the program. Null if none was found.
    pub witness: Option<Witness>,
    /// Order of operations used for the comparison, if the compiler supports several.
    pub order: String,
    /// Number of elements of the field, in decimal.
    pub field: String,
    /// Random seeds of the inputs, one per run.
    pub seeds: Vec<u64>,
    /// Difference in float between the imported model and the compiled graph.
    pub preparation: Preparation,
    /// Bounds of errors and saturation for all inputs within their ranges, if requested and proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<bounds::Report>,
    /// Certificate that was checked or created, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateReport>,
    /// Assumptions about the model.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Total time in seconds, including compilation.
    pub seconds: f64,
}

/// Result for an output of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Name of the output.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
    /// Number of elements that differ; null if the output was not compared.
    pub different: Option<usize>,
    /// Whether all elements were compared, and are equal.
    pub proved: bool,
}

/// Part of the model that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Uncovered {
    /// Name of its first node.
    pub node: String,
    /// Operator of that node.
    pub op: String,
    /// Reason why it was not compared.
    pub reason: String,
}

/// Element of a tensor of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ElementReport {
    /// Name of the tensor.
    pub tensor: String,
    /// Index along each axis, from 0.
    pub index: Vec<usize>,
}

/// Place where the program differs from the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Counterexample {
    /// First element of an output that differs.
    pub output: ElementReport,
    /// Value of the model that the program returns instead; null if it is not a value of the model.
    pub instead: Option<ElementReport>,
    /// Index of the segment, from 0; null for a program of one segment, and for a host step.
    pub segment: Option<usize>,
    /// Index of the instruction that wrote the first wrong value; null if unknown.
    pub instruction: Option<usize>,
    /// Layer of the instruction, or name of the host step.
    pub layer: Option<String>,
    /// Memory that the instruction wrote to.
    pub memory: Option<String>,
    /// Address in the memory, in its own unit.
    pub address: Option<u64>,
    /// Index of the lane at the address.
    pub lane: Option<u64>,
    /// Value of the model that the instruction wrote; null if it is not a value of the model.
    pub wrote: Option<ElementReport>,
}

/// Difference in float between the model and the graph after the passes that change constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Preparation {
    /// Number of samples, with values from -1 to 1, that both computed.
    pub samples: usize,
    /// Largest difference between outputs.
    pub largest_difference: f64,
    /// Largest difference as a share of the largest output.
    pub share: f64,
    /// Whether the difference is within float rounding.
    pub is_rounding: bool,
    /// Largest share that is within float rounding.
    #[serde(skip)]
    pub limit: f64,
}

impl From<Agreement> for Preparation {
    fn from(agreement: Agreement) -> Self {
        Self {
            samples: agreement.samples,
            largest_difference: agreement.difference,
            share: agreement.share(),
            is_rounding: agreement.is_rounding(),
            limit: Agreement::ROUNDING,
        }
    }
}

impl From<ValuePlace> for ElementReport {
    fn from(place: ValuePlace) -> Self {
        Self { tensor: place.value, index: place.index }
    }
}

impl From<Found> for Counterexample {
    fn from(found: Found) -> Self {
        let culprit = found.culprit;
        Self {
            output: found.output.into(),
            instead: found.instead.map(Into::into),
            segment: culprit.as_ref().and_then(|culprit| culprit.segment),
            instruction: culprit.as_ref().and_then(|culprit| culprit.instruction),
            memory: culprit.as_ref().map(|culprit| culprit.memory.clone()),
            address: culprit.as_ref().map(|culprit| culprit.address),
            lane: culprit.as_ref().map(|culprit| culprit.lane),
            layer: culprit.and_then(|culprit| culprit.layer),
            wrote: found.culprit_is.map(Into::into),
        }
    }
}

/// Certificate, as shown in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CertificateReport {
    /// Path of the file; null if it is not written yet.
    pub file: Option<String>,
    /// Result for the certificate.
    pub status: CertificateStatus,
    /// Digest of the certificate.
    pub digest: String,
    /// Version of npukit that created it.
    pub npukit: String,
    /// Random seeds of the proof.
    pub seeds: Vec<u64>,
}

/// Result of creating or checking a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CertificateStatus {
    /// It was created from this proof.
    Made,
    /// It belongs to these files, and repeating the proof with its seeds confirms it.
    Holds,
    /// It belongs to these files, but the proof with its seeds and additional ones fails.
    Refuted,
}

/// Element of an output on the machine and in the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Witness {
    /// Description of the inputs.
    pub inputs: String,
    /// Element that exceeds its bound the most.
    pub element: ElementReport,
    /// Value on the machine.
    pub machine: f64,
    /// Value in the model, in float.
    pub model: f64,
    /// Largest difference that rounding explains.
    pub bound: f64,
}
