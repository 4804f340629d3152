//! [`Part`], a layer as a graph of its own, and [`Sums`], its errors over samples.

use std::collections::{BTreeMap, HashSet};

use npukit_graph::{Graph, Operator, ValueId, evaluate, rounding_bounds};
use npukit_numeric::{Tensor, TensorData};
use npukit_target::{Layer, as_element};
use serde::Serialize;

use super::magnitudes::Magnitudes;
use crate::compare::comparison::{self, difference};
use crate::error::Error;
use crate::model::compile_job::CompileJob;
use crate::numbers::rescale::exponent;

/// Errors and ranges of a layer over all samples, in the model's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figures {
    /// Largest difference from the layer in float on the machine's own operands.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub own_max_abs_error: f64,
    /// Root mean square of the difference from the layer in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub own_rms_error: f64,
    /// Largest difference from the whole network in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub chain_max_abs_error: f64,
    /// Root mean square of the difference from the whole network in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub chain_rms_error: f64,
    /// Signal-to-noise ratio of the layer alone in decibels: mean square of its float result
    /// divided by the mean square of its own error. `None` without errors.
    pub own_signal_to_noise_db: Option<f64>,
    /// Signal-to-noise ratio of the whole chain in decibels: mean square of the network in float
    /// divided by the mean square of the chain error.
    pub chain_signal_to_noise_db: Option<f64>,
    /// Largest chain error as a share of the range in float; `None` if the range is empty.
    pub chain_relative_error: Option<f64>,
    /// Number of elements that are 0 on the machine, but not in float on the machine's own
    /// operands.
    pub underflows: u64,
    /// Largest own error that rounding explains, over all elements. `None` if an operator of the
    /// layer may be an approximation, or if the number format has no fixed step.
    pub rounding_bound: Option<f64>,
    /// Number of elements whose own error is larger than rounding explains for that element.
    pub beyond_rounding: u64,
    /// Smallest value on the machine.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub minimum: f64,
    /// Largest value on the machine.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub maximum: f64,
    /// Smallest value of the network in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub float_minimum: f64,
    /// Largest value of the network in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub float_maximum: f64,
}

impl Figures {
    /// Whether rounding leaves hardly anything of the layer.
    pub(super) fn vanishes(&self) -> bool {
        self.own_signal_to_noise_db.is_some_and(|decibels| decibels < HARDLY_ANYTHING_DB)
    }
}

/// Signal-to-noise ratio at which the noise has half the amplitude of the signal.
const HARDLY_ANYTHING_DB: f64 = 6.0;

/// Sums from which [`Figures`] are computed.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    own: comparison::Sums,
    chain: comparison::Sums,
    bound: Option<f64>,
    beyond_rounding: u64,
    underflows: u64,
    /// Smallest and largest value on the machine.
    range: [f64; 2],
    /// Histograms for the machine and for the whole network in float.
    magnitudes: [Magnitudes; 2],
}

/// Layer as a graph of its own.
pub(crate) struct Part {
    graph: Graph,
    /// Names of its inputs and outputs.
    inputs: Vec<String>,
    results: Vec<String>,
    /// Exponent of each result.
    exponents: Vec<i32>,
    /// Exponent of the layer: the exponent of its last result.
    pub exponent: i32,
    /// Rounding step of the number format; `None` if it has no fixed step.
    step: Option<f32>,
}

impl Part {
    /// Cuts out the layer between the values `known` and the results in `seen`.
    /// Returns `None` if no result is seen.
    pub fn new(
        origin: &CompileJob,
        graph: &Graph,
        layer: &Layer,
        seen: &HashSet<ValueId>,
        known: &HashSet<ValueId>,
    ) -> Option<Self> {
        let ids = layer.results.iter().filter_map(|name| graph.find_value(name));
        let ids: Vec<ValueId> = ids.filter(|id| seen.contains(id)).collect();
        // The layer's own results are not operands of it.
        let known = known.iter().copied().filter(|id| !ids.contains(id)).collect();
        let part = graph.part(&known, &ids);
        let names = |ids: &[ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect::<Vec<_>>();
        let results = names(&ids);
        let exponent = |name: &String| exponent(&origin.exponents, name);
        let exponents: Vec<i32> = results.iter().map(exponent).collect();
        let step = origin.instance.info().number_format.and_then(|format| format.step());
        Some(Self {
            inputs: names(&part.inputs),
            exponent: *exponents.last()?,
            step: step.map(|step| step as f32),
            graph: part,
            results,
            exponents,
        })
    }

    /// Returns the names of its operators, in order.
    pub fn operators(&self) -> Vec<String> {
        self.graph.nodes.iter().map(|node| node.op.name().to_owned()).collect()
    }

    /// Measures the errors for a sample. `machine` and `chain` hold values as stored, by name. The
    /// results of the layer alone in float are added to `own`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the layer cannot be evaluated on the machine's operands.
    pub fn measure(
        &self,
        machine: &BTreeMap<String, Tensor>,
        chain: &BTreeMap<String, Tensor>,
        own: Option<&mut BTreeMap<String, Tensor>>,
    ) -> Result<Sums, Error> {
        let inputs = self.inputs.iter().zip(&self.graph.inputs).filter_map(|(name, &id)| {
            let tensor = machine.get(name)?;
            Some(as_element(tensor, self.graph.value(id).info.element))
        });
        let inputs: Vec<Tensor> = inputs.collect();
        let alone = evaluate(&self.graph, &inputs)?;
        let bounds = match self.step {
            Some(step) => rounding_bounds(&self.graph, &inputs, step)?,
            None => vec![None; alone.len()],
        };
        let mut sums = Sums::new();
        for (i, name) in self.results.iter().enumerate() {
            // A result that one side lacks cannot be compared.
            let (Some(found), Some(chain)) = (machine.get(name), chain.get(name)) else { continue };
            let bound = bounds[i].as_ref().map(Tensor::reals);
            let values = [found.reals(), alone[i].reals(), chain.reals()];
            sums.add(&values, bound.as_deref(), f64::from(self.exponents[i]).exp2());
        }
        if let Some(own) = own {
            own.extend(self.results.iter().cloned().zip(alone));
        }
        Ok(sums)
    }
}

impl Sums {
    fn new() -> Self {
        let (own, chain) = (comparison::Sums::default(), comparison::Sums::default());
        let range = [f64::INFINITY, f64::NEG_INFINITY];
        let magnitudes = [Magnitudes::new(), Magnitudes::new()];
        Self { own, chain, bound: Some(0.0), beyond_rounding: 0, underflows: 0, range, magnitudes }
    }

    /// Adds a tensor: its values on the machine, of the layer alone, and of the whole network.
    fn add(&mut self, [machine, alone, chain]: &[Vec<f64>; 3], bound: Option<&[f64]>, scale: f64) {
        if bound.is_none() {
            self.bound = None;
        }
        for (i, ((&found, &alone), &chain)) in machine.iter().zip(alone).zip(chain).enumerate() {
            let [found, alone, chain] = [found, alone, chain].map(|x| x * scale);
            self.own.add(found, alone);
            self.chain.add(found, chain);
            self.magnitudes[0].add(found);
            self.magnitudes[1].add(chain);
            self.underflows += u64::from(found == 0.0 && alone != 0.0);
            self.range = [self.range[0].min(found), self.range[1].max(found)];
            if let Some(&bound) = bound.and_then(|bound| bound.get(i)) {
                let bound = bound * scale;
                self.bound = self.bound.map(|most| most.max(bound));
                let own = difference(found, alone);
                self.beyond_rounding += u64::from(own.is_nan() || own > bound);
            }
        }
    }

    /// Merges the sums of two sets of samples.
    pub fn merge(mut self, other: Self) -> Self {
        self.own = self.own.merged(&other.own);
        self.chain = self.chain.merged(&other.chain);
        self.bound = self.bound.zip(other.bound).map(|(a, b)| a.max(b));
        self.beyond_rounding += other.beyond_rounding;
        self.underflows += other.underflows;
        self.range = [self.range[0].min(other.range[0]), self.range[1].max(other.range[1])];
        self.magnitudes.iter_mut().zip(&other.magnitudes).for_each(|(mine, other)| mine.merge(other));
        self
    }

    /// Returns the largest own error that rounding explains, and the number of elements with a
    /// larger error than their bound. `None` without a bound.
    pub fn rounding(&self) -> Option<(f64, u64)> {
        self.bound.map(|bound| (bound, self.beyond_rounding))
    }

    /// Histograms of the values on the machine and of the whole network in float.
    pub fn magnitudes(&self) -> [Magnitudes; 2] {
        self.magnitudes.clone()
    }

    pub fn figures(&self) -> Figures {
        let [float_minimum, float_maximum] = self.chain.range();
        Figures {
            own_max_abs_error: self.own.largest(),
            own_rms_error: self.own.rms(),
            chain_max_abs_error: self.chain.largest(),
            chain_rms_error: self.chain.rms(),
            own_signal_to_noise_db: self.own.decibels(),
            chain_signal_to_noise_db: self.chain.decibels(),
            chain_relative_error: self.chain.relative(),
            underflows: self.underflows,
            rounding_bound: self.bound,
            beyond_rounding: self.beyond_rounding,
            minimum: self.range[0],
            maximum: self.range[1],
            float_minimum,
            float_maximum,
        }
    }
}

/// Returns the tensor times `2^exponent`.
pub(crate) fn times_power(tensor: &Tensor, exponent: i32) -> Tensor {
    let factor = f64::from(exponent).exp2();
    if exponent == 0 { tensor.clone() } else { changed(tensor, |x| (f64::from(x) * factor) as f32) }
}

/// Applies `change` to each float of the tensor and keeps the element type. Returns integer tensors
/// unchanged.
pub(crate) fn changed(tensor: &Tensor, change: impl Fn(f32) -> f32) -> Tensor {
    let Some(floats) = tensor.as_f32() else { return tensor.clone() };
    let floats = TensorData::F32(floats.iter().map(|&x| change(x)).collect());
    let changed = Tensor::new(tensor.shape().to_vec(), floats).expect("the number of elements is unchanged");
    changed.with_element(tensor.element()).expect("all float types have the same representation")
}
