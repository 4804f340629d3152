//! `npu verify`: a program shown to compute its network, for all inputs.

pub mod bounds;
mod certified;
mod pair;
mod witness;

use std::time::Instant;

use npukit_graph::Graph;
use npukit_numeric::Element;
use npukit_target::{Compiled, FieldProgram, Phase, ProgramReport};
use npukit_verify::{Agreement, Counterexample as Found, Proof, ProofError, ValuePlace, prove};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::like::field::in_field;
use crate::origin::Origin;
use crate::program::Program;
use crate::remarks::Remarks;
use crate::source::Source;
pub use certified::{CertificateReport, CertificateStatus, certify};
pub(crate) use certified::{Certified, certified};
pub use npukit_verify::Certificate;
use pair::Pair;
pub use witness::Witness;

/// What to verify.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The model, and the target where no artifact knows it.
    pub source: Source,
    /// The manifest of an artifact of the model; the model is compiled when none.
    pub artifact: Option<String>,
    /// What the inputs of the runs are made of, one for each run; [`SEEDS`] when empty. A certificate has its own, to
    /// which these are added.
    pub seeds: Vec<u64>,
    /// Bounds errors, too, of a program that is proved.
    pub bounds: Option<bounds::Request>,
    /// A certificate to check: of these files, and of the proof that is made with its seeds.
    pub certificate: Option<String>,
}

/// Two runs: a program that differs passes each with a probability of the polynomials' degree over 2^61.
pub const SEEDS: [u64; 2] = [1, 2];

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

/// Compiles a model, or reads an artifact of it, and compares the program with the model; a certificate of the two is
/// checked.
///
/// # Errors
///
/// Those of [`compile`](crate::verbs::compile::compile) for a model; [`Error::Target`] for an artifact that cannot be
/// read, for a target whose machine computes with numbers only, and for a program that cannot run;
/// [`Error::UnfitArtifact`] for an artifact of another model; [`Error::Certificate`] for a certificate that is none, or
/// of something else.
pub fn verify(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let report = match &request.certificate {
        Some(path) => certified::check(request, path, context)?,
        None => Pair::of(request, context)?.judged(&request.seeds, request, context)?,
    };
    Ok(Report { seconds: start.elapsed().as_secs_f64(), ..report })
}

/// As [`verify`], of a program that was made before; one that was read knows no model, and has no proof.
///
/// # Errors
///
/// Those of [`verify`].
pub fn verify_program(program: &Program, seeds: &[u64]) -> Result<Option<Report>, Error> {
    let start = Instant::now();
    let Some(origin) = &program.origin else { return Ok(None) };
    let report = proved(origin, &*program.compiled, program.compiled.report(), seeds)?;
    Ok(Some(Report { seconds: start.elapsed().as_secs_f64(), ..report }))
}

/// What the comparison of a program with its model shows; `program` is what is known of it.
fn proved(
    origin: &Origin,
    compiled: &dyn Compiled,
    program: ProgramReport,
    seeds: &[u64],
) -> Result<Report, Error> {
    let _phase = Phase::begin("prove");
    let seeds = if seeds.is_empty() { &SEEDS[..] } else { seeds };
    let field = in_field(compiled, &origin.model)?;
    let verified = verified(&origin.model.graph, &origin.model.simplified, &*field, seeds);
    let (proof, agreement, own) = verified.map_err(|error| match error {
        ProofError::Target(error) => error.into(),
        ProofError::Unfit(told) => Error::UnfitArtifact { told },
        ProofError::Evaluate(error) => error.into(),
    })?;
    let is_other = proof.counterexample.is_some();
    let witness = is_other.then(|| witness::find(origin, &proof.unrounded, compiled)).flatten();
    let mut report = Report { witness, ..report(origin, program, proof, agreement) };
    report.assumptions.extend(own);
    Ok(report)
}

/// The proof, how far the passes before the compiler are from the model, and what the machine's proofs take for granted.
fn verified(
    imported: &Graph,
    simplified: &Graph,
    program: &dyn FieldProgram,
    seeds: &[u64],
) -> Result<(Proof, Agreement, Vec<String>), ProofError> {
    let proof = prove(simplified, program, seeds)?;
    let agreement = npukit_verify::agreement(imported, &proof.unrounded, seeds)?;
    Ok((proof, agreement, program.assumptions(simplified)))
}

fn report(origin: &Origin, program: ProgramReport, proof: Proof, agreement: Agreement) -> Report {
    let preparation = Preparation::from(agreement);
    let Remarks { notes, mut warnings } = origin.remarks();
    warnings.extend(program.warnings);
    if !preparation.is_rounding {
        warnings.push(format!(
            "what was compiled differs from the model by {} of the largest output in floats: the passes before the \
             compiler change more than roundings do",
            preparation.share
        ));
    }
    let uncovered = proof.gaps.iter().map(|gap| Uncovered {
        node: gap.node.clone(),
        op: gap.op.clone(),
        reason: gap.reason.to_string(),
    });
    let outputs = proof.outputs.iter().map(|output| OutputReport {
        name: output.name.clone(),
        elements: output.elements,
        different: output.different,
        proved: output.is_proved(),
    });
    Report {
        proved: proof.is_proved() && preparation.is_rounding,
        assumptions: assumptions(&program.host_steps, program.saturated_constants),
        name: program.name,
        target: program.target,
        outputs: outputs.collect(),
        uncovered: uncovered.collect(),
        counterexample: proof.counterexample.map(Into::into),
        witness: None,
        order: proof.order,
        field: Element::FIELD.to_owned(),
        seeds: proof.seeds,
        preparation,
        bounds: None,
        certificate: None,
        notes,
        warnings,
        seconds: 0.0,
    }
}

/// What is not shown, in sentences.
fn assumptions(host: &[npukit_target::HostStepReport], saturated: Option<u64>) -> Vec<String> {
    let mut told = vec![
        "rounding and saturation are left out on both sides: the program computes what the model does in exact \
         arithmetic, with the model's constants rounded to the machine's numbers"
            .to_owned(),
        "the passes before the compiler, which change constants, are compared with the model on samples in floats"
            .to_owned(),
        "comparisons and functions of one element are the same functions of the same elements, and the largest of \
         several is taken in the same order"
            .to_owned(),
    ];
    if let Some(count) = saturated.filter(|&count| count > 0) {
        told.push(format!("{count} constants saturate, and are taken as the machine has them"));
    }
    if !host.is_empty() {
        told.push(format!(
            "the host computes what its {} are",
            npukit_base::counted(host.len() as u64, "step")
        ));
    }
    told
}
