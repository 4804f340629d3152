//! Folders of a model hub: [`open`].

use std::collections::BTreeMap;

use npukit_graph::language::{Pairs, Part};
use npukit_numeric::RowFormat;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::chat_template::ChatTemplate;
use super::json::{object, parsed, whole};
use super::keys::Keys;
use super::plan::{Layout, Plan};
use super::table::Table;
use super::tokenizer::Tokenizer;
use super::{Checkpoint, LlmError, Sentence, config, families, listed};
use crate::sidecar_files::{ReadRange, inside};
use crate::unique::Unique;

const CONFIG: &str = "config.json";
const GENERATION: &str = "generation_config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Keys that require biases, and the parts that have them.
const BIASES: &[(&str, &[Part])] = &[
    ("attention_bias", &[Part::Query, Part::Key, Part::Value, Part::Output]),
    ("mlp_bias", &[Part::Gate, Part::Up, Part::Down]),
];

/// Opens the folder called `name`.
pub(super) fn open(name: &str, files: &ReadRange<'_>) -> Result<Checkpoint, LlmError> {
    let (mut plan, config) = configured(name, files)?;
    plan.table = weights(files)?;
    plan.check()?;
    let end_tokens = end_tokens(&config, files)?;
    let tokenizer = whole(TOKENIZER, files)
        .and_then(|bytes| Tokenizer::from_json(TOKENIZER, &bytes, plan.description.vocabulary));
    let chat = ChatTemplate::from_folder(name, files);
    let sentence = plan.description.is_encoder().then(|| Sentence::of_folder(files)).transpose()?;
    Ok(Checkpoint { plan, tokenizer, chat, end_tokens, sentence })
}

/// Opens the configuration of the folder called `name`, with all tensors absent.
pub(super) fn open_shapes(name: &str, files: &ReadRange<'_>) -> Result<Checkpoint, LlmError> {
    let (mut plan, config) = configured(name, files)?;
    let invalid = |source| LlmError::Model { path: name.to_owned(), source: Box::new(source) };
    plan.description.check().map_err(invalid)?;
    let keys = Keys::new(CONFIG, &config, &str::to_owned);
    let format = match keys.text(&["dtype", "torch_dtype"])? {
        Some("float32") => RowFormat::F32,
        Some("float16") => RowFormat::F16,
        _ => RowFormat::Bf16,
    };
    plan.add_places(format);
    let reason = "only the shapes of the model were read".to_owned();
    let tokenizer = Err(LlmError::File { path: TOKENIZER.to_owned(), reason });
    let chat = Err(LlmError::NoTemplate { path: name.to_owned() });
    Ok(Checkpoint { plan, tokenizer, chat, end_tokens: Vec::new(), sentence: None })
}

/// Whether a folder has weights.
pub(super) fn has_weights(files: &ReadRange<'_>) -> bool {
    [WEIGHTS, INDEX].iter().any(|name| files(name, 0..1).is_ok())
}

/// Reads the configuration of the folder called `name`, and returns it with the plan of its
/// tensors, whose places are still unknown.
fn configured(name: &str, files: &ReadRange<'_>) -> Result<(Plan, Map<String, Value>), LlmError> {
    let config = of_text(object(CONFIG, files)?);
    let keys = Keys::new(CONFIG, &config, &str::to_owned);
    let found = keys.text(&["model_type"])?.ok_or_else(|| keys.wrong("model_type", "missing", "a text"))?;
    let family = families::of_model_type(found).ok_or_else(|| {
        let known = families::ALL.iter().flat_map(|family| family.model_types);
        LlmError::Family { path: CONFIG.to_owned(), found: found.to_owned(), known: listed(known) }
    })?;
    let description = config::description(name, family, Pairs::Halves, &keys)?;
    let mut biases = family.biases.to_vec();
    for (key, parts) in BIASES {
        if keys.truth(key)? == Some(true) {
            biases.extend(*parts);
        }
    }
    let (path, table) = (name.to_owned(), Table::default());
    Ok((Plan { path, description, family, layout: Layout::Folder, table, biases }, config))
}

/// Returns the configuration of the language model within a model for images or audio. Keys of the
/// whole model apply if the part does not have them.
fn of_text(mut config: Map<String, Value>) -> Map<String, Value> {
    let is_known = |config: &Map<String, Value>| {
        config.get("model_type").and_then(Value::as_str).and_then(families::of_model_type).is_some()
    };
    match config.get("text_config").and_then(Value::as_object).cloned() {
        Some(text) if is_known(&text) && !is_known(&config) => config.extend(text),
        _ => {}
    }
    config
}

/// Reads the places of the tensors: of one file or, if it is absent, of the shards of an index.
fn weights(files: &ReadRange<'_>) -> Result<Table, LlmError> {
    let exists = |name: &str| files(name, 0..1).is_ok();
    if exists(INDEX) && !exists(WEIGHTS) { shards(files) } else { Table::of_safetensors(WEIGHTS, files) }
}

/// Index of shards: the file of each tensor.
#[derive(Deserialize)]
struct Index {
    weight_map: Unique<String>,
}

fn shards(files: &ReadRange<'_>) -> Result<Table, LlmError> {
    let index: Index = parsed(INDEX, &whole(INDEX, files)?)?;
    let mut shards: BTreeMap<String, Table> = BTreeMap::new();
    let mut table = Table::default();
    for (name, location) in &index.weight_map.0 {
        let path = inside(location).ok_or_else(|| LlmError::Outside {
            path: INDEX.to_owned(),
            name: name.clone(),
            location: location.clone(),
        })?;
        if !shards.contains_key(&path) {
            shards.insert(path.clone(), Table::of_safetensors(&path, files)?);
        }
        let place = shards.get_mut(&path).and_then(|shard| shard.places.remove(name));
        let missing = || LlmError::Missing { path: path.clone(), names: name.clone() };
        table.places.insert(name.clone(), place.ok_or_else(missing)?);
    }
    match shards.into_iter().find(|(_, shard)| !shard.places.is_empty()) {
        Some((path, shard)) => Err(LlmError::Unused { path, names: listed(shard.places.keys()) }),
        None => Ok(table),
    }
}

/// Returns the tokens that end a text, from `generation_config.json` or otherwise `config.json`.
fn end_tokens(config: &Map<String, Value>, files: &ReadRange<'_>) -> Result<Vec<usize>, LlmError> {
    let generation = if files(GENERATION, 0..1).is_ok() { object(GENERATION, files)? } else { Map::new() };
    const KEY: &str = "eos_token_id";
    let stated = |path: &'static str, map: &Map<String, Value>| {
        map.get(KEY).filter(|value| !value.is_null()).map(|value| (path, value.clone()))
    };
    let Some((path, value)) = stated(GENERATION, &generation).or_else(|| stated(CONFIG, config)) else {
        return Ok(Vec::new());
    };
    let list = if let Value::Array(list) = value { list } else { vec![value] };
    let token = |value: &Value| value.as_u64().and_then(|token| usize::try_from(token).ok());
    list.iter().map(|value| token(value).ok_or(value)).collect::<Result<_, _>>().map_err(|value| {
        LlmError::Key {
            path: path.to_owned(),
            key: KEY.to_owned(),
            found: value.to_string(),
            legal: "a token number, or a list of them".to_owned(),
        }
    })
}
