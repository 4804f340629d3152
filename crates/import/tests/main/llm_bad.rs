//! Folders of language models with defects.

use npukit_import::llm::{Checkpoint, LlmError};
use npukit_shared::needs;
use serde_json::{Value, json};

use crate::llm_files::{Files, folder, reader};

fn refused(files: &Files) -> LlmError {
    Checkpoint::open_folder("m", &reader(files)).unwrap_err()
}

/// Returns the files with a key of the configuration changed.
fn with(files: &Files, key: &str, value: Value) -> Files {
    let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
    config[key] = value;
    let mut files = files.clone();
    files.insert("config.json".to_owned(), config.to_string().into_bytes());
    files
}

#[needs(NPUKIT_SHARED)]
#[test]
fn configurations_are_checked_before_weights_are_read() {
    let files = folder("tiny/llama_gqa");
    let keys = [
        ("hidden_size", json!("many")),
        ("hidden_size", Value::Null),
        ("num_hidden_layers", json!(1_000_000)),
        ("hidden_act", json!("tan")),
        ("rope_parameters", json!({ "rope_type": "spiral" })),
        ("rope_parameters", json!({ "rope_type": "linear" })),
        ("layer_types", json!(["full_attention"])),
        ("quantization_config", json!({})),
    ];
    for (key, value) in keys {
        let error = refused(&with(&files, key, value));
        assert!(matches!(error, LlmError::Key { .. }), "{key}: {error}");
    }
    let sizes = [
        ("num_hidden_layers", json!(0)),
        ("num_attention_heads", json!(3)),
        ("rms_norm_eps", json!(-1.0)),
        ("rope_parameters", json!({ "rope_theta": 0.0 })),
        ("head_dim", json!(7)),
    ];
    for (key, value) in sizes {
        let error = refused(&with(&files, key, value));
        assert!(matches!(error, LlmError::Model { .. }), "{key}: {error}");
    }
    let error = refused(&with(&files, "model_type", json!("mamba")));
    assert!(matches!(&error, LlmError::Family { known, .. } if known.contains("qwen3")), "{error}");
    let error = refused(&with(&files, "num_hidden_layers", json!(3)));
    assert!(
        matches!(&error, LlmError::Missing { names, .. } if names.contains("layers.2.mlp.up_proj")),
        "{error}"
    );
    let error = refused(&with(&files, "num_hidden_layers", json!(1)));
    assert!(
        matches!(&error, LlmError::Unused { names, .. } if names.contains("layers.1.mlp.up_proj")),
        "{error}"
    );
    let error = refused(&with(&files, "attention_bias", json!(true)));
    assert!(matches!(&error, LlmError::Missing { names, .. } if names.contains("q_proj.bias")), "{error}");
    let error = refused(&with(&files, "intermediate_size", json!(65)));
    assert!(matches!(&error, LlmError::Shape { .. }), "{error}");
}

#[needs(NPUKIT_SHARED)]
#[test]
fn defects_of_files_are_reported() {
    let files = folder("tiny/llama_gqa");
    let changed = |name: &str, bytes: &[u8]| {
        let mut files = files.clone();
        files.insert(name.to_owned(), bytes.to_vec());
        files
    };
    assert!(matches!(refused(&changed("config.json", b"{\n\"a\": }")), LlmError::Json { line: 2, .. }));
    let weights = &files["model.safetensors"];
    for bytes in [&weights[..4], &weights[..100], &weights[..weights.len() - 1], &[0xFF; 16]] {
        let error = refused(&changed("model.safetensors", bytes));
        assert!(matches!(error, LlmError::SafeTensors { .. }), "{error}");
    }
    let mut without = files.clone();
    without.remove("model.safetensors");
    assert!(matches!(refused(&without), LlmError::File { .. }));
    for location in ["../model.safetensors", "/etc/passwd", "a/../../b", "C:\\w"] {
        let index = json!({ "weight_map": { "lm_head.weight": location } }).to_string();
        without.insert("model.safetensors.index.json".to_owned(), index.into_bytes());
        let error = refused(&without);
        assert!(matches!(&error, LlmError::Outside { location: own, .. } if own == location), "{error}");
    }
}

/// NaN and infinite weights are refused when they are read, with their tensor and place.
#[needs(NPUKIT_SHARED)]
#[test]
fn weights_must_be_finite() {
    let mut files = folder("tiny/llama_gqa");
    let name = "model.layers.1.mlp.up_proj.weight";
    let bytes = files.get_mut("model.safetensors").unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let columns = header[name]["shape"][1].as_u64().unwrap() as usize;
    let begin = 8 + length + header[name]["data_offsets"][0].as_u64().unwrap() as usize;
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        bytes[begin + 4 * (2 * columns + 5)..][..4].copy_from_slice(&number.to_le_bytes());
        let files = Files::from_iter([("model.safetensors".to_owned(), bytes.clone())]);
        let mut all = folder("tiny/llama_gqa");
        all.extend(files);
        let checkpoint = Checkpoint::open_folder("m", &reader(&all)).unwrap();
        let error = checkpoint.model(&reader(&all)).unwrap_err();
        let expected =
            matches!(&error, LlmError::NotFinite { name: own, row: 2, column: 5, .. } if own == name);
        assert!(expected, "{error}");
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn repeated_names_are_refused() {
    let files = folder("tiny/llama_gqa");
    let with = |name: &str, bytes: Vec<u8>| {
        let mut files = files.clone();
        files.insert(name.to_owned(), bytes);
        files
    };
    let entry = r#""a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let header = format!("{{{entry},{entry}}}");
    let weights = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 4]].concat();
    let error = refused(&with("model.safetensors", weights));
    assert!(
        matches!(&error, LlmError::SafeTensors { reason, .. } if reason.contains("`a` is repeated")),
        "{error}"
    );
    let config = br#"{"model_type": "llama", "model_type": "gpt2"}"#;
    let error = refused(&with("config.json", config.to_vec()));
    assert!(matches!(&error, LlmError::Json { message, .. } if message.contains("is repeated")), "{error}");
    let mut sharded =
        with("model.safetensors.index.json", br#"{"weight_map": {"a": "x", "a": "y"}}"#.to_vec());
    sharded.remove("model.safetensors");
    assert!(matches!(refused(&sharded), LlmError::Json { .. }));
    // Arrays within each other are limited.
    let error = refused(&with("config.json", "[".repeat(100_000).into_bytes()));
    assert!(matches!(error, LlmError::Json { .. }), "{error}");
}

#[needs(NPUKIT_SHARED)]
#[test]
fn tokenizers_must_fit_the_model() {
    let files = folder("tiny/llama_gqa");
    let tokenizer = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&files["tokenizer.json"]).unwrap();
        change(&mut value);
        let mut files = files.clone();
        files.insert("tokenizer.json".to_owned(), value.to_string().into_bytes());
        let checkpoint = Checkpoint::open_folder("m", &reader(&files)).unwrap();
        checkpoint.tokenizer().unwrap_err()
    };
    let changes: [&dyn Fn(&mut Value); 6] = [
        &|file| file["model"]["vocab"]["x y"] = json!(448),
        &|file| file["model"]["merges"][3] = json!(["nothing", "else"]),
        &|file| file["model"]["type"] = json!("WordPiece"),
        &|file| file["pre_tokenizer"]["pretokenizers"][0]["pattern"] = json!({ "Regex": "." }),
        &|file| file["normalizer"] = json!({ "type": "Lowercase" }),
        &|file| file["post_processor"]["special_tokens"] = json!({}),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let error = tokenizer(change);
        assert!(matches!(error, LlmError::Tokenizer { .. }), "{index}: {error}");
    }
    let mut files = files.clone();
    files.remove("tokenizer.json");
    let checkpoint = Checkpoint::open_folder("m", &reader(&files)).unwrap();
    assert!(matches!(checkpoint.tokenizer(), Err(LlmError::File { .. })));
}
