//! SmolLM2-135M-Instruct in a GGUF file, compared with the tokens, logits and continuations of
//! `transformers`.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use npukit_graph::decoder::likeliest;
use npukit_graph::language::{Evaluator, Rows};
use npukit_import::llm::Checkpoint;
use npukit_import::llm::chat_template::Message;
use npukit_import::llm::gguf::Gguf;
use npukit_import::onnx::Part;
use npukit_numeric::Sha256;
use npukit_shared::{needs, shared_bytes};

use crate::llm_files::{arrays, integers, json, on_disk, tokens};

fn read(path: &str, range: Range<u64>) -> Result<Part, String> {
    on_disk(&PathBuf::from(path), range)
}

fn path() -> String {
    std::env::var("NPUKIT_SMOLLM2").unwrap()
}

fn text() -> Evaluator {
    let checkpoint = Checkpoint::open_gguf(&path(), &read).unwrap();
    Evaluator::new(Arc::new(checkpoint.model(&read).unwrap()))
}

#[needs(NPUKIT_SMOLLM2)]
#[test]
fn tensors_have_the_recorded_floats() {
    let file = Gguf::read(&path(), &read).unwrap();
    let expected = json("smollm2_tensors.json");
    let expected = expected["tensors"].as_array().unwrap();
    assert_eq!(file.tensors.len(), expected.len());
    for (row, (name, info)) in expected.iter().zip(&file.tensors) {
        assert_eq!((row["name"].as_str(), row["type"].as_str()), (Some(&**name), Some(info.element.name)));
        assert_eq!((row["offset"].as_u64(), row["bytes"].as_u64()), (Some(info.offset), Some(info.bytes)));
        assert_eq!(tokens(&row["shape"]), info.shape, "{name}");
        let bytes = read(&path(), info.offset..info.offset + info.bytes).unwrap().bytes;
        let shape = if let [rows, columns] = info.shape[..] { [rows, columns] } else { [1, info.shape[0]] };
        let rows = Rows::new(info.element.format().unwrap(), shape, bytes).unwrap();
        let floats: Vec<u8> = rows.to_floats().into_iter().flat_map(f32::to_le_bytes).collect();
        let hash: String = Sha256::digest(&floats).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(row["sha256"].as_str(), Some(&*hash), "{name}");
    }
}

#[needs(NPUKIT_SMOLLM2)]
#[test]
fn tokens_are_the_recorded_ones() {
    let checkpoint = Checkpoint::open_gguf(&path(), &read).unwrap();
    assert_eq!(checkpoint.end_tokens(), [2]);
    let tokenizer = checkpoint.tokenizer().unwrap();
    let expected = json("smollm2_tokens.json");
    let texts = expected["texts"].as_array().unwrap();
    for row in texts {
        let (text, ids) = (row["text"].as_str().unwrap(), tokens(&row["ids"]));
        assert_eq!(tokenizer.encode(text), ids, "{text:?}");
        assert_eq!(tokenizer.decode(&ids), row["back"].as_str().unwrap(), "{text:?}");
    }
    assert_eq!(texts.len(), 247);
    let chats = json("smollm2_chat.json");
    let chats = chats["renderings"].as_array().unwrap();
    assert_eq!(chats.len(), 20);
    for row in chats {
        let messages: Vec<Message> = serde_json::from_value(row["messages"].clone()).unwrap();
        let answers = row["add_generation_prompt"].as_bool().unwrap();
        let text = checkpoint.chat_template().unwrap().render(&messages, answers).unwrap();
        assert_eq!(text, row["text"].as_str().unwrap());
        assert_eq!(tokenizer.encode_whole(&text), tokens(&row["ids"]));
    }
}

#[needs(NPUKIT_SMOLLM2)]
#[test]
fn logits_are_the_recorded_ones() {
    let expected = arrays(&shared_bytes("golden/llm/smollm2_logits.npz"));
    let mut text = text();
    let vocabulary = text.model().description().vocabulary;
    for prompt in 0..6 {
        let array = |name: &str| &expected[&format!("{prompt}.{name}")];
        text.reset();
        let ids = integers(array("ids"));
        let logits = text.take_all(&ids).unwrap();
        let places = integers(array("top_ids"));
        for (place, (&id, value)) in places.iter().zip(array("top_values").as_f32().unwrap()).enumerate() {
            let found = logits[place / 64 * vocabulary + id];
            assert!(
                (found - value).abs() < 1e-3,
                "prompt {prompt}, position {}: {found}, {value}",
                place / 64
            );
        }
        assert_eq!(places.len(), 64 * ids.len());
        if let Some(last) = expected.get(&format!("{prompt}.last")) {
            let found = &logits[logits.len() - vocabulary..];
            let differences = found.iter().zip(last.as_f32().unwrap()).map(|(a, b)| (a - b).abs());
            assert!(differences.clone().all(|difference| difference < 1e-3), "prompt {prompt}");
        }
    }
}

/// Every fourth of the recorded continuations.
#[needs(NPUKIT_SMOLLM2)]
#[test]
fn continuations_are_the_recorded_ones() {
    let expected = json("smollm2_greedy.json");
    let mut text = text();
    for row in expected["continuations"].as_array().unwrap().iter().step_by(4) {
        text.reset();
        let mut logits = text.take(&tokens(&row["ids"])).unwrap();
        for (step, token) in tokens(&row["new"]).into_iter().enumerate() {
            assert_eq!(likeliest(&logits), token, "{}, step {step}", row["prompt"]);
            logits = text.take(&[token]).unwrap();
        }
    }
}
