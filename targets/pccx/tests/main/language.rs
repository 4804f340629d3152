//! Language models from their own files, compared with the logits of `transformers`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::{DecoderError, Evaluator, Model, Part as Weights, Rows, Weight};
use npukit_import::llm::Checkpoint;
use npukit_import::onnx::Part;
use npukit_numeric::npy::read_npz;
use npukit_numeric::{RowFormat, SplitMix64, Tensor};
use npukit_pccx::Config;
use npukit_pccx::internals::language::LanguageDecoder;
use npukit_pccx::internals::lower::Options;
use npukit_pccx::internals::lower::language::LanguageOptions;
use npukit_testing::{needs, shared, shared_bytes};

pub const NAMES: [&str; 15] = [
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

/// Largest number of tokens of a text: more than one CVO instruction takes.
const CAPACITY: usize = 2100;

/// Reads a file of a small model.
fn read(name: &str, file: &str, range: Range<u64>) -> Result<Part, String> {
    let path = shared(&format!("golden/llm/tiny/{name}")).join(file);
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let part = bytes[place(range.start)..place(range.end).max(place(range.start))].to_vec();
    Ok(Part { bytes: part, file_bytes: bytes.len() as u64 })
}

pub fn checkpoint(name: &str) -> Checkpoint {
    Checkpoint::open_folder(name, &|file: &str, range: Range<u64>| read(name, file, range)).unwrap()
}

pub fn model(name: &str) -> Arc<Model> {
    let files = |file: &str, range: Range<u64>| read(name, file, range);
    Arc::new(checkpoint(name).model(&files).unwrap())
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
    let capacity = model.description().limit().min(CAPACITY);
    LanguageDecoder::new(&config, options, Arc::clone(model), capacity).unwrap()
}

/// Root mean square difference, relative to the root mean square of the expected logits.
fn difference(found: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let square = |x: f64| x * x;
    let off: f64 = found.iter().zip(expected).map(|(x, y)| square(f64::from(x - y))).sum();
    let all: f64 = expected.iter().map(|&y| square(y.into())).sum();
    (off / all).sqrt()
}

/// Returns the logits after each token of a prompt, processed token by token.
fn one_by_one(preset: &str, weights: &str, model: &Arc<Model>, prompt: &[usize]) -> Vec<f32> {
    let mut text = decoder(preset, &[("weights", weights), ("m_tile", "1")], model);
    prompt.iter().flat_map(|&token| text.take(&[token], false).unwrap().logits).collect()
}

/// Every family, on instances with and without MUL, at once and token by token: the same bits, and
/// near the logits in float.
#[needs(NPUKIT_SHARED)]
#[test]
fn every_family_runs_on_the_machine() {
    for name in NAMES {
        let (model, (prompt, logits)) = (model(name), expected(name));
        // In these models, the rotations of earlier tokens depend on the length of the text.
        let depends = ["llama_dynamic", "phi3_longrope"].contains(&name);
        for (preset, tile) in [("extended", "16"), ("reference", "5")] {
            let mut at_once = decoder(preset, &[("weights", "8"), ("m_tile", tile)], &model);
            let found = at_once.take(&prompt, true).unwrap();
            let off = difference(&found.logits, &logits);
            eprintln!("{name} {preset}: {off:.4}, {} cycles", found.cycles);
            assert!(off < 0.1, "{name} {preset}: {off}");
            let single = one_by_one(preset, "8", &model, &prompt);
            let compared = if depends { model.description().vocabulary } else { logits.len() };
            let first = logits.len() - compared;
            let differs = (first..logits.len()).find(|&index| single[index] != found.logits[index]);
            assert_eq!(differs, None, "{name} {preset}");
        }
    }
}

/// After a text is shortened, further tokens have the bits of a text that was never longer: with
/// all keys, with a window of the latest ones, and with rotations that depend on the length.
#[needs(NPUKIT_SHARED)]
#[test]
fn a_shortened_text_continues_like_any_other() {
    for name in ["llama_gqa", "mistral_window", "llama_dynamic"] {
        let (model, (prompt, _)) = (model(name), expected(name));
        let options = [("weights", "8"), ("m_tile", "16")];
        let mut text = decoder("extended", &options, &model);
        text.take(&prompt, false).unwrap();
        let [other, token] = [prompt[0], prompt[1]];
        for kept in [prompt.len() - 1, 3, 1, 0] {
            text.keep(kept);
            let found = text.take(&[other, token], true).unwrap().logits;
            let mut fresh = decoder("extended", &options, &model);
            let all = fresh.take(&[&prompt[..kept], &[other, token]].concat(), true).unwrap().logits;
            let expected = &all[all.len() - found.len()..];
            let differs = found.iter().zip(expected).position(|(one, other)| one != other);
            assert_eq!((found.len(), differs), (2 * model.description().vocabulary, None), "{name} {kept}");
        }
    }
}

/// Returns the bytes of a block of 32 weights with random codes. The code 7 or 8 is a weight of 0.
fn block(format: RowFormat, random: &mut SplitMix64) -> Vec<u8> {
    // 1/32 or 1/64 as halves, and -7 times that.
    let [step, least] = if random.bits() & 1 == 0 { [0x2800_u16, 0xB300] } else { [0x2400, 0xAF00] };
    let codes = (0..16).map(|_| random.bits() as u8);
    let offset = (format == RowFormat::Q4_1).then_some(least);
    [step].into_iter().chain(offset).flat_map(u16::to_le_bytes).chain(codes).collect()
}

/// Returns a model of one layer with matrices in a format of 4 bits.
fn coded(format: RowFormat) -> Arc<Model> {
    let mut of = model("llama_gqa").description().clone();
    (of.hidden, of.feed_forward, of.context) = (64, 96, CAPACITY);
    of.layers.truncate(1);
    let mut random = SplitMix64::new(48);
    let weight = |part: Weights, layer: Option<usize>| -> Result<Weight, Box<DecoderError>> {
        let [rows, columns] = part.shape(&of);
        let bytes = |random: &mut SplitMix64| -> Vec<u8> {
            (0..rows * columns / 32).flat_map(|_| block(format, random)).collect()
        };
        let floats =
            |value: &mut dyn FnMut() -> f32| -> Vec<f32> { (0..rows * columns).map(|_| value()).collect() };
        let rows = match layer {
            _ if part.is_norm() => Rows::from_floats([rows, columns], &floats(&mut || 1.0)),
            None => Rows::from_floats([rows, columns], &floats(&mut || random.between(-1.0, 1.0) as f32)),
            Some(_) => Rows::new(format, [rows, columns], bytes(&mut random)),
        };
        Ok(Weight { rows: rows.unwrap(), bias: None })
    };
    Arc::new(Model::new(of.clone(), weight).unwrap())
}

/// Codes of 4 bits are kept, with and without offsets, in texts of more than one room of tokens.
#[needs(NPUKIT_SHARED)]
#[test]
fn codes_of_a_file_are_kept() {
    for format in [RowFormat::Q4_0, RowFormat::Q4_1] {
        let model = coded(format);
        let prompt: Vec<usize> = (0..140).map(|index| index * 37 % model.description().vocabulary).collect();
        let logits = Evaluator::new(Arc::clone(&model)).take_all(&prompt).unwrap();
        for (preset, tile) in [("extended", "16"), ("reference", "5")] {
            let found = decoder(preset, &[("weights", "file"), ("m_tile", tile)], &model).take(&prompt, true);
            let found = found.unwrap().logits;
            let off = difference(&found, &logits);
            eprintln!("{format:?} {preset}: {off:.4}");
            assert!(off < 0.05, "{format:?} {preset}: {off}");
            assert!(found == one_by_one(preset, "file", &model, &prompt), "{format:?} {preset}");
        }
    }
}

/// More tokens than one CVO instruction takes.
#[needs(NPUKIT_SHARED)]
#[test]
fn long_texts_are_near_the_logits_in_float() {
    let model = coded(RowFormat::Q4_0);
    let prompt: Vec<usize> = (0..CAPACITY).map(|index| index * 37 % model.description().vocabulary).collect();
    let (last, first) = prompt.split_last().unwrap();
    let mut float = Evaluator::new(Arc::clone(&model));
    float.take(first).unwrap();
    let logits = float.take(&[*last]).unwrap();
    for preset in ["extended", "reference"] {
        let mut text = decoder(preset, &[], &model);
        text.take(first, false).unwrap();
        let off = difference(&text.take(&[*last], false).unwrap().logits, &logits);
        eprintln!("{preset}: {off:.4}");
        assert!(off < 0.05, "{preset}: {off}");
    }
}

/// Returns a decoder with 4-bit weights that a text was used to choose; empty without one.
fn four_bits(model: &Arc<Model>, calibration: Vec<usize>) -> LanguageDecoder {
    let config = Config::preset("extended").unwrap();
    let options = BTreeMap::from([("weights".to_owned(), "4".to_owned())]);
    let options = LanguageOptions::new(&Options::parse(&config, &options).unwrap());
    let options = LanguageOptions { calibration, ..options };
    LanguageDecoder::new(&config, options, Arc::clone(model), 48).unwrap()
}

/// A text for calibration brings logits of 4-bit weights nearer to float, also for other texts.
#[needs(NPUKIT_SHARED)]
#[test]
fn calibrated_weights_lose_less() {
    let mut sums = [0.0; 2];
    for name in NAMES {
        let (model, (prompt, logits)) = (model(name), expected(name));
        let text = (0..512).map(|index| (index * 7919 + 13) % model.description().vocabulary).collect();
        let off = [Vec::new(), text].map(|text| {
            let found = four_bits(&model, text).take(&prompt, true).unwrap().logits;
            difference(&found, &logits)
        });
        eprintln!("{name}: {off:.4?}");
        assert!(off[0] < 0.7 && off[1] < 0.5, "{name}: {off:?}");
        sums = [sums[0] + off[0], sums[1] + off[1]];
    }
    assert!(sums[1] < 0.95 * sums[0], "{sums:?}");
}

#[needs(NPUKIT_SHARED)]
#[test]
fn texts_for_calibration_are_checked() {
    let (config, model) = (Config::preset("extended").unwrap(), model("llama_gqa"));
    let options = BTreeMap::from([("weights".to_owned(), "4".to_owned())]);
    let options = LanguageOptions::new(&Options::parse(&config, &options).unwrap());
    let options = LanguageOptions { calibration: vec![1, 448], ..options };
    let error = LanguageDecoder::new(&config, options, model, 48).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("448"), "{error}");
}

/// Keys and values of 4 bits are spread over their heads, at once and token by token: the same
/// bits.
#[needs(NPUKIT_SHARED)]
#[test]
fn caches_of_four_bits_are_spread() {
    for (name, weights) in [("llama_bias", "8"), ("qwen3", "4"), ("gemma2", "8"), ("gpt2", "4")] {
        let (model, (prompt, logits)) = (model(name), expected(name));
        for preset in ["extended", "reference"] {
            let options = |tile| [("weights", weights), ("kv_bits", "4"), ("m_tile", tile)];
            let found = decoder(preset, &options("16"), &model).take(&prompt, true).unwrap().logits;
            let off = difference(&found, &logits);
            eprintln!("{name} {preset}: {off:.4}");
            assert!(off < 0.5, "{name} {preset}: {off}");
            let mut text = decoder(preset, &options("1"), &model);
            let single = prompt.iter().flat_map(|&token| text.take(&[token], false).unwrap().logits);
            assert_eq!(single.collect::<Vec<f32>>(), found, "{name} {preset}");
        }
    }
}
