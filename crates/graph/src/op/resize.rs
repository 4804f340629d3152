//! Resampling of the image axes.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// How a sample between elements is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeMode {
    /// The nearest element.
    Nearest(NearestMode),
    /// Linear along each axis.
    Linear,
}

/// Which element is nearest, for a source coordinate between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the ONNX attribute nearest_mode")]
pub enum NearestMode {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// How an output index becomes a source coordinate (ONNX `coordinate_transformation_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the ONNX attribute")]
pub enum Coordinates {
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
}

/// Resamples rows and columns of `[n, h, w, c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// Height and width of the result.
    pub size: [usize; 2],
    /// Output over input size of rows and columns, as the model states them (they may differ
    /// from the quotient of the sizes by rounding).
    pub scales: [f32; 2],
    /// How samples are made.
    pub mode: ResizeMode,
    /// How coordinates map.
    pub coordinates: Coordinates,
}

impl Operator for Resize {
    fn name(&self) -> &'static str {
        "Resize"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
