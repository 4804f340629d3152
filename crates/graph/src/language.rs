//! Language models as their authors publish them: [`Model`], and its evaluation in `f32`.
//!
//! A [`Description`] specifies the computation, and with it the [`Part`]s of the weights. A
//! [`Model`] adds the weights, which stay in the format of their file; rows are converted when they
//! are used. An [`Evaluator`] computes logits with a cache of keys and values. An [`Encoder`]
//! computes values of a whole text, from which [`Pooling`] makes one vector.
//!
//! For machines with few bits, [`Model::rotated`] changes coordinates such that rounding loses
//! less, and [`Model::calibrate`] gives the inputs of each matrix for a typical text.
//!
//! [`decoder`](crate::decoder) has the smaller class of models that become graphs for a machine.

mod access;
mod attention;
mod calibration;
mod change;
mod description;
mod encoder;
mod evaluator;
mod hadamard;
mod layer;
mod part;
mod pooling;
mod rotated;
mod rotation;
mod rows;
mod sampler;
mod stream_form;
mod streams;
mod weights;

pub use crate::decoder::{Activation, DecoderError, NormKind, Pairs};
pub use calibration::Group;
pub use description::{Description, LayerForm, Structure};
pub use encoder::Encoder;
pub use evaluator::Evaluator;
pub use hadamard::Hadamard;
pub use part::Part;
pub use pooling::{Pooling, normalize};
pub use rotation::{Rotation, Scaling};
pub use rows::Rows;
pub use sampler::{Sampler, Sampling, SamplingError};
pub use stream_form::{Streams, normal_quantile};
pub use weights::{Model, Weight, Weights};
