//! Certificates of proofs: [`certify`] makes one, [`check`] proves it again.

use std::time::Instant;

use npukit_target::{ArtifactFile, ProgramReport};
use npukit_verify::{Certificate, Claim, CoveredOutput, Files, Subject, UncoveredNode};

use super::pair::Pair;
use super::{Report, Request};
use crate::Context;
use crate::error::Error;
use crate::model::ModelOptions;
use crate::model::origin::Origin;
use crate::report::verify::{CertificateReport, CertificateStatus};

/// As [`verify`](super::verify), with the certificate of a program that is proved; of one that is not there is none. A
/// certificate that the request names is not looked at.
///
/// The program of a model is what its files hold, as `npu compile` writes them.
///
/// # Errors
///
/// Those of [`verify`](super::verify).
pub fn certify(request: &Request, context: Context<'_>) -> Result<(Report, Option<Certificate>), Error> {
    let start = Instant::now();
    let (pair, subject) = Pair::identified(request, None, context)?;
    let mut report = pair.judged(&request.seeds, request, context)?;
    let certificate = made(&mut report, subject);
    report.seconds = start.elapsed().as_secs_f64();
    Ok((report, certificate))
}

/// Checks the certificate at `path`.
pub(super) fn check(request: &Request, path: &str, context: Context<'_>) -> Result<Report, Error> {
    let failed = |source| Error::Certificate { path: path.to_owned(), source };
    let certificate = Certificate::parse(&context.reader.read(path)?).map_err(failed)?;
    let (pair, subject) = Pair::identified(request, Some(&certificate.subject.artifact), context)?;
    certificate.subject.check(&subject).map_err(failed)?;
    let mut seeds = certificate.claim.seeds.clone();
    seeds.extend(request.seeds.iter().filter(|seed| !certificate.claim.seeds.contains(seed)));
    let mut report = pair.judged(&seeds, request, context)?;
    if report.proved {
        certificate.claim.check(&claim(&report)).map_err(failed)?;
    }
    let status = if report.proved { CertificateStatus::Holds } else { CertificateStatus::Refuted };
    let told = CertificateReport { file: Some(path.to_owned()), ..told(&certificate, status) };
    report.certificate = Some(told);
    Ok(report)
}

/// A program that was just compiled to `files`, and from which model.
pub(crate) struct Certified<'a> {
    pub origin: Origin,
    pub program: ProgramReport,
    pub files: &'a [ArtifactFile],
    pub model: Files,
    pub reading: &'a ModelOptions,
}

/// The proof of a program just compiled, with its certificate; gives the model back.
///
/// # Errors
///
/// [`Error::NotProved`], and those of [`certify`].
pub(crate) fn certified(of: Certified<'_>) -> Result<(Origin, Report, Certificate), Error> {
    let start = Instant::now();
    let (pair, artifact) = Pair::encoded(of.origin, of.program, of.files)?;
    let subject = pair.subject(of.model, of.reading, artifact)?;
    let mut report = pair.proved(&[])?;
    report.seconds = start.elapsed().as_secs_f64();
    match made(&mut report, subject) {
        Some(certificate) => Ok((pair.into_origin(), report, certificate)),
        None => Err(Error::NotProved { report: Box::new(report) }),
    }
}

/// The certificate of a proof, if it is one.
fn made(report: &mut Report, subject: Subject) -> Option<Certificate> {
    if !report.proved {
        return None;
    }
    let certificate = Certificate::new(env!("CARGO_PKG_VERSION"), subject, claim(report));
    report.certificate = Some(told(&certificate, CertificateStatus::Made));
    Some(certificate)
}

fn told(certificate: &Certificate, status: CertificateStatus) -> CertificateReport {
    CertificateReport {
        file: None,
        status,
        digest: certificate.digest.clone(),
        npukit: certificate.npukit.clone(),
        seeds: certificate.claim.seeds.clone(),
    }
}

/// What a report of a proof shows.
fn claim(report: &Report) -> Claim {
    let outputs = report
        .outputs
        .iter()
        .map(|output| CoveredOutput { name: output.name.clone(), elements: output.elements });
    let uncovered = report.uncovered.iter().map(|gap| UncoveredNode {
        node: gap.node.clone(),
        op: gap.op.clone(),
        reason: gap.reason.clone(),
    });
    Claim {
        field: report.field.clone(),
        seeds: report.seeds.clone(),
        order: report.order.clone(),
        outputs: outputs.collect(),
        uncovered: uncovered.collect(),
        assumptions: report.assumptions.clone(),
    }
}
