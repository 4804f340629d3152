//! [`Pair`]: a program, and the model that it is compared with.

use std::collections::BTreeMap;

use npukit_target::{ArtifactFile, Compiled, ProgramReport, ReadError, Reader, sha256, sibling};
use npukit_verify::{Files, InstanceMark, Subject};

use super::{Report, Request, bounds, proved};
use crate::Context;
use crate::error::Error;
use crate::model::compile_job::{CompileJob, CompiledModel};
use crate::model::hashing_reader::HashingReader;
use crate::model::source::Source;
use crate::model::{self, ModelOptions};
use crate::targets::{Artifact, load};

/// Program, and the model that it is compared with.
pub(super) struct Pair {
    origin: CompileJob,
    /// Program that runs in field arithmetic.
    compiled: Box<dyn Compiled>,
    /// Description of the program; more detailed for a program just compiled than for its files.
    program: ProgramReport,
}

impl Pair {
    /// Reads the model of a request, and reads the artifact or compiles the model.
    pub fn of(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        match &request.artifact {
            Some(path) => Self::beside(&request.source, path, context.reader, context),
            None => {
                // Default: no samples without bounds.
                let inputs = request.bounds.as_ref().map(|asked| asked.inputs.as_slice()).unwrap_or_default();
                let CompiledModel { origin, program } = request.source.compile(inputs, context)?;
                Ok(Self { origin, program: program.report(), compiled: program })
            }
        }
    }

    /// Like [`Self::of`], and also identifies both. The program of a compiled model is read back
    /// from its files.
    ///
    /// The argument `files` lists the files in a certificate, which belong to the artifact even if
    /// they are not needed.
    pub fn identified(
        request: &Request,
        files: Option<&Files>,
        context: Context<'_>,
    ) -> Result<(Self, Subject), Error> {
        let source = &request.source;
        let reader = HashingReader::of_model(context.reader, &source.path);
        let with_hashes = Context { reader: &reader, ..context };
        let (pair, artifact) = match &request.artifact {
            Some(path) => {
                let parts = HashingReader::of_artifact(context.reader, path);
                let pair = Self::beside(source, path, &parts, with_hashes)?;
                let named = files.into_iter().flat_map(|files| files.sha256.keys());
                named.into_iter().try_for_each(|name| {
                    // A missing file is reported later as a difference from the certificate.
                    ReadError::optional(parts.read(&sibling(path, name)?)).map(|_| ())
                })?;
                (pair, parts.files()?)
            }
            None => {
                let CompiledModel { origin, program } = source.compile(&[], with_hashes)?;
                Self::encoded(origin, program.report(), &program.files()?)?
            }
        };
        let reading = source.model.for_artifact(&*pair.compiled)?;
        let subject = pair.subject(reader.files()?, &reading, artifact)?;
        Ok((pair, subject))
    }

    /// Reads the program from `files`; also returns the files.
    pub fn encoded(
        origin: CompileJob,
        program: ProgramReport,
        files: &[ArtifactFile],
    ) -> Result<(Self, Files), Error> {
        // Default: without files, reading the manifest fails.
        let manifest = files.first().map(|file| file.name.clone()).unwrap_or_default();
        let hashes = files.iter().map(|file| (file.name.clone(), sha256(&file.bytes))).collect();
        let bytes: BTreeMap<String, Vec<u8>> =
            files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect();
        let compiled = read(&manifest, &bytes)?;
        Ok((Self { origin, compiled, program }, Files { file: manifest, sha256: hashes }))
    }

    /// Reads the model of `source`, and the artifact at `path`, whose files come from `parts`.
    fn beside(source: &Source, path: &str, parts: &dyn Reader, context: Context<'_>) -> Result<Self, Error> {
        let compiled = read(path, parts)?;
        let samples = &source.calibration.inputs;
        let options = source.model.for_artifact(&*compiled)?;
        let model = model::load(&source.path, &options, samples, context.reader)?;
        let mut origin = source.beside(&*compiled, model, context)?;
        if !source.calibration.is_default() {
            // The artifact was compiled from the calibrated model, which only a compilation can
            // reproduce.
            origin = source.calibrate(source.quantize(origin, context)?, context)?.origin;
        } else {
            source.scale_as_stated(&mut origin)?;
        }
        Ok(Self { origin, program: compiled.report(), compiled })
    }

    /// Identifies the pair by these files.
    pub fn subject(&self, model: Files, reading: &ModelOptions, artifact: Files) -> Result<Subject, Error> {
        let instance = self.compiled.words()?.instance;
        let mut reading = reading.as_options();
        let is_scaled = self.origin.rescaling.as_ref().is_some_and(|report| report.applied);
        reading.extend(is_scaled.then(|| "--calibrate".to_owned()));
        Ok(Subject {
            program: self.program.name.clone(),
            instance: InstanceMark::new(instance.info().name.clone(), &instance.info().config),
            model,
            reading,
            artifact,
        })
    }

    /// Returns the result of the comparison.
    pub fn proved(&self, seeds: &[u64]) -> Result<Report, Error> {
        proved(&self.origin, &*self.compiled, self.program.clone(), seeds)
    }

    /// Returns the result of the comparison with these seeds, and the requested bounds. Bounds are
    /// only computed for proved programs.
    pub fn judged(&self, seeds: &[u64], request: &Request, context: Context<'_>) -> Result<Report, Error> {
        let report = self.proved(seeds)?;
        let asked = request.bounds.as_ref().filter(|_| report.proved);
        let bounds = asked.map(|asked| bounds::bounds(asked, &self.origin, &*self.compiled, context));
        Ok(Report { bounds: bounds.transpose()?, ..report })
    }

    /// Returns the model.
    pub fn into_origin(self) -> CompileJob {
        self.origin
    }
}

fn read(path: &str, reader: &dyn Reader) -> Result<Box<dyn Compiled>, Error> {
    let Artifact { compiled, .. } = load(path, reader)?.ok_or_else(|| model::unknown(path))?;
    Ok(compiled)
}
