//! ONNX files to graphs: [`read`].
//!
//! A file is decoded by [`proto`], its nodes are put in order (`order`), and each is translated
//! by the handler of its operator, one file in `ops/` per operator. The graph is built by
//! `builder`, which computes at once what depends on constants only: the shape arithmetic that
//! exporters leave in a model is gone when the import ends. Every defect of a model is
//! collected into one [`ImportError`].

mod attributes;
mod builder;
mod context;
mod error;
mod frame;
mod image;
mod importer;
mod interface;
mod ops;
mod order;
pub mod proto;
mod tensor;

use std::collections::BTreeMap;

use npukit_graph::Graph;
use prost::Message;

pub use error::{ImportError, NodeProblem, Reason};
use proto::ModelProto;

/// Oldest and newest file format read. Version 3 came with opset numbers.
const IR_VERSIONS: (i64, i64) = (3, 13);

/// Oldest and newest operator set read. Opset 7 brought NumPy broadcasting.
const OPSETS: (i64, i64) = (7, 25);

/// What the caller decides about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of dimensions that the model leaves open (the batch, as a rule).
    pub dimension: usize,
    /// Shapes of inputs by name, instead of what the model says.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// Names of the values wanted; empty for the model's own outputs. Nodes that none of them
    /// needs are not imported, so a network can be cut before operators nobody supports.
    pub outputs: Vec<String>,
    /// Reads Resize at opset 10 (and Upsample) with half-pixel centres, as TensorFlow's exporter
    /// meant it and the TCU compiler did. The standard's reading, asymmetric, is the default.
    pub resize_half_pixel: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { dimension: 1, shapes: BTreeMap::new(), outputs: Vec::new(), resize_half_pixel: false }
    }
}

/// The graph of an ONNX file. `name` is what the graph is called (the file's stem, say).
///
/// Inputs and outputs keep the names, shapes and order of the model. Image operators are NHWC
/// with HWIO weights, between Transpose nodes that graph passes cancel.
///
/// Errors: [`ImportError`]; all problems of the nodes at once. Any bytes are safe to pass: time
/// and memory stay in proportion to them.
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Graph, ImportError> {
    let model = decode(bytes)?;
    let opset = check_versions(&model)?;
    let graph = model.graph.unwrap_or_default();
    importer::import(&graph, name, opset, options, bytes.len())
}

/// Names of the operators that can be imported, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}

fn decode(bytes: &[u8]) -> Result<ModelProto, ImportError> {
    frame::check(bytes)?;
    let mut rest = bytes;
    let mut model = ModelProto::default();
    match model.merge(&mut rest) {
        Ok(()) if model.graph.is_some() => Ok(model),
        Ok(()) => Err(ImportError::NotOnnx { offset: 0, reason: "it holds no graph".to_owned() }),
        Err(error) => {
            Err(ImportError::NotOnnx { offset: bytes.len() - rest.len(), reason: error.to_string() })
        }
    }
}

/// Checks the versions and gives that of the standard's operators.
fn check_versions(model: &ModelProto) -> Result<i64, ImportError> {
    let ((oldest, newest), found) = (IR_VERSIONS, model.ir_version);
    if !(oldest..=newest).contains(&found) {
        return Err(ImportError::IrVersion { found, oldest, newest });
    }
    let standard = |domain: &str| domain.is_empty() || domain == "ai.onnx";
    let opset = model.opset_import.iter().find(|opset| standard(&opset.domain));
    let ((oldest, newest), found) = (OPSETS, opset.ok_or(ImportError::NoOpset)?.version);
    if (oldest..=newest).contains(&found) {
        Ok(found)
    } else {
        Err(ImportError::Opset { found, oldest, newest })
    }
}
