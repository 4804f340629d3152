//! [`Options`]: what the caller decides about a model.

use std::collections::BTreeMap;

/// What the caller decides about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of dimensions that the model leaves open (the batch, as a rule).
    pub dimension: usize,
    /// Sizes of dimensions that the model leaves open and gives a name, by that name; a name means
    /// one size wherever it stands. TensorFlow's dimensions have no names.
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name, instead of what the model says.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// Names of the values wanted; empty for the model's own outputs. Nodes that none of them
    /// needs are not imported, so a network can be cut before operators nobody supports.
    pub outputs: Vec<String>,
    /// Reads ONNX's Resize at opset 10 (and Upsample) with half-pixel centres, as TensorFlow's
    /// exporter meant it and the TCU compiler did. The standard's reading, asymmetric, is the
    /// default.
    pub resize_half_pixel: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (sizes, shapes) = (BTreeMap::new(), BTreeMap::new());
        Self { dimension: 1, sizes, shapes, outputs: Vec::new(), resize_half_pixel: false }
    }
}
