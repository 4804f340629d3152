//! [`Side`]: whatever has values of a network by tensor name: a model in float, a program on the machine, arrays that were
//! kept. `npu trace` writes one, `npu diff` compares two.
//!
//! A side says which tensors it has ([`Line`], in the order of layers) and gives their values sample by sample, so that
//! nobody need hold those of all samples.
//!
//! | module | is |
//! |---|---|
//! | `float` | a graph in the evaluator |
//! | `machine` | a compiled model or an artifact, with the results of layers as `layer_compare` gets them |
//! | `stored` | arrays of an `.npz`, and what an image of a memory holds |
//! | `open` | how a side is named, and what becomes of the name |
//! | `shown` | what the model calls a value of the graph that is compiled, and how its axes lie there |

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

/// What a tensor is to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TensorKind {
    /// The network takes it.
    Input,
    /// It lies between nodes.
    Value,
    /// A layer of a program ends in it.
    Layer,
    /// The network gives it.
    Output,
}

/// A tensor that a side has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// As the model calls it.
    pub name: String,
    /// Of a sample.
    pub shape: Vec<usize>,
    /// What its axes are, where that is known.
    pub axes: Option<Vec<&'static str>>,
    /// The layer that ends in it.
    pub layer: Option<String>,
    pub kind: TensorKind,
}

impl Line {
    /// Bytes of a sample, at most.
    pub fn bytes(&self) -> usize {
        self.shape.iter().fold(8, |bytes: usize, &size| bytes.saturating_mul(size))
    }
}

/// The values of a tensor for a sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    /// In the model's scale and order of axes.
    pub tensor: Tensor,
    /// The machine's integers in the same order; empty where there are none.
    pub raw: Vec<i32>,
}

/// What a side has for a sample.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// By the model's names.
    pub shown: BTreeMap<String, Held>,
    /// As stored, by the names of the compiled graph; empty where there is none.
    pub stored: BTreeMap<String, Tensor>,
    pub saturations: Saturations,
}

/// Something that has values.
pub(crate) enum Side {
    Float(Box<float::Float>),
    Machine(Box<machine::Machine>),
    Stored(stored::Stored),
}

impl Side {
    /// Its tensors in the order of layers.
    pub fn lines(&self) -> &[Line] {
        match self {
            Self::Float(float) => &float.lines,
            Self::Machine(machine) => &machine.lines,
            Self::Stored(stored) => &stored.lines,
        }
    }

    /// How many samples it has; none for arrays, of which only the other side knows.
    pub fn samples(&self) -> Option<usize> {
        match self {
            Self::Float(float) => Some(float.samples.len()),
            Self::Machine(machine) => Some(machine.samples()),
            Self::Stored(_) => None,
        }
    }

    /// The values of the `wanted` tensors for a sample; what was kept is read where it is.
    ///
    /// # Errors
    ///
    /// [`Error::Eval`] where the evaluator fails, [`Error::Target`] where the machine does.
    pub fn values(&self, index: usize, wanted: &HashSet<&str>) -> Result<Values, Error> {
        match self {
            Self::Float(float) => float.values(index, wanted),
            Self::Machine(machine) => machine.values(index),
            Self::Stored(_) => Ok(Values::default()),
        }
    }
}

/// Samples for the sides that compute.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub inputs: &'a [InputFile],
    pub preprocess: &'a Preprocess,
}
