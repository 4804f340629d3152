//! [`Report`]: what is known of a program and its model.

use npukit_verify::{Agreement, Counterexample as Found, ValuePlace};
use serde::Serialize;

use super::bounds;

/// What is known of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the program.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Whether every output was compared, and is the same for all inputs.
    pub proved: bool,
    /// Outputs of the model, in its order.
    pub outputs: Vec<OutputReport>,
    /// What was not compared, and why.
    pub uncovered: Vec<Uncovered>,
    /// What the proof takes for granted.
    pub assumptions: Vec<String>,
    /// Where the program is first another polynomial than the model; null where it nowhere is.
    pub counterexample: Option<Counterexample>,
    /// An input on which machine and model differ by more than roundings explain: only then is the program refuted. Null
    /// where none was found.
    pub witness: Option<Witness>,
    /// What the program was compared with, where its compiler has several orders.
    pub order: String,
    /// The field: its number of elements.
    pub field: String,
    /// What the inputs of each run were made of.
    pub seeds: Vec<u64>,
    /// The model as it was imported beside what was compiled, in floats.
    pub preparation: Preparation,
    /// Errors and saturation for all inputs of their ranges, where they were asked for and the program is proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<bounds::Report>,
    /// The certificate that was checked or made, if any was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateReport>,
    /// What was taken for granted of the model.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of the whole, compilation included.
    pub seconds: f64,
}

/// An output of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub elements: usize,
    /// Elements that differ; null when the output was not compared.
    pub different: Option<usize>,
    /// Whether all of them were compared, and are the same.
    pub proved: bool,
}

/// A part of the model that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Uncovered {
    /// The node it begins with.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why.
    pub reason: String,
}

/// An element of a tensor of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ElementReport {
    /// The tensor.
    pub tensor: String,
    /// Index along each of its axes.
    pub index: Vec<usize>,
}

/// Where the program does something else than the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Counterexample {
    /// The first element of an output that differs.
    pub output: ElementReport,
    /// The value of the model that the program has there instead; null when it is none.
    pub instead: Option<ElementReport>,
    /// The segment of the instruction, from 0; null in a program of one, and for a step of the host.
    pub segment: Option<usize>,
    /// The instruction that wrote the first wrong value; null where it is not known.
    pub instruction: Option<usize>,
    /// Its layer, or the step of the host.
    pub layer: Option<String>,
    /// The memory it wrote to.
    pub memory: Option<String>,
    /// The address there, in the memory's own unit.
    pub address: Option<u64>,
    /// The place in what lies at the address.
    pub lane: Option<u64>,
    /// The value of the model that it wrote there; null when it is none.
    pub wrote: Option<ElementReport>,
}

/// How far the passes before the compiler, which change constants, are from the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Preparation {
    /// Samples of numbers from -1 to 1 that both computed.
    pub samples: usize,
    /// Largest difference of two outputs.
    pub largest_difference: f64,
    /// The same as a share of the largest output.
    pub share: f64,
    /// Whether it is no more than rounding floats makes.
    pub is_rounding: bool,
}

impl From<Agreement> for Preparation {
    fn from(agreement: Agreement) -> Self {
        Self {
            samples: agreement.samples,
            largest_difference: agreement.difference,
            share: agreement.share(),
            is_rounding: agreement.is_rounding(),
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

/// A certificate, as reports tell of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CertificateReport {
    /// Its file; null of one that is not written yet.
    pub file: Option<String>,
    /// What became of it.
    pub status: CertificateStatus,
    /// Its digest.
    pub digest: String,
    /// Version of npukit that made it.
    pub npukit: String,
    /// Its seeds.
    pub seeds: Vec<u64>,
}

/// What became of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CertificateStatus {
    /// It was made of this proof.
    Made,
    /// It is of these files, and the proof with its seeds shows what it says.
    Holds,
    /// It is of these files, and the proof with its seeds, and those that were added, fails.
    Refuted,
}

/// An element of an output on the machine and in the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Witness {
    /// What the inputs are, in words.
    pub inputs: String,
    /// The element that is off by most beyond its bound.
    pub element: ElementReport,
    /// On the machine.
    pub machine: f64,
    /// In the model, in floats.
    pub model: f64,
    /// The largest difference that roundings explain.
    pub bound: f64,
}
