//! [`Judges`]: whether rounding explains a side's values, layer by layer, on the side's own
//! operands.

use std::collections::{BTreeMap, BTreeSet};

use npukit_numeric::Tensor;

use super::opened::{Opened, Pair};
use super::{Counted, Explanation};
use crate::compare::layer_compare::{Part, Sums};
use crate::compare::traced::machine::{Layers, Machine};
use crate::compare::traced::{TensorSource, Values};
use crate::error::Error;

/// Judge of each side; `None` for float, and if no graph is known.
pub(super) struct Judges([Option<Judge>; 2]);

/// Layers of a side as parts of the graph.
struct Judge {
    /// Values of the compiled graph that a layer computes, and the layer as a graph.
    layers: Vec<(Vec<String>, Option<Part>)>,
    /// Index of the side whose graph it is: the other side, if this one only has stored arrays.
    graph_of: usize,
}

/// Judgement of a tensor, for both sides together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Judgement {
    /// Largest bound of the sides.
    pub bound: Option<f64>,
    /// Number of elements beyond the bound.
    pub beyond: u64,
    pub saturations: u64,
    /// Whether every side that rounds has a bound.
    is_bounded: bool,
}

impl Judgement {
    pub fn explanation(&self) -> Explanation {
        if self.saturations > 0 {
            Explanation::Saturation
        } else if self.beyond > 0 {
            Explanation::BeyondRounding
        } else if self.is_bounded {
            Explanation::Rounding
        } else {
            Explanation::NoBound
        }
    }
}

impl Judges {
    pub fn new(opened: &Opened) -> Self {
        Self([0, 1].map(|place| {
            let (graph_of, layers) = match &opened.sides[place].side {
                TensorSource::Machine(machine) if opened.is_of_one_model() => (place, machine.parts(None)),
                TensorSource::Stored(_) => {
                    let machine = opened.machine(1 - place)?;
                    let kept = kept_names(opened, 1 - place, machine);
                    (1 - place, machine.parts(Some(&kept)))
                }
                TensorSource::Machine(_) | TensorSource::Float(_) => return None,
            };
            (!layers.is_empty()).then_some(Judge { layers, graph_of })
        }))
    }

    /// Measures the errors of a sample on a side, in each layer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if a layer cannot be evaluated on the side's operands.
    pub fn measure(
        &self,
        opened: &Opened,
        side: usize,
        values: &[Values; 2],
        index: usize,
    ) -> Result<Vec<Option<Sums>>, Error> {
        let Some(judge) = &self.0[side] else { return Ok(Vec::new()) };
        let kept;
        let stored: &BTreeMap<String, Tensor> = if side == judge.graph_of {
            &values[side].stored
        } else {
            kept = stored_as(opened, judge.graph_of, side, values, index)?;
            &kept
        };
        let one = |(_, part): &(Vec<String>, Option<Part>)| {
            part.as_ref().map(|part| part.measure(stored, stored, None)).transpose()
        };
        judge.layers.iter().map(one).collect()
    }

    /// Returns the judgement of a pair.
    pub fn judgement(&self, opened: &Opened, place: usize, counted: &Counted) -> Judgement {
        let pair = &opened.pairs[place];
        if let Some(limit) = pair.limit {
            return of_input(limit, counted.tensors[place].beyond, counted);
        }
        let mut judgement = Judgement { is_bounded: true, ..Judgement::default() };
        let mut is_rounded = false;
        for place in [0, 1] {
            if matches!(opened.sides[place].side, TensorSource::Float(_)) {
                judgement.is_bounded &= opened.is_of_one_model();
                continue;
            }
            is_rounded = true;
            judgement.saturations += saturations(pair, counted, place);
            match self.rounding(opened, pair, counted, place) {
                Some((bound, beyond)) => {
                    judgement.bound = Some(judgement.bound.map_or(bound, |most| most.max(bound)));
                    judgement.beyond += beyond;
                }
                None => judgement.is_bounded = false,
            }
        }
        judgement.is_bounded &= is_rounded;
        // A bound of one side does not apply to the other.
        judgement.bound = judgement.bound.filter(|_| judgement.is_bounded);
        judgement
    }

    /// Returns the bound of a tensor's layer on a side, and the number of elements beyond it.
    fn rounding(&self, opened: &Opened, pair: &Pair, counted: &Counted, place: usize) -> Option<(f64, u64)> {
        let judge = self.0[place].as_ref()?;
        let shown = &opened.layers(judge.graph_of)?.shown;
        let (name, _) = shown.iter().find(|(_, shown)| shown.name == pair.names[judge.graph_of])?;
        let ends_in =
            |(results, part): &(Vec<String>, Option<Part>)| part.is_some() && results.contains(name);
        let layer = judge.layers.iter().position(ends_in)?;
        counted.own[place].get(layer)?.as_ref()?.rounding()
    }
}

/// Judges an input, which is only rounded: a larger difference means saturation, or another input.
fn of_input(limit: f64, beyond: u64, counted: &Counted) -> Judgement {
    let inputs = counted.saturations.iter().map(|saturations| saturations.inputs).sum();
    let saturations = if beyond > 0 { inputs } else { 0 };
    Judgement { bound: Some(limit), beyond, saturations, is_bounded: true }
}

/// Returns the number of values of a tensor's layer that saturated on a side.
fn saturations(pair: &Pair, counted: &Counted, place: usize) -> u64 {
    let Some(layer) = &pair.line.layer else { return 0 };
    let layers = counted.saturations[place].layers.iter();
    layers.filter(|saturation| saturation.layer == *layer).map(|saturation| saturation.count).sum()
}

/// Returns the values of the compiled graph of side `of` that the other side has stored.
fn kept_names(opened: &Opened, of: usize, machine: &Machine) -> BTreeSet<String> {
    let Some(Layers { shown, .. }) = &machine.layers else { return BTreeSet::new() };
    let is_kept = |name: &str| opened.pairs.iter().any(|pair| pair.names[of] == name && !pair.is_in_integers);
    shown.iter().filter(|(_, shown)| is_kept(&shown.name)).map(|(name, _)| name.clone()).collect()
}

/// Returns the stored values of `side` in the form of the compiled graph of side `of`; inputs come
/// from the machine.
fn stored_as(
    opened: &Opened,
    of: usize,
    side: usize,
    values: &[Values; 2],
    index: usize,
) -> Result<BTreeMap<String, Tensor>, Error> {
    let mut stored = BTreeMap::new();
    let Some(layers) = opened.layers(of) else { return Ok(stored) };
    for (name, shown) in &layers.shown {
        let pair = opened.pairs.iter().find(|pair| pair.names[of] == shown.name && !pair.is_in_integers);
        let Some(pair) = pair else { continue };
        let reals = opened.reals(pair, values, index)?;
        let floats = reals[side].iter().map(|&value| value as f32).collect();
        let tensor = Tensor::from_f32(pair.line.shape.clone(), floats).ok();
        stored.extend(tensor.and_then(|tensor| Some((name.clone(), shown.hide(&tensor)?))));
    }
    let graph = layers.graph();
    for name in graph.inputs.iter().map(|&id| &graph.value(id).name) {
        stored.extend(values[of].stored.get(name).map(|input| (name.clone(), input.clone())));
    }
    Ok(stored)
}
