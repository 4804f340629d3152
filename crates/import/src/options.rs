//! [`Options`]: what the caller decides about a model.

use std::collections::{BTreeMap, BTreeSet};

/// What the caller decides about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Size of the batch where the model leaves it open; without one it is 1, and [`Remark`](crate::Remark) says so.
    pub batch: Option<usize>,
    /// Sizes of dimensions that the model leaves open and gives a name, by that name; a name means
    /// one size wherever it stands. TensorFlow's dimensions have no names.
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name, instead of what the model says; they count before the sizes of names.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// Shapes of inputs by name that say what stays open otherwise: those of samples that are there.
    pub samples: BTreeMap<String, Vec<usize>>,
    /// Inputs that are given though the model has a default for them, an initializer of their name.
    pub given: BTreeSet<String>,
    /// Inputs by name that are no inputs but constants: the number that all of their elements are, as text.
    pub values: BTreeMap<String, String>,
    /// Names of the values wanted; empty for the model's own outputs. Nodes that none of them
    /// needs are not imported, so a network can be cut before operators that are not supported.
    pub outputs: Vec<String>,
    /// Reads ONNX's Resize at opset 10 (and Upsample) with half-pixel centres, as TensorFlow's
    /// exporter meant it and compilers of its time did, or as the standard's examples do, asymmetric.
    /// Without a choice it is the latter, and [`Remark`](crate::Remark) says so.
    pub resize_half_pixel: Option<bool>,
}
