//! The metadata of a GGUF file under the names of a `config.json`: [`as_config`].

use serde_json::{Map, Number, Value, json};

use super::LlmError;
use super::config::{DEVIATIONS, FULL, LAYER_TYPES, MAX_LAYERS, SLIDING, yarn};
use super::family::Family;
use super::gguf::{self, Array, Gguf};

/// Keys after the architecture's name, and the same keys of a `config.json`.
const KEYS: &[(&str, &str)] = &[
    ("context_length", "max_position_embeddings"),
    ("block_count", "num_hidden_layers"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("attention.layer_norm_epsilon", "layer_norm_epsilon"),
    ("attention.sliding_window", "sliding_window"),
    ("attention.causal", "is_decoder"),
    ("attention.shared_kv_layers", "num_kv_shared_layers"),
    ("attention.sliding_window_pattern", LAYER_TYPES),
    ("altup.num_inputs", "altup_num_inputs"),
    ("altup.active_idx", "altup_active_idx"),
    ("embedding_length_per_layer_input", "hidden_size_per_layer_input"),
    ("activation_sparsity_scale", DEVIATIONS),
    ("attn_logit_softcapping", "attn_logit_softcapping"),
    ("final_logit_softcapping", "final_logit_softcapping"),
    ("rope.freq_base", "rope_theta"),
    ("rope.scaling.type", "rope_type"),
    ("rope.scaling.factor", "factor"),
    ("rope.scaling.original_context_length", "original_max_position_embeddings"),
];
/// Keys that belong to the object `rope_scaling`.
const SCALING: &[&str] = &["rope_type", "factor", "original_max_position_embeddings"];

/// Returns the name in the file of the key `name` of a `config.json`.
pub(super) fn name_in_file(architecture: &str, name: &str) -> String {
    let known = KEYS.iter().find(|(_, config)| *config == name);
    known.map_or_else(|| name.to_owned(), |(own, _)| format!("{architecture}.{own}"))
}

/// Returns the keys of a `config.json` for a file at `path` of a family.
pub(super) fn as_config(
    path: &str,
    architecture: &str,
    family: &Family,
    file: &Gguf,
) -> Result<Map<String, Value>, LlmError> {
    let wrong = |key: &str, found: String, legal: &str| LlmError::Key {
        path: path.to_owned(),
        key: format!("{architecture}.{key}"),
        found,
        legal: legal.to_owned(),
    };
    let get = |key: &str| file.metadata.get(&format!("{architecture}.{key}"));
    let (mut config, mut scaling) = (Map::new(), Map::new());
    for &(key, name) in KEYS {
        let Some(value) = get(key) else { continue };
        let value =
            converted(name, value).ok_or_else(|| wrong(key, value.to_string(), "a number or text"))?;
        let object = if SCALING.contains(&name) { &mut scaling } else { &mut config };
        object.insert(name.to_owned(), value);
    }
    let number = |key: &str| get(key).and_then(gguf::Value::as_u64);
    if let [Some(keys), Some(values)] = ["attention.key_length", "attention.value_length"].map(number)
        && keys != values
    {
        return Err(wrong("attention.value_length", values.to_string(), &format!("{keys}, as for keys")));
    }
    if let Some(factor) = get("rope.scaling.attn_factor").and_then(gguf::Value::as_f64) {
        scaling.insert("attention_factor".to_owned(), json!(attention_factor(factor, &scaling)));
    }
    config.insert("rope_scaling".to_owned(), Value::Object(scaling));
    if let (Some(cap), None) = (family.gguf_final_cap, get("final_logit_softcapping")) {
        config.insert("final_logit_softcapping".to_owned(), json!(cap));
    }
    config.extend(of_sizes(family, &number));
    config.extend(of_tensors(file));
    Ok(config)
}

/// Returns the keys that follow from several sizes, which `number` returns.
fn of_sizes(family: &Family, number: &dyn Fn(&str) -> Option<u64>) -> Vec<(String, Value)> {
    let (hidden, heads) = (number("embedding_length"), number("attention.head_count"));
    let (Some(hidden), Some(heads)) = (hidden, heads.filter(|&heads| heads > 0)) else { return Vec::new() };
    // Default: heads divide the hidden size.
    let head = number("attention.key_length").unwrap_or(hidden / heads);
    let rotated = number("rope.dimension_count").filter(|_| head > 0);
    let share = rotated.map(|rotated| json!(rotated as f64 / head as f64));
    let layers = number("block_count").and_then(|layers| usize::try_from(layers).ok());
    let is_by_hidden = layers.is_some_and(|layers| family.scaled_by_hidden.contains(&layers));
    let scalar = is_by_hidden.then(|| json!(hidden as f64 / heads as f64));
    let keys = [("partial_rotary_factor", share), ("query_pre_attn_scalar", scalar)];
    keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Returns the keys that follow from the tensors.
fn of_tensors(file: &Gguf) -> Vec<(String, Value)> {
    let tied = json!(!file.tensors.contains_key("output.weight"));
    let rows = file.tensors.get("token_embd.weight").and_then(|info| info.shape.first());
    // Default: without embeddings, a description with any size lacks them.
    let rows = json!(rows.unwrap_or(&1));
    // Default: without the tensor, tokens have no types, or a size is invalid.
    let rows_of =
        |name: &str| json!(file.tensors.get(name).and_then(|info| info.shape.first()).unwrap_or(&0));
    [
        ("tie_word_embeddings", tied),
        ("vocab_size", rows),
        ("type_vocab_size", rows_of("token_types.weight")),
        ("vocab_size_per_layer_input", rows_of("per_layer_token_embd.weight")),
        ("laurel_rank", rows_of("blk.0.laurel_l.weight")),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

/// Returns the value of the key called `name` in a `config.json`; `None` if it has no such form.
fn converted(name: &str, value: &gguf::Value) -> Option<Value> {
    let array = match value {
        gguf::Value::Array(array @ Array::Numbers { .. }) if array.count() <= MAX_LAYERS => array,
        // Some files have the distance between layers without a window, which the family knows.
        gguf::Value::Number(_) if name == LAYER_TYPES => return Some(Value::Null),
        _ => return json_of(value),
    };
    let numbers = array.numbers().map(|number| match (name, number.as_f64()) {
        // JSON has no infinite numbers; this one is infinite as an `f32`.
        (DEVIATIONS, Some(f64::NEG_INFINITY)) => Some(json!(f64::MIN)),
        (LAYER_TYPES, _) => Some(json!(if number.bits == 0 { FULL } else { SLIDING })),
        _ => json_of(&gguf::Value::Number(number)),
    });
    numbers.collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// Returns the factor of rotated values. For YaRN, the stated factor multiplies the usual one.
fn attention_factor(stated: f64, scaling: &Map<String, Value>) -> f64 {
    let factor = scaling.get("factor").and_then(Value::as_f64);
    match (scaling.get("rope_type").and_then(Value::as_str), factor) {
        (Some("yarn"), Some(factor)) => stated * yarn(factor, 1.0),
        _ => stated,
    }
}

/// Returns a number, truth value or text as JSON; `None` for others, or a number that is not
/// finite.
fn json_of(value: &gguf::Value) -> Option<Value> {
    if let Some(integer) = value.as_u64() {
        return Some(json!(integer));
    }
    let float = || value.as_f64().and_then(Number::from_f64).map(Value::Number);
    let text = || value.as_str().map(|text| json!(text));
    value.as_bool().map(Value::Bool).or_else(float).or_else(text)
}
