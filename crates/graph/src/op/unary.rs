//! Functions of one element: arithmetic, activations, rounding, logic.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::special::erf;

/// An elementwise function with its parameters, defined by [`UnaryKind::apply`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum UnaryKind {
    /// `-x`; also for integers, which wrap around.
    Neg,
    /// `|x|`; also for integers, which wrap around.
    Abs,
    /// Sign: -1, 0 or 1; also for integers.
    Sign,
    /// Negation of a boolean.
    Not,
    /// Square root.
    Sqrt,
    /// `e^x`.
    Exp,
    /// Natural logarithm.
    Log,
    /// `1 / x`.
    Reciprocal,
    /// Largest integer not above `x`.
    Floor,
    /// Smallest integer not below `x`.
    Ceil,
    /// Nearest integer, ties to even.
    Round,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arcsine.
    Asin,
    /// Arccosine.
    Acos,
    /// Arctangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// The error function.
    Erf,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `min(max(alpha * x + beta, 0), 1)`.
    HardSigmoid {
        /// Slope of the middle part.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
        /// Value at 0.
        #[serde(with = "npukit_numeric::any_float")]
        beta: f32,
    },
    /// `x * min(max(x / 6 + 1/2, 0), 1)`.
    HardSwish,
    /// `x / (1 + e^(-alpha * x))`; with `alpha` 1 also called SiLU.
    Swish {
        /// Factor inside the sigmoid.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
    },
    /// `x * tanh(ln(1 + e^x))`.
    Mish,
    /// `x` times the standard normal distribution function at `x`.
    Gelu {
        /// Formula for the distribution function.
        form: GeluForm,
    },
    /// `x` if positive, `alpha * (e^x - 1)` otherwise.
    Elu {
        /// The limit to the left is `-alpha`.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
    },
    /// `x` if positive, `alpha * (e^(x / alpha) - 1)` otherwise.
    Celu {
        /// The limit to the left is `-alpha`.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
    },
    /// `gamma * x` if positive, `gamma * alpha * (e^x - 1)` otherwise.
    Selu {
        /// The limit to the left is `-gamma * alpha`.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
        /// Slope of the positive side.
        #[serde(with = "npukit_numeric::any_float")]
        gamma: f32,
    },
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x / (1 + |x|)`.
    Softsign,
    /// `x` if above `alpha`, 0 otherwise.
    ThresholdedRelu {
        /// Threshold below which the result is 0.
        #[serde(with = "npukit_numeric::any_float")]
        alpha: f32,
    },
}

/// Formula of the normal distribution function in [`UnaryKind::Gelu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeluForm {
    /// `(1 + erf(x / sqrt(2))) / 2`.
    Exact,
    /// `(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`.
    Tanh,
}

impl UnaryKind {
    /// Returns the function of a float. `Not` treats 0 as false and all other numbers as true.
    ///
    /// Computed in `f32` by the standard library, except `Erf` and the exact `Gelu`, which are
    /// computed in `f64` and rounded.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Neg => -x,
            Self::Abs => x.abs(),
            Self::Sign if x == 0.0 || x.is_nan() => x,
            Self::Sign => x.signum(),
            Self::Not => f32::from(u8::from(x == 0.0)),
            Self::Sqrt => x.sqrt(),
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Reciprocal => 1.0 / x,
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Round => x.round_ties_even(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Asin => x.asin(),
            Self::Acos => x.acos(),
            Self::Atan => x.atan(),
            Self::Sinh => x.sinh(),
            Self::Cosh => x.cosh(),
            Self::Tanh => x.tanh(),
            Self::Asinh => x.asinh(),
            Self::Acosh => x.acosh(),
            Self::Atanh => x.atanh(),
            Self::Erf => erf(f64::from(x)) as f32,
            Self::Sigmoid => sigmoid(x),
            Self::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Self::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            Self::Swish { alpha } => x * sigmoid(alpha * x),
            Self::Mish => x * softplus(x).tanh(),
            Self::Gelu { form } => gelu(x, form),
            Self::Elu { alpha } => if_positive(x, x, alpha * x.exp_m1()),
            Self::Celu { alpha } => if_positive(x, x, alpha * (x / alpha).exp_m1()),
            Self::Selu { alpha, gamma } => gamma * if_positive(x, x, alpha * x.exp_m1()),
            Self::Softplus => softplus(x),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::ThresholdedRelu { alpha } => if_positive(x - alpha, x, 0.0),
        }
    }

    /// Returns the operator's ONNX name.
    fn name(self) -> &'static str {
        match self {
            Self::Neg => "Neg",
            Self::Abs => "Abs",
            Self::Sign => "Sign",
            Self::Not => "Not",
            Self::Sqrt => "Sqrt",
            Self::Exp => "Exp",
            Self::Log => "Log",
            Self::Reciprocal => "Reciprocal",
            Self::Floor => "Floor",
            Self::Ceil => "Ceil",
            Self::Round => "Round",
            Self::Sin => "Sin",
            Self::Cos => "Cos",
            Self::Tan => "Tan",
            Self::Asin => "Asin",
            Self::Acos => "Acos",
            Self::Atan => "Atan",
            Self::Sinh => "Sinh",
            Self::Cosh => "Cosh",
            Self::Tanh => "Tanh",
            Self::Asinh => "Asinh",
            Self::Acosh => "Acosh",
            Self::Atanh => "Atanh",
            Self::Erf => "Erf",
            Self::Sigmoid => "Sigmoid",
            Self::HardSigmoid { .. } => "HardSigmoid",
            Self::HardSwish => "HardSwish",
            Self::Swish { .. } => "Swish",
            Self::Mish => "Mish",
            Self::Gelu { .. } => "Gelu",
            Self::Elu { .. } => "Elu",
            Self::Celu { .. } => "Celu",
            Self::Selu { .. } => "Selu",
            Self::Softplus => "Softplus",
            Self::Softsign => "Softsign",
            Self::ThresholdedRelu { .. } => "ThresholdedRelu",
        }
    }
}

/// Applies a function to each element.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Unary {
    /// Function to apply to each element.
    pub kind: UnaryKind,
}

/// Formats as the function only: `Elu { alpha: 1.0 }`.
impl std::fmt::Debug for Unary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind.fmt(f)
    }
}

impl Operator for Unary {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        match self.kind {
            UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Sign => {
                operands.element(0, "operand", NUMBERS).map(drop)?
            }
            UnaryKind::Not => operands.element(0, "operand", &[ElementType::Bool]).map(drop)?,
            _ => operands.floats(0, "operand", 0, usize::MAX).map(drop)?,
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let data = match operand.data() {
            TensorData::F32(x) => TensorData::F32(x.iter().map(|&x| self.kind.apply(x)).collect()),
            TensorData::I64(x) => TensorData::I64(x.iter().map(|&x| self.integer(x)).collect()),
            TensorData::I32(x) => TensorData::I32(x.iter().map(|&x| self.integer(x.into()) as i32).collect()),
            TensorData::Bool(x) => TensorData::Bool(x.iter().map(|x| !x).collect()),
        };
        Ok(vec![build(self, operand.shape(), data)?])
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

impl Unary {
    /// Returns the function of an integer, for functions that support integers.
    fn integer(&self, x: i64) -> i64 {
        match self.kind {
            UnaryKind::Neg => x.wrapping_neg(),
            UnaryKind::Abs => x.wrapping_abs(),
            _ => x.signum(),
        }
    }
}

/// Returns `yes` if `x` is positive, otherwise `no`. For NaN, `no` must be NaN.
fn if_positive(x: f32, yes: f32, no: f32) -> f32 {
    if x > 0.0 { yes } else { no }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns `ln(1 + e^x)`, in a form in which `e^x` does not overflow.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn gelu(x: f32, form: GeluForm) -> f32 {
    match form {
        GeluForm::Exact => {
            let x = f64::from(x);
            (x * (1.0 + erf(x / 2f64.sqrt())) / 2.0) as f32
        }
        GeluForm::Tanh => {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            x * (1.0 + inner.tanh()) / 2.0
        }
    }
}
