//! [`Part`]: a layer as a graph of its own; [`Sums`]: how samples do in it.

use std::collections::{BTreeMap, HashSet};

use npukit_graph::{Graph, Operator, ValueId, evaluate, rounding_bounds};
use npukit_numeric::{Tensor, TensorData};
use npukit_target::{Layer, as_element};
use serde::Serialize;

use super::magnitudes::Magnitudes;
use crate::compare::comparison::{self, difference};
use crate::error::Error;
use crate::model::origin::Origin;
use crate::numbers::rescale::exponent;

/// Errors and ranges of a layer over all samples, in the model's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figures {
    /// Largest difference to the layer in float on the machine's own operands.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub own_max_abs_error: f64,
    /// Root of the mean square of that difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub own_rms_error: f64,
    /// Largest difference to the whole network in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub chain_max_abs_error: f64,
    /// Root of the mean square of that difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub chain_rms_error: f64,
    /// Mean square of the layer in float on the machine's own operands by that of its own error, in decibels; none
    /// without errors.
    pub own_signal_to_noise_db: Option<f64>,
    /// The same of the whole network in float and the chain's error.
    pub chain_signal_to_noise_db: Option<f64>,
    /// The chain's largest error as a share of the range in float; none without a range.
    pub chain_relative_error: Option<f64>,
    /// Elements that are 0 on the machine, but not in the layer in float on the machine's own operands.
    pub underflows: u64,
    /// The largest own error that rounding explains, over all elements; none when an operator of the
    /// layer may be an approximation, or the number format does not round by steps.
    pub rounding_bound: Option<f64>,
    /// Elements whose own error is larger than rounding explains at their place.
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

/// A noise of half the signal's size.
const HARDLY_ANYTHING_DB: f64 = 6.0;

/// What [`Figures`] are made of.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    own: comparison::Sums,
    chain: comparison::Sums,
    bound: Option<f64>,
    beyond_rounding: u64,
    underflows: u64,
    /// Of the machine.
    range: [f64; 2],
    /// On the machine, and of the whole network.
    magnitudes: [Magnitudes; 2],
}

/// A layer.
pub(crate) struct Part {
    graph: Graph,
    /// Names of its inputs and outputs.
    inputs: Vec<String>,
    results: Vec<String>,
    /// Exponent of each result.
    exponents: Vec<i32>,
    /// That of the layer: of its last result.
    pub exponent: i32,
    /// By which the number format rounds.
    step: Option<f32>,
}

impl Part {
    /// The layer between the values `known` and those it ends in, as far as they are `seen`; `None`
    /// when none is.
    pub fn new(
        origin: &Origin,
        graph: &Graph,
        layer: &Layer,
        seen: &HashSet<ValueId>,
        known: &HashSet<ValueId>,
    ) -> Option<Self> {
        let ids = layer.results.iter().filter_map(|name| graph.find_value(name));
        let ids: Vec<ValueId> = ids.filter(|id| seen.contains(id)).collect();
        // Its own results are not operands of it.
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

    /// Its operators in order.
    pub fn operators(&self) -> Vec<String> {
        self.graph.nodes.iter().map(|node| node.op.name().to_owned()).collect()
    }

    /// How a sample does: `machine` and `chain` hold values as stored, by name. What the layer alone
    /// gives in float goes to `own`.
    ///
    /// # Errors
    ///
    /// [`Error::Eval`] when the layer cannot be evaluated on the machine's operands.
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
            // A result that a side does not have cannot be compared.
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

    /// Adds a tensor: on the machine, of the layer alone, and of the whole network.
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

    /// Those of two samples.
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

    /// The largest error of its own that rounding explains, and the elements whose error is larger than at their place;
    /// none where there is no bound.
    pub fn rounding(&self) -> Option<(f64, u64)> {
        self.bound.map(|bound| (bound, self.beyond_rounding))
    }

    /// Sizes of the values on the machine, and of those of the whole network in float.
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

/// The tensor times `2^exponent`.
pub(crate) fn times_power(tensor: &Tensor, exponent: i32) -> Tensor {
    let factor = f64::from(exponent).exp2();
    if exponent == 0 { tensor.clone() } else { changed(tensor, |x| (f64::from(x) * factor) as f32) }
}

/// The tensor with each of its floats changed, which stay floats of the same type; one of integers as it is.
pub(crate) fn changed(tensor: &Tensor, change: impl Fn(f32) -> f32) -> Tensor {
    let Some(floats) = tensor.as_f32() else { return tensor.clone() };
    let floats = TensorData::F32(floats.iter().map(|&x| change(x)).collect());
    let changed = Tensor::new(tensor.shape().to_vec(), floats).expect("as many elements as before");
    changed.with_element(tensor.element()).expect("floats of all types are held alike")
}
