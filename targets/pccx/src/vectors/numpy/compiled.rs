//! Compares compiled layers with the same layers in float, on dequantized 4-bit weights.

use std::sync::Arc;

use npukit_graph::eval::evaluate_all;
use npukit_graph::{Graph, Node, Op, ValueId};
use npukit_models::gemma3n::Cache;
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_target::{Case, Outcome, UninitMemory};

use super::{NumpyLayer, evaluate};
use crate::config::Config;
use crate::lower::{Activations, Executable, Kv, Options, Weights, compile, dequantized};
use crate::machine::Machine;
use crate::program::runtime::Session;

/// Maximum relative RMS error (0.00844 measured), and maximum relative distance from the cutoff of
/// a gate that float decides differently (0.00490 measured). Both come from rounding to BF16.
const MAX_ERROR: f64 = 0.01;
const MAX_FROM_CUTOFF: f64 = 1.2 * 0.0049;

/// Seed of uninitialized memory.
const GARBAGE: u64 = 9;

/// Difference between results and expected values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decomposed {
    /// Largest absolute difference.
    pub max: f64,
    /// Root of the mean square difference.
    pub rms: f64,
    /// RMS difference relative to the RMS of the expected values.
    pub relative: f64,
}

impl Decomposed {
    /// Compares all values of `found` with `expected`.
    pub fn new(found: &[Vec<f32>], expected: &[Vec<f32>]) -> Self {
        let (mut max, mut squares, mut energy, mut count) = (0f64, 0.0, 0.0, 0u32);
        for (&found, &expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            let (found, expected) = (f64::from(found), f64::from(expected));
            let difference = (found - expected).abs();
            max = max.max(if difference.is_nan() { f64::INFINITY } else { difference });
            squares += difference * difference;
            energy += expected * expected;
            count += 1;
        }
        Self { max, rms: (squares / f64::from(count.max(1))).sqrt(), relative: (squares / energy).sqrt() }
    }
}

/// Results of a layer and its open gates, step by step.
#[derive(Clone, Debug, Default)]
pub struct Gated {
    /// The streams after each step.
    pub streams: Vec<Vec<f32>>,
    /// For each step, whether each gate reaches its cutoff; empty for layers in which all gates are
    /// open.
    pub open: Vec<Vec<bool>>,
}

/// Returns the node that decides which gates are open.
fn gate(graph: &Graph) -> Option<&Node> {
    graph.nodes.iter().find(|node| matches!(node.op, Op::Compare(_)))
}

impl NumpyLayer {
    /// Runs the layer on the machine.
    ///
    /// # Errors
    /// The layer cannot be compiled, or fails.
    pub fn compiled(&self, config: &Config, options: &Options) -> Result<Gated, String> {
        let mut open = Vec::new();
        let mut weights = Weights::default();
        // One machine executes all steps. Its memories initially contain garbage, which must not
        // matter.
        let mut machine =
            Machine::with(config, UninitMemory::Garbage(GARBAGE)).map_err(|error| error.to_string())?;
        let streams = self.holding(Cache::Floats(ElementType::F32)).streams(|graph, inputs| {
            let mut graph = graph.clone();
            let gates = gate(&graph).map(|gate| gate.outputs.clone()).unwrap_or_default();
            graph.outputs.extend(&gates);
            let executable =
                compile(config, &graph, options, &mut weights).map_err(|error| error.to_string())?;
            let Executable { program, host } = &executable;
            let run = |mut session: Session<'_>| session.run(inputs);
            let mut results =
                Session::new(&mut machine, program, host).and_then(run).map_err(|error| error.to_string())?;
            let gates = results.split_off(results.len() - gates.len());
            open.push(match gates.first().map(Tensor::data) {
                Some(TensorData::Bool(open)) => open.clone(),
                _ => Vec::new(),
            });
            Ok(results)
        })?;
        Ok(Gated { streams, open })
    }

    /// Returns the streams after each step in float, like [`NumpyLayer::dequantized`], but with the
    /// gates `open`. Also returns the largest distance from its cutoff of a gate that float decides
    /// differently, relative to the RMS of the gates. A gate at its cutoff depends on the last bit
    /// of all earlier results.
    ///
    /// # Errors
    /// A graph that cannot be evaluated.
    pub fn dequantized_with(
        &self,
        how: (&Config, &Options),
        open: &[Vec<bool>],
    ) -> Result<(Vec<Vec<f32>>, f64), String> {
        let (mut farthest, mut steps) = (0.0_f64, open.iter());
        let streams = self.float(how, |mut graph, inputs| {
            let open = steps.next().map(Vec::as_slice).unwrap_or_default();
            if let Some(node) = gate(&graph).cloned() {
                farthest = farthest.max(from_cutoff(&graph, &node, inputs, open)?);
                let value = node.outputs.first().and_then(|id| graph.values.get_mut(id.0 as usize));
                let value = value.ok_or("a gate without result")?;
                let tensor = Tensor::new(value.info.shape.clone(), TensorData::Bool(open.to_vec()));
                value.constant = Some(Arc::new(tensor.map_err(|_| "other gates than the layer has")?));
                graph.nodes.retain(|other| other.outputs != node.outputs);
            }
            evaluate(&graph, inputs)
        })?;
        Ok((streams, farthest))
    }

    /// Returns the streams after each step in float, on dequantized 4-bit weights. Keys and values
    /// have 4 bits if the machine quantizes them.
    ///
    /// # Errors
    /// A graph that cannot be evaluated.
    pub fn dequantized(&self, how: (&Config, &Options)) -> Result<Vec<Vec<f32>>, String> {
        self.float(how, |graph, inputs| evaluate(&graph, inputs))
    }

    /// Returns the streams after each step, computed with `run` on dequantized 4-bit weights.
    fn float(
        &self,
        (config, options): (&Config, &Options),
        mut run: impl FnMut(Graph, &[Tensor]) -> Result<Vec<Tensor>, String>,
    ) -> Result<Vec<Vec<f32>>, String> {
        let cache = if options.kv == Kv::Npu { Cache::Int4 } else { Cache::Floats(ElementType::F32) };
        self.holding(cache).streams(|graph, inputs| {
            let graph = dequantized(config, graph, options).map_err(|error| error.to_string())?;
            run(graph, inputs)
        })
    }

    fn holding(&self, cache: Cache) -> Self {
        let mut layer = self.clone();
        layer.config.cache = cache;
        layer
    }
}

/// Returns the largest distance from its cutoff of a gate that differs from `open`.
fn from_cutoff(graph: &Graph, gate: &Node, inputs: &[Tensor], open: &[bool]) -> Result<f64, String> {
    let all = evaluate_all(graph, inputs).map_err(|error| error.to_string())?;
    let values = |id: &ValueId| {
        let tensor = all.get(id.0 as usize).and_then(Option::as_ref).and_then(|tensor| tensor.as_f32());
        tensor.ok_or("gates are not floats")
    };
    let [gates, cutoff] = &gate.inputs[..] else { return Err("gates are compared with a cutoff".to_owned()) };
    let (gates, cutoff) = (values(gates)?, values(cutoff)?.first().copied().unwrap_or(f32::NAN));
    let squares: f64 = gates.iter().map(|&gate| f64::from(gate).powi(2)).sum();
    let size = (squares / gates.len().max(1) as f64).sqrt();
    let other = gates.iter().zip(open).filter(|&(&gate, &open)| (gate >= cutoff) != open);
    Ok(other.map(|(gate, _)| f64::from((gate - cutoff).abs()) / size).fold(0.0, f64::max))
}

/// Returns cases for both modes with the specification's settings for accuracy: attention at the
/// host (5.5), and activations with 16 bits, so that they lose no more than BF16.
pub(super) fn cases(layer: &NumpyLayer) -> Vec<Case> {
    let case = |(isa, preset): (&str, &'static str)| {
        let layer = layer.clone();
        let name = format!("layer {}, compiled with isa={isa}, kv=host, activations=16", layer.layer.index);
        Case::new(name, move || check(&layer, preset))
    };
    [("base", "reference"), ("ext", "extended")].map(case).into()
}

fn check(layer: &NumpyLayer, preset: &str) -> Outcome {
    let expected = format!("a relative RMS error of at most {MAX_ERROR}");
    let Some(config) = Config::preset(preset) else {
        return Outcome::error(expected, format!("unknown instance {preset}"));
    };
    let options = Options { kv: Kv::Host, activations: Activations::Bits16, ..Options::of(&config) };
    let apart = layer.compiled(&config, &options).and_then(|found| {
        let (expected, farthest) = layer.dequantized_with((&config, &options), &found.open)?;
        let apart = Decomposed::new(&found.streams, &expected);
        Ok((apart, farthest))
    });
    match apart {
        Ok((apart, farthest)) if apart.relative <= MAX_ERROR && farthest <= MAX_FROM_CUTOFF => {
            Outcome::Measured { exact: apart.max == 0.0 }
        }
        Ok((apart, farthest)) => Outcome::Failed {
            expected,
            got: format!("{apart:?}, and a gate open or closed that is {farthest} from its cutoff"),
        },
        Err(error) => Outcome::error(expected, error),
    }
}
