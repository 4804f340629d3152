//! Tokenizers with the characters of SentencePiece, compared with `sentencepiece` and `tokenizers`.

use npukit_import::llm::LlmError;
use npukit_import::llm::gguf::Gguf;
use npukit_import::llm::tokenizer::Tokenizer;
use npukit_shared::needs;
use serde_json::{Value, json};

use crate::llm_files::{Files, arrays, lists, own, reader, texts};

/// Returns the tokenizer of a vocabulary in a GGUF file, with its metadata changed.
fn of_gguf(change: impl FnOnce(&mut Gguf)) -> Result<Tokenizer, LlmError> {
    let files = Files::from([("spm.gguf".to_owned(), std::fs::read(own("spm.gguf")).unwrap())]);
    let mut file = Gguf::read("spm.gguf", &reader(&files)).unwrap();
    change(&mut file);
    Tokenizer::from_gguf("spm.gguf", &file, 620)
}

/// Pairs are merged by the scores of their tokens, as SentencePiece does.
#[needs(NPUKIT_SHARED)]
#[test]
fn tokens_with_scores_are_those_of_sentencepiece() {
    let tokenizer = of_gguf(|_| {}).unwrap();
    let expected = arrays(&std::fs::read(own("pieces.npz")).unwrap());
    let back: Value = serde_json::from_slice(&std::fs::read(own("spm.json")).unwrap()).unwrap();
    let (ids, texts) = (lists(&expected["spm.ids"], &expected["spm.ends"]), texts());
    assert_eq!((ids.len(), texts.len()), (247, 247));
    for (index, (text, ids)) in texts.iter().zip(&ids).enumerate() {
        // Special tokens are not recognized there.
        if ["<s>", "</s>", "<unk>"].iter().any(|special| text.contains(special)) {
            continue;
        }
        assert_eq!(tokenizer.encode(text), *ids, "{text:?}");
        assert_eq!(tokenizer.decode(&ids[1..]), back["back"][index].as_str().unwrap(), "{text:?}");
    }
}

#[test]
fn keys_of_a_vocabulary_with_scores_are_used() {
    use npukit_import::llm::gguf::{Kind, Number, Value};
    let truth = |bits| Value::Number(Number { kind: Kind::Bool, bits });
    let usual = of_gguf(|_| {}).unwrap().encode("Alice was");
    let set = |key: &'static str, value: Value| {
        move |file: &mut Gguf| drop(file.metadata.insert(format!("tokenizer.ggml.{key}"), value))
    };
    let tokens = |change| of_gguf(change).unwrap().encode("Alice was");
    assert_eq!(tokens(set("add_bos_token", truth(0))), usual[1..]);
    assert_eq!(
        of_gguf(set("add_eos_token", truth(1))).unwrap().encode("Alice was"),
        [&usual[..], &[2]].concat()
    );
    let without = of_gguf(set("add_space_prefix", truth(0))).unwrap();
    assert_eq!(without.decode(&without.encode("Alice was")), "<s>Alice was");
    assert_ne!(without.encode("Alice was"), usual);
    let special = of_gguf(|_| {}).unwrap();
    assert_eq!(special.encode("Alice was</s>"), [&usual[..], &[2]].concat());
    for (key, value) in
        [("scores", truth(1)), ("tokens", truth(1)), ("model", Value::String("t5".to_owned()))]
    {
        let error = of_gguf(set(key, value)).unwrap_err();
        assert!(matches!(error, LlmError::Tokenizer { .. }), "{key}: {error}");
    }
}

/// The step Metaspace in its forms.
#[needs(NPUKIT_SHARED)]
#[test]
fn tokens_after_metaspace_are_those_of_tokenizers() {
    let vectors: Value = serde_json::from_slice(&std::fs::read(own("metaspace.json")).unwrap()).unwrap();
    let expected = arrays(&std::fs::read(own("pieces.npz")).unwrap());
    let mut texts = texts();
    texts.extend(vectors["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()));
    let mut count = 0;
    for (name, step) in vectors["steps"].as_object().unwrap() {
        let mut file = vectors["file"].clone();
        file["pre_tokenizer"] = step.clone();
        let tokenizer = Tokenizer::from_json("m", file.to_string().as_bytes(), 1000).unwrap();
        let ids = lists(&expected[&format!("{name}.ids")], &expected[&format!("{name}.ends")]);
        assert_eq!(ids.len(), texts.len());
        for (text, ids) in texts.iter().zip(ids) {
            assert_eq!(tokenizer.encode(text), ids, "{name}: {text:?}");
            count += 1;
        }
    }
    assert_eq!(count, 3 * 251);
}

#[test]
fn other_steps_are_refused() {
    let vectors: Value = serde_json::from_slice(&std::fs::read(own("metaspace.json")).unwrap()).unwrap();
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = vectors["file"].clone();
        change(&mut file);
        Tokenizer::from_json("m", file.to_string().as_bytes(), 1000).unwrap_err().to_string()
    };
    let step = |value: Value| move |file: &mut Value| file["pre_tokenizer"] = value.clone();
    for (change, reason) in [
        (step(json!({ "type": "Metaspace", "replacement": "_" })), "U+2581"),
        (
            step(json!({ "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "second" })),
            "second",
        ),
        (step(json!({ "type": "Whitespace" })), "Whitespace"),
    ] {
        let error = refused(&change);
        assert!(error.contains(reason), "{error}");
    }
    let unigram = refused(&|file| file["model"] = json!({ "type": "Unigram", "vocab": [["a", -1.0]] }));
    assert!(unigram.contains("Unigram") && unigram.contains("BPE"), "{unigram}");
}
