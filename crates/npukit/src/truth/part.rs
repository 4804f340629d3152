//! [`Part`]: a layer as a graph of its own; [`Sums`]: how samples do in it.

use std::collections::{BTreeMap, HashSet};

use npukit_graph::{Graph, Operator, ValueId, evaluate, rounding_bounds};
use npukit_numeric::Tensor;
use npukit_target::Layer;
use serde::Serialize;

use crate::error::Error;
use crate::verbs::Origin;

/// Errors and ranges of a layer over all samples, in the model's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Largest difference to the layer in float on the machine's own operands.
    pub own_max_abs_error: f64,
    /// Root of the mean square of that difference.
    pub own_rms_error: f64,
    /// Largest difference to the whole network in float.
    pub chain_max_abs_error: f64,
    /// Root of the mean square of that difference.
    pub chain_rms_error: f64,
    /// The largest own error that rounding explains, over all elements; none when an operator of the
    /// layer may be an approximation, or the number format does not round by steps.
    pub rounding_bound: Option<f64>,
    /// Elements whose own error is larger than rounding explains at their place.
    pub beyond_rounding: u64,
    /// Smallest value on the machine.
    pub minimum: f64,
    /// Largest value on the machine.
    pub maximum: f64,
    /// Smallest value of the network in float.
    pub float_minimum: f64,
    /// Largest value of the network in float.
    pub float_maximum: f64,
}

/// What [`Figures`] are made of.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    values: u64,
    own_squares: f64,
    chain_squares: f64,
    /// Root mean squares are still to be made.
    figures: Figures,
}

/// A layer.
pub(super) struct Part {
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
        // Its own results are no operands of it.
        let known = known.iter().copied().filter(|id| !ids.contains(id)).collect();
        let part = graph.part(&known, &ids);
        let names = |ids: &[ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect::<Vec<_>>();
        let results = names(&ids);
        let exponent = |name: &String| origin.exponents.get(name).copied().unwrap_or(0);
        let exponents: Vec<i32> = results.iter().map(exponent).collect();
        let step = origin.instance.number_format().and_then(|format| format.step());
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
    pub fn measure(
        &self,
        machine: &BTreeMap<String, Tensor>,
        chain: &BTreeMap<String, Tensor>,
        own: Option<&mut BTreeMap<String, Tensor>>,
    ) -> Result<Sums, Error> {
        let inputs: Vec<Tensor> = self.inputs.iter().filter_map(|name| machine.get(name)).cloned().collect();
        let alone = evaluate(&self.graph, &inputs)?;
        let bounds = match self.step {
            Some(step) => rounding_bounds(&self.graph, &inputs, step)?,
            None => vec![None; alone.len()],
        };
        let mut sums = Sums::new();
        for (i, name) in self.results.iter().enumerate() {
            let floats = |tensor: Option<&'_ Tensor>| -> Vec<f32> {
                tensor.and_then(Tensor::as_f32).unwrap_or_default().to_vec()
            };
            let bound = bounds.get(i).and_then(Option::as_ref).map(|bound| floats(Some(bound)));
            let values = [floats(machine.get(name)), floats(alone.get(i)), floats(chain.get(name))];
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
        let figures = Figures {
            own_max_abs_error: 0.0,
            own_rms_error: 0.0,
            chain_max_abs_error: 0.0,
            chain_rms_error: 0.0,
            rounding_bound: Some(0.0),
            beyond_rounding: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            float_minimum: f64::INFINITY,
            float_maximum: f64::NEG_INFINITY,
        };
        Self { values: 0, own_squares: 0.0, chain_squares: 0.0, figures }
    }

    /// Adds a tensor: on the machine, of the layer alone, and of the whole network.
    fn add(&mut self, [machine, alone, chain]: &[Vec<f32>; 3], bound: Option<&[f32]>, scale: f64) {
        let figures = &mut self.figures;
        if bound.is_none() {
            figures.rounding_bound = None;
        }
        for (i, ((&found, &alone), &chain)) in machine.iter().zip(alone).zip(chain).enumerate() {
            let [found, alone, chain] = [found, alone, chain].map(|x| f64::from(x) * scale);
            // Equal infinities are no difference.
            let own = if found == alone { 0.0 } else { (found - alone).abs() };
            let whole = if found == chain { 0.0 } else { (found - chain).abs() };
            figures.own_max_abs_error = figures.own_max_abs_error.max(own);
            figures.chain_max_abs_error = figures.chain_max_abs_error.max(whole);
            self.own_squares += own * own;
            self.chain_squares += whole * whole;
            figures.minimum = figures.minimum.min(found);
            figures.maximum = figures.maximum.max(found);
            figures.float_minimum = figures.float_minimum.min(chain);
            figures.float_maximum = figures.float_maximum.max(chain);
            if let Some(&bound) = bound.and_then(|bound| bound.get(i)) {
                let bound = f64::from(bound) * scale;
                figures.rounding_bound = figures.rounding_bound.map(|most| most.max(bound));
                figures.beyond_rounding += u64::from(own > bound);
            }
        }
        self.values += machine.len() as u64;
    }

    /// Those of two samples.
    pub fn merge(mut self, other: Self) -> Self {
        let (mine, theirs) = (&mut self.figures, &other.figures);
        mine.own_max_abs_error = mine.own_max_abs_error.max(theirs.own_max_abs_error);
        mine.chain_max_abs_error = mine.chain_max_abs_error.max(theirs.chain_max_abs_error);
        mine.rounding_bound = mine.rounding_bound.zip(theirs.rounding_bound).map(|(a, b)| a.max(b));
        mine.beyond_rounding += theirs.beyond_rounding;
        mine.minimum = mine.minimum.min(theirs.minimum);
        mine.maximum = mine.maximum.max(theirs.maximum);
        mine.float_minimum = mine.float_minimum.min(theirs.float_minimum);
        mine.float_maximum = mine.float_maximum.max(theirs.float_maximum);
        self.values += other.values;
        self.own_squares += other.own_squares;
        self.chain_squares += other.chain_squares;
        self
    }

    pub fn figures(&self) -> Figures {
        let rms = |squares: f64| (squares / self.values.max(1) as f64).sqrt();
        let (own_rms_error, chain_rms_error) = (rms(self.own_squares), rms(self.chain_squares));
        Figures { own_rms_error, chain_rms_error, ..self.figures }
    }
}

/// The tensor times `2^exponent`.
pub(super) fn times_power(tensor: &Tensor, exponent: i32) -> Tensor {
    let factor = f64::from(exponent).exp2();
    let scaled = tensor.as_f32().filter(|_| exponent != 0).and_then(|values| {
        let values = values.iter().map(|&x| (f64::from(x) * factor) as f32).collect();
        Tensor::from_f32(tensor.shape().to_vec(), values).ok()
    });
    scaled.unwrap_or_else(|| tensor.clone())
}
