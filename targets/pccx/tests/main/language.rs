//! Language models from their own files, compared with the logits of `transformers`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::Model;
use npukit_import::llm::Checkpoint;
use npukit_import::onnx::Part;
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npz;
use npukit_pccx::Config;
use npukit_pccx::internals::language::LanguageDecoder;
use npukit_pccx::internals::lower::Options;
use npukit_pccx::internals::lower::language::LanguageOptions;
use npukit_testing::{needs, shared, shared_bytes};

const NAMES: [&str; 15] = [
    "llama_gqa",
    "llama_llama3",
    "llama_linear",
    "llama_dynamic",
    "llama_yarn",
    "llama_bias",
    "mistral_window",
    "qwen2",
    "qwen3",
    "gemma1",
    "gemma2",
    "gemma3",
    "phi3",
    "phi3_longrope",
    "gpt2",
];

/// Reads a file of a small model.
fn read(name: &str, file: &str, range: Range<u64>) -> Result<Part, String> {
    let path = shared(&format!("golden/llm/tiny/{name}")).join(file);
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let part = bytes[place(range.start)..place(range.end).max(place(range.start))].to_vec();
    Ok(Part { bytes: part, file_bytes: bytes.len() as u64 })
}

fn model(name: &str) -> Arc<Model> {
    let files = |file: &str, range: Range<u64>| read(name, file, range);
    let checkpoint = Checkpoint::open_folder(name, &files).unwrap();
    Arc::new(checkpoint.model(&files).unwrap())
}

/// Returns the prompt and the logits after each of its tokens.
fn expected(name: &str) -> (Vec<usize>, Vec<f32>) {
    let bytes = shared_bytes(&format!("golden/llm/tiny/{name}/expected.npz"));
    let arrays: BTreeMap<String, Tensor> = read_npz("expected.npz", &bytes).unwrap().into_iter().collect();
    let ids = arrays["ids"].reals().iter().map(|&id| id as usize).collect();
    (ids, arrays["logits"].as_f32().unwrap().to_vec())
}

fn decoder(preset: &str, options: &[(&str, &str)], model: &Arc<Model>) -> LanguageDecoder {
    let config = Config::preset(preset).unwrap();
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let options = LanguageOptions::new(&Options::parse(&config, &options).unwrap());
    LanguageDecoder::new(&config, options, Arc::clone(model), 48).unwrap()
}

/// Root mean square difference, relative to that of the expected logits.
fn difference(found: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let square = |x: f64| x * x;
    let off: f64 = found.iter().zip(expected).map(|(x, y)| square(f64::from(x - y))).sum();
    let all: f64 = expected.iter().map(|&y| square(y.into())).sum();
    (off / all).sqrt()
}

/// Returns the logits after each token of a prompt, processed token by token.
fn one_by_one(preset: &str, model: &Arc<Model>, prompt: &[usize]) -> Vec<f32> {
    let mut text = decoder(preset, &[("weights", "8"), ("m_tile", "1")], model);
    prompt.iter().flat_map(|&token| text.take(&[token], false).unwrap().logits).collect()
}

/// Every family, on instances with and without MUL, at once and token by token: the same bits, and
/// near the logits in float.
#[needs(NPUKIT_SHARED)]
#[test]
fn every_family_runs_on_the_machine() {
    for name in NAMES {
        let (model, (prompt, logits)) = (model(name), expected(name));
        // Earlier rotations of these models depend on the length of the text.
        let depends = ["llama_dynamic", "phi3_longrope"].contains(&name);
        for (preset, tile) in [("extended", "16"), ("reference", "5")] {
            let mut at_once = decoder(preset, &[("weights", "8"), ("m_tile", tile)], &model);
            let found = at_once.take(&prompt, true).unwrap();
            let off = difference(&found.logits, &logits);
            eprintln!("{name} {preset}: {off:.4}, {} cycles", found.cycles);
            assert!(off < 0.1, "{name} {preset}: {off}");
            let single = one_by_one(preset, &model, &prompt);
            let compared = if depends { model.description().vocabulary } else { logits.len() };
            let first = logits.len() - compared;
            let differs = (first..logits.len()).find(|&index| single[index] != found.logits[index]);
            assert_eq!(differs, None, "{name} {preset}");
        }
    }
}
