//! The embedded language model: its logits, its answers, and its token stream.

use npukit::Error;
use npukit::verbs::generate::{Request, accuracy, generate};
use npukit_graph::decoder::{DecoderModel, Session, likeliest};
use npukit_graph::quantize::rows::{Int4Rows, RowsError};
use npukit_import::decoder::{Decoder, read};
use npukit_numeric::TensorData;
use npukit_numeric::npy::{read_npy, read_npz};
use npukit_shared::{needs, shared_bytes};

use crate::memory::Memory;

const ADDER: &[u8] = include_bytes!("../../assets/adder.toml");
const WEIGHTS: &[u8] = include_bytes!("../../assets/adder.safetensors");
const HELD_OUT: &str = include_str!("../../assets/adder_held_out.txt");
const LOGITS: &[u8] = include_bytes!("../../assets/adder_logits.npy");

fn adder() -> Decoder {
    read(ADDER, &|_| Ok(WEIGHTS.to_vec())).unwrap()
}

/// Returns the request for the embedded model under a new name, with one key of its description
/// changed.
fn files(old: &str, new: &str) -> (Memory, Request) {
    let mut files = Memory::default();
    let description = String::from_utf8(ADDER.to_vec()).unwrap().replace(old, new);
    files.0.insert("m/adder.toml".into(), description.into_bytes());
    files.0.insert("m/adder.safetensors".into(), WEIGHTS.to_vec());
    (files, Request { model: Some("m/adder.toml".into()), ..Request::default() })
}

/// Compares with logits from NumPy, in which the model was trained.
#[test]
fn logits_are_those_of_the_training_program() {
    let Decoder { model, text } = adder();
    let text = text.unwrap();
    let expected = read_npy("adder_logits.npy", LOGITS).unwrap();
    let &[lines, length, vocabulary] = expected.shape() else { panic!("{:?}", expected.shape()) };
    let mut rows = expected.as_f32().unwrap().chunks(vocabulary);
    let mut session = Session::new(&model, length).unwrap();
    for line in HELD_OUT.lines().take(lines) {
        session.reset();
        // Encodes character by character: only numbers in prompts get leading spaces.
        for character in line.chars().filter(|&character| character != '\t') {
            let token = (0..vocabulary).find(|&token| text.character(token) == Some(character)).unwrap();
            for (found, expected) in session.take(&[token]).unwrap().iter().zip(rows.next().unwrap()) {
                assert!((found - expected).abs() < 2e-3, "{found} instead of {expected}");
            }
        }
    }
    assert!(rows.next().is_none());
}

#[test]
fn tokens_come_one_by_one() {
    let files = Memory::default();
    let mut shown = Vec::new();
    let mut show = |text: &str| shown.push(text.to_owned());
    let report = generate(&Request::default(), "123+456=", &mut show, files.context()).unwrap().0;
    assert_eq!(shown, ["123+456=", " ", "5", "7", "9"]);
    assert_eq!((report.answer.as_str(), report.ended, report.tokens), (" 579", true, 5));
    assert_eq!((report.target.as_str(), report.cycles), ("float", None));

    let few = Request { tokens: Some(2), ..Request::default() };
    let report = generate(&few, "7+85=", &mut |_| (), files.context()).unwrap().0;
    assert_eq!((report.prompt.as_str(), report.answer.as_str()), ("  7+ 85=", "  "));
    assert_eq!((report.ended, report.tokens), (false, 2));
}

/// The machine's tokens equal those in float, and its last step is reported and written.
#[test]
fn a_machine_generates_with_a_clock() {
    let files = Memory::default();
    for target in ["pccx", "pccx:extended"] {
        let request = Request { target: Some(target.to_owned()), files: true, ..Request::default() };
        let (report, written) = generate(&request, "987+654=", &mut |_| (), files.context()).unwrap();
        assert_eq!((report.answer.as_str(), report.ended), ("1641", true), "{target}");
        let step = report.step.unwrap();
        let (all, last) = (report.cycles.unwrap(), step.time.cycles.values().sum::<u64>());
        assert!((all / 5..all / 3).contains(&last), "{last} of {all}: one of four steps that are much alike");
        assert!(report.tokens_per_second.unwrap() > 1e4);
        assert!(step.time.layers.iter().any(|layer| layer.name.contains("layers.0")));
        let names: Vec<&str> = written.iter().map(|file| file.name.as_str()).collect();
        let stem = format!("adder_step_{}", target.strip_prefix("pccx:").unwrap_or("reference"));
        assert_eq!(names, ["pcp", "memh", "s", "manifest.toml"].map(|ending| format!("{stem}.{ending}")));
    }
    let options = [("kv".to_owned(), "nowhere".to_owned())].into();
    let wrong = Request { target: Some("pccx".to_owned()), options, ..Request::default() };
    assert!(generate(&wrong, "1+1=", &mut |_| (), files.context()).unwrap_err().is_usage());
}

#[test]
fn held_out_sums_are_right() {
    let (files, _) = files("", "");
    let report = accuracy(&Request::default(), None, files.context()).unwrap();
    assert_eq!((report.texts, report.exact), (1000, None));
    assert!(report.exact_float >= 0.97, "{}", report.exact_float);
}

/// Weights in 4 bits by row cost at most two percentage points of accuracy.
#[test]
fn four_bits_are_enough_for_the_weights() {
    let Decoder { model, text } = adder();
    let text = text.unwrap();
    let sample: Vec<&str> = HELD_OUT.lines().step_by(5).collect();
    let right = |model: &DecoderModel| -> usize {
        let mut session = Session::new(model, model.config().context).unwrap();
        let mut is_right = |line: &&&str| {
            let (prompt, answer) = line.split_once('\t').unwrap();
            session.reset();
            let mut logits = session.take(&text.encode(prompt).unwrap()).unwrap();
            answer.chars().all(|expected| {
                let token = likeliest(&logits);
                logits = session.take(&[token]).unwrap();
                text.character(token) == Some(expected)
            })
        };
        sample.iter().filter(&mut is_right).count()
    };
    let rounded = model
        .with_products(|matrix| {
            let rows = Int4Rows::new(matrix.rows(), matrix.columns(), matrix.values())?;
            let error = rows.error(matrix.values());
            assert!(error.relative > 0.01 && error.relative < 0.2, "{}: {error:?}", matrix.name);
            Ok::<_, Wrong>(rows.dequantized())
        })
        .unwrap();
    let (float, four_bits) = (right(&model), right(&rounded));
    assert!(
        four_bits * 50 + sample.len() >= float * 50,
        "{four_bits} of {} instead of {float}",
        sample.len()
    );
}

/// Any error in replacing weights.
#[derive(Debug)]
struct Wrong;

impl From<RowsError> for Wrong {
    fn from(_: RowsError) -> Self {
        Self
    }
}

impl From<npukit_graph::decoder::DecoderError> for Wrong {
    fn from(_: npukit_graph::decoder::DecoderError) -> Self {
        Self
    }
}

#[test]
fn files_are_read_and_wrong_ones_refused() {
    let error = |(files, request): (Memory, Request), prompt: &str| {
        generate(&request, prompt, &mut |_| (), files.context()).unwrap_err()
    };
    let (good, request) = files("", "");
    let report = generate(&request, "999+1=", &mut |_| (), good.context()).unwrap().0;
    assert_eq!(report.answer, "1000");
    assert!(matches!(error(files("layers", "lairs"), "1+1="), Error::Description { .. }));
    assert!(matches!(error(files("adder.safe", "other.safe"), "1+1="), Error::Description { .. }));
    let text = "[text]\nalphabet = \"\\n +=0123456789\"\nstop = \"\\n\"\nnumber_width = 3";
    assert!(matches!(error(files(text, ""), "1+1="), Error::Description { .. }), "no vocabulary");
    let numbers = "context = 12\nvocabulary = 14";
    let (mut no_text, request) = files("context = 12", numbers);
    let description = String::from_utf8(no_text.0["m/adder.toml"].clone()).unwrap().replace(text, "");
    no_text.0.insert("m/adder.toml".into(), description.into_bytes());
    assert!(matches!(error((no_text, request), "1+1="), Error::NoText { .. }));
    assert!(matches!(error(files("", ""), "1*1="), Error::Prompt { .. }));
    assert!(matches!(error(files("", ""), ""), Error::Target(_)));
    assert!(matches!(error(files("", ""), "123456+789123="), Error::Target(_)));
    let (files, request) = files("", "");
    let on_tcu = Request { target: Some("tcu".into()), ..request.clone() };
    assert!(generate(&on_tcu, "1+1=", &mut |_| (), files.context()).unwrap_err().is_usage());
    let missing = accuracy(&request, None, files.context()).unwrap_err();
    assert!(matches!(missing, Error::NoHeldOut { .. }));
}

#[test]
fn held_out_files_are_lines_with_tabs() {
    let (mut files, request) = files("", "");
    files.0.insert("sums.txt".into(), b"1+1=\t   2\n2+2=\t   5\n".to_vec());
    let report = accuracy(&request, Some("sums.txt"), files.context()).unwrap();
    assert_eq!((report.texts, report.exact_float), (2, 0.5));
    files.0.insert("sums.txt".into(), b"1+1=\t   2\n2+2=4\n".to_vec());
    let refused = accuracy(&request, Some("sums.txt"), files.context()).unwrap_err();
    assert!(matches!(refused, Error::HeldOut { line: 2, .. }), "{refused}");
    for (text, line) in
        [("1+1=\t   2\n1*1=\t   1\n", 2), ("\t   2\n", 1), ("1+1=\t   2\n123456+789123=\t9\n", 2)]
    {
        files.0.insert("sums.txt".into(), text.into());
        let refused = accuracy(&request, Some("sums.txt"), files.context()).unwrap_err();
        assert!(matches!(&refused, Error::HeldOutPrompt { line: l, .. } if *l == line), "{refused}");
        assert!(refused.to_string().contains("sums.txt"), "{refused}");
    }
}

/// Returns a small model of another program as a folder, and a request for its recorded prompt.
fn published(name: &str) -> (Memory, Request, Vec<usize>) {
    let path = |file: &str| format!("golden/llm/tiny/{name}/{file}");
    let mut files = Memory::default();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        files.0.insert(format!("m/{file}"), shared_bytes(&path(file)));
    }
    let expected = read_npz("expected.npz", &shared_bytes(&path("expected.npz"))).unwrap();
    let integers = |name: &str| -> Vec<usize> {
        let (_, array) = expected.iter().find(|(own, _)| own == name).unwrap();
        let TensorData::I32(tokens) = array.data() else { panic!("{array:?}") };
        tokens.iter().map(|&token| token as usize).collect()
    };
    let request = Request {
        model: Some("m".to_owned()),
        ids: Some(integers("ids")),
        logits: true,
        tokens: Some(20),
        ..Request::default()
    };
    (files, request, integers("greedy"))
}

#[needs(NPUKIT_SHARED)]
#[test]
fn published_models_continue_tokens_and_texts() {
    let (files, request, greedy) = published("qwen3");
    let mut shown = String::new();
    let (report, _) = generate(&request, "", &mut |text| shown += text, files.context()).unwrap();
    let end = greedy.iter().position(|&token| token == 2).map_or(greedy.len(), |end| end + 1);
    assert_eq!(report.ids, greedy[..end]);
    assert_eq!((report.target.as_str(), Some(&report.prompt_ids)), ("float", request.ids.as_ref()));
    assert_eq!(report.prompt.clone() + &report.answer, report.prompt.clone() + &report.text);
    assert!(shown.starts_with(&report.prompt), "{shown:?}");
    let logits = read_npy("logits.npy", &report.logits.unwrap()).unwrap();
    assert_eq!(logits.shape(), [report.prompt_ids.len(), 448]);
    let text = Request { ids: None, logits: false, tokens: Some(3), ..request.clone() };
    let (report, _) = generate(&text, "Alice was", &mut |_| (), files.context()).unwrap();
    assert_eq!((report.prompt.as_str(), report.ids.len(), report.logits), ("Alice was", 3, None));
    let on = |target: &str| Request { target: Some(target.into()), tokens: Some(2), ..request.clone() };
    let (report, _) = generate(&on("pccx"), "", &mut |_| (), files.context()).unwrap();
    assert_eq!((report.target.as_str(), report.ids.len()), ("pccx:reference", 2));
    assert!(report.cycles.is_some_and(|cycles| cycles > 0));
    let refused = generate(&on("tcu"), "", &mut |_| (), files.context()).unwrap_err();
    assert!(refused.to_string().contains("generate"), "{refused}");
    let beyond = Request { ids: Some(vec![448]), ..request };
    assert!(generate(&beyond, "", &mut |_| (), files.context()).is_err());
}

/// Without a tokenizer, tokens are numbers.
#[needs(NPUKIT_SHARED)]
#[test]
fn tokens_need_no_tokenizer() {
    let (mut files, request, greedy) = published("gpt2");
    files.0.remove("m/tokenizer.json");
    let (report, _) = generate(&request, "", &mut |_| (), files.context()).unwrap();
    assert_eq!(report.ids[0], greedy[0]);
    assert!(report.text.starts_with(&format!("{} ", greedy[0])), "{}", report.text);
    let text = Request { ids: None, ..request };
    let refused = generate(&text, "Alice", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::Checkpoint { .. }), "{refused}");
}

#[test]
fn tokens_of_a_description_are_numbers_too() {
    let files = Memory::default();
    let request = Request { ids: Some(vec![5, 2, 5, 3]), logits: true, ..Request::default() };
    let (report, _) = generate(&request, "", &mut |_| (), files.context()).unwrap();
    assert_eq!((report.prompt.as_str(), report.prompt_ids.len()), ("1+1=", 4));
    let logits = read_npy("logits.npy", &report.logits.unwrap()).unwrap();
    assert_eq!(logits.shape(), [4, 14]);
    assert_eq!(report.ids.len(), report.tokens);
}
