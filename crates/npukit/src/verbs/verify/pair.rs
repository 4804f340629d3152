//! [`Pair`]: a program and the model that it is compared with.

use std::collections::BTreeMap;

use npukit_target::{ArtifactFile, Compiled, ProgramReport, ReadError, Reader, sha256, sibling};
use npukit_verify::{Files, InstanceMark, Subject};

use super::{Report, Request, bounds, proved};
use crate::Context;
use crate::error::Error;
use crate::model::hashed::Hashed;
use crate::model::origin::{CompiledModel, Origin};
use crate::model::source::Source;
use crate::model::{self, ModelOptions};
use crate::targets::{Artifact, load};

/// A program and the model that it is compared with.
pub(super) struct Pair {
    origin: Origin,
    /// What runs in the field.
    compiled: Box<dyn Compiled>,
    /// What is known of it: more of a program just made than of its files.
    program: ProgramReport,
}

impl Pair {
    /// The model of a request, and the artifact, or else what it is compiled to.
    pub fn of(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        match &request.artifact {
            Some(path) => Self::beside(&request.source, path, context.reader, context),
            None => {
                // Default: without bounds there are no samples.
                let inputs = request.bounds.as_ref().map(|asked| asked.inputs.as_slice()).unwrap_or_default();
                let CompiledModel { origin, program } = request.source.compile(inputs, context)?;
                Ok(Self { origin, program: program.report(), compiled: program })
            }
        }
    }

    /// As [`Self::of`], with what exactly it is: of a model that is compiled the program is read back from its files.
    ///
    /// `files` are those that a certificate names, which belong to the artifact whether they are needed or not.
    pub fn identified(
        request: &Request,
        files: Option<&Files>,
        context: Context<'_>,
    ) -> Result<(Self, Subject), Error> {
        let source = &request.source;
        let reader = Hashed::of_model(context.reader, &source.path);
        let with_hashes = Context { reader: &reader, ..context };
        let (pair, artifact) = match &request.artifact {
            Some(path) => {
                let parts = Hashed::of_artifact(context.reader, path);
                let pair = Self::beside(source, path, &parts, with_hashes)?;
                let named = files.into_iter().flat_map(|files| files.sha256.keys());
                named.into_iter().try_for_each(|name| {
                    // One that is not there differs from what the certificate says.
                    ReadError::optional(parts.read(&sibling(path, name)?)).map(|_| ())
                })?;
                (pair, parts.files()?)
            }
            None => {
                let CompiledModel { origin, program } = source.compile(&[], with_hashes)?;
                Self::encoded(origin, program.report(), &program.files()?)?
            }
        };
        let subject = pair.subject(reader.files()?, &source.model, artifact)?;
        Ok((pair, subject))
    }

    /// The program that is in `files`, and the files.
    pub fn encoded(
        origin: Origin,
        program: ProgramReport,
        files: &[ArtifactFile],
    ) -> Result<(Self, Files), Error> {
        // Default: without a file there is nothing of that name to be read.
        let manifest = files.first().map(|file| file.name.clone()).unwrap_or_default();
        let hashes = files.iter().map(|file| (file.name.clone(), sha256(&file.bytes))).collect();
        let bytes: BTreeMap<String, Vec<u8>> =
            files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect();
        let compiled = read(&manifest, &bytes)?;
        Ok((Self { origin, compiled, program }, Files { file: manifest, sha256: hashes }))
    }

    /// The model of `source`, and the artifact at `path`, whose files `parts` gives.
    fn beside(source: &Source, path: &str, parts: &dyn Reader, context: Context<'_>) -> Result<Self, Error> {
        let compiled = read(path, parts)?;
        let samples = &source.calibration.inputs;
        let model = model::load(&source.path, &source.model, samples, context.reader)?;
        let mut origin = source.beside(&*compiled, model, context)?;
        if !source.calibration.is_default() {
            // The artifact is of the model as samples scale it, which only a compilation tells.
            origin = source.calibrate(source.quantize(origin, context)?, context)?.origin;
        } else {
            source.scale_as_stated(&mut origin)?;
        }
        Ok(Self { origin, program: compiled.report(), compiled })
    }

    /// What it is, made of these files.
    pub fn subject(&self, model: Files, reading: &ModelOptions, artifact: Files) -> Result<Subject, Error> {
        let instance = self.compiled.words()?.instance;
        let mut reading = reading.told();
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

    /// What the comparison shows.
    pub fn proved(&self, seeds: &[u64]) -> Result<Report, Error> {
        proved(&self.origin, &*self.compiled, self.program.clone(), seeds)
    }

    /// What the comparison with these seeds shows, and the bounds that are asked for. Only of a program that is proved is
    /// known what its exact numbers stand for.
    pub fn judged(&self, seeds: &[u64], request: &Request, context: Context<'_>) -> Result<Report, Error> {
        let report = self.proved(seeds)?;
        let asked = request.bounds.as_ref().filter(|_| report.proved);
        let bounds = asked.map(|asked| bounds::bounds(asked, &self.origin, &*self.compiled, context));
        Ok(Report { bounds: bounds.transpose()?, ..report })
    }

    /// The model again.
    pub fn into_origin(self) -> Origin {
        self.origin
    }
}

fn read(path: &str, reader: &dyn Reader) -> Result<Box<dyn Compiled>, Error> {
    let Artifact { compiled, .. } = load(path, reader)?.ok_or_else(|| model::unknown(path))?;
    Ok(compiled)
}
