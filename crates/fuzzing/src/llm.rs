//! [`llm`]: GGUF files and folders of language models.

use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::{Evaluator, normalize};
use npukit_import::llm::{Checkpoint, LlmError};
use npukit_import::onnx::{Part, ReadRange};

use crate::message;

/// File of a folder: the letter that selects it, its path, and its content after this letter.
type File = (u8, &'static str, &'static [u8]);

const DECODER: &[File] = &[
    (b'c', "config.json", include_bytes!("../../../fuzz/corpus/llm/config")),
    (b'e', "generation_config.json", include_bytes!("../../../fuzz/corpus/llm/generation")),
    (b'w', WEIGHTS, include_bytes!("../../../fuzz/corpus/llm/weights")),
    (b't', "tokenizer.json", include_bytes!("../../../fuzz/corpus/llm/tokenizer")),
];
const ENCODER: &[File] = &[
    (b'C', "config.json", include_bytes!("../../../fuzz/corpus/llm/encoder_config")),
    (b'W', WEIGHTS, include_bytes!("../../../fuzz/corpus/llm/encoder_weights")),
    (b'T', "tokenizer.json", include_bytes!("../../../fuzz/corpus/llm/encoder_tokenizer")),
    (b'M', "modules.json", include_bytes!("../../../fuzz/corpus/llm/encoder_modules")),
    (b'P', "1_Pooling/config.json", include_bytes!("../../../fuzz/corpus/llm/encoder_pooling")),
    (b'L', "sentence_bert_config.json", include_bytes!("../../../fuzz/corpus/llm/encoder_limits")),
];
const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Text for the tokenizer.
const TEXT: &str = "It's  a 12b\n\u{e9}<s>";

/// Readers: `g`: a GGUF file; `i`: the index of a decoder's folder, with the weights under every
/// other name; the letters of `DECODER` and `ENCODER`: a file of a folder.
pub fn llm(input: &[u8]) {
    let Some((letter, bytes)) = input.split_first() else { return };
    let folder = [DECODER, ENCODER].into_iter().find(|files| files.iter().any(|(own, ..)| own == letter));
    let changed = match (letter, folder) {
        (b'g', _) => "m.gguf",
        (b'i', _) => INDEX,
        (_, Some(files)) => files.iter().find(|(own, ..)| own == letter).map_or("", |(_, path, _)| path),
        _ => return,
    };
    // Default: an index belongs to the decoder.
    let folder = folder.unwrap_or(DECODER);
    let files = |path: &str, range: Range<u64>| {
        let own = folder.iter().find(|(_, name, _)| *name == path).map(|(.., bytes)| &bytes[1..]);
        let content = match (path, own) {
            _ if path == changed => bytes,
            (WEIGHTS, _) if changed == INDEX => return Err("absent".to_owned()),
            (_, Some(own)) => own,
            _ if changed == INDEX && path.ends_with(".safetensors") => &DECODER[2].2[1..],
            _ => return Err("absent".to_owned()),
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
    if checkpoint.sentence().is_some() {
        return embedded(checkpoint, files);
    }
    let mut text = Evaluator::new(Arc::new(checkpoint.model(files)?));
    match text.take(&[0, 1]) {
        Ok(logits) => assert_eq!(logits.len(), vocabulary),
        Err(error) => drop(message(&error)),
    }
    Ok(())
}

/// Computes the vector of a text.
fn embedded(checkpoint: &Checkpoint, files: &ReadRange<'_>) -> Result<(), LlmError> {
    let encoder = checkpoint.encoder(files)?;
    let hidden = encoder.description().hidden;
    match (encoder.values(&[0, 1]), checkpoint.sentence()) {
        (Ok(values), Some(sentence)) => {
            let mut vector = sentence.pooling.apply(&values, hidden);
            normalize(&mut vector);
            assert_eq!(vector.len(), hidden);
        }
        (Err(error), _) => drop(message(&error)),
        (Ok(_), None) => {}
    }
    Ok(())
}
