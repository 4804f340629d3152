//! Encoders like BERT, compared with the tokens, values and vectors of `transformers` and
//! `sentence-transformers`.

use std::ops::Range;
use std::path::PathBuf;

use npukit_graph::language::{Encoder, Pooling, normalize};
use npukit_import::llm::{Checkpoint, LlmError, Sentence};
use npukit_import::onnx::Part;
use npukit_shared::needs;
use serde_json::{Value, json};

use crate::llm_files::{Files, all_files, arrays, integers, lists, on_disk, own, reader, texts};
use crate::llm_models::difference;

/// Texts whose values are recorded completely.
const WHOLE: [&str; 4] = [
    "Hello, world!",
    "A cat sleeps on the sofa.",
    "  \u{dc}n\u{ef}c\u{f6}d\u{e9}\tand \u{65e5}\u{672c} ",
    "x",
];

fn small() -> Files {
    all_files(&own("bert"))
}

/// Returns the small encoder as a folder and as a GGUF file.
fn both() -> [(Checkpoint, Encoder); 2] {
    let files = small();
    let folder = Checkpoint::open_folder("bert", &reader(&files)).unwrap();
    let of_folder = folder.encoder(&reader(&files)).unwrap();
    let files = Files::from([("bert.gguf".to_owned(), std::fs::read(own("bert.gguf")).unwrap())]);
    let gguf = Checkpoint::open_gguf("bert.gguf", &reader(&files)).unwrap();
    let of_gguf = gguf.encoder(&reader(&files)).unwrap();
    [(folder, of_folder), (gguf, of_gguf)]
}

/// Returns the vector of a text.
fn vector(encoder: &Encoder, sentence: &Sentence, ids: &[usize]) -> Vec<f32> {
    let values = encoder.values(ids).unwrap();
    let mut vector = sentence.pooling.apply(&values, encoder.description().hidden);
    if sentence.normalizes {
        normalize(&mut vector);
    }
    vector
}

#[needs(NPUKIT_SHARED)]
#[test]
fn tokens_values_and_vectors_of_a_small_encoder() {
    let expected = arrays(&std::fs::read(own("bert.npz")).unwrap());
    let ids = lists(&expected["ids"], &expected["ends"]);
    let texts = texts();
    assert_eq!((texts.len(), ids.len()), (247, 247));
    for (checkpoint, encoder) in both() {
        let tokenizer = checkpoint.tokenizer().unwrap();
        let sentence = checkpoint.sentence().unwrap();
        let vectors = expected["vectors"].as_f32().unwrap().chunks_exact(16);
        for ((text, ids), expected) in texts.iter().zip(&ids).zip(vectors) {
            assert_eq!(tokenizer.encode(text), *ids, "{text:?}");
            let wrong = difference(&vector(&encoder, sentence, ids), expected);
            assert!(wrong <= 1e-4, "{text:?}: {wrong}");
        }
        for (index, text) in WHOLE.into_iter().enumerate() {
            let ids = integers(&expected[&format!("{index}.ids")]);
            assert_eq!(tokenizer.encode(text), ids);
            let values = encoder.values(&ids).unwrap();
            let wrong = difference(&values, expected[&format!("{index}.values")].as_f32().unwrap());
            assert!(wrong <= 1e-4, "{text:?}: {wrong}");
        }
        assert_eq!(tokenizer.decode(&tokenizer.encode("Hello, cat!")), "[CLS] hello , cat ! [SEP]");
    }
}

#[test]
fn texts_are_shortened_at_their_end() {
    for (checkpoint, encoder) in both() {
        let tokenizer = checkpoint.tokenizer().unwrap();
        let whole = tokenizer.encode("one two three");
        let mut ids = whole.clone();
        tokenizer.shorten(&mut ids, whole.len());
        assert_eq!(ids, whole);
        tokenizer.shorten(&mut ids, 4);
        assert_eq!(ids, [&whole[..3], &whole[whole.len() - 1..]].concat());
        let long = vec![0; encoder.description().context + 1];
        assert!(encoder.values(&long).is_err() && encoder.values(&[]).is_err());
    }
}

/// Changes a JSON file of the folder, and returns the error of opening.
fn refused(name: &str, change: impl FnOnce(&mut Value)) -> LlmError {
    opened(name, change).map(drop).unwrap_err()
}

fn opened(name: &str, change: impl FnOnce(&mut Value)) -> Result<Checkpoint, LlmError> {
    let mut files = small();
    // Default: a file that does not exist yet is an object.
    let mut value = files.get(name).map_or(json!({}), |bytes| serde_json::from_slice(bytes).unwrap());
    change(&mut value);
    files.insert(name.to_owned(), value.to_string().into_bytes());
    Checkpoint::open_folder("bert", &reader(&files))
}

#[test]
fn files_of_sentences_are_used() {
    const POOLING: &str = "1_Pooling/config.json";
    let usual = Sentence { pooling: Pooling::Mean, normalizes: true, limit: Some(300) };
    let sentence = |name, change: &dyn Fn(&mut Value)| *opened(name, change).unwrap().sentence().unwrap();
    let limited = Sentence { limit: Some(128), ..usual };
    let limits = "sentence_bert_config.json";
    assert_eq!(sentence(limits, &|value| *value = json!({ "max_seq_length": 128 })), limited);
    for (mode, pooling) in [("cls", Pooling::First), ("max", Pooling::Max), ("lasttoken", Pooling::Last)] {
        let new = sentence(POOLING, &|value| *value = json!({ "pooling_mode": mode }));
        assert_eq!(new.pooling, pooling);
    }
    let old = json!({ "pooling_mode_mean_tokens": false, "pooling_mode_mean_sqrt_len_tokens": true });
    assert_eq!(sentence(POOLING, &|value| *value = old.clone()).pooling, Pooling::MeanSqrt);
    assert_eq!(sentence(POOLING, &|value| *value = json!({})).pooling, Pooling::Mean);
    let without = |value: &mut Value| value.as_array_mut().unwrap().truncate(2);
    assert!(!sentence("modules.json", &without).normalizes);
    let mut files = small();
    files.retain(|name, _| ["config.json", "model.safetensors", "tokenizer.json"].contains(&&**name));
    let bare = Checkpoint::open_folder("bert", &reader(&files)).unwrap();
    assert_eq!(*bare.sentence().unwrap(), Sentence { limit: None, ..usual });

    let two = json!({ "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true });
    assert!(matches!(refused(POOLING, |value| *value = two), LlmError::Key { .. }));
    let unknown = refused(POOLING, |value| *value = json!({ "pooling_mode": "weightedmean" }));
    assert!(matches!(&unknown, LlmError::Key { legal, .. } if legal.contains("lasttoken")), "{unknown}");
    let kind =
        refused("modules.json", |value| value[2]["type"] = json!("sentence_transformers.models.Dense"));
    assert!(matches!(&kind, LlmError::Key { found, .. } if found.contains("Dense")), "{kind}");
    let outside = refused("modules.json", |value| value[1]["path"] = json!("../other"));
    assert!(matches!(outside, LlmError::Outside { .. }), "{outside}");
    let prompt =
        refused("config_sentence_transformers.json", |value| value["default_prompt_name"] = json!("query"));
    assert!(matches!(prompt, LlmError::Key { .. }), "{prompt}");
    let endless = opened("tokenizer_config.json", |value| value["model_max_length"] = json!(1e30)).unwrap();
    assert_eq!(endless.sentence().unwrap().limit, None);
    let lower = refused(limits, |value| value["do_lower_case"] = json!(true));
    assert!(matches!(lower, LlmError::Key { .. }), "{lower}");
}

#[test]
fn configurations_of_encoders_are_checked() {
    for (key, value) in [
        ("position_embedding_type", json!("relative_key")),
        ("is_decoder", json!(true)),
        ("type_vocab_size", Value::Null),
        ("hidden_act", json!("mish")),
    ] {
        let error = refused("config.json", |config| config[key] = value);
        assert!(matches!(error, LlmError::Key { .. }), "{key}: {error}");
    }
    for (key, value) in [("type_vocab_size", json!(3)), ("max_position_embeddings", json!(4))] {
        let error = refused("config.json", |config| config[key] = value);
        assert!(matches!(error, LlmError::Shape { .. }), "{key}: {error}");
    }
    let [(folder, _), _] = both();
    let files = small();
    let error = folder.model(&reader(&files)).unwrap_err();
    assert!(matches!(&error, LlmError::Structure { found: "an encoder", .. }), "{error}");
}

#[test]
fn tokenizers_of_encoders_must_be_supported() {
    let tokenizer = |change: &dyn Fn(&mut Value)| {
        opened("tokenizer.json", change).unwrap().tokenizer().unwrap_err().to_string()
    };
    let steps = tokenizer(&|file| file["normalizer"] = json!({ "type": "NFC" }));
    assert!(steps.contains("NFC") && steps.contains("BertNormalizer"), "{steps}");
    let prefix = tokenizer(&|file| file["model"]["continuing_subword_prefix"] = json!("@@"));
    assert!(prefix.contains("@@"), "{prefix}");
    let unknown = tokenizer(&|file| file["model"]["unk_token"] = json!("[NO]"));
    assert!(unknown.contains("[NO]"), "{unknown}");
}

fn minilm(name: &str, range: Range<u64>) -> Result<Part, String> {
    on_disk(&PathBuf::from(std::env::var("NPUKIT_MINILM").unwrap()).join(name), range)
}

/// The encoder all-MiniLM-L6-v2, with 22.7 million weights.
#[needs(NPUKIT_MINILM)]
#[test]
fn tokens_and_vectors_of_minilm() {
    let expected = arrays(&std::fs::read(own("minilm.npz")).unwrap());
    let checkpoint = Checkpoint::open_folder("minilm", &minilm).unwrap();
    let tokenizer = checkpoint.tokenizer().unwrap();
    let sentence = *checkpoint.sentence().unwrap();
    assert_eq!(sentence, Sentence { pooling: Pooling::Mean, normalizes: true, limit: Some(256) });
    let encoder = checkpoint.encoder(&minilm).unwrap();
    let ids = lists(&expected["ids"], &expected["ends"]);
    let begins = expected["begins"].as_f32().unwrap().chunks_exact(6);
    for (index, ((text, ids), begin)) in texts().iter().zip(&ids).zip(begins).enumerate() {
        let mut found = tokenizer.encode(text);
        assert_eq!(found, *ids, "{text:?}");
        tokenizer.shorten(&mut found, 256);
        // Every eighth: a debug build takes long.
        if index % 8 == 0 {
            let found = vector(&encoder, &sentence, &found);
            let differences = found.iter().zip(begin).map(|(found, expected)| (found - expected).abs());
            assert!(differences.clone().all(|difference| difference <= 1e-5), "{text:?}");
        }
    }
    let whole = expected["whole"].as_f32().unwrap().chunks_exact(384);
    for (text, expected) in WHOLE.into_iter().zip(whole) {
        let wrong = difference(&vector(&encoder, &sentence, &tokenizer.encode(text)), expected);
        assert!(wrong <= 1e-4, "{text:?}: {wrong}");
    }
}
