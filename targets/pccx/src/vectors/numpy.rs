//! Operators and layers of Gemma 3N as the published runtime computes them in `f32`, compared with
//! the reference evaluator. [`NumpyLayer`] is a layer of the file.

mod compiled;
mod layer;
mod operators;

use npukit_graph::Graph;
use npukit_numeric::Tensor;
use npukit_target::{Case, Outcome};
use serde::Deserialize;

use super::json;
use crate::machine::weights::lanes;
pub use compiled::{Decomposed, Gated};
pub use layer::{NumpyLayer, Step};

/// Tolerance of results, relative to the expected value, and absolute for magnitudes up to 1
/// (`golden/pccx/README.md`). Larger results have larger addends, which round accordingly.
const RELATIVE: f32 = 1e-5;
const ABSOLUTE: f32 = 1e-6;

/// Returns one case for each operator with its operands.
pub(super) fn operators(bytes: &[u8]) -> Result<Vec<Case>, String> {
    operators::cases(bytes)
}

/// Reads the layers of a file.
///
/// # Errors
/// The error in the file.
pub fn layers(bytes: &[u8]) -> Result<Vec<NumpyLayer>, String> {
    let file: layer::File = json(bytes)?;
    file.layers.iter().map(NumpyLayer::new).collect()
}

/// Returns one case for each step of each layer, and one for each mode in which a layer is
/// compiled.
pub(super) fn steps(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for layer in layers(bytes)? {
        let results = layer.streams(evaluate);
        for (index, step) in layer.steps.iter().enumerate() {
            let got = results
                .as_ref()
                .map_err(String::clone)
                .and_then(|results| results.get(index).cloned().ok_or_else(|| "no result".to_owned()));
            let name = format!("layer {}, step {index}", layer.layer.index);
            cases.push(Case::done(name, near("layer", &step.out, got)));
        }
        cases.extend(compiled::cases(&layer));
    }
    Ok(cases)
}

/// Rows of packed codes in hexadecimal, and their scales.
#[derive(Deserialize)]
struct Int4 {
    packed: Vec<String>,
    scale: Vec<f32>,
}

impl Int4 {
    /// Returns the dequantized weights row by row, and the length of a row.
    fn dequantized(&self) -> Result<(Vec<f32>, usize), String> {
        let mut weights = Vec::new();
        for (row, &scale) in self.packed.iter().zip(&self.scale) {
            let bytes = super::bytes_of(row)?;
            weights.extend(lanes(&bytes).map(|code| f32::from(code) * scale));
        }
        let rows = self.packed.len().max(1);
        if self.packed.len() != self.scale.len() || !weights.len().is_multiple_of(rows) {
            return Err(format!("{} rows of any length, {} scales", self.packed.len(), self.scale.len()));
        }
        let columns = weights.len() / rows;
        Ok((weights, columns))
    }
}

fn tensor(shape: &[usize], values: Vec<f32>) -> Result<Tensor, String> {
    let wrong = |values: Vec<f32>| format!("{} values for the shape {shape:?}", values.len());
    Tensor::from_f32(shape.to_vec(), values).map_err(wrong)
}

/// Evaluates the outputs of a graph.
fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    npukit_graph::evaluate(graph, inputs).map_err(|error| error.to_string())
}

fn floats(tensor: Option<&Tensor>) -> Vec<f32> {
    tensor.and_then(Tensor::as_f32).unwrap_or_default().to_vec()
}

/// Measured fraction of the tolerance for each group of vectors: npukit adds in another order.
/// Groups without an entry are exact.
const MEASURED: [(&str, f32); 5] =
    [("gelu", 0.0388), ("softmax", 0.0129), ("rms_norm", 0.0147), ("rope", 0.2513), ("layer", 0.5039)];

/// Returns the maximum fraction for a group: 20 % more than measured.
fn most(group: &str) -> f32 {
    MEASURED.iter().find(|(name, _)| *name == group).map_or(0.0, |(_, measured)| 1.2 * measured)
}

/// Whether results equal the expected results within the tolerance.
fn near(group: &str, expected: &[f32], got: Result<Vec<f32>, String>) -> Outcome {
    let got = match got {
        Ok(got) => got,
        Err(error) => return Outcome::error(format!("{} values", expected.len()), error),
    };
    if got.len() != expected.len() {
        let count = |values: &[f32]| format!("{} values", values.len());
        return Outcome::Failed { expected: count(expected), got: count(&got) };
    }
    let squares: f32 = expected.iter().map(|e| e * e).sum();
    let absolute = ABSOLUTE * (squares / expected.len().max(1) as f32).sqrt().max(1.0);
    let share = |(e, g): (&f32, &f32)| (e - g).abs() / (RELATIVE * e.abs() + absolute);
    let apart = |pair: (&f32, &f32)| share(pair) > most(group) || pair.1.is_nan();
    match expected.iter().zip(&got).position(apart) {
        None => Outcome::Measured { exact: got == expected },
        Some(index) => {
            let at =
                |values: &[f32]| format!("{} at {index}", values.get(index).copied().unwrap_or(f32::NAN));
            Outcome::Failed { expected: at(expected), got: at(&got) }
        }
    }
}
