//! JSON Schemas of the commands' `--json` output: `docs/schema`, generated from the types of the
//! reports.
//!
//! `NPUKIT_BLESS=1` writes them. Every JSON answer in a test of this binary is [`check`]ed against
//! them.

#[path = "schemas/validator.rs"]
mod validator;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use npukit::options::OptionSpec;
use npukit::report::PhaseTime;
use npukit::{Diagnostic, verbs};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::npu::{DIGITS, GOLDEN, IMAGES, Npu, PERCEPTRON};
use validator::Validator;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");

/// A model with an output that does not depend on its input.
const SOFTMAX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests/models/softmax.onnx");

/// An encoder of random weights.
const BERT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/llm/bert");

/// Possible form of a verb's report: the schema of an object.
type Form = fn(&mut SchemaGenerator) -> Value;

/// Forms of every verb's report, one line per verb.
#[rustfmt::skip]
const VERBS: &[(&str, &[Form])] = &[
    ("asm",         &[assembled]),
    ("bench",       &[of::<verbs::bench::Report>]),
    ("bug-report",  &[artifacts]),
    ("certificate", &[certificate]),
    ("check",       &[timed::<verbs::check::Report>]),
    ("compile",     &[timed::<verbs::compile::Report>, stage]),
    ("completions", &[script]),
    ("conform",     &[of::<verbs::conform::Report>]),
    ("cosim",       &[timed::<verbs::cosim::Report>]),
    ("debug",       &[of::<verbs::debug::Report>]),
    ("demo",        &[of::<verbs::demo::Report>]),
    ("diff",        &[of::<verbs::diff::Report>, of::<verbs::diff::values::Report>]),
    ("disasm",      &[of::<verbs::disasm::DisasmReport>]),
    ("embed",       &[of::<verbs::embed::Report>]),
    ("error",       &[failure, refusal, not_proved]),
    ("eval",        &[of::<verbs::eval::Report>]),
    ("explain",     &[of::<verbs::explain::Report>]),
    ("explore",     &[of::<verbs::explore::Report>]),
    ("format",      &[of::<verbs::asm::FormatReport>]),
    ("generate",    &[of::<verbs::generate::Report>, of::<verbs::generate::Answers>,
                      of::<verbs::generate::Accuracy>, of::<verbs::generate::Perplexity>,
                      of::<verbs::generate::Forms>]),
    ("glossary",    &[of::<verbs::glossary::Report>]),
    ("host",        &[of::<verbs::host::Report>]),
    ("isa",         &[page]),
    ("lint",        &[of::<verbs::lint::Report>, of::<verbs::lint::Explanations>]),
    ("lsp",         &[nothing]),
    ("man",         &[artifacts]),
    ("report",      &[timed::<verbs::report::Report>]),
    ("rtl",         &[of::<verbs::rtl::Report>]),
    ("build",       &[of::<verbs::build::Report>]),
    ("run",         &[timed::<verbs::run::Report>, timed::<verbs::run::AsmReport>, timed::<verbs::eval::Report>]),
    ("targets",     &[instances, target_options, parameters, artifacts]),
    ("time",        &[timed::<verbs::time::Report>, of::<verbs::time::LanguageReport>]),
    ("trace",       &[of::<verbs::trace::Report>]),
    ("verify",      &[timed::<verbs::verify::Report>]),
    ("version",     &[of::<verbs::version::Report>]),
    ("zoo",         &[of::<verbs::zoo::Report>, networks]),
];

/// Schema of a report.
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// Schema of a report that may have `timings`.
fn timed<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let mut report = of::<T>(generator);
    report["properties"]["timings"] = list(part::<PhaseTime>(generator));
    report
}

/// Schema of a part of a report.
fn part<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Schema of an object with these keys, all of them required.
fn object(keys: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        keys.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// Merges two object schemas.
fn merged(mut one: Value, other: &Value) -> Value {
    for (key, value) in other["properties"].as_object().unwrap() {
        one["properties"][key] = value.clone();
    }
    one["required"].as_array_mut().unwrap().extend(other["required"].as_array().unwrap().iter().cloned());
    one
}

fn assembled(generator: &mut SchemaGenerator) -> Value {
    let listing = json!({ "type": ["string", "null"] });
    merged(
        of::<verbs::asm::AsmReport>(generator),
        &object(&[("output", text()), ("listing", listing.clone()), ("map", listing)]),
    )
}

/// Schema of the report of `--emit`.
fn stage(_: &mut SchemaGenerator) -> Value {
    object(&[("stage", text()), ("text", text())])
}

fn script(_: &mut SchemaGenerator) -> Value {
    object(&[("shell", text()), ("script", text())])
}

/// A server reports everything in its own protocol.
fn nothing(_: &mut SchemaGenerator) -> Value {
    object(&[])
}

fn artifacts(_: &mut SchemaGenerator) -> Value {
    object(&[("artifacts", list(text()))])
}

fn instances(generator: &mut SchemaGenerator) -> Value {
    object(&[("targets", list(part::<verbs::list::TargetReport>(generator)))])
}

/// Schema of the report of `--options`.
fn target_options(generator: &mut SchemaGenerator) -> Value {
    object(&[("options", list(part::<OptionSpec>(generator)))])
}

/// Schema of the report for an instance.
fn parameters(generator: &mut SchemaGenerator) -> Value {
    object(&[("parameters", list(part::<verbs::list::Parameter>(generator)))])
}

/// Schema of the report without a name.
fn networks(generator: &mut SchemaGenerator) -> Value {
    object(&[("networks", list(part::<verbs::zoo::Entry>(generator)))])
}

fn failure(generator: &mut SchemaGenerator) -> Value {
    let diagnostics = list(part::<Diagnostic>(generator));
    object(&[("error", text()), ("causes", list(text())), ("diagnostics", diagnostics)])
}

/// Schema of the error for an unsupported model, including the report of `npu check`.
fn refusal(generator: &mut SchemaGenerator) -> Value {
    let report = of::<verbs::check::Report>(generator);
    let mut both = merged(failure(generator), &report);
    let names: BTreeSet<String> =
        both["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    both["required"] = json!(names);
    both
}

/// Schema of the file that `npu verify -o` writes, which names its own schema.
fn certificate(generator: &mut SchemaGenerator) -> Value {
    let mut file = of::<verbs::verify::Certificate>(generator);
    file["required"].as_array_mut().unwrap().retain(|name| name != "schema");
    file
}

/// Schema of the error for a program that is not proved.
fn not_proved(generator: &mut SchemaGenerator) -> Value {
    merged(failure(generator), &object(&[("verification", part::<verbs::verify::Report>(generator))]))
}

/// Schema of the page, which is not a type.
fn page(_: &mut SchemaGenerator) -> Value {
    let bits = [("lo", count()), ("width", count())];
    let pattern = object(&[("name", text()), ("value", count()), bits[0].clone(), bits[1].clone()]);
    let codes = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let number = json!({ "type": "integer" });
    let is_so = json!({ "type": "boolean" });
    let mut field = object(&[
        ("name", text()),
        ("meaning", text()),
        bits[0].clone(),
        bits[1].clone(),
        ("min", number.clone()),
        ("max", number.clone()),
        ("bias", number),
    ]);
    for (key, of) in [
        ("names", codes.clone()),
        ("open", is_so.clone()),
        ("signed", is_so.clone()),
        ("log2", is_so),
        ("bits", codes),
        ("meanings", json!({ "type": "object", "additionalProperties": { "type": "string" } })),
    ] {
        field["properties"][key] = of;
    }
    let instruction = object(&[
        ("name", text()),
        ("meaning", text()),
        ("doc", text()),
        ("context", json!({ "type": ["string", "null"] })),
        ("size_bytes", count()),
        ("syntax", list(text())),
        ("patterns", list(pattern)),
        ("fields", list(field)),
        ("reserved", json!({ "type": ["string", "null"] })),
    ]);
    let order = json!({ "enum": ["little", "big"] });
    object(&[("name", text()), ("doc", text()), ("byte_order", order), ("instructions", list(instruction))])
}

/// Returns the schema of the output of `verb`.
fn schema(verb: &str, forms: &[Form]) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let name = format!("npukit.{verb}/1");
    let key = object(&[("schema", json!({ "const": name }))]);
    let forms: Vec<Value> = forms.iter().map(|form| merged(form(&mut generator), &key)).collect();
    let mut root = match <[Value; 1]>::try_from(forms) {
        Ok([only]) => only,
        Err(forms) => json!({ "anyOf": forms }),
    };
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!(name);
    let parts = generator.take_definitions(true);
    if !parts.is_empty() {
        root["$defs"] = Value::Object(parts);
    }
    root
}

/// Returns the schema without allowing additional keys: a printed key that is not described is an
/// error.
fn strict(mut schema: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.values_mut().for_each(walk);
                if object.get("properties").is_some_and(Value::is_object)
                    && !object.contains_key("additionalProperties")
                {
                    object.insert("additionalProperties".to_owned(), Value::Bool(false));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut schema);
    schema
}

/// Returns the strict schemas, by the value of the key `schema`.
fn validators() -> &'static BTreeMap<String, Validator> {
    static VALIDATORS: OnceLock<BTreeMap<String, Validator>> = OnceLock::new();
    let validator = |&(verb, forms): &(&str, &[Form])| {
        (format!("npukit.{verb}/1"), Validator::new(strict(schema(verb, forms))))
    };
    VALIDATORS.get_or_init(|| VERBS.iter().map(validator).collect())
}

/// Checks a report against its schema; returns the name of the schema.
pub fn check(report: &Value) -> Result<&str, String> {
    let name = report["schema"].as_str().ok_or("no key `schema`")?;
    let validator = validators().get(name).ok_or(format!("there is no schema `{name}`"))?;
    validator.check(report).map_err(|message| format!("{name}: {message}"))?;
    Ok(name)
}

/// Checks every JSON report of a text: lines between a line with an opening and one with a closing
/// brace.
pub fn check_all(text: &str) -> Result<(), String> {
    let mut report: Option<String> = None;
    for line in text.lines() {
        if line == "{" {
            report = Some(String::new());
        }
        let Some(lines) = &mut report else { continue };
        *lines += &format!("{line}\n");
        let whole = report.take_if(|_| line == "}");
        // Files that commands print may be other JSON.
        let Some(whole) = whole.filter(|whole| whole.contains("\n  \"schema\": \"npukit.")) else { continue };
        let value: Value = serde_json::from_str(&whole).map_err(|error| format!("{error}: {whole}"))?;
        check(&value)?;
    }
    Ok(())
}

#[test]
fn schemas() {
    let bless = std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1");
    let name = |verb: &str| format!("npukit.{verb}.1.json");
    for &(verb, forms) in VERBS {
        let path = Path::new(FOLDER).join(name(verb));
        let text = format!("{:#}\n", schema(verb, forms));
        if bless {
            fs::create_dir_all(FOLDER).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
        assert_eq!(found, text, "NPUKIT_BLESS=1 writes docs/schema/{}", name(verb));
    }
    let files: BTreeSet<String> = fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, VERBS.iter().map(|(verb, _)| name(verb)).collect(), "one schema for each verb");
}

/// A command line for each form of each verb, which [`Npu::json`] checks, and its exit status.
#[rustfmt::skip]
const LINES: &[(i32, &str)] = &[
    (0, "asm p.s --target tcu -o p.tprog"),
    (0, "asm p.s --target tcu -o p.tprog --listing p.lst"),
    (0, "bench speed --only array_kernel --runs 1"),
    (0, "check %digits --target tcu"),
    (0, "check %digits --target opu --timings"),
    (0, "verify %digits --target tcu --timings"),
    (0, "verify %digits --target tcu -o -"),
    (0, "verify %digits --target tcu -o c.json"),
    (0, "verify %digits --target tcu --certificate c.json"),
    (1, "verify %mlp --target tcu --certificate c.json"),
    (0, "compile %digits --target tcu -o out --timings"),
    (0, "compile %digits --target tcu -o proved --verify"),
    (1, "compile %softmax --target tcu:pynqz1+lut -o proved --verify"),
    (0, "compile %digits --target tcu --emit graph"),
    (0, "completions bash"),
    (0, "conform tcu %golden/encoding.json"),
    (0, "demo --target tcu"),
    (0, "disasm p.tprog --target tcu"),
    (1, "asm wrong.s --target tcu -o q.tprog"),
    (1, "time absent.onnx --target tcu"),
    (2, "isa gpu"),
    (2, "isa --nonsense"),
    (0, "eval %digits --input %images --labels %labels"),
    (0, "embed cat --model %bert"),
    (0, "explore %digits --space space.toml"),
    (0, "format k.asm --target drra"),
    (0, "generate 1+2= --tokens 2"),
    (0, "rtl tcu:pynqz1 -o circuit"),
    (0, "bug-report %digits --target tcu"),
    (0, "--version"),
    (0, "glossary tile"),
    (0, "host pccx map"),
    (2, "glossary hovercraft"),
    (0, "explain tile"),
    (0, "explain matmul --target tcu"),
    (0, "explain open-dimensions"),
    (2, "explain hovercraft"),
    (0, "isa tcu"),
    (0, "isa opu"),
    (0, "isa pccx"),
    (0, "isa drra"),
    (0, "lint p.s --target tcu"),
    (0, "man -o pages"),
    (0, "report %digits --target tcu --input %images"),
    (0, "run %digits --target tcu --input %images --compare --timings"),
    (0, "run out/digits_onnx_pynqz1.tmodel --input %images"),
    (0, "targets"),
    (0, "targets tcu --options"),
    (0, "targets tcu:pynqz1 --svg pynqz1.svg"),
    (0, "targets tcu:ultra96v2"),
    (0, "time %digits --target tcu"),
    (0, "time %digits --target opu"),
    (0, "time %mlp --target drra --timings"),
    (0, "time %mlp --target pccx"),
    (0, "zoo"),
    (0, "zoo mlp -o m.onnx"),
    (0, "diff a.json a.json"),
    (0, "trace %digits --input %images -o float.npz"),
    (0, "trace %digits --target tcu --input %images -o t.npz"),
    (0, "diff %digits %digits@tcu --input %images"),
    (1, "diff float.npz t.npz"),
    (0, "debug p.s --target tcu --script steps.txt"),
];

/// Returns a word of a line with file names replaced by their paths.
fn at_their_paths(word: &str) -> String {
    let labels = IMAGES.replace("images", "labels");
    let files = [
        ("%bert", BERT),
        ("%digits", DIGITS),
        ("%golden", GOLDEN),
        ("%images", IMAGES),
        ("%labels", &labels),
        ("%mlp", PERCEPTRON),
        ("%softmax", SOFTMAX),
    ];
    files.iter().fold(word.to_owned(), |word, (name, path)| word.replace(name, path))
}

#[test]
fn every_verb_prints_what_its_schema_says() {
    let npu = Npu::new();
    npu.write("p.s", "NoOp\n");
    npu.write("steps.txt", "step\nexpect step 1\n");
    npu.write("wrong.s", "nope\nmatmul local[99999], acc[0], 1\n");
    npu.write("k.asm", "cell (row=0, col=0)\nhalt()\n");
    npu.write("space.toml", "target = \"tcu\"\n[parameters]\narray_size = [4, 8]\n");
    npu.write("a.json", "{\"schema\": \"npukit.time/1\", \"cycles\": 3}\n");
    let mut seen = BTreeSet::new();
    for (status, line) in LINES {
        let words: Vec<String> = line.split(' ').map(at_their_paths).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let report = npu.json(*status, &words);
        seen.insert(check(&report).unwrap_or_else(|error| panic!("{line}: {error}")).to_owned());
    }
    let all: BTreeSet<String> = VERBS.iter().map(|(verb, _)| format!("npukit.{verb}/1")).collect();
    // Reports that need tools for circuits are checked where there are some; an editor's server
    // uses standard output itself.
    let elsewhere = ["npukit.build/1", "npukit.cosim/1", "npukit.lsp/1"];
    let all: BTreeSet<String> =
        all.into_iter().filter(|schema| !elsewhere.contains(&schema.as_str())).collect();
    assert_eq!(seen, all, "LINES has a line for each verb");
}

#[test]
fn what_no_schema_says_is_found() {
    let mut report = json!({ "schema": "npukit.man/1", "artifacts": ["npu.1"] });
    assert_eq!(check(&report), Ok("npukit.man/1"));
    report["more"] = json!(1);
    assert!(check(&report).is_err());
    assert!(check_all("text\n{\n  \"schema\": \"npukit.man/1\"\n}\n").is_err());
    assert!(check_all("{\n  \"schema\": \"npukit.man/1\",\n  \"artifacts\": []\n}\nmore\n").is_ok());
}
