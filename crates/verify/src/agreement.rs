//! Float comparison of two graphs that should compute the same function: [`agreement`].

use npukit_graph::{EvalError, Graph, ValueId, ValueInfo, evaluate, pass};
use npukit_numeric::{Element, Storage, Tensor, TensorData};
use npukit_target::as_element;

/// Difference between the outputs of two graphs on the same inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Number of samples that both graphs computed.
    pub samples: usize,
    /// Largest absolute difference of two output elements.
    pub difference: f64,
    /// Largest magnitude of an output element.
    pub largest: f64,
}

impl Agreement {
    /// Largest relative difference that rounding of 24-bit mantissas causes in networks of a
    /// hundred layers.
    pub const ROUNDING: f64 = 1e-3;

    /// Returns the difference as a fraction of the largest output; 0 if both are 0.
    pub fn share(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }

    /// Whether the difference is small enough to come from float rounding in another order of
    /// operations.
    pub fn is_rounding(&self) -> bool {
        self.share() <= Self::ROUNDING
    }
}

/// Evaluates both graphs on one pseudorandom sample for each of `seeds`, with elements from -1 to
/// 1.
///
/// The graphs must have the same inputs and outputs.
///
/// # Errors
///
/// An error of the evaluator for one of the graphs.
pub fn agreement(left: &Graph, right: &Graph, seeds: &[u64]) -> Result<Agreement, EvalError> {
    let mut agreement = Agreement::default();
    let wide = in_single_precision(left);
    for &seed in seeds {
        let samples = samples(left, seed);
        let (left, right) = (evaluated(&wide, &samples)?, evaluated(right, &samples)?);
        for (left, right) in left.iter().zip(&right) {
            for (l, r) in numbers(left).into_iter().zip(numbers(right)) {
                // Equal infinities and two NaN do not differ.
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

/// Returns the graph with 32-bit floats instead of other floats, as accelerators compute it.
/// Returns it unchanged if the pass fails.
fn in_single_precision(graph: &Graph) -> Graph {
    let mut wide = graph.clone();
    let pass = pass::passes().iter().find(|pass| pass.name == "single-precision");
    match pass.map(|pass| (pass.run)(&mut wide)) {
        Some(Ok(_)) => wide,
        _ => graph.clone(),
    }
}

/// Evaluates a graph on samples that have the element types of its inputs.
fn evaluated(graph: &Graph, samples: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let typed = |(&id, sample): (&ValueId, &Tensor)| as_element(sample, graph.value(id).info.element);
    let inputs: Vec<Tensor> = graph.inputs.iter().zip(samples).map(typed).collect();
    evaluate(graph, &inputs)
}

/// Returns the elements of a tensor of any type as `f64`.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    match tensor.data() {
        TensorData::F32(numbers) => numbers.iter().copied().map(f64::from).collect(),
        TensorData::I64(numbers) => numbers.iter().map(|&number| number as f64).collect(),
        TensorData::I32(numbers) => numbers.iter().copied().map(f64::from).collect(),
        TensorData::Bool(truths) => truths.iter().map(|&truth| f64::from(u8::from(truth))).collect(),
    }
}

/// Returns pseudorandom inputs of a graph in their element types. Floats are from -1 to 1; integers
/// of up to 16 bits and booleans take any value. Wider integers are 0, as they may be indices.
pub fn samples(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let sample = |(i, &id): (usize, &ValueId)| {
        let info = &graph.value(id).info;
        let random = Element::random(seed.wrapping_add(i as u64)).take(info.shape.iter().product());
        typed(info, random)
    };
    graph.inputs.iter().enumerate().map(sample).collect()
}

/// Makes a tensor of pseudorandom elements.
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
    let tensor =
        Tensor::new(info.shape.clone(), data).expect("the number of elements follows from the shape");
    // Narrow floats cannot represent all of these values. They are generated as halves, which all
    // but the narrowest formats contain.
    let narrow = |tensor: &Tensor| tensor.clone().with_element(info.element);
    narrow(&tensor).unwrap_or(tensor)
}
