//! Two graphs that are to compute the same, in floats: [`agreement`].

use npukit_graph::{EvalError, Graph, ValueId, ValueInfo, evaluate, pass};
use npukit_numeric::{Element, Storage, Tensor, TensorData};
use npukit_target::as_element;

/// How far two graphs are apart on the same inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Samples that both computed.
    pub samples: usize,
    /// Largest difference of two outputs.
    pub difference: f64,
    /// Largest magnitude of an output.
    pub largest: f64,
}

impl Agreement {
    /// The difference as a share of the largest output; 0 where both are.
    pub fn share(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }

    /// Whether the difference is one that rounding floats in another order makes, and not one of another computation.
    pub fn is_rounding(&self) -> bool {
        self.share() <= ROUNDING
    }
}

/// Differences of outputs, as a share of the largest, that floats of 24 bits make in networks of a hundred layers.
const ROUNDING: f64 = 1e-3;

/// Computes both graphs on as many samples as `seeds`, whose elements look like random numbers from -1 to 1.
///
/// The graphs have the same inputs and outputs.
///
/// # Errors
///
/// What one of them cannot be evaluated for.
pub fn agreement(left: &Graph, right: &Graph, seeds: &[u64]) -> Result<Agreement, EvalError> {
    let mut agreement = Agreement::default();
    let wide = in_single_precision(left);
    for &seed in seeds {
        let samples = samples(left, seed);
        let (left, right) = (evaluated(&wide, &samples)?, evaluated(right, &samples)?);
        for (left, right) in left.iter().zip(&right) {
            for (l, r) in numbers(left).into_iter().zip(numbers(right)) {
                // Infinities that are the same, and two that are no numbers, differ by nothing.
                if l != r && !(l.is_nan() && r.is_nan()) {
                    agreement.difference = agreement.difference.max((l - r).abs());
                }
                if l.is_finite() {
                    agreement.largest = agreement.largest.max(l.abs());
                }
            }
        }
        agreement.samples += 1;
    }
    Ok(agreement)
}

/// The graph with floats of 32 bits where it has others, as accelerators compute it; it stays as it is where that fails.
fn in_single_precision(graph: &Graph) -> Graph {
    let mut wide = graph.clone();
    let pass = pass::passes().iter().find(|pass| pass.name == "single-precision");
    match pass.map(|pass| (pass.run)(&mut wide)) {
        Some(Ok(_)) => wide,
        _ => graph.clone(),
    }
}

/// The outputs of a graph for samples, which take the element types of its inputs.
fn evaluated(graph: &Graph, samples: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let typed = |(&id, sample): (&ValueId, &Tensor)| as_element(sample, graph.value(id).info.element);
    let inputs: Vec<Tensor> = graph.inputs.iter().zip(samples).map(typed).collect();
    evaluate(graph, &inputs)
}

/// The elements of a tensor of any type as numbers.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    match tensor.data() {
        TensorData::F32(numbers) => numbers.iter().copied().map(f64::from).collect(),
        TensorData::I64(numbers) => numbers.iter().map(|&number| number as f64).collect(),
        TensorData::I32(numbers) => numbers.iter().copied().map(f64::from).collect(),
        TensorData::Bool(truths) => truths.iter().map(|&truth| f64::from(u8::from(truth))).collect(),
    }
}

/// Inputs of a graph, each of its own element type. Floats look like random numbers from -1 to 1; integers of up to 16 bits
/// are any of their type, truth values either, and wider integers, which may be places in tables, 0.
pub fn samples(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let sample = |(i, &id): (usize, &ValueId)| {
        let info = &graph.value(id).info;
        let random = Element::random(seed.wrapping_add(i as u64)).take(info.shape.iter().product());
        typed(info, random)
    };
    graph.inputs.iter().enumerate().map(sample).collect()
}

/// A tensor made of elements that look random.
fn typed(info: &ValueInfo, random: impl Iterator<Item = Element>) -> Tensor {
    let real = |element: Element| (element.bits() >> 37) as f32 / (1u32 << 23) as f32 - 1.0;
    let integer = |element: Element| match info.element.integer_range() {
        Some((least, most)) if info.element.bits() <= 16 => {
            least + ((element.bits() >> 20) % (most - least + 1) as u64) as i64
        }
        _ => 0,
    };
    let data = match info.element.storage() {
        Storage::F32 => TensorData::F32(random.map(real).collect()),
        Storage::I32 => TensorData::I32(random.map(|element| integer(element) as i32).collect()),
        Storage::I64 => TensorData::I64(random.map(integer).collect()),
        Storage::Bool => TensorData::Bool(random.map(|element| element.bits() >> 60 & 1 == 1).collect()),
    };
    let tensor = Tensor::new(info.shape.clone(), data).expect("as many as the shape says");
    // Narrow floats do not have all of these: they are halves there, which all but the narrowest have.
    let narrow = |tensor: &Tensor| tensor.clone().with_element(info.element);
    narrow(&tensor).unwrap_or(tensor)
}
