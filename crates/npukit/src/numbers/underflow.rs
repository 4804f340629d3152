//! Underflow: values that a fixed-point format rounds to zero, and the number of bits that tensors
//! use.
//!
//! A number format with a fixed step rounds values below half a step to zero. They are counted
//! while the float evaluator runs, on constants and on the tensors that layers store in memory. The
//! loops of the machine are not affected.

use std::collections::HashMap;

use npukit_base::counted;
use npukit_graph::{Graph, Observations, Op, Statistic, ValueId};
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::Layer;
use serde::Serialize;

use crate::numbers::rescale::{Exponents, exponent};

/// Use of a fixed-point format by a tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Used {
    /// Name of the layer that stores the tensor, or of the constant.
    pub name: String,
    /// Number of elements over all samples.
    pub elements: u64,
    /// Number of elements that are nonzero in float but rounded to 0.
    pub underflows: u64,
    /// Number of bits for the largest magnitude, including the sign; 0 if all elements are rounded
    /// to 0.
    pub bits_used: u32,
    /// Largest magnitude.
    #[serde(skip)]
    pub largest: f32,
    /// Step between adjacent numbers of the format, at the tensor's scale.
    #[serde(skip)]
    pub step: f64,
}

/// All tensors that underflow, or use few bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Width of the number format in bits.
    pub bits: u32,
    /// Number of elements of inputs rounded to 0, over all samples.
    pub input_elements: u64,
    /// Inputs with such elements, and inputs that use few bits.
    pub inputs: Vec<Used>,
    /// Number of results rounded to 0, over all samples.
    pub results: u64,
    /// Layers with such results, and layers that use few bits.
    pub layers: Vec<Used>,
    /// Number of elements of constants rounded to 0.
    pub constants: u64,
    /// Constants with such elements, and weights that use few bits.
    pub weights: Vec<Used>,
}

/// Number of bits below which a tensor holds little more than signs: 8 magnitudes and the sign.
const FEW: u32 = 4;

/// Statistics of a tensor in a format with a fixed step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// Step of the format times the power of two by which the stored tensor is divided.
    step: f64,
    elements: u64,
    underflows: u64,
    largest: f32,
}

impl Usage {
    fn new(step: f64, exponent: i32) -> Self {
        Self { step: step * f64::from(exponent).exp2(), elements: 0, underflows: 0, largest: 0.0 }
    }

    /// Statistics of values that are stored unscaled.
    pub(crate) fn of(values: &[f32], step: f64) -> Self {
        let mut usage = Self::new(step, 0);
        usage.note_values(values);
        usage
    }

    fn note_values(&mut self, values: &[f32]) {
        // Half a step is rounded to the even number, which is 0.
        let half = (self.step / 2.0) as f32;
        self.elements += values.len() as u64;
        self.underflows += values.iter().filter(|x| **x != 0.0 && x.abs() <= half).count() as u64;
        let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
        self.largest = finite.fold(self.largest, f32::max);
    }

    pub(crate) fn used(&self, name: &str) -> Used {
        let steps = (f64::from(self.largest) / self.step).round_ties_even() as u64;
        let bits_used = if steps == 0 { 0 } else { u64::BITS - steps.leading_zeros() + 1 };
        let Self { step, elements, underflows, largest } = *self;
        Used { name: name.to_owned(), elements, underflows, bits_used, largest, step }
    }
}

impl Statistic for Usage {
    fn note(&mut self, tensor: &Tensor) {
        // Default: integers do not underflow.
        self.note_values(tensor.as_f32().unwrap_or_default());
    }

    fn merge(&mut self, other: &Self) {
        self.elements += other.elements;
        self.underflows += other.underflows;
        self.largest = self.largest.max(other.largest);
    }
}

/// Values to observe while the float evaluator runs.
pub(crate) struct Watch {
    format: Format,
    /// Inputs of the evaluated graph that are not integers.
    inputs: Vec<(ValueId, String)>,
    /// Results of layers in the evaluated graph, with the layer's name.
    layers: Vec<(ValueId, String)>,
    /// Whether a value is the result of a layer, by index.
    is_watched: Vec<bool>,
    empty: Observations<Usage>,
}

/// Number format with a fixed step.
#[derive(Clone, Copy, Debug)]
struct Format {
    bits: u32,
    step: f64,
}

impl Format {
    fn of(format: NumberFormat) -> Option<Self> {
        match format {
            NumberFormat::Fixed(fixed) => Some(Self { bits: fixed.width, step: format.step()? }),
            NumberFormat::Float32 => None,
        }
    }
}

impl Watch {
    /// Observes results of layers that `graph` has under the same name. Returns `None` for a format
    /// without a fixed step.
    pub fn new(
        graph: &Graph,
        layers: &[Layer],
        exponents: &Exponents,
        format: Option<NumberFormat>,
    ) -> Option<Self> {
        let format = Format::of(format?)?;
        let exponent = |id: ValueId| exponent(exponents, &graph.value(id).name);
        let empty = Observations::with(graph, |id| Usage::new(format.step, exponent(id)));
        let by_name: HashMap<&str, usize> =
            graph.values.iter().enumerate().map(|(id, value)| (value.name.as_str(), id)).collect();
        let mut is_watched = vec![false; graph.values.len()];
        let mut watched = Vec::new();
        for layer in layers {
            for &id in layer.results.iter().filter_map(|name| by_name.get(name.as_str())) {
                if graph.values[id].constant.is_none() && !std::mem::replace(&mut is_watched[id], true) {
                    watched.push((ValueId(id as u32), layer.name.clone()));
                }
            }
        }
        let is_float = |id: &ValueId| graph.value(*id).info.element.is_float();
        let named = |id: ValueId| (id, graph.value(id).name.clone());
        let inputs: Vec<_> = graph.inputs.iter().copied().filter(is_float).map(named).collect();
        inputs.iter().for_each(|(id, _)| is_watched[id.0 as usize] = true);
        Some(Self { format, inputs, layers: watched, is_watched, empty })
    }

    /// Returns empty statistics.
    pub fn empty(&self) -> Observations<Usage> {
        self.empty.clone()
    }

    /// Observes a value if it is an input or the result of a layer.
    pub fn note(&self, seen: &mut Observations<Usage>, id: ValueId, tensor: &Tensor) {
        if self.is_watched.get(id.0 as usize) == Some(&true) {
            seen.note(id, tensor);
        }
    }

    /// Creates the report, including the constants of the compiled graph.
    pub fn report(&self, seen: &Observations<Usage>, compiled: &Graph) -> Report {
        let used = |(id, name): &(ValueId, String)| seen.get(*id).map(|usage| usage.used(name));
        let [inputs, layers] =
            [&self.inputs, &self.layers].map(|values| values.iter().filter_map(used).collect::<Vec<Used>>());
        let underflows = |all: &[Used]| all.iter().map(|used| used.underflows).sum();
        let is_worth_telling = |used: &Used| used.underflows > 0 || used.is_poor();
        let (constants, weights) = constants(compiled, self.format.step);
        Report {
            bits: self.format.bits,
            input_elements: underflows(&inputs),
            results: underflows(&layers),
            inputs: inputs.into_iter().filter(is_worth_telling).collect(),
            layers: layers.into_iter().filter(is_worth_telling).collect(),
            constants,
            weights,
        }
    }
}

impl Used {
    /// Whether it has nonzero elements and all of them become 0.
    pub fn vanishes(&self) -> bool {
        self.bits_used == 0 && self.underflows > 0
    }

    /// Whether it holds little more than signs.
    pub fn is_poor(&self) -> bool {
        self.bits_used <= FEW && (self.bits_used > 0 || self.underflows > 0)
    }
}

/// Returns the number of elements of constants rounded to 0, and the constants worth reporting.
fn constants(graph: &Graph, step: f64) -> (u64, Vec<Used>) {
    let mut seen = vec![false; graph.values.len()];
    let (mut total, mut named) = (0, Vec::new());
    for node in &graph.nodes {
        for (place, &id) in node.inputs.iter().enumerate() {
            let Some(constant) = graph.constant(id) else { continue };
            if std::mem::replace(&mut seen[id.0 as usize], true) || constant.as_f32().is_none() {
                continue;
            }
            let mut usage = Usage::new(step, 0);
            usage.note(constant);
            let used = usage.used(&graph.value(id).name);
            total += used.underflows;
            let is_weight = place == 1
                && matches!(node.op, Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_));
            if used.underflows > 0 || (is_weight && used.is_poor()) {
                named.push(used);
            }
        }
    }
    (total, named)
}

impl Report {
    /// Returns a warning about tensors that vanish, entirely or nearly.
    pub fn warning(&self) -> Option<String> {
        let poor = |all: &[Used]| all.iter().filter(|used| used.is_poor()).count() as u64;
        let kinds = [(&self.inputs, "input"), (&self.layers, "layer"), (&self.weights, "constant")];
        let first = kinds.iter().flat_map(|(all, _)| *all).find(|used| used.is_poor())?;
        let counts = kinds.map(|(all, kind)| (poor(all), kind));
        let verb = if counts.iter().map(|(count, _)| count).sum::<u64>() == 1 { "uses" } else { "use" };
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, kind)| counted(count, kind)).collect();
        let vanished = kinds.iter().flat_map(|(all, _)| *all).find(|used| used.vanishes());
        let vanished = vanished.map_or_else(String::new, |used| {
            format!(
                "; `{}` underflows completely: its numbers, up to {} in magnitude, are less than half a step, {}, and all \
                 become 0: scale them by calibration, or use a wider number format",
                used.name, used.largest, used.step
            )
        });
        Some(format!(
            "{} {verb} at most {FEW} of {} bits, the first of them `{}`: small values are rounded to 0{vanished}",
            counts.join(", "),
            self.bits,
            first.name
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_is_rounded_to_zero_is_counted() {
        let step = 1.0 / 256.0;
        let mut usage = Usage::new(step, 0);
        let values: Vec<f32> = [0.0, 0.4, -0.5, 0.51, 3.0, -5.4].map(|steps| steps / 256.0).to_vec();
        usage.note(&Tensor::from_f32(vec![6], values.clone()).unwrap());
        let used = usage.used("x");
        assert_eq!(
            (used.elements, used.underflows, used.bits_used),
            (6, 2, 4),
            "5 is three bits and the sign"
        );
        assert!(used.is_poor());
        // Stored times 16, nothing vanishes.
        let mut scaled = Usage::new(step, -4);
        scaled.note(&Tensor::from_f32(vec![6], values).unwrap());
        assert_eq!((scaled.used("x").underflows, scaled.used("x").bits_used), (0, 8));
    }
}
