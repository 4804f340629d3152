//! Programs of several texts compute the same bits as a program of each text.
#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_graph::language::{Activation, LayerForm, NormKind, Pairs, Rotation, Scaling, Structure, Weight};
use npukit_graph::language::{DecoderError, Part, Rows as Weights};
use npukit_numeric::{SplitMix64, Tensor};

use super::*;
use crate::lower::{Executable, Options};
use crate::machine::Machine;
use crate::machine::arith::{Arithmetic, Bits, Literal};
use crate::program::runtime::{Session, SessionState};

/// Returns a model with random weights. Its second layer sees three tokens.
fn model() -> Model {
    let layer = |window| LayerForm { window, rotation: Some(0) };
    let description = Description {
        name: "small".to_owned(),
        structure: Structure::Decoder,
        vocabulary: 1600,
        context: 64,
        hidden: 32,
        feed_forward: 64,
        heads: 4,
        kv_heads: 2,
        head: 8,
        layers: vec![layer(None), layer(Some(3))],
        rotations: vec![Rotation { theta: 1e4, features: 8, scaling: Scaling::None }],
        pairs: Pairs::Halves,
        learned_positions: false,
        norm: NormKind::Rms,
        epsilon: 1e-5,
        query_key_norms: false,
        norms_after: false,
        activation: Activation::Silu,
        gated: true,
        tied: true,
        embedding_scale: 1.0,
        attention_scale: 0.35,
        attention_cap: None,
        final_cap: None,
        streams: None,
    };
    let of = description.clone();
    let mut random = SplitMix64::new(7);
    Model::new::<DecoderError>(description, |part: Part, _| {
        let shape = part.shape(&of);
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|_| random.between(-1.0, 1.0) as f32).collect();
        Ok(Weight { rows: Weights::from_floats(shape, &values).unwrap(), bias: None })
    })
    .unwrap()
}

/// Runs a program for each position of some texts, and returns all logits by position and text.
fn run<A>(config: &Config, language: &Language, rows: Rows, texts: &[&[usize]]) -> Vec<Vec<f32>>
where
    A: Arithmetic<Slot = Arc<Tensor>>,
{
    let logits = if rows.count() > 1 { Logits::All } else { Logits::Last };
    let mut template = language.unchecked(rows, 15, logits).unwrap();
    crate::lower::check_orders(config, &template.executable).unwrap();
    let mut machine = Machine::<A>::filled(config, Some(3)).unwrap();
    for window in &template.executable.program.windows {
        machine.open_window(window.direction, window.number, window.size_bytes as usize).unwrap();
    }
    let mut state = SessionState::<A>::default();
    let mut at = |position: usize, state: &mut SessionState<A>| -> Vec<f32> {
        let inputs: Vec<Vec<Tensor>> = texts
            .iter()
            .map(|text| language.inputs(&[text[position]], position, position + 1).unwrap())
            .collect();
        let joined = |index: usize| {
            let rows: Vec<f32> = inputs.iter().flat_map(|of| of[index].as_f32().unwrap()).copied().collect();
            Tensor::from_f32(vec![texts.len(), rows.len() / texts.len()], rows).unwrap()
        };
        let joined: Vec<Arc<Tensor>> = (0..inputs[0].len()).map(|index| Arc::new(joined(index))).collect();
        let Executable { program, host } = template.at(position);
        let mut session = Session::resume(&mut machine, program, host, std::mem::take(state));
        let results = session.run_slots(joined, &mut |_, _| ()).unwrap();
        *state = session.pause();
        results.iter().flat_map(|row| row.as_f32().unwrap()).copied().collect()
    };
    (0..texts[0].len()).map(|position| at(position, &mut state)).collect()
}

#[test]
fn texts_at_once_have_the_bits_of_each_text() {
    let texts: [&[usize]; 3] = [&[1, 2, 3, 4, 5, 6], &[1599, 0, 39, 17, 2, 2], &[7, 7, 7, 7, 7, 8]];
    for (preset, weights) in [("reference", "8"), ("extended", "4")] {
        // L2 is too small for all logits at once.
        let config = Config { l2_words: 2000, ..Config::preset(preset).unwrap() };
        let chosen = [("weights".to_owned(), weights.to_owned())].into_iter().collect();
        let options = LanguageOptions::new(&Options::parse(&config, &chosen).unwrap());
        let language = Language::new(&config, Arc::new(model()), options).unwrap();
        let at_once = run::<Bits>(&config, &language, Rows::Texts(texts.len()), &texts);
        for (index, text) in texts.iter().enumerate() {
            let alone = run::<Bits>(&config, &language, Rows::Tokens(1), &[text]);
            for (position, alone) in alone.iter().enumerate() {
                assert_eq!(
                    at_once[position][index * 1600..][..1600],
                    alone[..],
                    "{preset} {index} {position}"
                );
            }
        }
        assert!(at_once[5][..1600] != at_once[5][1600..3200]);
    }
}

/// Products in parts of 32 columns have the bits of literal arithmetic, at once and text by text.
/// The feed-forward part has 64 columns: they are in two parts, or in one of 64.
#[test]
fn products_in_parts_have_the_literal_bits() {
    let texts: [&[usize]; 2] = [&[1, 2, 3, 4], &[1599, 0, 39, 17]];
    for (preset, weights) in [("reference", "8"), ("extended", "4")] {
        let config = Config::preset(preset).unwrap();
        let options = |part: Option<&str>| {
            let chosen = [("weights", Some(weights)), ("k_part", part)].into_iter();
            let chosen = chosen.filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
            LanguageOptions::new(&Options::parse(&config, &chosen.collect()).unwrap())
        };
        let language = |part| Language::new(&config, Arc::new(model()), options(part)).unwrap();
        let [whole, one, divided] = [None, Some("64"), Some("32")].map(language);
        let bits = |of: &Language, text: &[usize]| run::<Bits>(&config, of, Rows::Tokens(1), &[text]);
        let at_once = run::<Bits>(&config, &divided, Rows::Texts(texts.len()), &texts);
        for (index, text) in texts.iter().enumerate() {
            let found = bits(&divided, text);
            assert_eq!(found, run::<Literal>(&config, &divided, Rows::Tokens(1), &[text]), "{preset}");
            for (at_once, alone) in at_once.iter().zip(&found) {
                assert_eq!(at_once[index * 1600..][..1600], alone[..], "{preset} {index}");
            }
            assert!(found != bits(&whole, text), "sums of parts are rounded");
            assert_eq!(bits(&one, text), bits(&whole, text), "{preset}");
        }
        let cost =
            |part| LanguageCost::literal(&config, &model(), options(part)).unwrap().decode(4, 1).unwrap();
        let [whole, divided] = [None, Some("32")].map(cost);
        assert!(divided.cycles > whole.cycles && divided.traffic.macs == whole.traffic.macs, "{preset}");
    }
}

/// Each layer of the host is one part of the model.
#[test]
fn parts_are_known_without_names() {
    let config = Config::preset("extended").unwrap();
    let options = LanguageOptions::new(&Options::of(&config));
    let language = Language::of_shapes(&config, Arc::new(model()), options).unwrap();
    let Template { executable, parts, .. } = language.unchecked(Rows::Tokens(2), 15, Logits::Last).unwrap();
    let names: Vec<&str> = executable.host.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(parts.iter().map(ToString::to_string).collect::<Vec<_>>(), names);
    let of_layer = |layer| parts.iter().filter(|part| part.layer == layer).count();
    assert_eq!(of_layer(Some(0)), of_layer(Some(1)));
    assert!(parts.iter().any(|part| (part.layer, part.name) == (Some(1), "down")), "{names:?}");
}
