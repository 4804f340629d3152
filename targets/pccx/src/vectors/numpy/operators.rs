//! Vectors of single operators.

use npukit_graph::op::{GeluForm, RmsNormalization, RotaryEmbedding, Softmax, Unary, UnaryKind};
use npukit_graph::{Op, Operator};
use npukit_models::gemma3n::{Gate, Gemma3nConfig, TopK};
use npukit_target::Case;
use serde::Deserialize;

use super::{Int4, evaluate, floats, json, near, tensor};

#[derive(Deserialize)]
struct File {
    cases: Vec<Operation>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Operation {
    GeluTanh {
        x: Vec<f32>,
        out: Vec<f32>,
    },
    Softmax {
        x: Vec<f32>,
        out: Vec<f32>,
    },
    RmsNorm {
        x: Vec<f32>,
        gamma: Vec<f32>,
        eps: f32,
        out: Vec<f32>,
    },
    GaussianTopk {
        x: Vec<f32>,
        sigma: f32,
        out: Vec<f32>,
    },
    Rope {
        x: Vec<f32>,
        head_dim: usize,
        layer: usize,
        theta: f32,
        pos: usize,
        out: Vec<f32>,
    },
    #[serde(rename = "int4_dequant_rows")]
    Int4Rows {
        #[serde(flatten)]
        rows: Int4,
        out_kmajor: Vec<f32>,
    },
}

pub(super) fn cases(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: File = json(bytes)?;
    let case = |(index, case): (usize, &Operation)| {
        let (name, expected, got) = case.compute();
        Case::done(format!("case {index}, {name}"), near(name, expected, got))
    };
    Ok(file.cases.iter().enumerate().map(case).collect())
}

impl Operation {
    /// Returns the operator's name, the expected result, and npukit's result.
    fn compute(&self) -> (&'static str, &[f32], Result<Vec<f32>, String>) {
        match self {
            Self::GeluTanh { x, out } => {
                let gelu = Unary { kind: UnaryKind::Gelu { form: GeluForm::Tanh } };
                ("gelu", out, apply(gelu.into(), &[(&[x.len()], x)]))
            }
            Self::Softmax { x, out } => {
                ("softmax", out, apply(Softmax { axis: 0, axis_end: 1 }.into(), &[(&[x.len()], x)]))
            }
            Self::RmsNorm { x, gamma, eps, out } => {
                let norm = RmsNormalization { axis: 0, epsilon: *eps };
                ("rms_norm", out, apply(norm.into(), &[(&[x.len()], x), (&[gamma.len()], gamma)]))
            }
            Self::GaussianTopk { x, sigma, out } => ("gaussian_topk", out, top_k(x, *sigma)),
            Self::Rope { x, head_dim, layer, theta, pos, out } => {
                ("rope", out, rope(x, *head_dim, *layer, *theta, *pos))
            }
            Self::Int4Rows { rows, out_kmajor } => {
                let columns_first = |(values, columns): (Vec<f32>, usize)| {
                    (0..columns).flat_map(|c| values.iter().skip(c).step_by(columns).copied()).collect()
                };
                ("int4_rows", out_kmajor, rows.dequantized().map(columns_first))
            }
        }
    }
}

/// Evaluates an operator with one result on operands with their shapes.
fn apply(op: Op, operands: &[(&[usize], &[f32])]) -> Result<Vec<f32>, String> {
    let tensors: Vec<_> =
        operands.iter().map(|(shape, values)| tensor(shape, values.to_vec())).collect::<Result<_, _>>()?;
    let results = op.eval(&tensors.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    Ok(floats(results.first()))
}

fn top_k(x: &[f32], deviations: f32) -> Result<Vec<f32>, String> {
    let top_k = TopK { layers: 1, deviations, gate: Gate::Kept };
    let graph = top_k.graph(x.len()).map_err(|error| error.to_string())?;
    Ok(floats(evaluate(&graph, &[tensor(&[1, x.len()], x.to_vec())?])?.first()))
}

fn rope(x: &[f32], head: usize, layer: usize, theta: f32, position: usize) -> Result<Vec<f32>, String> {
    let config = Gemma3nConfig { head, ..Gemma3nConfig::e4b() };
    if config.theta(layer) != theta {
        return Err(format!("layer {layer} rotates by {}", config.theta(layer)));
    }
    let [cos, sin] = config.rotation(layer, position);
    let heads = x.len().checked_div(head).unwrap_or(0);
    let op = RotaryEmbedding { heads, size: head, interleaved: true };
    let angles = [1, 1, head / 2];
    apply(op.into(), &[(&[1, 1, x.len()], x), (&angles, &cos), (&angles, &sin)])
}
