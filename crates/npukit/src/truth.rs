//! Per-layer truth: what the machine computed in each layer, beside what float says.
//!
//! The graph is compiled once more with the results of its layers as further outputs (placement never
//! changes values, and [`Kept`] checks that it did not). A layer's *own* error is the machine's result
//! against the layer's nodes in float on the machine's own operands; its *chain* error is against the
//! whole network in float. The network and the machine *part ways* at the first layer that saturates,
//! whose own error is beyond what rounding explains (`npukit_graph::rounding_bounds`), or of which rounding leaves
//! hardly anything.
//!
//! | module | is |
//! |---|---|
//! | `keep` | programs that give out the results of layers |
//! | `part` | a layer as a graph, and how one sample does in it |
//! | `advice` | what would certainly help |

mod advice;
mod keep;
mod part;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use npukit_graph::{ValueId, evaluate_with};
use npukit_numeric::Tensor;
use npukit_numeric::npy::{NpyArray, NpyData, member_names, write_npz};
use npukit_target::{Compiled, Saturations};
use rayon::prelude::*;
use serde::Serialize;

use crate::Context;
use crate::batch::tensors;
use crate::comparison::Comparison;
use crate::error::Error;
use crate::inputs::Sample;
use crate::origin::Origin;
use crate::samples::{DumpedTensor, Stack};
use keep::Kept;
pub use part::Figures;
use part::Part;

/// What the machine computed in a layer, beside what float says. Real values, in the model's scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerTruth {
    /// Names of its nodes.
    pub name: String,
    /// Its operators, in order.
    pub operators: Vec<String>,
    /// Values of the graph it ends in; empty for one that only moves vectors about.
    pub results: Vec<String>,
    /// The results are stored divided by `2^exponent`.
    pub exponent: i32,
    /// Results that did not fit the number format, over all samples.
    pub saturations: u64,
    /// Errors and ranges; none when its results are not in memory as they are, or do not fit there.
    #[serde(flatten)]
    pub figures: Option<Figures>,
}

/// Where the machine and the network in float part ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parting {
    /// The layer, or the input of the network.
    pub at: String,
    /// Whether it is an input.
    pub input: bool,
    /// Why: `saturation`, `error` beyond what rounding explains, or `underflow`: rounding alone, which leaves hardly
    /// anything of the layer.
    pub why: String,
}

/// All layers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In the program's order.
    pub layers: Vec<LayerTruth>,
    /// The first that parts from float; none when all is rounding.
    pub parts_at: Option<Parting>,
    /// What would help for certain: each was tried on these samples.
    pub suggestions: Vec<String>,
    /// Programs run to see all layers.
    pub programs: usize,
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Figures for each layer.
    pub compare: bool,
    /// Every tensor.
    pub dump: bool,
}

/// A run that was made, and its outcome.
pub(crate) struct Run<'a> {
    pub origin: &'a Origin,
    pub compiled: &'a dyn Compiled,
    /// As they were given to the machine.
    pub samples: &'a [Sample],
    /// The same in the model's shapes.
    pub model_samples: &'a [Sample],
    pub stacks: &'a [Stack],
    pub comparison: Comparison,
    pub saturations: &'a Saturations,
}

/// Every tensor.
pub(crate) struct Dump {
    /// The `.npz`.
    pub npz: Vec<u8>,
    /// What is in it.
    pub tensors: Vec<DumpedTensor>,
}

/// What one sample gave.
#[derive(Default)]
struct Look {
    figures: Vec<Option<part::Sums>>,
    tensors: Vec<(String, Tensor)>,
}

/// Looks into every layer; also gives every tensor, when that is wanted.
pub(crate) fn truth(
    run: &Run<'_>,
    wanted: Wanted,
    context: Context<'_>,
) -> Result<(Option<Report>, Option<Dump>), Error> {
    let kept = Kept::new(run.origin, run.compiled)?;
    let parts = if wanted.compare { parts(run, &kept) } else { Vec::new() };
    let done = AtomicUsize::new(0);
    let one = |index: usize| {
        let look = look(run, &kept, &parts, wanted, index);
        (context.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, run.samples.len());
        look
    };
    let looks: Vec<Look> = (0..run.samples.len()).into_par_iter().map(one).collect::<Result<_, Error>>()?;
    let dump = if wanted.dump { Some(archive(&looks)?) } else { None };
    if !wanted.compare {
        return Ok((None, dump));
    }
    let layers = layers(run, &parts, &looks);
    let parts_at = parting(run, &layers);
    let suggestions = advice::suggestions(run, context)?;
    Ok((Some(Report { layers, parts_at, suggestions, programs: kept.programs() }), dump))
}

/// Each layer as a part of the graph.
fn parts(run: &Run<'_>, kept: &Kept) -> Vec<Option<Part>> {
    let graph = &kept.graph;
    let seen: HashSet<ValueId> = kept.names().filter_map(|name| graph.find_value(name)).collect();
    let known: HashSet<ValueId> = seen.iter().chain(&graph.inputs).copied().collect();
    let layers = run.compiled.layers();
    layers.iter().map(|layer| Part::new(run.origin, graph, layer, &seen, &known)).collect()
}

/// Runs one sample.
fn look(
    run: &Run<'_>,
    kept: &Kept,
    parts: &[Option<Part>],
    wanted: Wanted,
    index: usize,
) -> Result<Look, Error> {
    let (graph, sample) = (&kept.graph, &run.model_samples[index]);
    let machine = kept.run(run, index)?;
    let mut chain: BTreeMap<String, Tensor> = BTreeMap::new();
    if wanted.compare {
        let inputs = tensors(graph, sample)?;
        evaluate_with(graph, &inputs, |node, results| {
            for (&id, result) in node.outputs.iter().zip(results) {
                let name = &graph.value(id).name;
                if machine.contains_key(name) {
                    chain.insert(name.clone(), Tensor::clone(result));
                }
            }
        })?;
        chain.extend(sample.iter().cloned());
    }
    let mut look = Look::default();
    let mut own: BTreeMap<String, Tensor> = BTreeMap::new();
    for part in parts {
        let sums = match part {
            Some(part) => Some(part.measure(&machine, &chain, wanted.dump.then_some(&mut own))?),
            None => None,
        };
        look.figures.push(sums);
    }
    if wanted.dump {
        // Default: a value without an exponent is at its own scale.
        let scale = |name: &str| run.origin.exponents.get(name).copied().unwrap_or(0);
        for (prefix, values) in [("machine", machine), ("float", chain), ("layer", own)] {
            let named = |(name, tensor): (String, Tensor)| {
                (format!("{prefix}/{name}"), part::times_power(&tensor, scale(&name)))
            };
            look.tensors.extend(values.into_iter().map(named));
        }
    }
    Ok(look)
}

fn layers(run: &Run<'_>, parts: &[Option<Part>], looks: &[Look]) -> Vec<LayerTruth> {
    let counted = |name: &str| run.saturations.layers.iter().find(|s| s.layer == name).map_or(0, |s| s.count);
    let layers = run.compiled.layers().into_iter().zip(parts).enumerate();
    let one = |(i, (layer, part)): (usize, (npukit_target::Layer, &Option<Part>))| {
        let sums = looks.iter().filter_map(|look| look.figures.get(i)?.as_ref());
        let sums = sums.cloned().reduce(part::Sums::merge);
        LayerTruth {
            operators: part.as_ref().map_or_else(Vec::new, |part| part.operators()),
            exponent: part.as_ref().map_or(0, |part| part.exponent),
            saturations: counted(&layer.name),
            figures: sums.map(|sums| sums.figures()),
            name: layer.name,
            results: layer.results,
        }
    };
    layers.map(one).collect()
}

/// The first input or layer that saturates, or layer whose own error is more than rounding.
fn parting(run: &Run<'_>, layers: &[LayerTruth]) -> Option<Parting> {
    let parting =
        |at: &str, input: bool, why: &str| Parting { at: at.to_owned(), input, why: why.to_owned() };
    if let Some(input) = advice::saturated_inputs(run).first() {
        return Some(parting(&input.name, true, "saturation"));
    }
    layers.iter().find_map(|layer| {
        let is = |what: fn(&Figures) -> bool| layer.figures.as_ref().is_some_and(what);
        let why = if layer.saturations > 0 {
            "saturation"
        } else if is(|figures| figures.beyond_rounding > 0) {
            "error"
        } else if is(Figures::vanishes) {
            "underflow"
        } else {
            return None;
        };
        Some(parting(&layer.name, false, why))
    })
}

/// The tensors of all samples, those of one name along the first axis.
fn archive(looks: &[Look]) -> Result<Dump, Error> {
    let stacks = stacked(looks);
    let members = member_names(stacks.keys().copied());
    let arrays = stacks.iter().zip(&members).map(|((&name, (shape, values)), member)| {
        let array = NpyArray::new(shape, NpyData::F32(values)).ok_or_else(|| Error::Output {
            name: name.to_owned(),
            reason: format!("{} values do not have shape {shape:?}", values.len()),
        });
        Ok((member.as_str(), array?))
    });
    let npz = write_npz(&arrays.collect::<Result<Vec<_>, Error>>()?)?;
    let tensor = |((name, (shape, _)), member): ((&str, Stacked), String)| DumpedTensor {
        name: name.to_owned(),
        member: Some(member).filter(|member| member != name),
        shape,
    };
    Ok(Dump { npz, tensors: stacks.into_iter().zip(members).map(tensor).collect() })
}

/// Shape and elements of a tensor over all samples.
type Stacked = (Vec<usize>, Vec<f32>);

fn stacked(looks: &[Look]) -> BTreeMap<&str, Stacked> {
    let mut stacks: BTreeMap<&str, Stacked> = BTreeMap::new();
    for (name, tensor) in looks.iter().flat_map(|look| &look.tensors) {
        let shape = || (tensor.shape().to_vec(), Vec::new());
        stacks.entry(name).or_insert_with(shape).1.extend(tensor.as_f32().unwrap_or_default());
    }
    for (shape, _) in stacks.values_mut() {
        match shape.first_mut() {
            Some(first) => *first *= looks.len(),
            None => shape.push(looks.len()),
        }
    }
    stacks
}
