//! Layers compiled and run, against the same layers in float on the weights that 4 bits stand for.

use npukit_graph::gemma3n::Cache;
use npukit_graph::quantise::rows::dequantise_weights;
use npukit_numeric::ElementType;
use npukit_target::{Case, Outcome, Unset};

use super::{NumpyLayer, evaluate};
use crate::config::Config;
use crate::lower::{Activations, Executable, Kv, Options, Weights, compile};
use crate::machine::Machine;
use crate::runtime::Session;

/// Most that the root of the mean square error may be of that of the values.
const MOST: f64 = 0.01;

/// Seed of what lies in memory.
const GARBAGE: u64 = 9;

/// How far results are from what they are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// The largest difference.
    pub max: f64,
    /// The root of the mean square difference.
    pub rms: f64,
    /// The same relative to the root of the mean square of what they are compared with.
    pub relative: f64,
}

impl Apart {
    /// How far all values of `found` are from those of `expected`.
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

impl NumpyLayer {
    /// The streams behind each step as the machine computes them.
    ///
    /// Errors: what does not compile or run.
    pub fn compiled(&self, config: &Config, options: &Options) -> Result<Vec<Vec<f32>>, String> {
        let mut weights = Weights::default();
        // One machine for all steps, whose memories hold anything before the first.
        let mut machine =
            Machine::with(config, Unset::Garbage(GARBAGE)).map_err(|error| error.to_string())?;
        self.holding(Cache::Floats(ElementType::F32)).streams(|graph, inputs| {
            let executable =
                compile(config, graph, options, &mut weights).map_err(|error| error.to_string())?;
            let Executable { program, host } = &executable;
            let run = |mut session: Session<'_>| session.run(inputs);
            Session::new(&mut machine, program, host).and_then(run).map_err(|error| error.to_string())
        })
    }

    /// The streams behind each step in float, on the weights that 4 bits stand for. Keys and values are of 4 bits
    /// where the machine has them so.
    ///
    /// Errors: a graph that does not compute.
    pub fn dequantised(&self, kv: Kv) -> Result<Vec<Vec<f32>>, String> {
        let cache = if kv == Kv::Npu { Cache::Int4 } else { Cache::Floats(ElementType::F32) };
        self.holding(cache).streams(|graph, inputs| {
            let graph = dequantise_weights(graph).map_err(|(name, error)| format!("{name}: {error}"))?;
            evaluate(&graph, inputs)
        })
    }

    fn holding(&self, cache: Cache) -> Self {
        let mut layer = self.clone();
        layer.config.cache = cache;
        layer
    }
}

/// Both modes, as the specification compares accuracy: attention at the host (5.5), and no more lost of activations
/// than BF16 loses.
pub(super) fn cases(layer: &NumpyLayer) -> Vec<Case> {
    let case = |(isa, preset): (&str, &'static str)| {
        let layer = layer.clone();
        let name = format!("layer {}, compiled with isa={isa}, kv=host, activations=16", layer.layer.index);
        Case::new(name, move || check(&layer, preset))
    };
    [("base", "reference"), ("ext", "extended")].map(case).into()
}

fn check(layer: &NumpyLayer, preset: &str) -> Outcome {
    let expected = format!("a relative RMS error of at most {MOST}");
    let Some(config) = Config::preset(preset) else {
        return Outcome::error(expected, format!("there is no instance {preset}"));
    };
    let options = Options { kv: Kv::Host, activations: Activations::Bits16, ..Options::of(&config) };
    let apart = layer
        .compiled(&config, &options)
        .and_then(|found| Ok(Apart::new(&found, &layer.dequantised(options.kv)?)));
    match apart {
        Ok(apart) if apart.relative <= MOST => Outcome::Measured { exact: apart.max == 0.0 },
        Ok(apart) => Outcome::Failed { expected, got: format!("{apart:?}") },
        Err(error) => Outcome::error(expected, error),
    }
}
