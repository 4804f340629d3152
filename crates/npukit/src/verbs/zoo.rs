//! `npu zoo`: lists the reference networks, and writes them as files.

use npukit_models::zoo::{Counts, Network, networks};
use serde::Serialize;

use crate::error::Error;

/// Reference network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Entry {
    /// Name of the network.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// Shape of its input.
    pub input: Vec<usize>,
    /// Number of trainable parameters.
    pub parameters: u64,
    /// Number of multiply-accumulates, without padding.
    pub macs: u64,
    /// Number of convolutions and matrix products.
    pub layers: u64,
}

/// Report of writing a network's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Description of the network.
    #[serde(flatten)]
    pub entry: Entry,
    /// Random seed of its weights.
    pub seed: u64,
    /// Path of the file.
    pub artifact: String,
    /// Size in bytes.
    pub bytes: usize,
}

/// Lists all networks.
pub fn list() -> Vec<Entry> {
    networks().iter().map(entry).collect()
}

/// Returns the ONNX file of the network called `name`, with weights for `seed`. The caller writes
/// it and puts its path into the report.
///
/// # Errors
///
/// Returns [`Error::UnknownName`] for an unknown network.
pub fn zoo(name: &str, seed: u64) -> Result<(Report, Vec<u8>), Error> {
    let network = network(name)?;
    let bytes = network.onnx(seed);
    let report = Report { entry: entry(network), seed, artifact: String::new(), bytes: bytes.len() };
    Ok((report, bytes))
}

/// Returns the network called `name`.
pub(crate) fn network(name: &str) -> Result<&'static Network, Error> {
    npukit_models::zoo::network(name).ok_or_else(|| Error::UnknownName {
        what: "network",
        name: name.to_owned(),
        known: networks().iter().map(|network| network.name.to_owned()).collect(),
    })
}

fn entry(network: &Network) -> Entry {
    let Counts { parameters, macs, layers, .. } = network.counts();
    let (name, summary) = (network.name.to_owned(), network.summary.to_owned());
    Entry { name, summary, input: network.input.to_vec(), parameters, macs, layers }
}
