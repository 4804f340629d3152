//! `npu verify`: proves that a program computes its network, for all inputs.

pub mod bounds;
mod certified;
mod pair;
mod witness;

use std::time::Instant;

use npukit_graph::Graph;
use npukit_numeric::Element;
use npukit_target::{Compiled, FieldProgram, Phase, ProgramReport};
use npukit_verify::{Agreement, Proof, ProofError, prove};

use crate::Context;
use crate::compare::shape_source::field::in_field;
use crate::error::Error;
use crate::model::compile_job::CompileJob;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
pub use crate::report::verify::{
    CertificateReport, CertificateStatus, Counterexample, ElementReport, OutputReport, Preparation, Report,
    Uncovered, Witness,
};
pub use certified::certify;
pub(crate) use certified::{Certified, certified};
pub use npukit_verify::Certificate;
use pair::Pair;

/// Parameters of a verification.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Model, and its target unless an artifact contains it.
    pub source: Source,
    /// Manifest of an artifact of the model; `None` to compile the model.
    pub artifact: Option<String>,
    /// Random seeds of the inputs, one per run; [`SEEDS`] if empty. A certificate has its own
    /// seeds, to which these are added.
    pub seeds: Vec<u64>,
    /// Bounds of errors to compute for a proved program, if any.
    pub bounds: Option<bounds::Request>,
    /// Certificate to check against these files, and against a proof with its seeds.
    pub certificate: Option<String>,
}

/// Seeds of two runs: a program that differs passes each with a probability of the polynomials'
/// degree divided by 2^61.
pub const SEEDS: [u64; 2] = [1, 2];

/// Compiles a model, or reads an artifact of it, and compares the program with the model. Checks
/// the certificate, if one is given.
///
/// # Errors
///
/// Fails as [`compile`](crate::verbs::compile::compile) does for a model. Returns:
///
/// - [`Error::Target`] for an artifact that cannot be read, for a target whose machine only
///   supports numbers, and for a program that cannot run,
/// - [`Error::UnfitArtifact`] for an artifact of another model,
/// - [`Error::Certificate`] for an invalid certificate, or one for other files.
pub fn verify(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let report = match &request.certificate {
        Some(path) => certified::check(request, path, context)?,
        None => Pair::of(request, context)?.judged(&request.seeds, request, context)?,
    };
    Ok(Report { seconds: start.elapsed().as_secs_f64(), ..report })
}

/// Like [`verify`], for a program that was compiled before. Returns `None` for a program that was
/// read from an artifact, because its model is unknown.
///
/// # Errors
///
/// Fails as [`verify`] does.
pub fn verify_program(program: &Program, seeds: &[u64]) -> Result<Option<Report>, Error> {
    let start = Instant::now();
    let Some(origin) = &program.origin else { return Ok(None) };
    let report = proved(origin, &*program.compiled, program.compiled.report(), seeds)?;
    Ok(Some(Report { seconds: start.elapsed().as_secs_f64(), ..report }))
}

/// Compares a program with its model; `program` is its description.
fn proved(
    origin: &CompileJob,
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
        ProofError::Unfit(message) => Error::UnfitArtifact { message },
        ProofError::Evaluate(error) => error.into(),
    })?;
    let is_other = proof.counterexample.is_some();
    let witness = is_other.then(|| witness::find(origin, &proof.unrounded, compiled)).flatten();
    let mut report = Report { witness, ..report(origin, program, proof, agreement) };
    report.assumptions.extend(own);
    Ok(report)
}

/// Returns the proof, the difference between the model and the graph after the passes before the
/// compiler, and the assumptions of the machine's proofs.
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

fn report(origin: &CompileJob, program: ProgramReport, proof: Proof, agreement: Agreement) -> Report {
    let preparation = Preparation::from(agreement);
    let Remarks { notes, mut warnings } = origin.remarks();
    warnings.extend(program.warnings);
    if !preparation.is_rounding {
        warnings.push(format!(
            "the compiled graph differs from the model by {:.1e} of the largest output in float, the limit is {:.1e}: \
             the passes before the compiler change more than rounding does",
            preparation.share, preparation.limit
        ));
    }
    let uncovered = proof.gaps.iter().map(|gap| Uncovered {
        node: gap.node.clone(),
        op: gap.op.clone(),
        reason: gap.reason.to_string(),
    });
    let approximated = proof.approximated.iter().map(|one| Uncovered {
        node: one.node.clone(),
        op: one.op.clone(),
        reason: format!("it {}", one.method),
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
        uncovered: uncovered.chain(approximated).collect(),
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

/// Lists what is not proved, in sentences.
fn assumptions(host: &[npukit_target::HostStepReport], saturated: Option<u64>) -> Vec<String> {
    let mut stated = vec![
        "rounding and saturation are ignored on both sides: the program computes the model in exact \
         arithmetic, with the model's constants rounded to the machine's numbers"
            .to_owned(),
        "the passes before the compiler change constants; they are compared with the model on samples in float"
            .to_owned(),
        "comparisons and functions of one element are the same functions on both sides, and the largest of \
         several is taken in the same order"
            .to_owned(),
    ];
    if let Some(count) = saturated.filter(|&count| count > 0) {
        stated.push(format!("{count} constants saturate; the proof uses the saturated values"));
    }
    if !host.is_empty() {
        stated.push(format!(
            "the results of the host's {} are assumed to be right",
            npukit_base::counted(host.len() as u64, "step")
        ));
    }
    stated
}
