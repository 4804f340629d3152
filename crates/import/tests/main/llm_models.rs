//! Small models of every family, compared with the logits, continuations and tokens of
//! `transformers`.

use std::sync::Arc;

use npukit_graph::decoder::likeliest;
use npukit_graph::language::{DecoderError, Evaluator, Group, Model, Part, Rows, Weights};
use npukit_import::llm::Checkpoint;
use npukit_numeric::SmallFloat;
use npukit_shared::needs;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json as value;

use crate::llm_files::{Files, arrays, folder, integers, json, reader, tokens};

fn names() -> Vec<String> {
    let models = json("tiny/models.json");
    let name = |model: &serde_json::Value| model["name"].as_str().unwrap().to_owned();
    models.as_array().unwrap().iter().map(name).collect()
}

fn model(files: &Files) -> Arc<Model> {
    let checkpoint = Checkpoint::open_folder("m", &reader(files)).unwrap();
    Arc::new(checkpoint.model(&reader(files)).unwrap())
}

/// Largest difference, relative to the largest logit.
pub fn difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |largest: f32, logit| largest.max(logit.abs()));
    let differences = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    // `max` would ignore NaN.
    let most = |most: f32, own: f32| if most.is_nan() || own <= most { most } else { own };
    differences.fold(0.0, most) / largest
}

#[needs(NPUKIT_SHARED)]
#[test]
fn logits_and_continuations_of_every_family() {
    let mut count = 0;
    for name in names() {
        let mut files = folder(&format!("tiny/{name}"));
        for config in ["config.json", "config_v4.json"] {
            files.insert("config.json".to_owned(), files[config].clone());
            let expected = arrays(&files["expected.npz"]);
            let prompt = integers(&expected["ids"]);
            let mut text = Evaluator::new(model(&files));
            let found = text.take_all(&prompt).unwrap();
            let wrong = difference(&found, expected["logits"].as_f32().unwrap());
            assert!(wrong <= 1e-4, "{name} {config}: {wrong}");
            let vocabulary = text.model().description().vocabulary;
            let mut logits = found[found.len() - vocabulary..].to_vec();
            for (step, token) in integers(&expected["greedy"]).into_iter().enumerate() {
                assert_eq!(likeliest(&logits), token, "{name} {config}, step {step}");
                logits = text.take(&[token]).unwrap();
            }
            count += 1;
        }
    }
    assert_eq!(count, 30);
}

/// Logits do not depend on how a text is divided, also when rotations depend on its length.
#[needs(NPUKIT_SHARED)]
#[test]
fn texts_can_be_divided() {
    for name in ["llama_gqa", "llama_dynamic", "gemma3", "gpt2"] {
        let files = folder(&format!("tiny/{name}"));
        let prompt = integers(&arrays(&files["expected.npz"])["ids"]);
        let mut text = Evaluator::new(model(&files));
        let whole = text.take(&prompt).unwrap();
        text.reset();
        let mut last = Vec::new();
        for part in prompt.chunks(5) {
            last = text.take(part).unwrap();
        }
        assert!(difference(&last, &whole) < 1e-5, "{name}");
        assert!(text.take(&[]).is_err() && text.take(&[100_000]).is_err(), "{name}");
    }
    let mut text = Evaluator::new(model(&folder("tiny/gpt2")));
    assert!(text.take(&[1; 65]).is_err(), "the context has 64 positions");
}

/// A rotated model has the same logits. Norms of results keep the values between the layers.
#[needs(NPUKIT_SHARED)]
#[test]
fn rotated_models_have_the_same_logits() {
    let has_gains = |model: &Model| match model.weights(Part::FeedForwardNorm, Some(0)) {
        Some(Weights::Norm(gains, _)) => gains.iter().any(|&gain| gain != 1.0),
        _ => panic!("no norm"),
    };
    for name in names() {
        let files = folder(&format!("tiny/{name}"));
        let expected = arrays(&files["expected.npz"]);
        let model = model(&files);
        let rotated = Arc::new(model.rotated());
        assert_eq!(has_gains(&rotated), model.description().norms_after, "{name}");
        let found = Evaluator::new(Arc::clone(&rotated)).take_all(&integers(&expected["ids"])).unwrap();
        let wrong = difference(&found, expected["logits"].as_f32().unwrap());
        assert!(wrong <= 1e-4, "{name}: {wrong}");
        for part in [Part::Value, Part::Output, Part::Down] {
            let Some(Weights::Matrix(matrix, _)) = rotated.weights(part, Some(1)) else { panic!("{part:?}") };
            let ([rows, columns], floats) = (matrix.shape(), matrix.to_floats());
            let mut row = vec![0.0; columns];
            for index in 0..rows {
                matrix.decode(index, &mut row);
                assert!(difference(&row, &floats[index * columns..][..columns]) < 1e-5, "{name} {part:?}");
            }
            assert_eq!(matrix.settled().to_floats(), floats, "{name} {part:?}");
        }
    }
}

/// Calibration visits the matrices in the order of their use, and goes on with their replacements.
#[needs(NPUKIT_SHARED)]
#[test]
fn calibration_replaces_matrices() {
    let model = model(&folder("tiny/llama_gqa"));
    let text: Vec<usize> = (0..700).map(|index| index * 31 % 448).collect();
    let mut squares = [Vec::new(), Vec::new()];
    for (is_zero, squares) in squares.iter_mut().enumerate() {
        let mut parts = Vec::new();
        let visit = |group: Group<'_>| -> Result<Vec<Rows>, DecoderError> {
            parts.extend(group.matrices.iter().map(|(part, _)| (group.layer, *part)));
            squares.push(group.moments.get(3, 3));
            let replaced = |(part, rows): &(Part, Rows)| {
                let zeros = vec![0.0; rows.shape().iter().product()];
                let is_replaced = is_zero == 1 && *part == Down;
                if is_replaced { Rows::from_floats(rows.shape(), &zeros).unwrap() } else { rows.clone() }
            };
            Ok(group.matrices.iter().map(replaced).collect())
        };
        model.calibrate(&text, visit).unwrap();
        use Part::{Down, Gate, Key, Output, Query, Up, Value};
        let expected = [Query, Key, Value, Output, Gate, Up, Down].repeat(2);
        assert!(parts.iter().map(|(_, part)| *part).eq(expected) && parts[6].0 == 0 && parts[7].0 == 1);
    }
    let [usual, zeros] = squares;
    assert_eq!(usual[..4], zeros[..4]);
    assert!(usual[4..].iter().zip(&zeros[4..]).all(|(usual, zeros)| usual != zeros));
    let mut same = |group: Group<'_>| -> Result<Vec<Rows>, DecoderError> {
        Ok(group.matrices.iter().map(|(_, rows)| rows.clone()).collect())
    };
    assert_eq!(model.calibrate(&[], &mut same), Err(DecoderError::NoTokens));
    assert!(model.calibrate(&[448], &mut same).is_err());
}

#[needs(NPUKIT_SHARED)]
#[test]
fn tokens_of_every_tokenizer() {
    for name in names() {
        let files = folder(&format!("tiny/{name}"));
        let checkpoint = Checkpoint::open_folder("m", &reader(&files)).unwrap();
        let tokenizer = checkpoint.tokenizer().unwrap();
        let expected = json(&format!("tiny/{name}/expected.json"));
        for row in expected["texts"].as_array().unwrap() {
            let (text, ids) = (row["text"].as_str().unwrap(), tokens(&row["ids"]));
            assert_eq!(tokenizer.encode(text), ids, "{name}: {text:?}");
            assert_eq!(tokenizer.decode(&ids), row["back"].as_str().unwrap(), "{name}: {text:?}");
        }
        let greedy = integers(&arrays(&files["expected.npz"])["greedy"]);
        assert_eq!(tokenizer.decode(&greedy), expected["continuation"].as_str().unwrap(), "{name}");
    }
}

/// Writes tensors as shards of two tensors each, with an index, after `convert`.
fn sharded(files: &Files, dtype: Dtype, convert: impl Fn(f32) -> Vec<u8>) -> Files {
    let tensors = SafeTensors::deserialize(&files["model.safetensors"]).unwrap();
    let mut sharded = files.clone();
    sharded.remove("model.safetensors");
    let mut index = serde_json::Map::new();
    for (number, part) in tensors.tensors().chunks(2).enumerate() {
        let file = format!("model-{number}.safetensors");
        let of_view = |view: &TensorView<'_>| -> Vec<u8> {
            let floats = view.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
            floats.flat_map(&convert).collect()
        };
        let data: Vec<Vec<u8>> = part.iter().map(|(_, view)| of_view(view)).collect();
        let views = part.iter().zip(&data).map(|((name, view), data)| {
            (name.clone(), TensorView::new(dtype, view.shape().to_vec(), data).unwrap())
        });
        sharded.insert(file.clone(), safetensors::serialize(views, None).unwrap());
        index.extend(part.iter().map(|(name, _)| (name.clone(), value!(file))));
    }
    let index = value!({ "metadata": {}, "weight_map": index }).to_string();
    sharded.insert("model.safetensors.index.json".to_owned(), index.into_bytes());
    sharded
}

#[needs(NPUKIT_SHARED)]
#[test]
fn shards_and_short_floats_are_read() {
    for name in ["llama_gqa", "gpt2", "phi3", "gemma2"] {
        let files = folder(&format!("tiny/{name}"));
        let logits = |files: &Files| Evaluator::new(model(files)).take_all(&[1, 2, 3]).unwrap();
        let whole = logits(&files);
        let shards = sharded(&files, Dtype::F32, |x| x.to_le_bytes().to_vec());
        assert_eq!(logits(&shards), whole, "{name}");
        for (dtype, format) in [(Dtype::F16, SmallFloat::F16), (Dtype::BF16, SmallFloat::BF16)] {
            let short = sharded(&files, dtype, |x| format.encode(x, false).to_le_bytes().to_vec());
            let rounded = sharded(&files, Dtype::F32, |x| format.round(x, false).to_le_bytes().to_vec());
            assert_eq!(logits(&short), logits(&rounded), "{name} {dtype:?}");
            assert!(difference(&logits(&short), &whole) < 0.1, "{name} {dtype:?}");
        }
    }
}
