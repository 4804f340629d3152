//! [`compare_layers`]: each layer's results on the machine, compared with the float reference.
//!
//! The graph is compiled once more with the results of its layers as additional outputs. Placement
//! never changes values, and [`InstrumentedProgram`] checks that it did not. A layer's *own* error
//! compares its result with its nodes in float on the machine's own operands. Its *chain* error
//! compares it with the whole network in float. The network and the machine *diverge* at the first
//! layer that saturates, whose own error is larger than rounding explains
//! (`npukit_graph::rounding_bounds`), or whose values rounding nearly destroys.
//!
//! | module | contents |
//! |---|---|
//! | `instrumented` | programs that also return the results of layers |
//! | `magnitudes` | histograms of magnitudes |
//! | `part` | a layer as a graph, and its errors for one sample |
//! | `advice` | changes that were tried and help |

mod advice;
mod instrumented;
mod magnitudes;
mod part;

use std::collections::{BTreeMap, HashSet};

use npukit_graph::{Graph, ValueId, evaluate_with};
use npukit_numeric::Tensor;
use npukit_numeric::npy::{NpyArray, member_names, write_npz};
use npukit_target::{Compiled, Output, Phase, Saturations};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::Error;
use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::numbers::rescale::exponent;
use crate::report::comparison::Comparison;
use crate::run::batch::tensors;
use crate::run::samples::DumpedTensor;
use crate::run::stack::Stack;
pub(crate) use instrumented::{InstrumentedProgram, MachineValues, rounded};
use magnitudes::Magnitudes;
pub use part::Figures;
pub(crate) use part::{Part, Sums, changed, times_power};

/// Results of a layer on the machine, compared with the float reference. Values are real numbers in
/// the model's scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LayerError {
    /// Names of the layer's nodes.
    pub name: String,
    /// Operators of the layer, in order.
    pub operators: Vec<String>,
    /// Names of the values that the layer computes; empty for a layer that only moves vectors.
    pub results: Vec<String>,
    /// Exponent of the scale: results are stored divided by `2^exponent`.
    pub exponent: i32,
    /// Number of results that saturated, over all samples.
    pub saturations: u64,
    /// Errors and ranges. `None` if the results are not in memory unchanged, or do not fit there.
    #[serde(flatten)]
    pub figures: Option<Figures>,
    /// Histograms of the results on the machine and in float; too long for the printed report.
    #[serde(skip)]
    pub(crate) magnitudes: Option<[Magnitudes; 2]>,
}

/// First layer or input at which the machine and the float reference diverge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FirstDivergence {
    /// Name of the layer, or of the network's input.
    pub at: String,
    /// Whether it is an input.
    pub input: bool,
    /// Reason: `saturation`; `error`, if the error is larger than rounding explains; or
    /// `underflow`, if rounding alone leaves next to nothing of the layer.
    pub why: String,
}

/// Comparison of all layers with the float reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Layers in the order of the program.
    pub layers: Vec<LayerError>,
    /// First layer or input that differs by more than rounding, if any.
    #[serde(rename = "parts_at")]
    pub first_divergence: Option<FirstDivergence>,
    /// Changes that help; each was tried on these samples.
    pub suggestions: Vec<String>,
    /// Number of programs run to see all layers.
    pub programs: usize,
}

/// Requested results of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    /// Whether to compute figures for each layer.
    pub compare: bool,
    /// Whether to return every tensor.
    pub dump: bool,
}

/// A finished run and its results.
pub(crate) struct Run<'a> {
    pub origin: &'a CompileJob,
    pub compiled: &'a dyn Compiled,
    /// Samples as given to the machine.
    pub samples: &'a [Sample],
    /// Samples in the model's shapes.
    pub model_samples: &'a [Sample],
    pub stacks: &'a [Stack],
    pub comparison: Comparison,
    pub saturations: &'a Saturations,
}

/// All tensors of a run.
pub(crate) struct Dump {
    /// Contents of the `.npz` file.
    pub npz: Vec<u8>,
    /// Description of each tensor in the file.
    pub tensors: Vec<DumpedTensor>,
}

/// Results for one sample.
#[derive(Default)]
struct SampleResult {
    figures: Vec<Option<Sums>>,
    tensors: Vec<(String, Tensor)>,
}

/// Compares every layer. Also returns every tensor, if requested.
pub(crate) fn compare_layers(
    run: &Run<'_>,
    requested: Requested,
) -> Result<(Option<Report>, Option<Dump>), Error> {
    let instrumented = InstrumentedProgram::new(run.origin, run.compiled)?;
    let parts = if requested.compare {
        parts(run.origin, run.compiled, &instrumented.graph, instrumented.names())
    } else {
        Vec::new()
    };
    let phase = Phase::counting("compare layers", run.samples.len());
    let one = |index: usize| {
        let result = compare_sample(run, &instrumented, &parts, requested, index);
        phase.advance();
        result
    };
    let samples: Vec<SampleResult> =
        (0..run.samples.len()).into_par_iter().map(one).collect::<Result<_, Error>>()?;
    let dump = if requested.dump { Some(archive(&samples)?) } else { None };
    if !requested.compare {
        return Ok((None, dump));
    }
    let layers = layers(run, &parts, &samples);
    let first_divergence = first_divergence(run, &layers);
    let suggestions = advice::suggestions(run)?;
    Ok((Some(Report { layers, first_divergence, suggestions, programs: instrumented.programs() }), dump))
}

/// Returns each layer as a part of the graph, between the values named in `held` and the graph's
/// inputs. `None` for a layer without such values.
pub(crate) fn parts<'a>(
    origin: &CompileJob,
    compiled: &dyn Compiled,
    graph: &Graph,
    held: impl Iterator<Item = &'a str>,
) -> Vec<Option<Part>> {
    let seen: HashSet<ValueId> = held.filter_map(|name| graph.find_value(name)).collect();
    let known: HashSet<ValueId> = seen.iter().chain(&graph.inputs).copied().collect();
    compiled.info().layers.iter().map(|layer| Part::new(origin, graph, layer, &seen, &known)).collect()
}

/// Runs one sample.
fn compare_sample(
    run: &Run<'_>,
    instrumented: &InstrumentedProgram,
    parts: &[Option<Part>],
    requested: Requested,
    index: usize,
) -> Result<SampleResult, Error> {
    let (graph, sample) = (&instrumented.graph, &run.model_samples[index]);
    let plain = run.stacks.iter().filter_map(|stack| {
        let values = stack.samples.get(index)?.clone();
        // Default: results computed by the host have no integers.
        let raw = stack.raw.get(index).cloned().unwrap_or_default();
        Some(Output { name: stack.name.clone(), values, raw })
    });
    let format = run.origin.instance.info().number_format;
    let MachineValues { values: machine, .. } =
        instrumented.run(format, [&run.samples[index], sample], plain.collect())?;
    let chain = if requested.compare {
        float_chain(graph, sample, |name| machine.contains_key(name))?
    } else {
        BTreeMap::new()
    };
    let mut result = SampleResult::default();
    let mut own: BTreeMap<String, Tensor> = BTreeMap::new();
    for part in parts {
        let sums = match part {
            Some(part) => Some(part.measure(&machine, &chain, requested.dump.then_some(&mut own))?),
            None => None,
        };
        result.figures.push(sums);
    }
    if requested.dump {
        let scale = |name: &str| exponent(&run.origin.exponents, name);
        for (prefix, values) in [("machine", machine), ("float", chain), ("layer", own)] {
            let named = |(name, tensor): (String, Tensor)| {
                let tensor = times_power(&tensor, scale(&name));
                // Without a comparison, all values are the machine's.
                (if requested.compare { format!("{prefix}/{name}") } else { name }, tensor)
            };
            result.tensors.extend(values.into_iter().map(named));
        }
    }
    Ok(result)
}

/// Returns the inputs, constants and results of the whole network in float for a sample. Constants
/// and results are limited to the `wanted` names.
pub(crate) fn float_chain(
    graph: &Graph,
    sample: &Sample,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Tensor>, Error> {
    let mut chain = constants(graph, &wanted);
    evaluate_with(graph, &tensors(graph, sample)?, |node, results| {
        for (&id, result) in node.outputs.iter().zip(results) {
            let name = &graph.value(id).name;
            if wanted(name) {
                chain.insert(name.clone(), Tensor::clone(result));
            }
        }
    })?;
    let constants = graph.values.iter().filter_map(|value| Some((value, value.constant.as_ref()?)));
    let constants = constants.filter(|(value, _)| wanted(&value.name));
    chain.extend(constants.map(|(value, tensor)| (value.name.clone(), Tensor::clone(tensor))));
    chain.extend(sample.iter().cloned());
    Ok(chain)
}

/// Returns the `wanted` constants: an output of the graph may be a constant, which no node
/// computes.
fn constants(graph: &Graph, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Tensor> {
    let constant = |&id: &ValueId| {
        let name = &graph.value(id).name;
        wanted(name).then(|| Some((name.clone(), Tensor::clone(graph.constant(id)?)))).flatten()
    };
    graph.outputs.iter().filter_map(constant).collect()
}

fn layers(run: &Run<'_>, parts: &[Option<Part>], samples: &[SampleResult]) -> Vec<LayerError> {
    let counted = |name: &str| run.saturations.layers.iter().find(|s| s.layer == name).map_or(0, |s| s.count);
    let layers = run.compiled.info().layers.iter().zip(parts).enumerate();
    let one = |(i, (layer, part)): (usize, (&npukit_target::Layer, &Option<Part>))| {
        let sums = samples.iter().filter_map(|result| result.figures.get(i)?.as_ref());
        let sums = sums.cloned().reduce(Sums::merge);
        LayerError {
            operators: part.as_ref().map_or_else(Vec::new, |part| part.operators()),
            exponent: part.as_ref().map_or(0, |part| part.exponent),
            saturations: counted(&layer.name),
            magnitudes: sums.as_ref().map(Sums::magnitudes),
            figures: sums.map(|sums| sums.figures()),
            name: layer.name.clone(),
            results: layer.results.clone(),
        }
    };
    layers.map(one).collect()
}

/// Returns the first input or layer that saturates, or layer whose own error is larger than
/// rounding explains.
fn first_divergence(run: &Run<'_>, layers: &[LayerError]) -> Option<FirstDivergence> {
    let divergence =
        |at: &str, input: bool, why: &str| FirstDivergence { at: at.to_owned(), input, why: why.to_owned() };
    if let Some(input) = advice::saturated_inputs(run).first() {
        return Some(divergence(&input.name, true, "saturation"));
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
        Some(divergence(&layer.name, false, why))
    })
}

/// Packs the tensors of all samples; tensors of one name are joined along the first axis.
fn archive(samples: &[SampleResult]) -> Result<Dump, Error> {
    let mut stacks: BTreeMap<&str, Stack> = BTreeMap::new();
    for (name, tensor) in samples.iter().flat_map(|result| &result.tensors) {
        let stack = || Stack { name: name.clone(), shape: tensor.shape().to_vec(), ..Stack::default() };
        stacks.entry(name).or_insert_with(stack).samples.push(tensor.clone());
    }
    let members = member_names(stacks.keys().copied());
    let tensors = stacks.values().map(Stack::stacked).collect::<Result<Vec<_>, _>>()?;
    let arrays: Vec<_> = members.iter().map(String::as_str).zip(tensors.iter().map(NpyArray::from)).collect();
    let npz = write_npz(&arrays)?;
    let dumped = |((&name, member), tensor): ((&&str, &String), &Tensor)| DumpedTensor {
        name: (*name).to_owned(),
        member: Some(member).filter(|member| *member != name).cloned(),
        shape: tensor.shape().to_vec(),
    };
    Ok(Dump { tensors: stacks.keys().zip(&members).zip(&tensors).map(dumped).collect(), npz })
}
