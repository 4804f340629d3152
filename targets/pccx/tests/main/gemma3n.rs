//! Gemma 3N on the machine: small layers against float, one of the size of E4B run and all of them timed.

use npukit_graph::gemma3n::{Gemma3n, Gemma3nConfig};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_pccx::Config;
use npukit_pccx::clock::run_with_host;
use npukit_pccx::conform::numpy::{Apart, layers};
use npukit_pccx::lower::{Activations, Kv, Options, Weights, compile};
use npukit_pccx::report::limits;

use crate::conform::golden;
use crate::twice;

/// The instances of both modes.
fn instances() -> [Config; 2] {
    ["reference", "extended"].map(|name| Config::preset(name).unwrap())
}

/// Attention at the host and activations of 16 bits leave what BF16 loses. Keys and values of 4 bits are part of the
/// reference where the machine has them, but values next to the middle of two codes may fall to either.
#[test]
fn small_layers_are_as_their_dequantised_float() {
    for layer in layers(&golden("numpy_layer.json")).unwrap() {
        let golden: Vec<Vec<f32>> = layer.steps.iter().map(|step| step.out.clone()).collect();
        for config in instances() {
            for (kv, activations, most) in [
                (Kv::Host, Activations::Bits16, 0.01),
                (Kv::Npu, Activations::Bits16, 0.03),
                (Kv::Npu, Activations::Bits8, 0.06),
            ] {
                let options = Options { kv, activations, ..Options::of(&config) };
                let found = layer.compiled(&config, &options).unwrap();
                let apart = Apart::new(&found, &layer.dequantised(kv).unwrap());
                println!("layer {}, {:?}: {apart:.4?}", layer.layer.index, options.choices());
                println!("  of the runtime {:.4?}", Apart::new(&found, &golden));
                assert!(apart.relative <= most, "layer {}, {options:?}: {apart:?}", layer.layer.index);
            }
        }
    }
}

/// Noise for every input.
fn inputs(graph: &Graph) -> Vec<Tensor> {
    let noise = |i: usize| (i * 7919 % 1009) as f32 / 504.5 - 1.0;
    let tensor = |&id| {
        let shape = graph.shape(id).to_vec();
        Tensor::from_f32(shape.clone(), (0..shape.iter().product()).map(noise).collect()).unwrap()
    };
    graph.inputs.iter().map(tensor).collect()
}

/// As fast as what bounds it, where the host multiplies vectors; MUL of the extensions is not free. The bound is the
/// published one (specification 6.2).
#[test]
fn e4b_is_as_fast_as_its_bound() {
    let model = Gemma3n::seeded(Gemma3nConfig::e4b(), 1).unwrap();
    let (layer, graph) =
        (model.layers()[10].step(model.config(), 31, 31).unwrap(), model.decode(31, 31).unwrap());
    let inputs = inputs(&layer);
    let expected = evaluate(&layer, &inputs).unwrap();
    for (config, least) in instances().into_iter().zip([0.95, 0.84]) {
        let (options, mut weights) = (Options::of(&config), Weights::default());
        let one = compile(&config, &layer, &options, &mut weights).unwrap();
        let found = twice::run(&config, &one, &inputs);
        let streams = |tensors: &[Tensor]| vec![tensors[0].as_f32().unwrap().to_vec()];
        let apart = Apart::new(&streams(&found), &streams(&expected));
        assert!(apart.relative < 0.06, "{apart:?}");
        let all = compile(&config, &graph, &options, &mut weights).unwrap();
        let time = run_with_host(&config, &all.program.code, &all.program.syncs());
        let bound = limits(&config, &time).into_iter().max_by_key(|limit| limit.cycles).unwrap();
        let per_second = |cycles| 1e3 / config.timing.milliseconds(cycles);
        let (found, most) = (per_second(time.cycles), per_second(bound.cycles));
        println!("{:?}: {apart:?}; {found} of {most} tokens/s by the {}", options.isa, bound.what);
        assert_eq!(bound.what, "weight ports of GEMV");
        assert!((most / 3.6 - 1.0).abs() < 0.05, "{most}");
        assert!(found <= most && found > least * most, "{found} of {most}");
    }
}
