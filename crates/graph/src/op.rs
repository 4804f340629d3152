//! Operators. One file each; adding one is its file and a line in the list below.

use npukit_numeric::Tensor;

use crate::ir::{Value, ValueInfo};

/// Why an operator cannot take its operands.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum OpError {
    /// The operands' number, shapes or types do not fit.
    #[error("{0}")]
    Operands(String),
}

/// What every operator can say of itself.
pub trait Operator {
    /// The operator's name, as ONNX spells it.
    fn name(&self) -> &'static str;

    /// Shapes and types of the results.
    ///
    /// Operands come as values, so that an operator whose result shape depends on a constant
    /// operand can look at it.
    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError>;

    /// The results, computed literally in `f32`.
    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError>;
}

macro_rules! operators {
    ($($module:ident :: $name:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::*;)*

        /// An operator with its attributes.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant is documented at its type")]
        pub enum Op {
            $($name($name)),*
        }

        impl Op {
            fn operator(&self) -> &dyn Operator {
                match self {
                    $(Self::$name(op) => op),*
                }
            }
        }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Self {
                Self::$name(op)
            }
        })*
    };
}

operators! {
    average_pool::AveragePool,
    batch_normalization::BatchNormalization,
    binary::Binary,
    cast::Cast,
    clip::Clip,
    concat::Concat,
    conv::Conv,
    gather::Gather,
    gemm::Gemm,
    leaky_relu::LeakyRelu,
    matmul::MatMul,
    max_pool::MaxPool,
    pad::Pad,
    relu::Relu,
    reshape::Reshape,
    resize::Resize,
    slice::Slice,
    softmax::Softmax,
    split::Split,
    transpose::Transpose,
}

impl Operator for Op {
    fn name(&self) -> &'static str {
        self.operator().name()
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        self.operator().infer(inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.operator().eval(inputs)
    }
}
