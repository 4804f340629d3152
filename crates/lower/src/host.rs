//! Steps of the host: an operator that a machine lacks is computed by the graph's evaluator, on an
//! output of the program. [`HostStep`] serializes as in artifacts: `op` holds the ONNX name of the
//! operator, and its attributes are sibling keys.

use npukit_graph::op::{GeluForm, LogSoftmax, Softmax, Unary, UnaryKind};
use npukit_graph::{Op, OpError, Operator};
use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

/// A step that the machine cannot do: the host applies it to an output after the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostStep {
    /// Name of the model's node.
    pub node: String,
    /// Name of the output that it applies to; the result has the same name and shape.
    pub output: String,
    /// Reason why the host does it.
    pub reason: String,
    /// Operator to apply.
    #[serde(flatten)]
    pub op: HostOp,
}

/// Operator of a host step. It applies to an output in the model's shape, and keeps that shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "SerializedOperator", try_from = "SerializedOperator")]
pub enum HostOp {
    /// Softmax.
    Softmax(Softmax),
    /// Logarithm of the softmax.
    LogSoftmax(LogSoftmax),
    /// An elementwise function.
    Unary(Unary),
}

impl From<UnaryKind> for HostOp {
    fn from(kind: UnaryKind) -> Self {
        Self::Unary(Unary { kind })
    }
}

impl From<HostOp> for Op {
    fn from(op: HostOp) -> Self {
        match op {
            HostOp::Softmax(op) => op.into(),
            HostOp::LogSoftmax(op) => op.into(),
            HostOp::Unary(op) => op.into(),
        }
    }
}

impl HostOp {
    fn operator(&self) -> &dyn Operator {
        match self {
            Self::Softmax(op) => op,
            Self::LogSoftmax(op) => op,
            Self::Unary(op) => op,
        }
    }

    /// Returns the ONNX name of the operator.
    pub fn name(&self) -> &'static str {
        self.operator().name()
    }

    /// Returns the first axis it works over and one past the last; `None` if it works on each
    /// element.
    pub const fn axes(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Softmax(Softmax { axis, axis_end }) | Self::LogSoftmax(LogSoftmax { axis, axis_end }) => {
                Some((axis, axis_end))
            }
            Self::Unary(_) => None,
        }
    }

    /// Applies the step to `tensor` with the graph's evaluator.
    ///
    /// # Errors
    ///
    /// Axes that the tensor does not have.
    pub fn apply(&self, tensor: &Tensor) -> Result<Tensor, OpError> {
        let mut results = self.operator().eval(&[tensor])?;
        Ok(results.pop().expect("these operators have one result"))
    }

    /// Reads an operator from its name and attributes.
    ///
    /// # Errors
    ///
    /// A name that no host step has; attributes that are missing or have the wrong type.
    pub fn read<A: Attributes>(attributes: &A) -> Result<Self, A::Error> {
        let name = attributes.text("op")?;
        let axes = || Ok((attributes.index("axis")?, attributes.index("axis_end")?));
        match name {
            "Softmax" => axes().map(|(axis, axis_end)| Self::Softmax(Softmax { axis, axis_end })),
            "LogSoftmax" => axes().map(|(axis, axis_end)| Self::LogSoftmax(LogSoftmax { axis, axis_end })),
            name => {
                let known = PLAIN.iter().chain(WITH_ATTRIBUTES);
                let named = known.copied().find(|&kind| Self::from(kind).name() == name);
                let kind = named.ok_or_else(|| {
                    let message =
                        "which is not a host step of this version of npukit; compile the model again";
                    attributes.error("op", format!("is `{name}`, {message}"))
                })?;
                with_attributes(attributes, kind).map(Self::from)
            }
        }
    }
}

/// Source of an operator's attributes for [`HostOp::read`]; its errors name the place.
pub trait Attributes {
    /// Error type: what is wrong, and where.
    type Error;

    /// Returns the string at `key`.
    ///
    /// # Errors
    ///
    /// The key is missing, or its value is not a string.
    fn text(&self, key: &str) -> Result<&str, Self::Error>;

    /// Returns the axis number at `key`.
    ///
    /// # Errors
    ///
    /// The key is missing, or its value is not an integer of at least 0.
    fn index(&self, key: &str) -> Result<usize, Self::Error>;

    /// Returns the float at `key`.
    ///
    /// # Errors
    ///
    /// The key is missing, or its value is not a float.
    fn float(&self, key: &str) -> Result<f32, Self::Error>;

    /// Makes an error about the attribute `key`.
    fn error(&self, key: &str, reason: String) -> Self::Error;
}

/// Functions without attributes.
const PLAIN: &[UnaryKind] = &[
    UnaryKind::Sign,
    UnaryKind::Sqrt,
    UnaryKind::Exp,
    UnaryKind::Log,
    UnaryKind::Reciprocal,
    UnaryKind::Floor,
    UnaryKind::Ceil,
    UnaryKind::Round,
    UnaryKind::Sin,
    UnaryKind::Cos,
    UnaryKind::Tan,
    UnaryKind::Asin,
    UnaryKind::Acos,
    UnaryKind::Atan,
    UnaryKind::Sinh,
    UnaryKind::Cosh,
    UnaryKind::Tanh,
    UnaryKind::Asinh,
    UnaryKind::Acosh,
    UnaryKind::Atanh,
    UnaryKind::Erf,
    UnaryKind::Sigmoid,
    UnaryKind::Mish,
    UnaryKind::Softplus,
    UnaryKind::Softsign,
];

/// Functions with attributes; the attribute values here are placeholders.
const WITH_ATTRIBUTES: &[UnaryKind] = &[
    UnaryKind::Swish { alpha: 1.0 },
    UnaryKind::Gelu { form: GeluForm::Exact },
    UnaryKind::Elu { alpha: 1.0 },
    UnaryKind::Celu { alpha: 1.0 },
    UnaryKind::Selu { alpha: 1.0, gamma: 1.0 },
];

fn with_attributes<A: Attributes>(attributes: &A, kind: UnaryKind) -> Result<UnaryKind, A::Error> {
    let alpha = || attributes.float("alpha");
    Ok(match kind {
        UnaryKind::Swish { .. } => UnaryKind::Swish { alpha: alpha()? },
        UnaryKind::Elu { .. } => UnaryKind::Elu { alpha: alpha()? },
        UnaryKind::Celu { .. } => UnaryKind::Celu { alpha: alpha()? },
        UnaryKind::Selu { .. } => UnaryKind::Selu { alpha: alpha()?, gamma: attributes.float("gamma")? },
        UnaryKind::Gelu { .. } => UnaryKind::Gelu { form: gelu_form(attributes)? },
        plain => plain,
    })
}

fn gelu_form<A: Attributes>(attributes: &A) -> Result<GeluForm, A::Error> {
    let name = attributes.text("approximate")?;
    let form = [GeluForm::Exact, GeluForm::Tanh].into_iter().find(|&form| approximation(form) == name);
    form.ok_or_else(|| attributes.error("approximate", format!("is `{name}`, must be `none` or `tanh`")))
}

/// Returns the ONNX name of the form.
const fn approximation(form: GeluForm) -> &'static str {
    match form {
        GeluForm::Exact => "none",
        GeluForm::Tanh => "tanh",
    }
}

/// An operator as serialized in artifacts.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SerializedOperator {
    op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axis: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axis_end: Option<usize>,
    #[serde(default, with = "npukit_numeric::any_float", skip_serializing_if = "Option::is_none")]
    alpha: Option<f32>,
    #[serde(default, with = "npukit_numeric::any_float", skip_serializing_if = "Option::is_none")]
    gamma: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approximate: Option<String>,
}

impl From<HostOp> for SerializedOperator {
    fn from(op: HostOp) -> Self {
        let (axis, axis_end) = op.axes().unzip();
        let named = Self { op: op.name().to_owned(), axis, axis_end, ..Self::default() };
        let HostOp::Unary(Unary { kind }) = op else { return named };
        match kind {
            UnaryKind::Swish { alpha } | UnaryKind::Elu { alpha } | UnaryKind::Celu { alpha } => {
                Self { alpha: Some(alpha), ..named }
            }
            UnaryKind::Selu { alpha, gamma } => Self { alpha: Some(alpha), gamma: Some(gamma), ..named },
            UnaryKind::Gelu { form } => Self { approximate: Some(approximation(form).to_owned()), ..named },
            _ => named,
        }
    }
}

impl TryFrom<SerializedOperator> for HostOp {
    type Error = String;

    fn try_from(written: SerializedOperator) -> Result<Self, String> {
        Self::read(&written)
    }
}

impl SerializedOperator {
    fn present<T>(&self, key: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| self.error(key, "is missing".to_owned()))
    }
}

impl Attributes for SerializedOperator {
    type Error = String;

    fn text(&self, key: &str) -> Result<&str, String> {
        match key {
            "op" => Ok(&self.op),
            _ => self.present(key, self.approximate.as_deref().filter(|_| key == "approximate")),
        }
    }

    fn index(&self, key: &str) -> Result<usize, String> {
        self.present(key, if key == "axis" { self.axis } else { self.axis_end })
    }

    fn float(&self, key: &str) -> Result<f32, String> {
        self.present(key, if key == "alpha" { self.alpha } else { self.gamma })
    }

    fn error(&self, key: &str, reason: String) -> String {
        format!("`{key}` {reason}")
    }
}

#[cfg(test)]
mod tests {
    use npukit_graph::op::{Clip, Gemm, LeakyRelu, Pad, PadMode};

    use super::*;

    fn read(text: &str) -> Result<HostStep, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Builds the JSON of an artifact's step from `op`, its operator and attribute keys.
    fn text(op: &str) -> String {
        format!(r#"{{"node":"n","output":"y","reason":"r",{op}}}"#)
    }

    #[test]
    fn steps_are_written_as_artifacts_have_them() {
        let softmax = HostOp::Softmax(Softmax { axis: 1, axis_end: 3 });
        let selu = UnaryKind::Selu { alpha: 1.5, gamma: 0.25 };
        for (op, written) in [
            (softmax, r#""op":"Softmax","axis":1,"axis_end":3"#),
            (UnaryKind::Tanh.into(), r#""op":"Tanh""#),
            (UnaryKind::Elu { alpha: 0.5 }.into(), r#""op":"Elu","alpha":0.5"#),
            (selu.into(), r#""op":"Selu","alpha":1.5,"gamma":0.25"#),
            (UnaryKind::Gelu { form: GeluForm::Tanh }.into(), r#""op":"Gelu","approximate":"tanh""#),
        ] {
            let [node, output, reason] = ["n", "y", "r"].map(str::to_owned);
            let step = HostStep { node, output, reason, op };
            assert_eq!(serde_json::to_string(&step).ok(), Some(text(written)));
            assert_eq!(read(&text(written)), Ok(step));
        }
    }

    /// JSON has no numbers for infinities and NaN, and NaN is not equal to itself.
    #[test]
    fn attributes_that_are_not_finite_are_names() {
        let kinds = |x: f32| {
            [
                Unary { kind: UnaryKind::Elu { alpha: x } }.into(),
                Unary { kind: UnaryKind::HardSigmoid { alpha: 0.1, beta: x } }.into(),
                Pad { pads: vec![[0, 1]], mode: PadMode::Constant(x) }.into(),
                Gemm { trans_a: false, trans_b: false, alpha: x, beta: 1.0 }.into(),
                LeakyRelu { alpha: x }.into(),
                Clip { min: x, max: 6.0 }.into(),
            ]
        };
        for (x, name) in [(f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf"), (f32::NAN, "nan")] {
            for op in kinds(x) {
                let op: Op = op;
                let written = serde_json::to_string(&op).expect("a text");
                assert!(written.contains(&format!("\"{name}\"")), "{written}");
                let again: Op = serde_json::from_str(&written).expect(&written);
                assert_eq!(format!("{again:?}"), format!("{op:?}"));
            }
            let written = format!(r#""op":"Elu","alpha":"{name}""#);
            let step = read(&text(&written)).expect(name);
            assert_eq!(serde_json::to_string(&step).ok(), Some(text(&written)));
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        for (op, message) in [
            (r#""op":"Conv""#, "`op` is `Conv`, which is not a host step"),
            (r#""op":"LogSoftmax","axis":1"#, "`axis_end` is missing"),
            (r#""op":"Celu""#, "`alpha` is missing"),
            (r#""op":"Selu","alpha":1.0"#, "`gamma` is missing"),
            (r#""op":"Gelu""#, "`approximate` is missing"),
            (r#""op":"Gelu","approximate":"erf""#, "`approximate` is `erf`, must be `none` or `tanh`"),
        ] {
            let error = read(&text(op)).expect_err(op);
            assert!(error.contains(message), "{error}");
        }
    }
}
