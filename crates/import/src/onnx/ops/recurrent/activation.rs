//! Activations of recurrent layers, by name.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, LeakyRelu, Relu, Unary, UnaryKind};
use npukit_numeric::{ElementType, TensorData};

use super::super::super::attributes::unsupported;
use super::{Context, Reason};
use crate::elements::typed;

/// An activation function with its parameters.
#[derive(Clone, Copy)]
pub(super) enum Activation {
    Function(UnaryKind),
    Relu,
    LeakyRelu(f32),
    /// `alpha * x + beta`.
    Affine(f32, f32),
    /// `alpha * tanh(beta * x)`.
    ScaledTanh(f32, f32),
}

/// Reads the activations of each of `directions`, or `defaults` if the node does not name any.
pub(super) fn read(
    context: &mut Context<'_>,
    defaults: &[&'static str],
    directions: usize,
) -> Result<Vec<Vec<Activation>>, Reason> {
    let named = context.attributes.strings("activations")?;
    let names: Vec<String> = match named {
        Some(names) => names,
        None => {
            defaults.iter().map(|&name| name.to_owned()).cycle().take(directions * defaults.len()).collect()
        }
    };
    if names.len() != directions * defaults.len() {
        let legal = format!("{} for each of {directions} directions", defaults.len());
        return Err(unsupported("activations", names, legal));
    }
    // Default: the standard defines omitted values as empty; each function that needs a value then
    // has its own default.
    let alphas = context.attributes.floats("activation_alpha")?.unwrap_or_default();
    let betas = context.attributes.floats("activation_beta")?.unwrap_or_default();
    let (mut alphas, mut betas) = (alphas.iter().copied(), betas.iter().copied());
    let all = names.iter().map(|name| activation(name, &mut alphas, &mut betas));
    let all: Vec<Activation> = all.collect::<Result<_, _>>()?;
    Ok(all.chunks(defaults.len()).map(<[Activation]>::to_vec).collect())
}

/// Returns the activation called `name`, which takes its parameters from the remaining ones.
fn activation(
    name: &str,
    alphas: &mut impl Iterator<Item = f32>,
    betas: &mut impl Iterator<Item = f32>,
) -> Result<Activation, Reason> {
    let mut alpha = |default: f32| alphas.next().unwrap_or(default);
    Ok(match name.to_ascii_lowercase().as_str() {
        "sigmoid" => Activation::Function(UnaryKind::Sigmoid),
        "tanh" => Activation::Function(UnaryKind::Tanh),
        "relu" => Activation::Relu,
        "softsign" => Activation::Function(UnaryKind::Softsign),
        "softplus" => Activation::Function(UnaryKind::Softplus),
        "elu" => Activation::Function(UnaryKind::Elu { alpha: alpha(1.0) }),
        "leakyrelu" => Activation::LeakyRelu(alpha(0.01)),
        "thresholdedrelu" => Activation::Function(UnaryKind::ThresholdedRelu { alpha: alpha(1.0) }),
        "hardsigmoid" => {
            let alpha = alpha(0.2);
            Activation::Function(UnaryKind::HardSigmoid { alpha, beta: betas.next().unwrap_or(0.5) })
        }
        "affine" => Activation::Affine(alpha(1.0), betas.next().unwrap_or(0.0)),
        "scaledtanh" => Activation::ScaledTanh(alpha(1.0), betas.next().unwrap_or(1.0)),
        _ => {
            let legal = "Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, Softsign, Tanh \
                         or ThresholdedRelu";
            return Err(unsupported("activations", name, legal));
        }
    })
}

impl Activation {
    /// Applies the activation to `x`.
    pub(super) fn of(
        self,
        context: &mut Context<'_>,
        x: ValueId,
        element: ElementType,
    ) -> Result<ValueId, Reason> {
        let function = |context: &mut Context<'_>, kind, x| context.helper("step", Unary { kind }, vec![x]);
        let with = |context: &mut Context<'_>, kind, x, number: f32| {
            let number = context.make_constant(typed(element, vec![], TensorData::F32(vec![number]))?);
            context.helper("step", Binary { kind }, vec![x, number])
        };
        match self {
            Self::Function(kind) => function(context, kind, x),
            Self::Relu => context.helper("step", Relu, vec![x]),
            Self::LeakyRelu(alpha) => context.helper("step", LeakyRelu { alpha }, vec![x]),
            Self::Affine(alpha, beta) => {
                let x = with(context, BinaryKind::Mul, x, alpha)?;
                with(context, BinaryKind::Add, x, beta)
            }
            Self::ScaledTanh(alpha, beta) => {
                let x = with(context, BinaryKind::Mul, x, beta)?;
                let x = function(context, UnaryKind::Tanh, x)?;
                with(context, BinaryKind::Mul, x, alpha)
            }
        }
    }
}
