//! Templates of conversations: what real ones use, and defects of hostile ones.

use std::time::{Duration, Instant};

use npukit_import::llm::LlmError;
use npukit_import::llm::chat_template::{ChatTemplate, Message};
use serde_json::{Value, json};

use crate::llm_files::{Files, reader};

/// Returns a folder with a configuration of the tokenizer.
fn config(config: &Value) -> Files {
    [("tokenizer_config.json".to_owned(), config.to_string().into_bytes())].into()
}

fn template(source: &str) -> ChatTemplate {
    let files = [("chat_template.jinja".to_owned(), source.as_bytes().to_vec())].into();
    ChatTemplate::from_folder("m", &reader(&files)).unwrap()
}

fn conversation() -> Vec<Message> {
    ["system", "user", "assistant", "user"]
        .into_iter()
        .enumerate()
        .map(|(index, role)| Message::new(role, format!(" Text {index}\n")))
        .collect()
}

fn rendered(source: &str) -> String {
    template(source).render(&conversation(), true).unwrap()
}

/// Returns the line and the reason of a failure.
fn failure(source: &str) -> (usize, String) {
    match template(source).render(&conversation(), true).unwrap_err() {
        LlmError::Template { path, line, reason } if path == "chat_template.jinja" => (line, reason),
        other => panic!("{other}"),
    }
}

/// Expected texts follow from Jinja2 3.1.6 with `trim_blocks` and `lstrip_blocks`.
#[test]
fn templates_use_python() {
    for (source, expected) in [
        (
            "{% for m in messages %}\n  {% if loop.first %}\n{{ m.role }};\n{% endif %}\n{% endfor %}\n",
            "system;\n",
        ),
        ("{{ messages[0]['content'] | trim }}{{ messages[-1].content.strip() }}", "Text 0Text 3"),
        ("{{ messages[1:] | length }}{{ messages[1:][0].role.upper() }}", "3USER"),
        (
            "{% for key, value in messages[0].items() %}{{ key }}={{ value.strip() }},{% endfor %}",
            "role=system,content=Text 0,",
        ),
        ("{{ 'a</think>b'.split('</think>')[-1].lstrip('\\n') }}{{ 'ab'.startswith('a') }}", "bTrue"),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "4",
        ),
        (
            "{% for m in messages %}{% if m.role == 'assistant' %}{% break %}{% endif %}{{ loop.index0 }}{% endfor %}",
            "01",
        ),
        ("{% macro both(x, y='!') %}{{ x ~ y }}{% endmacro %}{{ both('a') }}{{ both('b', y='?') }}", "a!b?"),
        ("{% if not (tools or documents or other is defined) %}empty{% endif %}", "empty"),
        ("{{ {'b': [1, 'ä<'], 'a': none} | tojson }}", "{\"b\": [1, \"ä<\"], \"a\": null}"),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ '<b>' }}{{ messages[0].content is string }}{{ 'system' in messages[0].role }}", "<b>TrueTrue"),
        ("{% if add_generation_prompt %}a{% endif %}{{ undefined }}", "a"),
        ("{% generation %}x{% endgeneration %}", "x"),
        ("{{ strftime_now('%Y') | length }}", "4"),
    ] {
        assert_eq!(rendered(source), expected, "{source}");
    }
}

#[test]
fn files_of_a_folder_have_templates() {
    let own = "{{ bos_token }}{{ messages[0].role }}{{ eos_token }}{{ pad_token }}";
    let tokens = json!({ "bos_token": "<s>", "eos_token": { "content": "</s>" }, "pad_token": null });
    let with = |template: Value| {
        let mut all = tokens.clone();
        all["chat_template"] = template;
        config(&all)
    };
    let list = json!([{ "name": "tool_use", "template": "no" }, { "name": "default", "template": own }]);
    let mut both = with(json!("no"));
    both.insert("chat_template.jinja".to_owned(), own.as_bytes().to_vec());
    for files in [with(json!(own)), with(list), both] {
        let template = ChatTemplate::from_folder("m", &reader(&files)).unwrap();
        assert_eq!(template.render(&conversation(), false).unwrap(), "<s>system</s>");
    }
    for files in [Files::new(), config(&tokens), with(json!([])), with(Value::Null)] {
        let error = ChatTemplate::from_folder("m", &reader(&files)).unwrap_err();
        assert_eq!(error, LlmError::NoTemplate { path: "m".to_owned() });
    }
    let broken: Files = [("tokenizer_config.json".to_owned(), b"{".to_vec())].into();
    let error = ChatTemplate::from_folder("m", &reader(&broken)).unwrap_err();
    assert!(matches!(error, LlmError::Json { line: 1, .. }), "{error}");
    let bytes: Files = [("chat_template.jinja".to_owned(), b"a\n\xff".to_vec())].into();
    let error = ChatTemplate::from_folder("m", &reader(&bytes)).unwrap_err();
    assert!(matches!(error, LlmError::Template { line: 2, .. }), "{error}");
}

#[test]
fn errors_of_templates_have_their_line() {
    let (line, reason) = failure("a\n{{ raise_exception('roles must alternate') }}");
    assert!(line == 2 && reason.contains("roles must alternate"), "{line}: {reason}");
    assert_eq!(failure("a\n\n{% if %}").0, 3);
    // The line is that of the begin of the expression.
    assert_eq!(failure("{{ messages\n| unknown }}").0, 1);
    assert_eq!(failure("\n{{ messages[9].content.x }}").0, 2);
}

/// Returns a template that doubles a value in a variable 60 times.
fn doubled(first: &str, twice: &str) -> String {
    format!(
        "{{% set ns = namespace(x={first}) %}}{{% for a in range(60) %}}{{% set ns.x = {twice} %}}{{% endfor %}}"
    )
}

/// Each of these would take hours, all memory, or the stack.
#[test]
fn hostile_templates_end() {
    let doubled = [
        doubled("'0123456789'", "ns.x ~ ns.x"),
        doubled("[1]", "ns.x + ns.x"),
        doubled("[1]", "[ns.x, ns.x]"),
        doubled("1", "{'a': ns.x, 'b': [ns.x]}"),
        doubled("(1, 2)", "ns.x + ns.x"),
        doubled("[1]", "ns.x | chain(ns.x)"),
        doubled("ns", "ns"),
    ];
    let single = [
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('0123456789') }}",
        "{% macro f(x) %}{{ f(x + x) }}{% endmacro %}{{ f([1]) }}",
        "{% for a in [[1]] recursive %}{{ loop([a + a]) }}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
        "{% set ns = namespace(x=1) %}{% for a in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{{ 'x' * 99999999999 }}",
        "{{ range(9999999999) | list }}",
        "{{ [range(9999), range(9999)] | list | tojson(indent=99999999999) | length * 'x' }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '{:>9999999999}'.format(1) }}",
        "{{ 'x' | indent(99999999999) ~ ('a\n' | indent(99999999999)) }}",
        "{{ [1] | batch(99999999999, 'x') | list | length }}{{ [1] | slice(99999999999) | list | length }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ range(1, 2, 0) }}",
    ];
    for source in single.into_iter().chain(doubled.iter().map(String::as_str)) {
        let start = Instant::now();
        let (line, reason) = failure(source);
        assert!(line == 1 && !reason.is_empty(), "{source}: {reason}");
        assert!(start.elapsed() < Duration::from_secs(60), "{source}");
    }
}

/// Texts and lists that fit are not refused, even if the conversation is long.
#[test]
fn long_conversations_are_rendered() {
    let messages: Vec<Message> =
        (0..2000).map(|index| Message::new("user", format!("{index} {}", "long ".repeat(100)))).collect();
    let source = "{% set own = messages[1:] %}{% set ns = namespace(text='') %}\
        {% for m in own %}{% set content = m.content ~ '.' %}{% set ns.text = content %}{{ content }}{% endfor %}";
    let text = template(source).render(&messages, true).unwrap();
    assert_eq!(text.matches("long ").count(), 199_900);
}
