//! A small Gemma 3N, compared with the logits and the continuation of `transformers`.

use std::sync::Arc;

use npukit_graph::decoder::likeliest;
use npukit_graph::language::{DecoderError, Evaluator, Model};
use npukit_import::llm::{Checkpoint, LlmError};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use crate::llm_files::{Files, all_files, arrays, integers, own, reader};
use crate::llm_models::difference;

fn small() -> Files {
    all_files(&own("gemma3n"))
}

fn changed(change: impl FnOnce(&mut Value)) -> Files {
    let mut files = small();
    let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
    change(&mut config);
    files.insert("config.json".to_owned(), config.to_string().into_bytes());
    files
}

fn of_folder(files: &Files) -> Result<Model, LlmError> {
    Checkpoint::open_folder("m", &reader(files))?.model(&reader(files))
}

fn of_gguf() -> Model {
    let name = "gemma3n.gguf".to_owned();
    let files = Files::from([(name.clone(), std::fs::read(own(&name)).unwrap())]);
    let checkpoint = Checkpoint::open_gguf(&name, &reader(&files)).unwrap();
    checkpoint.model(&reader(&files)).unwrap()
}

fn check(model: Model, name: &str) {
    let expected = arrays(&small()["expected.npz"]);
    let prompt = integers(&expected["ids"]);
    let mut text = Evaluator::new(Arc::new(model));
    let found = text.take_all(&prompt).unwrap();
    let wrong = difference(&found, expected["logits"].as_f32().unwrap());
    assert!(wrong <= 1e-4, "{name}: {wrong}");
    let mut logits = found[found.len() - 96..].to_vec();
    for (step, token) in integers(&expected["greedy"]).into_iter().enumerate() {
        assert_eq!(likeliest(&logits), token, "{name}, step {step}");
        logits = text.take(&[token]).unwrap();
    }
}

#[test]
fn logits_and_continuation_of_gemma_3n() {
    check(of_folder(&small()).unwrap(), "text");
    let one_size = changed(|config| config["intermediate_size"] = json!(48));
    check(of_folder(&one_size).unwrap(), "one size");
    check(of_gguf(), "gguf");
}

/// Values of heads are spread, in layers that read the values of others as well.
#[test]
fn a_rotated_gemma_3n_has_the_same_logits() {
    check(of_gguf().rotated(), "rotated");
}

/// A folder of the whole model has the language model within, and parts for images and audio.
#[test]
fn the_language_model_within_a_larger_model_is_read() {
    let mut files = changed(|config| {
        *config = json!({ "model_type": "gemma3n", "text_config": config.clone(), "vision_config": {} });
    });
    let weights = files["model.safetensors"].clone();
    let tensors = SafeTensors::deserialize(&weights).unwrap();
    let extra = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
    // Files of the authors also have matrices of layers that read the keys of others.
    let more = ["vision_tower.x", "audio_tower.y", "language_model.layers.4.self_attn.k_proj.weight"];
    let more = more.map(|name| (format!("model.{name}"), extra.clone()));
    let views = tensors
        .tensors()
        .into_iter()
        .map(|(name, view)| (name.replacen("model.", "model.language_model.", 1), view));
    let all = safetensors::serialize(views.chain(more), None).unwrap();
    files.insert("model.safetensors".to_owned(), all);
    check(of_folder(&files).unwrap(), "whole");
}

/// Texts are divided, shortened, saved and restored; layers without keys keep none.
#[test]
fn texts_of_gemma_3n_can_be_divided_and_saved() {
    let (model, prompt) = (Arc::new(of_gguf()), integers(&arrays(&small()["expected.npz"])["ids"]));
    let mut text = Evaluator::new(Arc::clone(&model));
    let whole = text.take(&prompt).unwrap();
    text.keep(5);
    let divided = prompt[5..].chunks(4).map(|part| text.take(part).unwrap()).last().unwrap();
    assert!(difference(&divided, &whole) < 1e-5);
    let saved = text.saved();
    // Three of five layers have keys and values, of two heads with eight features.
    assert_eq!(saved.len(), 3 * 2 * prompt.len() * 2 * 8 * 4);
    let mut other = Evaluator::new(model);
    assert!(other.restore(&prompt, &saved) && !other.restore(&prompt[1..], &saved));
    assert_eq!(other.take(&[7]).unwrap(), text.take(&[7]).unwrap());
}

#[test]
fn a_gemma_3n_is_not_calibrated() {
    let replace = |_: npukit_graph::language::Group<'_>| Ok::<_, DecoderError>(Vec::new());
    let error = of_gguf().calibrate(&[1, 2], replace).unwrap_err();
    assert!(matches!(error, DecoderError::Config { .. }), "{error}");
}

#[test]
fn configurations_of_gemma_3n_are_checked() {
    for (key, value) in [
        ("activation_sparsity_pattern", json!([0.95, 1.0, 0.0, 0.0, 0.0])),
        ("intermediate_size", json!([48, 48, 48, 48, 49])),
        ("intermediate_size", json!([])),
        ("laurel_rank", Value::Null),
    ] {
        let error = of_folder(&changed(|config| config[key] = value)).err().unwrap();
        assert!(matches!(error, LlmError::Key { .. }), "{key}: {error}");
    }
    for (key, value) in [
        ("activation_sparsity_pattern", json!([0.95])),
        ("altup_num_inputs", json!(0)),
        ("altup_active_idx", json!(3)),
        ("num_kv_shared_layers", json!(4)),
        ("num_kv_shared_layers", json!(9)),
        ("hidden_size_per_layer_input", json!(0)),
    ] {
        let error = of_folder(&changed(|config| config[key] = value)).err().unwrap();
        assert!(matches!(error, LlmError::Model { .. }), "{key}: {error}");
    }
}
