//! [`llm`]: GGUF files and folders of language models.

use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::Evaluator;
use npukit_import::llm::{Checkpoint, LlmError};
use npukit_import::onnx::{Part, ReadRange};

use crate::message;

/// Files of a folder, after the letter that selects them.
const FOLDER: [(&str, &[u8]); 4] = [
    ("config.json", include_bytes!("../../../fuzz/corpus/llm/config")),
    ("generation_config.json", include_bytes!("../../../fuzz/corpus/llm/generation")),
    ("model.safetensors", include_bytes!("../../../fuzz/corpus/llm/weights")),
    ("tokenizer.json", include_bytes!("../../../fuzz/corpus/llm/tokenizer")),
];
const INDEX: &str = "model.safetensors.index.json";
/// Text for the tokenizer.
const TEXT: &str = "It's  a 12b\n\u{e9}<s>";

/// Readers: `g`: a GGUF file; of a folder, `c`: the configuration; `e`: the configuration of
/// generation; `w`: weights; `t`: the tokenizer; `i`: the index, with the weights under every other
/// name.
pub fn llm(input: &[u8]) {
    let Some((letter, bytes)) = input.split_first() else { return };
    let changed = match letter {
        b'g' => "m.gguf",
        b'c' => "config.json",
        b'e' => "generation_config.json",
        b'w' => "model.safetensors",
        b't' => "tokenizer.json",
        b'i' => INDEX,
        _ => return,
    };
    let files = |path: &str, range: Range<u64>| {
        let own = FOLDER.iter().find(|(name, _)| *name == path).map(|(_, bytes)| &bytes[1..]);
        let content = match (path, own) {
            _ if path == changed => bytes,
            ("model.safetensors", _) if changed == INDEX => return Err("absent".to_owned()),
            (_, Some(own)) => own,
            (INDEX, None) => return Err("absent".to_owned()),
            (_, None) => &FOLDER[2].1[1..],
        };
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let (begin, end) = (place(range.start), place(range.end));
        Ok(Part { bytes: content[begin..end.max(begin)].to_vec(), file_bytes: content.len() as u64 })
    };
    let opened = match letter {
        b'g' => Checkpoint::open_gguf("m.gguf", &files),
        _ => Checkpoint::open_folder("m", &files),
    };
    match opened.and_then(|checkpoint| used(&checkpoint, &files)) {
        Ok(()) => {}
        Err(LlmError::Gguf { offset, .. }) if letter == &b'g' => assert!(offset <= bytes.len() as u64),
        Err(error) => drop(message(&error)),
    }
}

/// Reads tokenizer and weights, and computes a text.
fn used(checkpoint: &Checkpoint, files: &ReadRange<'_>) -> Result<(), LlmError> {
    let vocabulary = checkpoint.description().vocabulary;
    match checkpoint.tokenizer() {
        Ok(tokenizer) => {
            let tokens = tokenizer.encode(TEXT);
            assert!(tokens.iter().all(|&token| token < vocabulary), "{tokens:?}");
            tokenizer.decode(&tokens);
        }
        Err(error) => drop(message(&error)),
    }
    let mut text = Evaluator::new(Arc::new(checkpoint.model(files)?));
    match text.take(&[0, 1]) {
        Ok(logits) => assert_eq!(logits.len(), vocabulary),
        Err(error) => drop(message(&error)),
    }
    Ok(())
}
