//! Certificates of proofs: [`certify`] creates one, [`check`] repeats the proof.

use std::time::Instant;

use npukit_target::{ArtifactFile, ProgramReport};
use npukit_verify::{Certificate, Claim, CoveredOutput, Files, Subject, UncoveredNode};

use super::pair::Pair;
use super::{Report, Request};
use crate::Context;
use crate::error::Error;
use crate::model::ModelOptions;
use crate::model::compile_job::CompileJob;
use crate::report::verify::{CertificateReport, CertificateStatus};

/// Like [`verify`](super::verify), and returns a certificate if the program is proved. A
/// certificate in the request is ignored.
///
/// The program of a model is read back from its files, in the form that `npu compile` writes.
///
/// # Errors
///
/// Fails as [`verify`](super::verify) does.
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
    let mut request = request.clone();
    if request.artifact.is_none() && request.source.target.is_none() {
        request.source.target = Some(certificate.subject.instance.name.clone());
    }
    let request = &request;
    let (pair, subject) = Pair::identified(request, Some(&certificate.subject.artifact), context)?;
    certificate.subject.check(&subject).map_err(failed)?;
    let mut seeds = certificate.claim.seeds.clone();
    seeds.extend(request.seeds.iter().filter(|seed| !certificate.claim.seeds.contains(seed)));
    let mut report = pair.judged(&seeds, request, context)?;
    if report.proved {
        certificate.claim.check(&claim(&report)).map_err(failed)?;
    }
    let status = if report.proved { CertificateStatus::Holds } else { CertificateStatus::Refuted };
    let entry = CertificateReport { file: Some(path.to_owned()), ..certificate_report(&certificate, status) };
    report.certificate = Some(entry);
    Ok(report)
}

/// Program that was just compiled to `files`, with its model.
pub(crate) struct Certified<'a> {
    pub origin: CompileJob,
    pub program: ProgramReport,
    pub files: &'a [ArtifactFile],
    pub model: Files,
    pub reading: &'a ModelOptions,
}

/// Proves a program that was just compiled, and creates its certificate; returns the model as well.
///
/// # Errors
///
/// Returns [`Error::NotProved`], and fails as [`certify`] does.
pub(crate) fn certified(of: Certified<'_>) -> Result<(CompileJob, Report, Certificate), Error> {
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

/// Creates the certificate of a proof; returns `None` if the proof failed.
fn made(report: &mut Report, subject: Subject) -> Option<Certificate> {
    if !report.proved {
        return None;
    }
    let certificate = Certificate::new(env!("CARGO_PKG_VERSION"), subject, claim(report));
    report.certificate = Some(certificate_report(&certificate, CertificateStatus::Made));
    Some(certificate)
}

fn certificate_report(certificate: &Certificate, status: CertificateStatus) -> CertificateReport {
    CertificateReport {
        file: None,
        status,
        digest: certificate.digest.clone(),
        npukit: certificate.npukit.clone(),
        seeds: certificate.claim.seeds.clone(),
    }
}

/// Returns the claim that a report of a proof supports.
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
