//! [`Certificate`]: record of a proof and of the bytes that it covers. It is stored with an
//! artifact and can be checked again.

mod digest;
mod error;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use npukit_target::sha256;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use digest::canonical;
pub use error::CertificateError;

/// Value of the key `schema` in certificates of this version.
pub const SCHEMA: &str = "npukit.certificate/1";

/// Statement that a program computes its model, for all inputs.
///
/// [`Certificate::new`] and [`Certificate::parse`] ensure that the digest matches the content. The
/// digest detects damage; it is not a signature, as anyone can compute it. Only repeating the proof
/// confirms the statement ([`Subject::check`], [`Claim::check`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Certificate {
    /// Version of the format: [`SCHEMA`].
    pub schema: String,
    /// Version of npukit that made the proof.
    pub npukit: String,
    /// Program and model that the proof is about.
    pub subject: Subject,
    /// Statement that was proved.
    pub claim: Claim,
    /// SHA-256 of all other keys as JSON on one line, with sorted keys.
    pub digest: String,
}

/// Program and model of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Name of the program.
    pub program: String,
    /// Machine that runs the program.
    pub instance: InstanceMark,
    /// Files of the model.
    pub model: Files,
    /// Command options that changed how the model was read; empty for the defaults. `--calibrate`
    /// if samples scaled the model.
    pub reading: Vec<String>,
    /// Files of the program.
    pub artifact: Files,
}

/// An instance of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InstanceMark {
    /// Name, as `TARGET:INSTANCE`.
    pub name: String,
    /// SHA-256 of its parameters as JSON on one line, with sorted keys.
    pub sha256: String,
}

/// A main file and the files that it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Main file, which names the others.
    pub file: String,
    /// SHA-256 of each file, as 64 hexadecimal digits, by its path relative to the main file's
    /// folder.
    pub sha256: BTreeMap<String, String>,
}

/// Statement that was proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Number of elements of the field.
    pub field: String,
    /// Seeds of the inputs of the runs.
    pub seeds: Vec<u64>,
    /// Name of the summation order that the program was compared with, if its compiler has several.
    pub order: String,
    /// Outputs of the model, in its order; all of their elements are covered.
    pub outputs: Vec<CoveredOutput>,
    /// Parts that were not compared; no output depends on them.
    pub uncovered: Vec<UncoveredNode>,
    /// Assumptions of the proof.
    pub assumptions: Vec<String>,
}

/// An output that was compared and matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CoveredOutput {
    /// Name of the output.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
}

/// A part of the model that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UncoveredNode {
    /// First node of the part.
    pub node: String,
    /// Operator of that node.
    pub op: String,
    /// Reason why it was not compared.
    pub reason: String,
}

impl Certificate {
    /// Creates the certificate of a proof that version `npukit` of npukit made.
    pub fn new(npukit: &str, subject: Subject, claim: Claim) -> Self {
        let (schema, npukit) = (SCHEMA.to_owned(), npukit.to_owned());
        let mut certificate = Self { schema, npukit, subject, claim, digest: String::new() };
        certificate.digest = certificate.digest_of_content();
        certificate
    }

    /// Returns the certificate as a JSON file.
    pub fn to_json(&self) -> String {
        format!("{:#}\n", self.value())
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).expect("strings, numbers, lists and maps of strings always serialize")
    }

    /// Parses a JSON file.
    ///
    /// # Errors
    ///
    /// The file is not a certificate, has another format version, its digest does not match, or it
    /// covers no run or output.
    pub fn parse(bytes: &[u8]) -> Result<Self, CertificateError> {
        let value: Value = serde_json::from_slice(bytes)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            found => return Err(CertificateError::Schema { found: found.map(str::to_owned) }),
        }
        // Parsed from the bytes: only this parser rejects duplicate keys.
        let certificate: Self = serde_json::from_slice(bytes)?;
        let actual = certificate.digest_of_content();
        if certificate.digest != actual {
            return Err(CertificateError::Digest { said: certificate.digest, actual });
        }
        if certificate.claim.seeds.is_empty() {
            return Err(CertificateError::NoRuns);
        }
        if certificate.claim.outputs.is_empty() {
            return Err(CertificateError::NoOutputs);
        }
        Ok(certificate)
    }

    fn digest_of_content(&self) -> String {
        let mut value = self.value();
        if let Some(keys) = value.as_object_mut() {
            keys.remove("digest");
        }
        sha256(canonical(&value).as_bytes())
    }
}

impl InstanceMark {
    /// Creates the mark of the instance `name` with these parameters.
    pub fn new(name: String, parameters: &Value) -> Self {
        Self { name, sha256: sha256(canonical(parameters).as_bytes()) }
    }
}

impl Subject {
    /// Checks that the certificate's subject equals `here`.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, here: &Self) -> Result<(), CertificateError> {
        self.model.check("model", &here.model, true)?;
        differs("the reading of the model", &self.reading.join(" "), &here.reading.join(" "))?;
        self.artifact.check("artifact", &here.artifact, false)?;
        differs("the program's name", &self.program, &here.program)?;
        differs("the instance", &self.instance.name, &here.instance.name)?;
        differs("the SHA-256 of the instance", &self.instance.sha256, &here.instance.sha256)
    }
}

impl Files {
    /// Checks that the files are equal. The main file of a model may be renamed, since no other
    /// file names it.
    fn check<'a>(&'a self, what: &str, here: &'a Self, is_renamable: bool) -> Result<(), CertificateError> {
        differs(
            &format!("the SHA-256 of {what} `{}`", here.file),
            self.hash(&self.file),
            here.hash(&here.file),
        )?;
        if !is_renamable {
            differs(&format!("the name of the {what}"), &self.file, &here.file)?;
        }
        let others = |files: &'a Self| files.sha256.keys().filter(|name| **name != files.file);
        let names: BTreeSet<&String> = others(self).chain(others(here)).collect();
        names.into_iter().try_for_each(|name| {
            let what = format!("the SHA-256 of file `{name}` of the {what}");
            differs(&what, self.hash(name), here.hash(name))
        })
    }

    fn hash(&self, name: &str) -> &str {
        self.sha256.get(name).map_or("missing", String::as_str) // Default: reported as a missing file.
    }
}

impl Claim {
    /// Checks that a proof with the same seeds showed `here`, the same as this claim.
    ///
    /// The claim may have more assumptions than the proof.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, here: &Self) -> Result<(), CertificateError> {
        differs("the field", &self.field, &here.field)?;
        differs("the reference of the comparison", &self.order, &here.order)?;
        let output = |output: &CoveredOutput| format!("`{}` of {} elements", output.name, output.elements);
        all("output", self.outputs.iter().map(output), here.outputs.iter().map(output))?;
        let node = |gap: &UncoveredNode| format!("node `{}` ({}): {}", gap.node, gap.op, gap.reason);
        all("uncovered part", self.uncovered.iter().map(node), here.uncovered.iter().map(node))?;
        match here.assumptions.iter().find(|stated| !self.assumptions.contains(stated)) {
            Some(stated) => Err(CertificateError::Unsaid { assumption: stated.clone() }),
            None => Ok(()),
        }
    }
}

/// Compares two lists entry by entry.
fn all(
    what: &str,
    said: impl Iterator<Item = String>,
    found: impl Iterator<Item = String>,
) -> Result<(), CertificateError> {
    let (mut said, mut found) = (said.fuse(), found.fuse());
    for index in 0usize.. {
        let (said, found) = match (said.next(), found.next()) {
            (None, None) => break,
            pair => pair,
        };
        let text = |entry: Option<String>| entry.unwrap_or_else(|| "none".to_owned()); // Default: past the end of the list.
        differs(&format!("{what} {index}"), &text(said), &text(found))?;
    }
    Ok(())
}

fn differs(what: &str, said: &str, found: &str) -> Result<(), CertificateError> {
    if said == found {
        return Ok(());
    }
    let (what, said, found) = (what.to_owned(), said.to_owned(), found.to_owned());
    Err(CertificateError::Differs { what, said, found })
}
