//! Gemma 3N: the parts before, between and after layers. Layers themselves are compared with values
//! of the upstream runtime, in `npu conform pccx`.

use std::sync::Arc;

use npukit_graph::decoder::DecoderError;
use npukit_graph::quantize::rows::Int4Rows;
use npukit_graph::{Graph, evaluate};
use npukit_models::gemma3n::{AttentionInput, Cache, Gate, Gemma3n, Gemma3nConfig, Layer, TopK};
use npukit_numeric::{ElementType, SmallFloat, Tensor};

use crate::support::{distance, f32s, floats, noise};

/// Local, local, global layers; the first three compute keys.
pub fn small() -> Gemma3nConfig {
    Gemma3nConfig {
        vocabulary: 20,
        layers: 5,
        kv_layers: 3,
        hidden: 8,
        heads: 4,
        kv_heads: 2,
        head: 4,
        feed_forward: 12,
        laurel: 2,
        per_layer: 3,
        global_every: 3,
        top_k: TopK { layers: 2, ..Gemma3nConfig::e4b().top_k },
        head_rows: 8,
        ..Gemma3nConfig::e4b()
    }
}

/// Weights that depend only on their names.
pub fn weights(name: &str, shape: &[usize]) -> Result<Arc<Tensor>, DecoderError> {
    let seed = name.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
    Ok(Arc::new(noise(shape, seed)))
}

pub fn values(graph: &Graph, name: &str, inputs: &[Tensor]) -> Tensor {
    let mut graph = graph.clone();
    graph.outputs = vec![graph.find_value(name).unwrap()];
    evaluate(&graph, inputs).unwrap().remove(0)
}

pub fn token(config: &Gemma3nConfig) -> Vec<Tensor> {
    vec![noise(&[1, config.hidden], 5), noise(&[config.layers, config.per_layer], 6)]
}

#[test]
fn a_model_is_its_layers_one_after_the_other() {
    for cache in [0, 2] {
        let config = small();
        let model = Gemma3n::new(config.clone(), weights).unwrap();
        let graph = model.decode(cache, cache).unwrap();
        graph.validate().unwrap();
        let mut inputs = token(&config);
        let held = |seed| noise(&[2, cache, 4], seed);
        let caches: Vec<[Tensor; 2]> = (0..3).map(|layer| [held(2 * layer), held(2 * layer + 1)]).collect();
        inputs.extend(caches.iter().flatten().filter(|_| cache > 0).cloned());
        let mut streams = values(&graph, "streams", &inputs);
        for (index, layer) in model.layers().iter().enumerate() {
            let mut step = vec![streams, values(&graph, &format!("layers.{index}.per_layer"), &inputs)];
            let tokens = match config.kv_source(index).unwrap() {
                own if own == index => {
                    step.extend(caches[index].iter().filter(|_| cache > 0).cloned());
                    cache
                }
                source => {
                    let part = if cache > 0 { "all_" } else { "" };
                    step.extend(
                        ["keys", "values"]
                            .map(|what| values(&graph, &format!("layers.{source}.{part}{what}"), &inputs)),
                    );
                    cache + 1
                }
            };
            let results = evaluate(&layer.step(&config, cache, tokens).unwrap(), &step).unwrap();
            assert_eq!(results.len(), if index < 3 { 3 } else { 1 });
            streams = values(&graph, &format!("layers.{index}.streams"), &inputs);
            assert_eq!(results[0], streams, "layer {index} after {cache}");
        }
    }
}

#[test]
fn layers_without_keys_read_the_last_of_their_kind() {
    let config = Gemma3nConfig::e4b();
    assert_eq!((0..35).filter(|&layer| config.is_global(layer)).count(), 7);
    assert!(config.is_global(4) && config.is_global(34));
    let sources = [(7, 7), (19, 19), (20, 18), (24, 19), (33, 18), (34, 19)];
    assert!(sources.iter().all(|&(layer, source)| config.kv_source(layer) == Some(source)));
    assert_eq!(config.head_parts().collect::<Vec<_>>(), [32_800; 8]);
    let parts = Gemma3nConfig { vocabulary: 10, head_rows: 4, ..config };
    assert_eq!(parts.head_parts().collect::<Vec<_>>(), [4, 4, 2]);
}

fn root_mean_square(x: &[f64]) -> f64 {
    (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt()
}

/// `matrix [rows, x]` times `x`.
fn times(name: &str, rows: usize, x: &[f64]) -> Vec<f64> {
    let matrix = weights(name, &[rows, x.len()]).unwrap();
    let row = |row: &[f32]| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum();
    floats(&matrix).chunks(x.len()).map(row).collect()
}

fn assert_near(found: &Tensor, expected: &[f64]) {
    assert_eq!(floats(found).len(), expected.len());
    for (found, expected) in floats(found).iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} for {expected}");
    }
}

#[test]
fn streams_begin_and_end_as_formulas_say() {
    let config = small();
    let graph = Gemma3n::new(config.clone(), weights).unwrap().decode(0, 0).unwrap();
    let inputs = token(&config);
    let wide = |tensor: &Tensor| -> Vec<f64> { floats(tensor).iter().map(|&x| f64::from(x)).collect() };
    let embedded = wide(&inputs[0]);
    let mut streams = embedded.clone();
    for stream in 1..4 {
        streams.extend(times(&format!("stream_projections.{stream}"), 8, &embedded));
    }
    assert_near(&values(&graph, "streams", &inputs), &streams);

    let flat = times("per_layer_projection", 15, &embedded);
    let gain = wide(&weights("per_layer_norm", &[3]).unwrap());
    let table = wide(&inputs[1]);
    let own = flat.chunks(3).zip(table.chunks(3)).flat_map(|(projected, row)| {
        let projected: Vec<f64> = projected.iter().map(|x| x / 8f64.sqrt()).collect();
        let root = (root_mean_square(&projected).powi(2) + 1e-6).sqrt();
        let each = projected
            .iter()
            .zip(&gain)
            .zip(row)
            .map(|((x, gain), row)| (x / root * gain + row) / 2f64.sqrt());
        each.collect::<Vec<_>>()
    });
    assert_near(&values(&graph, "per_layer_inputs", &inputs), &own.collect::<Vec<_>>());

    let last = wide(&values(&graph, "layers.4.streams", &inputs));
    let magnitude = root_mean_square(&last[..8]);
    let mut mean = last[..8].to_vec();
    for (stream, x) in (1..).zip(last[8..].chunks(8)) {
        let back = times(&format!("stream_returns.{stream}"), 8, x);
        let factor = magnitude / root_mean_square(&back);
        mean.iter_mut().zip(back).for_each(|(sum, x)| *sum += x * factor);
    }
    mean.iter_mut().for_each(|x| *x /= 4.0);
    let root = (root_mean_square(&mean).powi(2) + 1e-6).sqrt();
    let gain = wide(&weights("final_norm", &[8]).unwrap());
    let normal: Vec<f64> = mean.iter().zip(gain).map(|(x, gain)| x / root * gain).collect();
    let logits = [7, 7, 6]
        .into_iter()
        .enumerate()
        .flat_map(|(part, rows)| times(&format!("head.{part}"), rows, &normal));
    let capped: Vec<f64> = logits.map(|x| 30.0 * (x / 30.0).tanh()).collect();
    assert_near(&values(&graph, "logits", &inputs), &capped);
}

#[test]
fn gates_pass_their_largest() {
    let gate = [0.0, 0.0, 0.0, 4.0];
    let passed = |gate_kind, deviations: f32| {
        let graph = TopK { layers: 1, deviations, gate: gate_kind }.graph(4).unwrap();
        floats(&evaluate(&graph, &[f32s(&[1, 4], &gate)]).unwrap()[0]).to_vec()
    };
    // Mean 1; the standard deviation is the root of 3.
    assert_eq!(passed(Gate::Kept, 1.5), gate);
    assert!((passed(Gate::Above, 1.5)[3] - (3.0 - 1.5 * 3f32.sqrt())).abs() < 1e-6);
    assert_eq!(passed(Gate::Above, 1.5)[..3], [0.0; 3]);
    assert_eq!(passed(Gate::Kept, 1.8), [0.0; 4]);
}

#[test]
fn options_change_what_they_are_for() {
    let inputs = [noise(&[4, 8], 1), noise(&[1, 3], 2)];
    let run = |config: &Gemma3nConfig| {
        let layer = Layer::new(config, 0, weights).unwrap();
        evaluate(&layer.step(config, 3, 0).unwrap(), &inputs).unwrap()
    };
    let base = run(&small());
    let other = run(&Gemma3nConfig { attention_input: AttentionInput::Stream, ..small() });
    assert!(distance(&base[0], &other[0]) > 1e-5);
    let held = run(&Gemma3nConfig { cache: Cache::Floats(ElementType::F16), ..small() });
    let rounded: Vec<f32> = floats(&base[1]).iter().map(|&x| SmallFloat::F16.round(x, false)).collect();
    assert_eq!(floats(&held[1]), rounded);
    let held = run(&Gemma3nConfig { cache: Cache::Int4, ..small() });
    let rows = Int4Rows::new(2, 4, floats(&base[1])).unwrap();
    assert_eq!(floats(&held[1]), rows.dequantized());
}

#[test]
fn seeded_weights_are_shared_and_have_4_bits() {
    let model = Gemma3n::seeded(small(), 7).unwrap();
    let layer = &model.layers()[0];
    for matrix in [&layer.down, &layer.altup_predict, &layer.laurel_right] {
        let rows = Int4Rows::new(matrix.rows(), matrix.columns(), matrix.values()).unwrap();
        assert_eq!(rows.dequantized(), matrix.values());
    }
    let graph = model.decode(0, 0).unwrap();
    let count = |name: &str| {
        graph.values.iter().filter(|value| value.constant.is_some() && value.name.ends_with(name)).count()
    };
    assert_eq!((count(".down"), count(".key")), (1, 1));
    assert_eq!(model, Gemma3n::seeded(small(), 7).unwrap());
    assert_ne!(model, Gemma3n::seeded(small(), 8).unwrap());
    let results = evaluate(&graph, &token(model.config())).unwrap();
    assert!(floats(&results[0]).iter().all(|x| x.abs() < 30.0));
}

#[test]
fn configurations_that_make_no_model_are_refused() {
    let key = |config: Gemma3nConfig| match config.check() {
        Err(DecoderError::Config { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(Gemma3nConfig { streams: 1, ..small() }), "streams");
    assert_eq!(key(Gemma3nConfig { heads: 3, ..small() }), "heads");
    assert_eq!(key(Gemma3nConfig { head: 3, ..small() }), "head");
    assert_eq!(key(Gemma3nConfig { kv_layers: 2, ..small() }), "kv_layers");
    assert_eq!(key(Gemma3nConfig { softcap: Some(0.0), ..small() }), "softcap");
    assert_eq!(key(Gemma3nConfig { cache: Cache::Floats(ElementType::I32), ..small() }), "cache");
    assert_eq!(small().check(), Ok(()));
    let layer = Layer::new(&small(), 4, weights).unwrap();
    assert!(matches!(layer.step(&small(), 0, 0), Err(DecoderError::Config { key: "cache", .. })));
    assert!(matches!(layer.step(&small(), 0, 1 << 20), Err(DecoderError::TooLong { .. })));
    let wrong = |_: &str, _: &[usize]| Ok::<_, DecoderError>(Arc::new(noise(&[1], 1)));
    assert!(matches!(Gemma3n::new(small(), wrong), Err(DecoderError::Shape { .. })));
}
