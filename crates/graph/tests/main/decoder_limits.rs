//! Decoders at exactly their limits, and after a cache.

use npukit_graph::decoder::{DecoderConfig, DecoderError, Matrix, NormKind, Positions};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;

use crate::decoder::{TOKENS, assert_near, config, literal, model, others};
use crate::support::{floats, i64s};

/// Changes one size of a configuration.
type Set = fn(&mut DecoderConfig, usize);

/// Checks that `size` is accepted for `key` only if `legal`; the error must name the key.
pub fn assert_limit(checked: Result<(), DecoderError>, key: &str, size: usize, legal: bool) {
    match checked {
        Ok(()) => assert!(legal, "{key} of {size}"),
        Err(DecoderError::Config { key: found, .. }) => {
            assert!(found == key && !legal, "{found} of {size}")
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn configurations_at_their_limits_are_taken() {
    let set: [(&str, Set, usize); 4] = [
        ("vocabulary", |config, size| config.vocabulary = size, 1 << 24),
        ("context", |config, size| config.context = size, 1 << 20),
        ("layers", |config, size| config.layers = size, 1 << 24),
        ("feed_forward", |config, size| config.feed_forward = size, 1 << 24),
    ];
    for (key, set, most) in set {
        for (size, legal) in [(0, false), (1, true), (most, true), (most + 1, false)] {
            let mut config = config();
            set(&mut config, size);
            assert_limit(config.check(), key, size, legal);
        }
    }
    for (epsilon, attention_scale) in [(0.0, 1.0), (1.0, 0.0), (-0.0, 1.0), (1.0, f32::INFINITY)] {
        assert!(DecoderConfig { epsilon, attention_scale, ..config() }.check().is_err());
    }
    assert_eq!(others().iter().map(DecoderConfig::group).collect::<Vec<_>>(), [3, 3, 3, 1, 6]);
}

/// Inputs of the cache: rows `0..count` of the keys and values of a whole prompt.
fn cached(all: &[Tensor], count: usize, config: &DecoderConfig) -> Vec<Tensor> {
    let rows = |tensor: &Tensor| {
        let heads = floats(tensor).chunks(TOKENS.len() * config.head);
        let kept = heads.flat_map(|head| head[..count * config.head].to_vec()).collect();
        Tensor::from_f32(vec![config.kv_heads, count, config.head], kept).unwrap()
    };
    all.iter().map(rows).collect()
}

#[test]
fn a_prompt_behind_a_cache_is_the_literal_decoder() {
    for config in others() {
        let model = model(config.clone());
        let expected = literal(&model, &TOKENS);
        let tokens = |range: std::ops::Range<usize>| {
            i64s(&[range.len()], &TOKENS[range].iter().map(|&token| token as i64).collect::<Vec<_>>())
        };
        let all = evaluate(&model.prefill(TOKENS.len()).unwrap(), &[tokens(0..6)]).unwrap();
        for cache in [1, 2, 5] {
            let graph = model.extend(cache, TOKENS.len() - cache).unwrap();
            let inputs = [vec![tokens(cache..6)], cached(&all[1..], cache, &config)].concat();
            let found = evaluate(&graph, &inputs).unwrap();
            assert_near(floats(&found[0]), &expected[cache * config.vocabulary..]);
        }
    }
}

#[test]
fn texts_fill_the_context_and_no_more() {
    let model = model(config());
    assert!(model.extend(0, 9).is_ok() && model.extend(8, 1).is_ok() && model.extend(4, 5).is_ok());
    for (cache, length) in [(0, 10), (9, 1), (4, 6)] {
        let refused = DecoderError::TooLong { position: cache, found: length, limit: 9 };
        assert_eq!(model.extend(cache, length).err(), Some(refused));
    }
    // A single token needs no mask.
    let hides = |graph: Graph| graph.find_value("causal").is_some();
    assert!(!hides(model.extend(0, 1).unwrap()) && !hides(model.extend(3, 1).unwrap()));
    assert!(hides(model.extend(0, 2).unwrap()));
}

#[test]
fn learned_positions_are_a_matrix() {
    let shape = |config: DecoderConfig| model(config).positions().map(|matrix| matrix.shape().to_vec());
    let learned = DecoderConfig { positions: Positions::Learned, norm: NormKind::Layer, ..config() };
    assert_eq!(shape(learned), Some(vec![9, 12]));
    assert_eq!(shape(config()), None);
}

#[test]
fn a_head_of_its_own_is_called_so() {
    let halved = |matrix: &Matrix| Ok::<_, DecoderError>(matrix.values().iter().map(|x| x / 2.0).collect());
    let changed = model(config()).with_products(halved).unwrap();
    assert_eq!((&changed.head().name[..], &changed.embedding().name[..]), ("head", "embedding"));
}
