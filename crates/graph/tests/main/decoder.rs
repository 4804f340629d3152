//! Decoders: both graphs and the session against a literal decoder in `f64`.

use npukit_graph::decoder::{
    Activation, DecoderConfig, DecoderError, DecoderModel, Layer, Matrix, NormKind, NormWeights, Pairs,
    Positions, Session, likeliest,
};
use npukit_graph::op::GeluForm;
use npukit_graph::{evaluate, pass};
use npukit_numeric::Tensor;

use crate::support::{i64s, noise};

pub const TOKENS: [usize; 6] = [3, 0, 6, 6, 1, 4];

pub fn config() -> DecoderConfig {
    DecoderConfig {
        name: "small".to_owned(),
        vocabulary: 7,
        context: 9,
        layers: 2,
        hidden: 12,
        heads: 6,
        kv_heads: 2,
        head: 4,
        feed_forward: 10,
        norm: NormKind::Rms,
        epsilon: 1e-5,
        activation: Activation::Gelu(GeluForm::Tanh),
        gated: false,
        positions: Positions::Rotary { theta: 100.0, pairs: Pairs::Neighbors },
        attention_scale: 0.5,
        tied: true,
    }
}

pub fn others() -> Vec<DecoderConfig> {
    let halves = Positions::Rotary { theta: 10_000.0, pairs: Pairs::Halves };
    vec![
        config(),
        DecoderConfig { norm: NormKind::Layer, positions: Positions::Learned, tied: false, ..config() },
        DecoderConfig { gated: true, activation: Activation::Silu, positions: halves, ..config() },
        DecoderConfig { kv_heads: 6, activation: Activation::Gelu(GeluForm::Exact), ..config() },
        DecoderConfig { kv_heads: 1, activation: Activation::Relu, positions: Positions::None, ..config() },
    ]
}

/// The model with weights that depend only on their names.
pub fn model(config: DecoderConfig) -> DecoderModel {
    let seed = |name: &str| name.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
    DecoderModel::new(config, |name, shape| Ok::<_, DecoderError>(noise(shape, seed(name)))).unwrap()
}

// --- the literal decoder ---

fn times(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
    let row = |row: &[f32]| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum();
    matrix.values().chunks(x.len()).map(row).collect()
}

fn normal(config: &DecoderConfig, weights: &NormWeights, x: &[f64]) -> Vec<f64> {
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / x.len() as f64;
    let center = if config.norm == NormKind::Layer { mean(&mut x.iter().copied()) } else { 0.0 };
    let root = (mean(&mut x.iter().map(|x| (x - center).powi(2))) + f64::from(config.epsilon)).sqrt();
    let bias = |i: usize| weights.bias.as_ref().map_or(0.0, |bias| f64::from(bias.values()[i]));
    let gain = |i: usize| f64::from(weights.gain.values()[i]);
    x.iter().enumerate().map(|(i, x)| (x - center) / root * gain(i) + bias(i)).collect()
}

fn rotate(config: &DecoderConfig, head: &mut [f64], position: usize) {
    let Positions::Rotary { theta, pairs } = config.positions else { return };
    let half = config.head / 2;
    for i in 0..half {
        let angle = position as f64 * f64::from(theta).powf(-(i as f64) / half as f64);
        let (a, b) = if pairs == Pairs::Neighbors { (2 * i, 2 * i + 1) } else { (i, i + half) };
        let (x, y) = (head[a], head[b]);
        (head[a], head[b]) = (x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos());
    }
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Gelu(GeluForm::Tanh) => {
            0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x * x * x)).tanh())
        }
        // The normal distribution function at x, by the trapezoidal rule starting at -9.
        Activation::Gelu(GeluForm::Exact) => {
            let step = (x + 9.0) / 20_000.0;
            let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let inner: f64 = (1..20_000).map(|i| density(-9.0 + f64::from(i) * step)).sum();
            x * step * (inner + (density(-9.0) + density(x)) / 2.0)
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Relu => x.max(0.0),
    }
}

/// Attention of the token at `position`, given the rotated keys and the values up to it.
fn attend(config: &DecoderConfig, query: &[f64], keys: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<f64> {
    let size = config.head;
    let seen = |index: usize| {
        let (query, shared) =
            (&query[index * size..][..size], index / (config.heads / config.kv_heads) * size);
        let dot = |key: &Vec<f64>| query.iter().zip(&key[shared..][..size]).map(|(q, k)| q * k).sum::<f64>();
        let weights: Vec<f64> =
            keys.iter().map(|key| (dot(key) * f64::from(config.attention_scale)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let feature = move |i: usize| {
            weights.iter().zip(values).map(|(weight, value)| weight / sum * value[shared + i]).sum::<f64>()
        };
        (0..size).map(feature).collect::<Vec<f64>>()
    };
    (0..config.heads).flat_map(seen).collect()
}

fn literal_layer(config: &DecoderConfig, layer: &Layer, xs: &mut [Vec<f64>]) {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (position, x) in xs.iter_mut().enumerate() {
        let normalized = normal(config, &layer.attention_norm, x);
        let (mut query, mut key) = (times(&layer.query, &normalized), times(&layer.key, &normalized));
        query.chunks_mut(config.head).for_each(|head| rotate(config, head, position));
        key.chunks_mut(config.head).for_each(|head| rotate(config, head, position));
        keys.push(key);
        values.push(times(&layer.value, &normalized));
        let attended = times(&layer.output, &attend(config, &query, &keys, &values));
        x.iter_mut().zip(attended).for_each(|(x, attended)| *x += attended);
        let normalized = normal(config, &layer.feed_forward_norm, x);
        let up = times(&layer.up, &normalized);
        let active: Vec<f64> = match &layer.gate {
            None => up.iter().map(|&x| activate(config.activation, x)).collect(),
            Some(gate) => {
                let gate = times(gate, &normalized);
                gate.iter().zip(&up).map(|(&gate, up)| activate(config.activation, gate) * up).collect()
            }
        };
        x.iter_mut().zip(times(&layer.down, &active)).for_each(|(x, down)| *x += down);
    }
}

/// Returns the logits after each token.
pub fn literal(model: &DecoderModel, tokens: &[usize]) -> Vec<f64> {
    let config = model.config();
    let row = |matrix: &Matrix, index: usize| -> Vec<f64> {
        matrix.values()[index * config.hidden..][..config.hidden].iter().map(|&x| f64::from(x)).collect()
    };
    let mut xs: Vec<Vec<f64>> = tokens.iter().map(|&token| row(model.embedding(), token)).collect();
    if let Some(positions) = model.positions() {
        for (position, x) in xs.iter_mut().enumerate() {
            x.iter_mut().zip(row(positions, position)).for_each(|(x, place)| *x += place);
        }
    }
    model.layers().iter().for_each(|layer| literal_layer(config, layer, &mut xs));
    xs.iter().flat_map(|x| times(model.head(), &normal(config, model.final_norm(), x))).collect()
}

// --- the tests ---

pub fn assert_near(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let near = (f64::from(*found) - expected).abs() <= 1e-4 * expected.abs().max(1.0);
        assert!(near, "{found} instead of {expected} at {index}");
    }
}

fn tokens() -> Tensor {
    i64s(&[TOKENS.len()], &TOKENS.map(|token| token as i64))
}

#[test]
fn a_prompt_at_once_is_the_literal_decoder() {
    for config in others() {
        let model = model(config);
        let graph = model.prefill(TOKENS.len()).unwrap();
        graph.validate().unwrap();
        let results = evaluate(&graph, &[tokens()]).unwrap();
        assert_near(results[0].as_f32().unwrap(), &literal(&model, &TOKENS));
        let mut simplified = graph.clone();
        pass::simplify(&mut simplified).unwrap();
        let again = evaluate(&simplified, &[tokens()]).unwrap();
        assert_near(again[0].as_f32().unwrap(), &literal(&model, &TOKENS));
    }
}

#[test]
fn token_by_token_is_the_literal_decoder() {
    for config in others() {
        let model = model(config);
        let expected = literal(&model, &TOKENS);
        let mut session = Session::new(&model, TOKENS.len()).unwrap();
        for _ in 0..2 {
            let rows = expected.chunks(model.config().vocabulary);
            assert_near(&session.take(&TOKENS[..2]).unwrap(), rows.clone().nth(1).unwrap());
            for (token, expected) in TOKENS.iter().zip(rows).skip(2) {
                assert_near(&session.take(&[*token]).unwrap(), expected);
            }
            assert_eq!(session.position(), TOKENS.len());
            session.reset();
        }
    }
}

#[test]
fn both_graphs_hold_the_same_keys_and_values() {
    let model = model(config());
    let all = evaluate(&model.prefill(TOKENS.len()).unwrap(), &[tokens()]).unwrap();
    let last = TOKENS.len() - 1;
    let graph = model.decode(last).unwrap();
    let mut inputs = vec![i64s(&[1], &[TOKENS[last] as i64]), i64s(&[1], &[last as i64])];
    let head = config().head;
    let rows = |tensor: &Tensor, range: std::ops::Range<usize>| -> Vec<f32> {
        let heads = tensor.as_f32().unwrap().chunks(TOKENS.len() * head);
        heads.flat_map(|values| values[range.start * head..range.end * head].to_vec()).collect()
    };
    inputs.extend(all[1..].iter().map(|t| Tensor::from_f32(vec![2, last, head], rows(t, 0..last)).unwrap()));
    let results = evaluate(&graph, &inputs).unwrap();
    for (found, whole) in results[1..].iter().zip(&all[1..]) {
        let expected: Vec<f64> = rows(whole, last..last + 1).into_iter().map(f64::from).collect();
        assert_near(found.as_f32().unwrap(), &expected);
    }
}

#[test]
fn replaced_products_leave_the_lookup_alone() {
    let model = model(config());
    let halved = |matrix: &Matrix| Ok::<_, DecoderError>(matrix.values().iter().map(|x| x / 2.0).collect());
    let changed = model.with_products(halved).unwrap();
    assert_eq!(changed.embedding(), model.embedding());
    assert_eq!(changed.head().values()[0], model.embedding().values()[0] / 2.0);
    assert_eq!((model.products().count(), changed.products().count()), (13, 13));
    for (before, after) in model.products().zip(changed.products()) {
        let halves: Vec<f32> = before.values().iter().map(|x| x / 2.0).collect();
        assert_eq!((after.values(), after.shape()), (&halves[..], before.shape()), "{}", before.name);
    }
    let lost = model.with_products(|_| Ok::<_, DecoderError>(Vec::new()));
    assert!(matches!(lost, Err(DecoderError::Shape { .. })), "{lost:?}");
}

#[test]
fn configurations_that_make_no_decoder_are_refused() {
    let key = |config: DecoderConfig| match config.check() {
        Err(DecoderError::Config { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(DecoderConfig { layers: 0, ..config() }), "layers");
    assert_eq!(key(DecoderConfig { hidden: usize::MAX, ..config() }), "hidden");
    assert_eq!(key(DecoderConfig { kv_heads: 4, ..config() }), "heads");
    assert_eq!(key(DecoderConfig { head: 3, ..config() }), "head");
    assert_eq!(key(DecoderConfig { epsilon: f32::NAN, ..config() }), "epsilon");
    assert_eq!(key(DecoderConfig { attention_scale: -1.0, ..config() }), "attention_scale");
    let other = |_: &str, shape: &[usize]| Ok::<_, DecoderError>(noise(&[shape[0] + 1], 1));
    let expected =
        DecoderError::Shape { name: "embedding".to_owned(), found: vec![8], expected: vec![7, 12] };
    assert_eq!(DecoderModel::new(config(), other), Err(expected));
}

#[test]
fn tokens_beyond_the_model_are_refused() {
    let model = model(config());
    let too_long =
        |result: Result<_, DecoderError>| matches!(result, Err(DecoderError::TooLong { limit: 9, .. }));
    assert!(too_long(model.prefill(10)) && too_long(model.decode(9)));
    assert_eq!(model.prefill(0).err(), Some(DecoderError::NoTokens));
    let mut session = Session::new(&model, 1).unwrap();
    assert_eq!(session.take(&[]), Err(DecoderError::NoTokens));
    assert_eq!(session.take(&[7]), Err(DecoderError::Token { token: 7, vocabulary: 7 }));
    assert_eq!(session.take(&[1, 1]), Err(DecoderError::TooLong { position: 0, found: 2, limit: 1 }));
    session.take(&[1]).unwrap();
    assert!(session.take(&[1]).is_err() && Session::new(&model, 0).is_err());
}

#[test]
fn the_first_of_the_largest_logits_is_taken() {
    assert_eq!(likeliest(&[1.0, 3.0, 3.0, f32::NAN]), 1);
    assert_eq!(likeliest(&[]), 0);
}
