//! Gemma 3N: limits, and factors that a normalization would hide.

use npukit_models::gemma3n::{Gemma3n, Gemma3nConfig};

use crate::gemma3n::{small, token, values, weights};
use crate::support::{assert_limit, f32s, floats};

/// Changes one size of a configuration.
type Set = fn(&mut Gemma3nConfig, usize);

#[test]
fn configurations_at_their_limits_are_taken() {
    let set: [(&str, Set, usize); 4] = [
        ("vocabulary", |config, size| config.vocabulary = size, 1),
        ("streams", |config, size| config.streams = size, 2),
        ("laurel", |config, size| config.laurel = size, 1),
        ("head_rows", |config, size| config.head_rows = size, 1),
    ];
    for (key, set, least) in set {
        for (size, legal) in [(least - 1, false), (least, true), (1 << 24, true), ((1 << 24) + 1, false)] {
            let mut config = small();
            set(&mut config, size);
            assert_limit(config.check(), key, size, legal);
        }
    }
}

/// Layers without keys need a layer of their kind that computes them, wherever their first layer
/// is.
#[test]
fn every_kind_of_reader_has_a_source() {
    for (layers, kv_layers, global_every, legal) in [
        (1, 1, 3, true),
        (2, 1, 3, true),
        (3, 1, 3, false),
        (6, 2, 3, false),
        (6, 3, 3, true),
        (9, 1, 1, true),
        (3, 1, 2, false),
    ] {
        let config = Gemma3nConfig { layers, kv_layers, global_every, ..small() };
        assert_eq!(config.check().is_ok(), legal, "{layers} layers, {kv_layers} with keys, {global_every}");
    }
}

#[test]
fn local_and_global_layers_turn_by_their_own_base() {
    let config = Gemma3nConfig { local_theta: 100.0, global_theta: 10_000.0, ..small() };
    let bases: Vec<f32> = (0..5).map(|layer| config.theta(layer)).collect();
    assert_eq!(bases, [100.0, 100.0, 10_000.0, 100.0, 100.0]);
    for (layer, base) in (0..5).zip(bases) {
        let [cos, sin] = config.rotation(layer, 3);
        let turns = [3.0, 3.0 / f64::from(base).sqrt()];
        assert_eq!(cos, turns.map(|turn| turn.cos() as f32));
        assert_eq!(sin, turns.map(|turn| turn.sin() as f32));
    }
}

#[test]
fn routers_see_a_small_part_and_gates_open_in_the_first_layers() {
    let config = small();
    let graph = Gemma3n::new(config.clone(), weights).unwrap().decode(0, 0).unwrap();
    for layer in 0..config.layers {
        for part in ["predict", "correct"] {
            let [normal, small] = ["normal", "small"]
                .map(|what| values(&graph, &format!("layers.{layer}.{part}_{what}"), &token(&config)));
            let expected: Vec<f32> = floats(&normal).iter().map(|x| x / 2048.0).collect();
            assert_eq!(floats(&small), expected);
        }
        let gated = graph.find_value(&format!("layers.{layer}.gate_cutoff")).is_some();
        assert_eq!(gated, layer < config.top_k.layers, "{layer}");
    }
}

/// If the values are as small as the epsilon of the normalization, their scale affects the result.
#[test]
fn own_inputs_are_scaled_before_they_are_normalized() {
    let config = small();
    let graph = Gemma3n::new(config.clone(), weights).unwrap().decode(0, 0).unwrap();
    let mut inputs = token(&config);
    let tiny: Vec<f32> = floats(&inputs[0]).iter().map(|x| x / 1024.0).collect();
    inputs[0] = f32s(&[1, 8], &tiny);
    let flat = values(&graph, "per_layer_flat", &inputs);
    let scaled = values(&graph, "per_layer_scaled", &inputs);
    for (flat, scaled) in floats(&flat).iter().zip(floats(&scaled)) {
        assert!((flat / 8f32.sqrt() - scaled).abs() <= 1e-6 * flat.abs(), "{flat} became {scaled}");
    }
}

/// The figures of another implementation, in Python.
#[test]
fn a_seed_and_a_name_give_weights() {
    let model = Gemma3n::seeded(small(), 7).unwrap();
    let graph = model.decode(0, 0).unwrap();
    let id = graph.find_value("per_layer_projection").unwrap();
    let codes: Vec<f32> = floats(graph.constant(id).unwrap())[..16].iter().map(|x| x * 16.0).collect();
    assert_eq!(codes, [7.0, 3.0, 6.0, 1.0, 7.0, 5.0, 1.0, 3.0, -1.0, 7.0, -6.0, 6.0, -4.0, -5.0, -1.0, -2.0]);
}
