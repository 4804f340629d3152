//! [`Options`]: settings of the caller for an import.

use std::collections::{BTreeMap, BTreeSet};

/// Settings of the caller for an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Batch size for models that leave it open. `None` means 1, and [`Remark`](crate::Remark)
    /// reports that.
    pub batch: Option<usize>,
    /// Sizes of open dimensions by the name in the model. A name has one size at all its
    /// occurrences. TensorFlow's dimensions have no names.
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name. They replace the shapes in the model and take precedence over
    /// `sizes`.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// Shapes of samples by input name. They are used only for dimensions that stay open otherwise.
    pub samples: BTreeMap<String, Vec<usize>>,
    /// Inputs that the caller provides although an initializer of the same name gives a default.
    pub given: BTreeSet<String>,
    /// Inputs that become constants, by name. The value is a number in text, which fills the input.
    pub values: BTreeMap<String, String>,
    /// Names of the wanted values; empty for the model's own outputs. Nodes that they do not need
    /// are not imported. A network can thus be cut before unsupported operators.
    pub outputs: Vec<String>,
    /// Coordinates of ONNX's Resize at opset 10 (and Upsample): `true` for half-pixel centers, as
    /// TensorFlow's exporter and compilers of that time use them; `false` for asymmetric, as the
    /// standard's examples do. `None` means asymmetric, and [`Remark`](crate::Remark) reports that.
    pub resize_half_pixel: Option<bool>,
}
