//! [`Certificate`]: what was proved of which bytes, to be kept beside an artifact and checked again.

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

/// What the key `schema` says of certificates of this version.
pub const SCHEMA: &str = "npukit.certificate/1";

/// That a program computes its model, for all inputs.
///
/// It is made by [`Certificate::new`] and read by [`Certificate::parse`], so that its digest is that of its content.
/// The digest finds damage; it is no signature, as everybody can compute it. What a certificate says is known to be so
/// when the proof was made again ([`Subject::check`], [`Claim::check`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Certificate {
    /// [`SCHEMA`]
    pub schema: String,
    /// Version of npukit that made the proof.
    pub npukit: String,
    /// What the proof is about.
    pub subject: Subject,
    /// What was proved.
    pub claim: Claim,
    /// The SHA-256 of all that is above as JSON on one line, its keys sorted.
    pub digest: String,
}

/// What a proof is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Name of the program.
    pub program: String,
    /// The machine.
    pub instance: InstanceMark,
    /// The model.
    pub model: Files,
    /// How the model was read, as options of the command; empty where it was read as it is. `--calibrate` where samples
    /// have scaled it.
    pub reading: Vec<String>,
    /// The program.
    pub artifact: Files,
}

/// An instance of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InstanceMark {
    /// Its name, as `TARGET:INSTANCE`.
    pub name: String,
    /// The SHA-256 of its parameters as JSON on one line, their keys sorted.
    pub sha256: String,
}

/// Files that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The one that names the others.
    pub file: String,
    /// The SHA-256 of the bytes of each, 64 hexadecimal digits, by its name from the folder of the first.
    pub sha256: BTreeMap<String, String>,
}

/// What was proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The field: its number of elements.
    pub field: String,
    /// What the inputs of each run were made of.
    pub seeds: Vec<u64>,
    /// What the program was compared with, where its compiler has several orders.
    pub order: String,
    /// Outputs of the model, in its order; all of their elements are covered.
    pub outputs: Vec<CoveredOutput>,
    /// What was not compared: no output depends on it.
    pub uncovered: Vec<UncoveredNode>,
    /// What the proof takes for granted.
    pub assumptions: Vec<String>,
}

/// An output that was compared, and is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CoveredOutput {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub elements: usize,
}

/// A part of the model that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UncoveredNode {
    /// The node it begins with.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why.
    pub reason: String,
}

impl Certificate {
    /// The certificate of a proof that npukit of version `npukit` made.
    pub fn new(npukit: &str, subject: Subject, claim: Claim) -> Self {
        let (schema, npukit) = (SCHEMA.to_owned(), npukit.to_owned());
        let mut certificate = Self { schema, npukit, subject, claim, digest: String::new() };
        certificate.digest = certificate.digest_of_content();
        certificate
    }

    /// The file.
    pub fn to_json(&self) -> String {
        format!("{:#}\n", self.value())
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).expect("strings, numbers, lists and maps of strings always serialise")
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// What is no certificate, one of another format, one whose digest is that of other content, and one of no run.
    pub fn parse(bytes: &[u8]) -> Result<Self, CertificateError> {
        let value: Value = serde_json::from_slice(bytes)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            found => return Err(CertificateError::Schema { found: found.map(str::to_owned) }),
        }
        // From the bytes: a key that is there twice is an error here only.
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
    /// Of the instance called `name` with these parameters.
    pub fn new(name: String, parameters: &Value) -> Self {
        Self { name, sha256: sha256(canonical(parameters).as_bytes()) }
    }
}

impl Subject {
    /// Whether the certificate of this subject is one of what is `here`.
    ///
    /// # Errors
    ///
    /// The first that differs.
    pub fn check(&self, here: &Self) -> Result<(), CertificateError> {
        self.model.check("model", &here.model, true)?;
        differs("how the model is read", &self.reading.join(" "), &here.reading.join(" "))?;
        self.artifact.check("artifact", &here.artifact, false)?;
        differs("the program's name", &self.program, &here.program)?;
        differs("the instance", &self.instance.name, &here.instance.name)?;
        differs("the SHA-256 of the instance", &self.instance.sha256, &here.instance.sha256)
    }
}

impl Files {
    /// The first file of a model may be called otherwise: nothing names it.
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
        self.sha256.get(name).map_or("no such file", String::as_str) // Default: it says so.
    }
}

impl Claim {
    /// Whether what is claimed is what a proof with the same seeds has shown `here`.
    ///
    /// It may assume more than that.
    ///
    /// # Errors
    ///
    /// The first that differs.
    pub fn check(&self, here: &Self) -> Result<(), CertificateError> {
        differs("the field", &self.field, &here.field)?;
        differs("what the program is compared with", &self.order, &here.order)?;
        let output = |output: &CoveredOutput| format!("`{}` of {} elements", output.name, output.elements);
        all("output", self.outputs.iter().map(output), here.outputs.iter().map(output))?;
        let node = |gap: &UncoveredNode| format!("node `{}` ({}): {}", gap.node, gap.op, gap.reason);
        all("uncovered part", self.uncovered.iter().map(node), here.uncovered.iter().map(node))?;
        match here.assumptions.iter().find(|told| !self.assumptions.contains(told)) {
            Some(told) => Err(CertificateError::Unsaid { assumption: told.clone() }),
            None => Ok(()),
        }
    }
}

/// Two lists, one entry after the other.
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
        let text = |entry: Option<String>| entry.unwrap_or_else(|| "none".to_owned()); // Default: the list is over.
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
