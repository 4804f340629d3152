//! The embedded language model: its logits, its answers, and its token stream.

use npukit::Error;
use npukit::verbs::generate::{
    Continuation, Conversation, End, Request, Sampling, Session, accuracy, answers, generate, perplexity,
};
use npukit_graph::decoder::{self, DecoderModel, likeliest};
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
    let mut session = decoder::Session::new(&model, length).unwrap();
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
        let mut session = decoder::Session::new(model, model.config().context).unwrap();
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

impl From<decoder::DecoderError> for Wrong {
    fn from(_: decoder::DecoderError) -> Self {
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
    assert!(report.notes.is_empty());
    let text = Request { ids: None, logits: false, tokens: Some(3), ..request.clone() };
    let (report, _) = generate(&text, "Alice was", &mut |_| (), files.context()).unwrap();
    assert_eq!((report.prompt.as_str(), report.ids.len(), report.logits), ("Alice was", 3, None));
    let on = |target: &str| Request { target: Some(target.into()), tokens: Some(2), ..request.clone() };
    let (report, _) = generate(&on("pccx"), "", &mut |_| (), files.context()).unwrap();
    assert_eq!((report.target.as_str(), report.ids.len()), ("pccx:reference", 2));
    assert!(report.cycles.is_some_and(|cycles| cycles > 0));
    let forms = "layers have 8 bits in two passes, as the file has no codes of 4 bits; \
                 the head has 8 bits in two passes, keys and values have 8 bits in two passes";
    assert_eq!(report.notes[0], forms);
    assert!(report.notes.iter().any(|note| note.contains("never measured")), "{:?}", report.notes);
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

#[test]
fn a_stop_text_ends_the_answer_and_is_not_shown() {
    let files = Memory::default();
    for (stop, answer, found) in [
        (vec!["57"], " ", Some("57")),
        (vec!["79"], " 5", Some("79")),
        (vec!["8", "9", "7"], " 5", Some("7")),
        (vec!["578", "80"], " 579", None),
        (vec!["79x"], " 579", None),
    ] {
        let stop: Vec<String> = stop.into_iter().map(str::to_owned).collect();
        let request = Request { stop, ..Request::default() };
        let mut shown = Vec::new();
        let mut show = |text: &str| shown.push(text.to_owned());
        let report = generate(&request, "123+456=", &mut show, files.context()).unwrap().0;
        assert_eq!((report.answer.as_str(), report.stop.as_deref()), (answer, found));
        assert_eq!(shown.concat(), format!("123+456={answer}"), "{shown:?}");
        assert_eq!(report.ended, found.is_none());
    }
    let empty = Request { stop: vec![String::new()], ..Request::default() };
    let refused = generate(&empty, "1+1=", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::EmptyStop) && refused.is_usage());
}

#[test]
fn random_tokens_follow_the_seed() {
    let files = Memory::default();
    let answer = |sampling: Sampling| {
        let request = Request { sampling, ..Request::default() };
        generate(&request, "12+34=", &mut |_| (), files.context()).unwrap().0.ids
    };
    let hot = |seed| Sampling { temperature: Some(20.0), seed, ..Sampling::default() };
    assert_eq!(answer(hot(1)), answer(hot(1)));
    assert!((2..9).any(|seed| answer(hot(seed)) != answer(hot(1))));
    let cold = Sampling { temperature: Some(1e-3), ..Sampling::default() };
    assert_eq!(answer(cold), answer(Sampling::default()));
    let one = Sampling { top_k: Some(1), ..hot(3) };
    assert_eq!(answer(one), answer(Sampling::default()));
    let request = Request { sampling: Sampling { top_p: Some(2.0), ..hot(1) }, ..Request::default() };
    let refused = generate(&request, "1+1=", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::Sampling(_)) && refused.is_usage(), "{refused}");
}

/// Prompts after one another have the answers that they have alone, in float and on the machine.
#[needs(NPUKIT_SHARED)]
#[test]
fn lines_of_a_file_are_answered() {
    let (mut files, request, _) = published("llama_gqa");
    let text = "Alice was\nAlice was not a bit\nAlice was\nThe Rabbit\n";
    files.0.insert("prompts.txt".into(), text.into());
    for target in [None, Some("pccx".to_owned())] {
        let request = Request { ids: None, logits: false, tokens: Some(6), target, ..request.clone() };
        let all = answers(&request, "prompts.txt", &mut |_| (), files.context()).unwrap();
        for (answer, line) in all.answers.iter().zip(text.lines()) {
            let (alone, _) = generate(&request, line, &mut |_| (), files.context()).unwrap();
            let found = (&answer.ids, &answer.answer, answer.prompt.as_str());
            assert_eq!(found, (&alone.ids, &alone.answer, line));
        }
        let reused: Vec<usize> = all.answers.iter().map(|answer| answer.reused_tokens).collect();
        let first = all.answers[0].prompt_ids.len();
        assert_eq!((reused.len(), reused[0]), (4, 0));
        assert!(reused[1] >= 1 && reused[2] == first - 1, "{reused:?}");
        let cycles = |index: usize| all.answers[index].prompt_cycles;
        assert!(cycles(2) < cycles(0) || request.target.is_none(), "a reused prompt costs less");
    }
    let adder = Request { tokens: Some(2), ..Request::default() };
    files.0.insert("sums.txt".into(), b"1+1=\n1*1=\n".to_vec());
    let refused = answers(&adder, "sums.txt", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::HeldOutPrompt { line: 2, .. }), "{refused}");
}

/// A kept text continues in another run like in the same one, and only in one of the same origin.
#[needs(NPUKIT_SHARED)]
#[test]
fn a_kept_text_is_not_computed_again() {
    let (mut files, request, _) = published("llama_gqa");
    let prompt = request.ids.clone().unwrap();
    for target in [None, Some("pccx".to_owned())] {
        files.0.remove("text.kept");
        let keep = Some("text.kept".to_owned());
        let request = Request { logits: false, tokens: Some(4), target, keep, ..request.clone() };
        let first = generate(&request, "", &mut |_| (), files.context()).unwrap().0;
        assert_eq!(first.reused_tokens, 0);
        let kept = first.kept.clone().unwrap();
        files.0.insert("text.kept".into(), kept.clone());
        for (ids, reused) in [
            ([&prompt[..], &first.ids[..3], &[5]].concat(), prompt.len() + 3),
            (prompt.clone(), prompt.len() - 1),
            ([&prompt[..4], &[1, 2]].concat(), 4),
        ] {
            let request = Request { ids: Some(ids), ..request.clone() };
            let found = generate(&request, "", &mut |_| (), files.context()).unwrap().0;
            let alone = Request { keep: None, ..request.clone() };
            let alone = generate(&alone, "", &mut |_| (), files.context()).unwrap().0;
            assert_eq!((found.reused_tokens, &found.ids), (reused, &alone.ids));
            assert!(found.prompt_cycles < alone.prompt_cycles || request.target.is_none());
        }
        let refused = |kept: &[u8], request: &Request| {
            let mut files = files.clone();
            files.0.insert("text.kept".into(), kept.to_vec());
            generate(request, "", &mut |_| (), files.context()).unwrap_err()
        };
        let reason = |kept: &[u8], request: &Request| match refused(kept, request) {
            Error::KeptText { reason, .. } => reason,
            other => panic!("{other}"),
        };
        let options = [("kv_bits".to_owned(), "4".to_owned())].into();
        let other = Request { target: Some("pccx".to_owned()), options, ..request.clone() };
        assert_eq!(reason(&kept, &other), "was kept for another model, target or option");
        assert_eq!(reason(&kept[..kept.len() - 1], &request), "is damaged");
        assert_eq!(reason(&kept[..40], &request), "is damaged");
        assert_eq!(reason(b"text", &request), "is not a kept text");
    }
    let adder = Request { keep: Some("text.kept".to_owned()), ..Request::default() };
    let refused = generate(&adder, "1+1=", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::Inapplicable { .. }), "{refused}");
}

/// Returns a small model with a template, and a request for conversations.
fn chatting() -> (Memory, Request) {
    let (mut files, request, _) = published("qwen3");
    let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
    files.0.insert("m/chat_template.jinja".into(), template.into());
    let request = Request {
        ids: None,
        logits: false,
        tokens: Some(5),
        chat: true,
        system: Some("Be brief.".to_owned()),
        ..request
    };
    (files, request)
}

#[needs(NPUKIT_SHARED)]
#[test]
fn a_conversation_has_its_history() {
    let (mut files, request) = chatting();
    let mut shown = String::new();
    let (single, _) = generate(&request, "Hi", &mut |text| shown += text, files.context()).unwrap();
    assert_eq!(single.prompt, "<system>Be brief.\n<user>Hi\n<assistant>");
    assert_eq!(shown, single.answer, "the prompt is not shown");
    for target in [None, Some("pccx".to_owned())] {
        has_history(&Request { target, ..request.clone() }, &files);
    }

    files.0.remove("m/chat_template.jinja");
    let refused = generate(&request, "Hi", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(&refused, Error::Checkpoint { .. }), "{refused}");
    let adder = Request { chat: true, ..Request::default() };
    assert!(generate(&adder, "1+1=", &mut |_| (), files.context()).is_err());
}

/// A kept conversation continues like in the same run. Its history is not computed again.
#[needs(NPUKIT_SHARED)]
#[test]
fn a_kept_conversation_continues() {
    let (mut files, request) = chatting();
    for target in [None, Some("pccx".to_owned())] {
        files.0.remove("chat.kept");
        let request = Request { target, ..request.clone() };
        let mut whole = Conversation::open(&request, files.context()).unwrap();
        let expected = ["Hi", "And now?"].map(|message| whole.say(message, &mut |_| ()).unwrap().clone());
        assert!(whole.report().kept.is_none());
        let keeping = Request { keep: Some("chat.kept".to_owned()), ..request.clone() };
        let mut first = Conversation::open(&keeping, files.context()).unwrap();
        assert_eq!(first.say("Hi", &mut |_| ()).unwrap(), &expected[0]);
        let kept = first.report().kept.unwrap();
        files.0.insert("chat.kept".into(), kept.clone());
        let next = Request { system: None, ..keeping.clone() };
        let mut second = Conversation::open(&next, files.context()).unwrap();
        assert_eq!(second.say("And now?", &mut |_| ()).unwrap(), &expected[1]);
        assert!(expected[1].reused_tokens >= expected[0].prompt_ids.len());

        let other = Request { system: Some("Be kind.".to_owned()), ..keeping.clone() };
        let mut other = Conversation::open(&other, files.context()).unwrap();
        let prompt = other.say("And now?", &mut |_| ()).unwrap().prompt_ids.clone();
        let prompt = Session::open(&request, files.context()).unwrap().decode(&prompt);
        assert!(prompt.starts_with("<system>Be kind.\n<user>Hi\n<assistant>"), "{prompt}");

        let options = [("kv_bits".to_owned(), "4".to_owned())].into();
        let form = Request { target: Some("pccx".to_owned()), options, ..keeping.clone() };
        let version = [&b"npukit kept text 9"[..], &kept[18..]].concat();
        for (content, request, expected) in [
            (kept, form, "was kept for another model, target or option"),
            (version, keeping, "was kept by another version of npukit"),
        ] {
            files.0.insert("chat.kept".into(), content);
            match Conversation::open(&request, files.context()).err() {
                Some(Error::KeptText { reason, .. }) => assert_eq!(reason, expected),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Two messages of a conversation: the second one follows the first answer.
fn has_history(request: &Request, files: &Memory) {
    let (single, _) = generate(request, "Hi", &mut |_| (), files.context()).unwrap();
    let mut conversation = Conversation::open(request, files.context()).unwrap();
    let first = conversation.say("Hi", &mut |_| ()).unwrap().clone();
    assert_eq!((&first.ids, &first.answer), (&single.ids, &single.answer));
    let second = conversation.say("And now?", &mut |_| ()).unwrap().clone();
    let session = Session::open(request, files.context()).unwrap();
    let expected = format!("{}{}\n<user>And now?\n<assistant>", single.prompt, single.answer);
    assert_eq!(session.decode(&second.prompt_ids), expected);
    assert!(second.reused_tokens >= first.prompt_ids.len(), "{second:?}");
    assert_eq!(conversation.report().answers, [first, second]);
}

/// Compares with the logits of the program that made the model.
#[needs(NPUKIT_SHARED)]
#[test]
fn perplexity_follows_from_the_logits() {
    let (mut files, request, _) = published("qwen2");
    let session = Session::open(&request, files.context()).unwrap();
    let ids = request.ids.clone().unwrap();
    let text = session.decode(&ids);
    assert_eq!(session.encode(&text).unwrap(), ids);
    files.0.insert("text.txt".into(), text.into_bytes());
    let bytes = shared_bytes("golden/llm/tiny/qwen2/expected.npz");
    let expected = read_npz("expected.npz", &bytes).unwrap();
    let logits = expected.iter().find(|(name, _)| name == "logits").unwrap().1.as_f32().unwrap();
    let (mut nats, mut top1) = (0.0, 0);
    for (row, &next) in logits.chunks(logits.len() / ids.len()).zip(&ids[1..]) {
        let sum: f64 = row.iter().map(|&logit| f64::from(logit).exp()).sum();
        nats += sum.ln() - f64::from(row[next]);
        top1 += usize::from(likeliest(row) == next);
    }
    let found = perplexity(&request, "text.txt", files.context()).unwrap();
    let exact = (nats / (ids.len() - 1) as f64).exp();
    assert!((found.perplexity / exact - 1.0).abs() < 1e-5, "{} instead of {exact}", found.perplexity);
    assert_eq!((found.tokens, found.predictions, found.top1), (ids.len(), ids.len() - 1, top1));
    let options = [("weights".to_owned(), "8".to_owned())].into();
    let machine = Request { target: Some("pccx".into()), options, ..request.clone() };
    let close = perplexity(&machine, "text.txt", files.context()).unwrap();
    assert!((close.perplexity / exact).ln().abs() < 0.1, "{} instead of {exact}", close.perplexity);
    assert!(close.cycles.is_some_and(|cycles| cycles > 0));
    files.0.insert("short.txt".into(), b"a".to_vec());
    let refused = perplexity(&request, "short.txt", files.context()).unwrap_err();
    assert!(matches!(refused, Error::ShortText { found: 1, .. }), "{refused}");
}

/// Each window of the context is predicted on its own, on a machine as in float.
#[test]
fn perplexity_has_windows() {
    let mut files = Memory::default();
    files.0.insert("text.txt".into(), b"123+456= 579\n 12+  3=  15\n".to_vec());
    let of = |target: Option<&str>| {
        let request = Request { target: target.map(str::to_owned), ..Request::default() };
        perplexity(&request, "text.txt", files.context()).unwrap()
    };
    let (float, machine) = (of(None), of(Some("pccx")));
    // Numbers of the text have a width of 3, so each answer has lost a space: 24 of 26 characters.
    assert_eq!((float.tokens, float.window, float.predictions), (24, 12, 22));
    assert!(float.cycles.is_none() && machine.cycles.unwrap() > 0);
    assert!((machine.perplexity / float.perplexity).ln().abs() < 0.5, "{machine:?} {float:?}");
}

/// A smaller model changes the cost of an answer, not its tokens: here another one of random
/// weights, whose proposals are mostly wrong, and the model itself, whose proposals are all right.
#[needs(NPUKIT_SHARED)]
#[test]
fn proposed_tokens_do_not_change_the_answer() {
    let (mut files, request, _) = published("qwen3");
    for (name, bytes) in published("qwen2").0.0 {
        files.0.insert(name.replace("m/", "other/"), bytes);
    }
    let hot = Sampling { temperature: Some(1.5), seed: 3, ..Sampling::default() };
    for target in [None, Some("pccx".to_owned())] {
        for sampling in [Sampling::default(), hot] {
            let request = Request { logits: false, target: target.clone(), sampling, ..request.clone() };
            let alone = generate(&request, "", &mut |_| (), files.context()).unwrap().0;
            assert_eq!(alone.draft, None);
            for (draft, proposals) in [("m", Some(3)), ("other", None)] {
                let request = Request { draft: Some(draft.into()), proposals, ..request.clone() };
                let found = generate(&request, "", &mut |_| (), files.context()).unwrap().0;
                assert_eq!((&found.ids, &found.answer), (&alone.ids, &alone.answer), "{draft}");
                let drafted = found.draft.unwrap();
                assert!(drafted.accepted <= drafted.proposed && drafted.proposed > 0, "{drafted:?}");
                // Proposals after the end of the answer are not chosen.
                let refused = drafted.proposed - drafted.accepted;
                assert_eq!(refused < 3, draft == "m", "{drafted:?}");
                assert_eq!(drafted.cycles.is_some(), target.is_some());
                assert!(drafted.cycles <= found.cycles, "{drafted:?}");
            }
        }
    }
    let adder = Request { draft: Some("m".into()), ..Request::default() };
    let refused = generate(&adder, "1+1=", &mut |_| (), files.context()).unwrap_err();
    assert!(matches!(refused, Error::OtherTokens { .. }), "{refused}");
}

/// A token of several bytes is shown when its character is complete.
#[needs(NPUKIT_SHARED)]
#[test]
fn shown_parts_are_the_answer() {
    for name in ["qwen3", "gpt2", "llama_gqa"] {
        let (files, request, _) = published(name);
        let mut session = Session::open(&request, files.context()).unwrap();
        for seed in 0..5 {
            let sampling = Sampling { temperature: Some(2.0), seed, ..Sampling::default() };
            let continuation = Continuation { tokens: Some(40), sampling, ..Continuation::default() };
            let mut text = session.begin(request.ids.clone().unwrap(), &continuation).unwrap();
            let mut shown = String::new();
            while let Some(token) = session.next(&mut text).unwrap() {
                shown += &token.text;
            }
            let ended = usize::from(text.end() == Some(&End::Token));
            let ids = &text.ids()[..text.ids().len() - ended];
            let all = session.decode(&[text.prompt_ids(), ids].concat());
            assert_eq!(session.decode(text.prompt_ids()) + &shown, all, "{name}");
            assert_eq!(text.answer(), shown);
        }
    }
}
