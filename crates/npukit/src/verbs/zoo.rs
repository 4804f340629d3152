//! `npu zoo`: the reference networks, as a list and as files.

use npukit_models::zoo::{Counts, Network, networks};
use serde::Serialize;

use crate::error::Error;

/// A reference network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// Shape of its input.
    pub input: Vec<usize>,
    /// Numbers that training finds.
    pub parameters: u64,
    /// Multiply-accumulates, padding left out.
    pub macs: u64,
    /// Convolutions and matrix products.
    pub layers: u64,
}

/// A network's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The network.
    #[serde(flatten)]
    pub entry: Entry,
    /// What its weights follow from.
    pub seed: u64,
    /// File written.
    pub artifact: String,
    /// Its size.
    pub bytes: usize,
}

/// All networks.
pub fn list() -> Vec<Entry> {
    networks().iter().map(entry).collect()
}

/// The ONNX file of the network called `name`, with weights for `seed`; the caller writes it and puts
/// its path into the report.
///
/// # Errors
///
/// [`Error::UnknownName`] for a network that is not in the list.
pub fn zoo(name: &str, seed: u64) -> Result<(Report, Vec<u8>), Error> {
    let network = network(name)?;
    let bytes = network.onnx(seed);
    let report = Report { entry: entry(network), seed, artifact: String::new(), bytes: bytes.len() };
    Ok((report, bytes))
}

/// The network called `name`.
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
