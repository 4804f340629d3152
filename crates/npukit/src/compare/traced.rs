//! [`TensorSource`]: a source of a network's values by tensor name. A source is a model in float, a
//! program on the machine, or stored arrays. `npu run --dump` writes one, `npu diff` compares two.
//!
//! A side lists its tensors ([`Line`], in the order of layers) and returns their values sample by
//! sample, so that the values of all samples never have to be in memory at once.
//!
//! | module | contents |
//! |---|---|
//! | `float` | a graph in the float evaluator |
//! | `machine` | a compiled model or an artifact, with the results of layers |
//! | `stored` | arrays of an `.npz` file, and contents of a memory image |
//! | `open` | parsing the name of a side, and opening it |
//! | `shown` | the model's name and axis order for a value of the compiled graph |

pub(crate) mod float;
pub(crate) mod machine;
pub(crate) mod open;
mod shown;
pub(crate) mod stored;

use std::collections::{BTreeMap, HashSet};

use npukit_numeric::Tensor;
use npukit_target::Saturations;
use serde::Serialize;

use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
pub(crate) use shown::{Shown, axes};

/// Role of a tensor in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TensorKind {
    /// Input of the network.
    Input,
    /// Value between nodes.
    Value,
    /// Result of a layer of the program.
    Layer,
    /// Output of the network.
    Output,
}

/// Description of a tensor that a side has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Name in the model.
    pub name: String,
    /// Shape of one sample.
    pub shape: Vec<usize>,
    /// Names of the axes, if known.
    pub axes: Option<Vec<&'static str>>,
    /// Layer that computes the tensor, if any.
    pub layer: Option<String>,
    pub kind: TensorKind,
}

impl Line {
    /// Returns the largest size of a sample in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.iter().fold(8, |bytes: usize, &size| bytes.saturating_mul(size))
    }
}

/// Values of a tensor for one sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampleTensor {
    /// Values in the model's scale and axis order.
    pub tensor: Tensor,
    /// The machine's integers in the same order; empty without integers.
    pub raw: Vec<i32>,
}

/// Values of a side for one sample.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// Values by the names of the model.
    pub shown: BTreeMap<String, SampleTensor>,
    /// Values as stored, by the names of the compiled graph; empty without a compiled graph.
    pub stored: BTreeMap<String, Tensor>,
    pub saturations: Saturations,
}

/// Source of a network's values.
pub(crate) enum TensorSource {
    Float(Box<float::Float>),
    Machine(Box<machine::Machine>),
    Stored(stored::Stored),
}

impl TensorSource {
    /// Returns the tensors in the order of layers.
    pub fn lines(&self) -> &[Line] {
        match self {
            Self::Float(float) => &float.lines,
            Self::Machine(machine) => &machine.lines,
            Self::Stored(stored) => &stored.lines,
        }
    }

    /// Returns the number of samples; `None` for stored arrays, where the other side determines it.
    pub fn samples(&self) -> Option<usize> {
        match self {
            Self::Float(float) => Some(float.samples.len()),
            Self::Machine(machine) => Some(machine.samples()),
            Self::Stored(_) => None,
        }
    }

    /// Returns the values of the `wanted` tensors for a sample. Stored arrays are read from their
    /// file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the evaluator fails and [`Error::Target`] if the machine fails.
    pub fn values(&self, index: usize, wanted: &HashSet<&str>) -> Result<Values, Error> {
        match self {
            Self::Float(float) => float.values(index, wanted),
            Self::Machine(machine) => machine.values(index),
            Self::Stored(_) => Ok(Values::default()),
        }
    }
}

/// Samples for sides that compute their values.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub inputs: &'a [InputFile],
    pub preprocess: &'a Preprocess,
}
